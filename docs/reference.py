"""Writes the reference of the C interface as one HTML page, from the comments of plimsoll.h.

    python3 docs/reference.py include/plimsoll.h target/docs/api/index.html

Refuses a header in which a function, type or constant has no description, a parameter is not documented or is not there,
an answer is not described, or a name leads nowhere. The page needs nothing but a browser.
"""

import html
import re
import sys
from pathlib import Path
from typing import NamedTuple

# Titles and introductions by the word behind plim_; one that is not named here gets its own name for a title. What has no
# noun of its own is "library".
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
    """Summary, paragraphs, parameters, answer."""
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
    # A comment and what follows it, up to the end of the declaration. A struct ends at its "} name;".
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
                raise Malformed(f"@param {parameter} is no parameter")
        if documented != wanted:
            raise Malformed("the @param lines are in another order than the parameters")
        # A text says by itself what it gives.
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
        # As their functions come in the header, where constants and types come before them in another order.
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
                self.problems.append(f"{self.where}: {name} leads nowhere")
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
        """Who may call at the same time, as the signature says."""
        if item.kind != "function" or item.name.endswith("_free"):
            return ""
        alone, shared = [], []
        for text in parameters(item.code):
            if match := re.match(r"(const )?plim_\w+ \*(\w+)$", text):
                name = match[2]
                if not re.match(r"(const )?plim_(progress|oracle|status)\b", text):
                    (shared if match[1] else alone).append(f"<code>{name}</code>")
        said = []
        if alone:
            said.append("needs " + " and ".join(alone) + " to itself")
        if shared:
            said.append("shares " + " and ".join(shared) + " with other threads")
        return f'<p class="sharing">{"; ".join(said).capitalize()}.</p>' if said else ""

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
        """The functions that take a type."""
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
                 "SECTIONS": "\n".join(self.section(key) for key in self.order), "STYLE": STYLE, "SCRIPT": SCRIPT}
        return re.sub(r"@(\w+)@", lambda match: parts[match[1]], TEMPLATE)


def short(name, key):
    """What the contents call a function under its noun; it may break after each _."""
    return name.removeprefix("plim_").removeprefix(key + "_").replace("_", "_<wbr>")


TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>@TITLE@</title>
<style>@STYLE@</style>
</head>
<body>
<a class="skip" href="#top">To the text</a>
<header>
<a class="home" href="#top"><svg viewBox="0 0 32 32" aria-hidden="true"><circle cx="16" cy="16" r="9"/><path d="M2 16h28"/></svg>
<strong>Plimsoll</strong> <span>C interface @VERSION@</span></a>
<form role="search"><input id="search" type="search" placeholder="Search @COUNT@ functions ( / )" autocomplete="off"
 aria-label="Search functions, types and constants"><output for="search"></output></form>
</header>
<nav aria-label="Contents">
@CONTENTS@
</nav>
<main id="top">
<h1>plimsoll.h</h1>
@INTRODUCTION@
@SECTIONS@
<p class="nothing" hidden>Nothing has that in its name or first sentence.</p>
</main>
<script>@SCRIPT@</script>
</body>
</html>
"""

STYLE = """
:root { --page: #fff; --panel: #f5f6f8; --line: #dde1e6; --ink: #1b1f24; --soft: #59636e; --link: #0a5ea8; --mark: #c8452c;
  --code: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace; }
@media (prefers-color-scheme: dark) { :root { --page: #12161b; --panel: #1a2027; --line: #2d3640; --ink: #e4e8ec;
  --soft: #9aa6b2; --link: #7cb8f2; --mark: #f08a6c; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 4.5rem; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto,
  "Helvetica Neue", Arial, sans-serif; display: grid; grid-template: auto 1fr / 15.5rem minmax(0, 1fr); }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
code, pre { font-family: var(--code); font-size: .875em; }
pre code { font-size: 1em; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; z-index: 3; background: var(--page); padding: .5rem; }
header { grid-column: 1 / -1; position: sticky; top: 0; z-index: 2; display: flex; gap: 1rem; align-items: center;
  padding: .6rem 1.25rem; background: var(--page); border-bottom: 1px solid var(--line); }
.home { color: inherit; display: flex; align-items: center; gap: .5rem; white-space: nowrap; }
.home span { color: var(--soft); }
.home svg { width: 1.6rem; height: 1.6rem; fill: none; stroke: var(--mark); stroke-width: 2.6; }
form { margin-left: auto; flex: 0 1 26rem; position: relative; }
input { width: 100%; font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--line);
  border-radius: .4rem; padding: .35rem .75rem; }
output { position: absolute; right: 2.2rem; top: .42rem; color: var(--soft); font-size: .85rem; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
nav { position: sticky; top: 3.4rem; align-self: start; max-height: calc(100vh - 3.4rem); overflow: auto;
  padding: 1.25rem .5rem 2rem 1.25rem; font-size: .9rem; }
nav summary { padding: .2rem 0; cursor: pointer; color: var(--soft); }
nav summary a { font-weight: 600; color: var(--ink); }
nav summary span { font-size: .8rem; }
nav ul { list-style: none; margin: 0 0 .5rem; padding-left: 1.1rem; }
nav [aria-current] { color: var(--mark); }
nav li { overflow-wrap: anywhere; line-height: 1.4; padding: .12rem 0; }
main { padding: 1.5rem clamp(1rem, 4vw, 3rem) 6rem; max-width: 58rem;
  border-left: 1px solid var(--line); }
h1 { font-size: 2rem; margin: 0 0 .75rem; letter-spacing: -.01em; }
h2 { font-size: 1.5rem; margin: 3.5rem 0 .25rem; padding-bottom: .35rem; border-bottom: 2px solid var(--mark); }
h2 a, h3 a { color: inherit; }
h2 + p { color: var(--soft); margin-top: .5rem; }
h3 { font: 600 1.05rem/1.4 var(--code); margin: 0 0 .6rem; overflow-wrap: anywhere; }
article { padding: 1.5rem 0 1rem; border-bottom: 1px solid var(--line); }
article:target { box-shadow: -.75rem 0 0 var(--page), -1rem 0 0 var(--mark); }
tr:target th { box-shadow: inset 3px 0 0 var(--mark); }
p { margin: .6rem 0; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: .4rem; padding: .7rem .9rem; overflow-x: auto;
  line-height: 1.5; margin: .6rem 0; }
dl { margin: .8rem 0; }
dl.params > div, .rule { display: grid; grid-template-columns: minmax(8rem, 11rem) minmax(0, 1fr); gap: 1rem;
  padding: .3rem 0; border-top: 1px solid var(--line); }
dt code { overflow-wrap: anywhere; }
dl.params > div { font-size: .95rem; }
dd { margin: 0; }
.rule dt { font-weight: 600; }
.returns > span { font-weight: 600; margin-right: .35rem; }
.returns { font-size: .95rem; }
.sharing, .users { color: var(--soft); font-size: .875rem; }
.users p { overflow-wrap: anywhere; }
.scroll { overflow-x: auto; margin-top: 1.5rem; }
table { border-collapse: collapse; width: 100%; font-size: .95rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .75rem .4rem .5rem; border-bottom: 1px solid var(--line); }
tbody th { font-weight: 400; white-space: nowrap; }
thead th { color: var(--soft); font-size: .85rem; }
[hidden] { display: none !important; }
@media (max-width: 56rem) {
  body { display: block; }
  header { flex-wrap: wrap; gap: .5rem; padding: .5rem 1rem; }
  form { flex: 1 0 100%; margin: 0; }
  html { scroll-padding-top: 6.5rem; }
  main { border: 0; }
  nav { position: static; max-height: none; border-bottom: 1px solid var(--line); padding: 1rem; columns: 2; }
  nav details { break-inside: avoid; }
  dl.params > div, .rule { grid-template-columns: 1fr; gap: 0; }
  .signature { white-space: pre-wrap; }
  tbody tr { display: block; padding: .5rem; border-bottom: 1px solid var(--line); }
  thead { display: none; }
  tbody th, tbody td { display: inline-block; border: 0; padding: 0 .5rem 0 0; white-space: normal; overflow-wrap: anywhere; }
  tbody td:last-child { display: block; }
}
@media print { header, nav { display: none; } body { display: block; } }
"""

SCRIPT = """
const search = document.getElementById("search"), said = document.querySelector("output");
const entries = [...document.querySelectorAll("article, tr.constant")].map(element => ({ element,
  text: (element.id + " " + (element.querySelector(".summary") || element).textContent).toLowerCase() }));
const introduction = [...document.querySelectorAll("main > :not(section):not(.nothing)")];
const sections = [...document.querySelectorAll("section")];
function find() {
  const words = search.value.toLowerCase().split(/[\\s()*]+/).filter(word => word);
  let found = 0;
  for (const { element, text } of entries) {
    element.hidden = !words.every(word => text.includes(word));
    found += !element.hidden;
  }
  for (const element of introduction) element.hidden = words.length > 0;
  for (const table of document.querySelectorAll(".scroll")) table.hidden = !table.querySelector("tbody tr:not([hidden])");
  for (const section of sections) section.hidden = !section.querySelector("article:not([hidden]), tbody tr:not([hidden])");
  document.querySelector(".nothing").hidden = found > 0;
  said.value = words.length ? found : "";
}
search.addEventListener("input", () => { find(); scrollTo(0, 0); });
// The contents open where the reader is; a link to what the search hides ends the search.
function arrive() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (const link of document.querySelectorAll("nav [aria-current]")) link.removeAttribute("aria-current");
  const link = target && document.querySelector(`nav a[href="#${target.id}"]`);
  if (link) { link.setAttribute("aria-current", "true"); link.closest("details").open = matchMedia("(min-width: 56rem)").matches; }
  if (search.value && target && !target.offsetParent) { search.value = ""; find(); target.scrollIntoView(); }
}
addEventListener("hashchange", arrive);
arrive();
search.form.addEventListener("submit", event => {
  event.preventDefault();
  const first = entries.find(({ element }) => !element.hidden);
  if (search.value && first) { search.value = ""; find(); location.hash = first.element.id; first.element.scrollIntoView(); }
});
addEventListener("keydown", event => {
  if (event.key === "/" && document.activeElement !== search) { event.preventDefault(); search.focus(); }
  if (event.key === "Escape" && search.value) { search.value = ""; find(); }
});
"""


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
