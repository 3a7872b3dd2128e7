"""The declarations of plimsoll.h: constants, callback types, and every function with its parameters and their docs.

The torture tests take their lists from here, so that they cannot miss a new function.
"""
import ctypes
import re
from pathlib import Path

HEADER = Path(__file__).resolve().parents[2] / "include" / "plimsoll.h"

SCALARS = {
    "size_t": ctypes.c_size_t, "double": ctypes.c_double, "float": ctypes.c_float, "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64, "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64, "char": ctypes.c_char,
    "plim_status": ctypes.c_int32,
}


class Parameter:
    """A parameter. `kind` is one of: handle, out handle, array, text, buffer, callback, data, scalar."""

    def __init__(self, declaration, handles, callbacks):
        match = re.fullmatch(r"(const )?(\w+) (\**)(\w+)", declaration.strip())
        if not match:
            raise SystemExit(f"header.py cannot read the parameter {declaration!r}")
        const, self.type, stars, self.name = match.groups()
        self.const, self.doc = bool(const), ""
        self.points = False  # whether it receives a string of the library's
        if self.type in handles:
            self.kind = {1: "handle", 2: "out handle"}.get(len(stars))
        elif self.type in callbacks and not stars:
            self.kind = "callback"
        elif self.type == "void" and len(stars) == 1:
            self.kind = "data"
        elif self.type in SCALARS and not stars:
            self.kind = "scalar"
        elif self.type in SCALARS and len(stars) == 1:
            self.kind = "buffer" if not const else "text" if self.type == "char" else "array"
        elif self.type == "char" and const and len(stars) == 2:
            self.kind, self.type, self.points = "buffer", "uint64_t", True
        else:
            self.kind = None
        if self.kind is None:
            raise SystemExit(f"header.py does not know the type of the parameter {declaration!r}")

    @property
    def ctype(self):
        """The type that ctypes passes; pointers are numbers."""
        return SCALARS[self.type] if self.kind == "scalar" else ctypes.c_void_p

    @property
    def element(self):
        return SCALARS[self.type]

    @property
    def optional(self):
        """Whether the docs allow NULL."""
        return "NULL" in self.doc

    @property
    def length(self):
        """The expression at the start of an array's doc: `num_edges` node ids."""
        match = re.match(r"(?:the )?`([^`]+)`", self.doc)
        return match.group(1) if match else None


class Function:
    def __init__(self, result, name, parameters, doc):
        self.result, self.name, self.parameters, self.doc = result, name, parameters, doc
        texts = re.split(r"@param (\w+)", re.split(r"@return", doc)[0])
        docs = {n: " ".join(t.split()) for n, t in zip(texts[1::2], texts[2::2])}
        for parameter in parameters:
            parameter.doc = docs.get(parameter.name, "")

    @property
    def gives_status(self):
        return self.result == "plim_status"

    @property
    def is_free(self):
        return self.name.endswith("_free")

    def bind(self, library):
        function = getattr(library, self.name)
        function.argtypes = [p.ctype for p in self.parameters]
        function.restype = {"void": None, "const char *": ctypes.c_char_p}.get(self.result) or SCALARS.get(self.result)
        return function


class Header:
    def __init__(self, path=HEADER):
        text = path.read_text(encoding="utf-8")
        # Each comment is replaced by its number, which connects a declaration with the doc before it.
        docs = []

        def keep(match):
            lines = [line.strip().lstrip("*").strip() for line in match.group(1).splitlines()]
            docs.append("\n".join(lines))
            return f"@@{len(docs) - 1}@@"

        code = re.sub(r"/\*(.*?)\*/", keep, text, flags=re.S)
        self.constants = {n: int(v) for n, v in re.findall(r"^#define (PLIM_\w+) (-?\d+)$", code, re.M)}
        code = re.sub(r"^#.*$|//.*$", "", code, flags=re.M).replace('extern "C" {', "")
        self.handles = sorted(name for name, alias in re.findall(r"typedef struct (\w+) (\w+);", code))
        self.callbacks = {}
        for result, name, arguments in re.findall(r"typedef ([\w ]+?) \(\*(\w+)\)\(([^)]*)\);", code):
            self.callbacks[name] = (result, [" ".join(a.split()) for a in arguments.split(",")])
        code = re.sub(r"typedef[^;{]*(\{[^}]*\}[^;]*)?;", "", code, flags=re.S)
        self.functions = []
        for doc, result, name, arguments in re.findall(r"(?:@@(\d+)@@\s*)?([\w ]+[ *])(plim_\w+)\(([^)]*)\);", code):
            arguments = " ".join(arguments.split())
            parameters = [] if arguments == "void" else [
                Parameter(a, self.handles, self.callbacks) for a in arguments.split(",")]
            self.functions.append(Function(result.strip(), name, parameters, docs[int(doc)] if doc else ""))

    def enum(self, parameter):
        """The constants that the doc of an int32_t names; none if the parameter is not a choice among constants."""
        named = [n for n in re.findall(r"PLIM_[A-Z_0-9]+", parameter.doc) if n in self.constants]
        if "from" in parameter.doc and len(named) == 2:
            return range(self.constants[named[0]], self.constants[named[1]] + 1)
        return [self.constants[n] for n in named]


if __name__ == "__main__":
    header = Header()
    for f in header.functions:
        print(f.result, f.name, [(p.kind, p.type, p.name, p.length) for p in f.parameters])
    print(len(header.functions), "functions", header.handles, header.callbacks)
