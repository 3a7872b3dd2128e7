#!/usr/bin/env python3
"""Writes the reference of the C interface as one HTML page, from the comments of plimsoll.h: `make docs`.

    reference.py include/plimsoll.h target/docs/api/index.html

The page is reference.html, in which @NAME@ is replaced; it is self-contained. The header is refused if a function, type or
constant has no description, a parameter is undocumented or unknown, a result is not described, or a name is not declared.
"""

import html
import re
import sys
from pathlib import Path
from typing import NamedTuple

# Titles and introductions by the word behind plim_. A word that is missing here is its own title. Names without a noun belong
# to "library".
LIBRARY = "library"
NOUNS = {
    LIBRARY: ("Library", "Version, instruction set, errors."),
    "graph": ("Graph", "Edges, features, labels and splits."),
    "model": ("Model", "A graph convolutional network and its parameters."),
    "estimator": ("Estimator", "From a batch of nodes to a gradient."),
    "optimizer": ("Optimizer", "From a gradient to new parameters."),
    "train": ("Training", "The loop over epochs, and its options."),
    "history": ("History", "What training recorded."),
    "bound": ("Bounds", "What wrong gradients cost SGD."),
    "sample": ("Sample sizes", "How many draws suffice, by formula."),
    "probe": ("Probe options", "How gradients are measured."),
    "tail": ("Tail", "How wrong an estimator's gradients are."),
    "plan": ("Plan", "The smallest sample that is right enough, and whether it pays."),
}
SAME = {"progress": "train", "monitor": "train", "log": "train", "split": "graph", "normalization": "graph",
        "release": "graph", "confusion": "model", "distribution": "estimator",
        "property": "estimator", "schedule": "optimizer", "oracle": "optimizer", "status": LIBRARY, "error": LIBRARY,
        "ok": LIBRARY, "version": LIBRARY, "isa": LIBRARY, "last": LIBRARY}


class Item(NamedTuple):
    kind: str        # "function", "type" or "constant"
    name: str
    summary: str
    details: list    # paragraphs
    params: list     # (name, text)
    returns: str
    code: str        # declaration
    value: str       # of a constant
    fields: list     # (declaration, text) of a struct


class Malformed(Exception):
    pass


def comment_text(raw):
    return [re.sub(r"^\s*\* ?", "", line).rstrip() for line in raw.strip().splitlines()]


def parse_comment(raw):
    """Summary, paragraphs, parameters, result."""
    paragraphs, params, returns, current = [[]], [], [], None
    for line in comment_text(raw):
        if match := re.match(r"@param (\w+)\s+(.*)", line):
            params.append((match[1], [match[2]]))
            current = params[-1][1]
        elif match := re.match(r"@return (.*)", line):
            current = returns
            current.append(match[1])
        elif line.startswith("@"):
            raise Malformed(f"unknown command {line.split()[0]}")
        elif not line:
            current = None
            paragraphs.append([])
        elif line.startswith("- "):
            paragraphs.append([line])
        else:
            (paragraphs[-1] if current is None else current).append(line.strip())
    paragraphs = [" ".join(p) for p in paragraphs if p]
    return (paragraphs[0] if paragraphs else "", paragraphs[1:],
            [(name, " ".join(text)) for name, text in params], " ".join(returns))


def parse(header):
    """The introduction and every item, in the order of the header."""
    intro = re.match(r"/\*\*(.*?)\*/", header, re.S)
    items, problems = [], []
    body = header[intro.end():]
    # A comment and the declaration after it. A struct ends at its "} name;".
    pattern = re.compile(
        r"(?:/\*\*(?P<doc>(?:(?!\*/).)*?)\*/\n)?"
        r"(?P<code>#define PLIM_\w+ [^\n]+|typedef struct plim_\w+ \{.*?\n\} \w+;|typedef [^;{]*;|"
        r"^[\w *]+?\bplim_\w+\([^;]*\);)", re.S | re.M)
    for match in pattern.finditer(body):
        code, doc = match["code"], match["doc"]
        if define := re.match(r"#define (PLIM_\w+) (.+)", code):
            name, kind = define[1], "constant"
            if name.startswith("PLIM_VERSION") and doc is None:
                doc = " Part of the version of this header."
        elif code.startswith("typedef"):
            kind, name = "type", (re.search(r"\(\*(\w+)\)", code) or re.search(r"(\w+);$", code))[1]
        else:
            kind, name = "function", re.search(r"\b(plim_\w+)\(", code)[1]
        try:
            items.append(make_item(kind, name, doc, code))
        except Malformed as problem:
            problems.append(f"{name}: {problem}")
    return comment_text(intro[1]), items, problems


def make_item(kind, name, doc, code):
    if doc is None or not doc.strip(" *\n"):
        raise Malformed("has no description")
    summary, details, params, returns = parse_comment(doc)
    fields, value = [], ""
    if kind == "constant":
        value = code.split(None, 2)[2]
    if kind == "type" and "{" in code:
        for field in re.finditer(r"/\*\*(.*?)\*/\s*([^;/]*;)", code, re.S):
            fields.append((field[2], " ".join(line for line in comment_text(field[1]) if line)))
        declared = re.findall(r"^\s{4}\w[^*/;]*;", code, re.M)
        if len(fields) != len(declared):
            raise Malformed("a field has no description")
        code = re.sub(r"\s*/\*\*.*?\*/", "", code, flags=re.S)
    if kind == "function":
        wanted = [parameter_name(text) for text in parameters(code)]
        documented = [parameter for parameter, _ in params]
        for parameter in wanted:
            if parameter not in documented:
                raise Malformed(f"no @param {parameter}")
        for parameter in documented:
            if parameter not in wanted:
                raise Malformed(f"@param {parameter} is not a parameter")
        if documented != wanted:
            raise Malformed("the @param lines and the parameters differ in order")
        # A function that returns a text says in its summary what that is.
        if not returns and not re.match(r"void |const char \*", code):
            raise Malformed("no @return")
    return Item(kind, name, summary, details, params, returns, code, value, fields)


def parameters(code):
    inside = re.search(r"plim_\w+\((.*)\);", code, re.S)[1]
    return [] if inside.strip() == "void" else [" ".join(part.split()) for part in inside.split(",")]


def parameter_name(text):
    return re.search(r"(\w+)$", text)[1]


def noun(name):
    word = name.split("_")[1].lower()
    return SAME.get(word, word)


class Page:
    """Turns items into HTML."""

    def __init__(self, intro, items, version):
        self.intro, self.items, self.version = intro, items, version
        self.names = {item.name for item in items}
        self.problems = []
        self.where = ""
        self.groups = {}
        for item in items:
            self.groups.setdefault(noun(item.name), []).append(item)
        # In the order of the functions; the header declares constants and types before them, in another order.
        functions = [noun(item.name) for item in items if item.kind == "function"]
        self.order = list(dict.fromkeys([LIBRARY, *functions, *self.groups]))

    def prose(self, text):
        """Text with its code in <code> and its names as links."""
        parts = re.split(r"`([^`]*)`", text)
        return "".join(f"<code>{self.link(part)}</code>" if i % 2 else self.link(part) for i, part in enumerate(parts))

    def link(self, text):
        def one(match):
            name = match[1]
            if name == self.where:
                return f"<b>{name}</b>{match[2]}"
            if name in self.names:
                return f'<a href="#{name}">{name}{match[2]}</a>'
            if name.endswith("_") and any(other.startswith(name) for other in self.names):
                return match[0]
            if name not in ("plim_x", "plim_x_free", "PLIM_ISA"):
                self.problems.append(f"{self.where}: {name} is not declared")
            return match[0]
        return re.sub(r"\b((?:plim|PLIM)_\w+)((?:\(\))?)", one, html.escape(text, quote=False))

    def declaration(self, item):
        if item.kind == "function":
            head = re.match(r"(.*?)\bplim_\w+\(", item.code, re.S)[1]
            inside = parameters(item.code)
            name = f'<b>{item.name}</b>'
            if not inside:
                return f"{self.link(head)}{name}(void);"
            shown = [self.link(text) for text in inside]
            one = f"{head}{item.name}({', '.join(inside)});"
            if len(one) <= 76:
                return f"{self.link(head)}{name}({', '.join(shown)});"
            return f"{self.link(head)}{name}(\n    " + ",\n    ".join(shown) + ");"
        return self.link(item.code)

    def sharing(self, item):
        """Which handles other threads may use during the call; the signature says it."""
        if item.kind != "function" or item.name.endswith("_free"):
            return ""
        alone, shared = [], []
        for text in parameters(item.code):
            if match := re.match(r"(const )?plim_\w+ \*(\w+)$", text):
                name = match[2]
                if not re.match(r"(const )?plim_(progress|oracle|status)\b", text):
                    (shared if match[1] else alone).append(f"<code>{name}</code>")
        sentences = []
        if alone:
            sentences.append("requires exclusive use of " + " and ".join(alone))
        if shared:
            sentences.append("other threads may use " + " and ".join(shared) + " at the same time")
        return f'<p class="sharing">{"; ".join(sentences).capitalize()}.</p>' if sentences else ""

    def entry(self, item):
        self.where = item.name
        out = [f'<article class="{item.kind}" id="{item.name}">',
               f'<h3><a href="#{item.name}">{item.name}</a></h3>',
               f'<pre class="signature"><code>{self.declaration(item)}</code></pre>',
               f'<p class="summary">{self.prose(item.summary)}</p>']
        out += [f"<p>{self.prose(text)}</p>" for text in item.details]
        rows = item.params or [(re.search(r"(\w+);$", code)[1], text) for code, text in item.fields]
        if rows:
            out.append('<dl class="params">')
            out += [f"<div><dt><code>{name}</code></dt><dd>{self.prose(text)}</dd></div>" for name, text in rows]
            out.append("</dl>")
        if item.returns:
            out.append(f'<p class="returns"><span>Returns</span> {self.prose(item.returns)}</p>')
        out.append(self.sharing(item))
        if item.kind == "type":
            out.append(self.users(item.name))
        out.append("</article>")
        return "\n".join(part for part in out if part)

    def users(self, name):
        """The functions with a parameter of this type."""
        found = [i.name for i in self.items if i.kind == "function" and re.search(rf"\b{name}\b", i.code)]
        if not found or name == "plim_status":
            return ""
        links = ", ".join(f'<a href="#{other}">{other}</a>' for other in found)
        return f'<details class="users"><summary>Used by {len(found)} function{"s" * (len(found) > 1)}</summary>' \
               f"<p>{links}</p></details>"

    def constants(self, items):
        rows = []
        for item in items:
            self.where = item.name
            text = " ".join([item.summary, *item.details])
            rows.append(f'<tr class="constant" id="{item.name}"><th scope="row"><a href="#{item.name}"><code>{item.name}'
                        f"</code></a></th><td><code>{html.escape(item.value)}</code></td><td>{self.prose(text)}</td></tr>")
        return '<div class="scroll"><table><thead><tr><th>Constant</th><th>Value</th><th>Meaning</th></tr></thead>' \
               "<tbody>\n" + "\n".join(rows) + "\n</tbody></table></div>"

    def introduction(self):
        """The header's first comment: paragraphs, the program, and the rules by their first words."""
        self.where = "the introduction"
        out, paragraph, program = [], [], []

        def flush():
            text = " ".join(paragraph)
            paragraph.clear()
            rule = re.match(r"([A-Z]\w+(?: [a-z]+)?)\. (.*)", text)
            if rule and len(rule[1]) < 16:
                out.append(f'<div class="rule"><dt>{rule[1]}</dt><dd>{self.prose(rule[2])}</dd></div>')
            elif text:
                out.append(f"<p>{self.prose(text)}</p>")
        for line in [*self.intro, ""]:
            if line.startswith("@file"):
                continue
            if line.startswith("    ") or program and not line:
                program.append(line[4:])
            else:
                if program:
                    out.append(f'<pre class="program"><code>{self.link(chr(10).join(program).rstrip())}</code></pre>')
                    program.clear()
                if line:
                    paragraph.append(line.strip())
                    continue
            flush()
        text = "\n".join(out)
        rules = text.index('<div class="rule">')
        return f'{text[:rules]}<dl class="rules">{text[rules:]}</dl>'

    def section(self, key):
        items = self.groups[key]
        title, about = NOUNS.get(key, (key.capitalize(), ""))
        by_kind = {kind: [i for i in items if i.kind == kind] for kind in ("type", "function", "constant")}
        out = [f'<section id="{key}"><h2><a href="#{key}">{title}</a></h2>', f"<p>{about}</p>" if about else ""]
        out += [self.entry(item) for item in by_kind["type"] + by_kind["function"]]
        if by_kind["constant"]:
            out.append(self.constants(by_kind["constant"]))
        out.append("</section>")
        return "\n".join(out)

    def contents(self):
        out = []
        for key in self.order:
            functions = [i for i in self.groups[key] if i.kind == "function"]
            title = NOUNS.get(key, (key.capitalize(), ""))[0]
            out.append(f'<details><summary><a href="#{key}">{title}</a> <span>{len(functions)}</span></summary><ul>')
            out += [f'<li><a href="#{i.name}">{short(i.name, key)}</a></li>' for i in functions]
            out.append("</ul></details>")
        return "\n".join(out)

    def text(self):
        count = sum(item.kind == "function" for item in self.items)
        parts = {"TITLE": f"Plimsoll {self.version}: the C interface", "VERSION": self.version, "COUNT": str(count),
                 "CONTENTS": self.contents(), "INTRODUCTION": self.introduction(),
                 "SECTIONS": "\n".join(self.section(key) for key in self.order)}
        template = Path(__file__).with_name("reference.html").read_text(encoding="utf-8")
        return re.sub(r"@([A-Z]+)@", lambda match: parts[match[1]], template)


def short(name, key):
    """The name of a function in the contents, without its noun. It may break after each _."""
    return name.removeprefix("plim_").removeprefix(key + "_").replace("_", "_<wbr>")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, target = map(Path, sys.argv[1:])
    intro, items, problems = parse(source.read_text(encoding="utf-8"))
    version = next(item.value.strip('"') for item in items if item.name == "PLIM_VERSION")
    page = Page(intro, items, version)
    text = page.text()
    problems += page.problems
    if problems:
        sys.exit(f"{source}:\n" + "\n".join(f"  {problem}" for problem in problems))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    functions = sum(item.kind == "function" for item in items)
    print(f"{target}: {functions} functions, {len(items) - functions} types and constants")


if __name__ == "__main__":
    main()
