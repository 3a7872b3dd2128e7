"""Compares the declarations of the examples with plimsoll.h: functions, the struct and constants."""
import re

CALLBACK = "plim_progress_fn"


def header(root):
    """{name: (result, parameters)} of plimsoll.h, its constants, and the fields of plim_progress."""
    text = (root / "include/plimsoll.h").read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    functions = {}
    for result, name, parameters in re.findall(r"^((?!typedef)[\w\s]+?[\s*]+)(plim_\w+)\(([^)]*)\);", text, flags=re.M):
        parameters = [" ".join(p.split()) for p in parameters.split(",")]
        functions[name] = " ".join(result.split()), [] if parameters == ["void"] else parameters
    constants = dict(re.findall(r"#define (PLIM_[A-Z_]+) (\d+)$", text, flags=re.M))
    struct = re.search(r"typedef struct plim_progress \{(.*?)\}", text, flags=re.S)[1]
    return functions, constants, re.findall(r"(\w+) (\w+);", struct)


def compare(what, found, expected):
    if found != expected:
        raise SystemExit(f"FAILED: {what} declares\n{found}\ninstead of\n{expected}")


def compare_functions(what, found, expected, translate):
    """`found` is {name: declaration}; `translate` makes a declaration from the header's."""
    for name, declaration in found.items():
        if name not in expected:
            raise SystemExit(f"FAILED: {what} declares {name}, which is not in plimsoll.h")
        compare(what, " ".join(declaration.split()), translate(name, *expected[name]))
    if len(found) < 20:
        raise SystemExit(f"FAILED: {what}: only {sorted(found)} were found")


def check_node(root):
    functions, constants, fields = header(root)
    text = (root / "examples/node/plimsoll.js").read_text(encoding="utf-8")

    def koffi(name, result, parameters):
        def parameter(p):
            written = "**" in p or "*" in p and "const" not in p and not re.match(r"plim_|void", p)
            return ("_Out_ " if written else "") + p.replace(f"{CALLBACK} ", f"{CALLBACK} *")

        space = "" if result.endswith("*") else " "
        return f"{result}{space}{name}({', '.join(map(parameter, parameters)) or 'void'})"

    declared = re.search(r"^const declarations = `(.*?)`;$", text, flags=re.M | re.S)[1]
    found = {re.search(r"(plim_\w+)\(", d)[1]: d for d in declared.split(";") if d.strip()}
    compare_functions("plimsoll.js", found, functions, koffi)
    struct = re.search(r"koffi\.struct\('plim_progress', \{(.*?)\}", text, flags=re.S)[1]
    compare("plimsoll.js", [(kind, name) for name, kind in re.findall(r"(\w+): '(\w+)'", struct)], fields)
    for name, value in re.findall(r"const (PLIM_\w+) = (\d+);", text):
        compare("plimsoll.js", (name, value), (name, constants[name]))


def check_java(root):
    functions, constants, fields = header(root)
    text = (root / "examples/java/plimsoll/Plimsoll.java").read_text(encoding="utf-8")
    scalars = {"size_t": "long", "uint64_t": "long", "int64_t": "long", "int32_t": "int", "plim_status": "int",
               "double": "double", "float": "float", "char": "byte", "void": "void", CALLBACK: "ProgressFn"}

    def java(name, result, parameters):
        def parameter(p):
            kind, stars, called = re.fullmatch(r"(?:const )?(\w+) (\**)(\w+)", p).groups()
            if stars == "**":
                return f"PointerByReference {called}"
            if stars and kind.startswith("plim_"):
                noun = "".join(map(str.capitalize, kind[5:].split("_")))
                return f"{'Handle' if name.endswith('_free') else noun} {called}"
            if stars and kind == "void":
                return f"Pointer {called}"
            return f"{scalars[kind]}{'[]' if stars else ''} {called}"

        result = "String" if result == "const char *" else scalars[result]
        return f"{result} {name}({', '.join(map(parameter, parameters))})"

    declared = re.search(r"interface Functions extends Library \{(.*?)\}", text, flags=re.S)[1]
    found = {re.search(r"(plim_\w+)\(", d)[1]: d for d in declared.split(";") if d.strip()}
    compare_functions("Plimsoll.java", found, functions, java)
    order = re.findall(r'"(\w+)"', re.search(r"FieldOrder\(\{(.*?)\}\)", text, flags=re.S)[1])
    kinds = {name: kind for kind, names in re.findall(r"public (long|double) (\w+(?:, \w+)+);", text)
             for name in names.split(", ")}
    compare("Plimsoll.java", [(kinds[name], name) for name in order], [(scalars[kind], name) for kind, name in fields])
    for name, value in re.findall(r"int (PLIM_\w+) = (\d+);", text):
        compare("Plimsoll.java", (name, value), (name, constants[name]))
