#!/usr/bin/env python3
"""Draws docs/architecture/step.svg: one training step of a two-layer GCN with the consistent estimator.

    python3 docs/architecture/step.py

Lanes are modules, from `train` at the top down to `kernel`; time runs to the right.
"""
from html import escape
from pathlib import Path

LANES = ["train", "estimator", "optim", "nn", "sample", "graph", "kernel"]
COLOURS = {"train": "#CC79A7", "estimator": "#0072B2", "optim": "#D55E00", "nn": "#009E73", "sample": "#E69F00",
           "graph": "#56B4E9", "kernel": "#666666"}
LEFT, TOP, COLUMN, LANE, BOX = 96, 34, 158, 84, 146

# name: (lane, column, columns wide, title, lines)
BOXES = {
    "batch": ("train", 0, 1, "1 batch", ["next 256 ids of the", "shuffled training nodes"]),
    "key": ("estimator", 1, 1, "2 key", ["(seed, step) numbers", "every draw of the step"]),
    "cut": ("sample", 2, 1, "3 draw and cut", ["S: neighbours of batch", "B: drawn columns of Â"]),
    "rows": ("graph", 2, 2, "rows of Â, rows of ÂX", ["ÂX is computed once per graph and cached;", "if it is too large, its rows are computed on demand"]),
    "forward": ("nn", 3, 1, "4 forward", ["H = relu(ÂX·W₀)", "Z = B·(H·W₁)"]),
    "loss": ("estimator", 4, 1, "5 loss", ["cross-entropy of the", "batch; ∂Z replaces Z"]),
    "backward": ("nn", 5, 1, "6 backward", ["D = Bᵀ·∂Z,  g₁ = Hᵀ·D", "g₀ = (ÂX)ᵀ·(DW₁ᵀ∘[H>0])"]),
    "gradient": ("estimator", 6, 1, "7 gradient", ["one array: g₀, g₁ + λW;", "step counter + 1"]),
    "update": ("optim", 7, 1, "8 update", ["w ← Π(w − γ·g) or Adam;", "checked to stay finite"]),
    "next": ("train", 8, 1, "9 next", ["progress, next batch;", "evaluation per epoch"]),
    "ahead": ("sample", 4, 2, "with 2 threads: cut the next batch", ["beside the products of this one; draws are numbered,", "so it does not matter when they are made"]),
    "kernels": ("kernel", 2, 6, "one table of kernels per instruction set; work is split by its shape alone, so no number of threads "
                "changes a bit", ["draw: chacha8, marked_entries    ·    forward: sparse_times, dense_times    ·    "
                                  "loss: cross_entropy", "backward: sparse_transposed_times, dense_transposed_times    ·    "
                                                         "update: descend, adam"]),
}
ARROWS = [("batch", "key"), ("key", "cut"), ("cut", "forward"), ("forward", "loss"), ("loss", "backward"),
          ("backward", "gradient"), ("gradient", "update"), ("update", "next")]


def place(name):
    """Left, top, width and height of a box."""
    lane, column, wide, *_ = BOXES[name]
    width = (wide - 1) * COLUMN + BOX
    return LEFT + column * COLUMN + 7, TOP + LANES.index(lane) * LANE + 9, width, LANE - 18


def text(x, y, words, size=11.5, weight="normal", fill="#222222", anchor="start"):
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" font-weight="{weight}" fill="{fill}" text-anchor="{anchor}">{escape(words)}</text>'


def box(name):
    lane, _, _, title, lines = BOXES[name]
    x, y, width, height = place(name)
    colour, dashed = COLOURS[lane], ' stroke-dasharray="5 3"' if name == "ahead" else ""
    yield f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="5" fill="#ffffff" stroke="{colour}" stroke-width="1.6"{dashed}/>'
    yield text(x + 8, y + 18, title, 12.5, "bold")
    for i, line in enumerate(lines):
        yield text(x + 8, y + 36 + 15 * i, line, 10.2)


def arrow(a, b):
    """From the right edge of a box to the left edge of the next, or to its top or bottom if it is in the next column."""
    ax, ay, aw, ah = place(a)
    bx, by, bw, bh = place(b)
    start, end = (ax + aw, ay + ah / 2), (bx + 24, by if by > ay else by + bh)
    return f'<path d="M {start[0]} {start[1]:g} H {end[0]} V {end[1] + (-3 if by > ay else 3):g}" fill="none" stroke="#222222" stroke-width="1.5" marker-end="url(#tip)"/>'


def main():
    width, height = LEFT + 9 * COLUMN + 10, TOP + len(LANES) * LANE + 12
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
           'font-family="DejaVu Sans, Helvetica, Arial, sans-serif">',
           '<title>One training step of a two-layer GCN with the consistent estimator</title>',
           '<defs><marker id="tip" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
           '<path d="M 0 0 L 10 5 L 0 10 z" fill="#222222"/></marker></defs>',
           f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
           text(LEFT + 7, 20, "One training step of a two-layer GCN, consistent estimator with sizes {0, 400}", 14, "bold")]
    for i, lane in enumerate(LANES):
        y = TOP + i * LANE
        out.append(f'<rect x="6" y="{y}" width="{width - 12}" height="{LANE}" fill="{"#f4f4f4" if i % 2 == 0 else "#ffffff"}"/>')
        out.append(f'<rect x="6" y="{y}" width="5" height="{LANE}" fill="{COLOURS[lane]}"/>')
        out.append(text(20, y + LANE / 2 + 4, lane, 13, "bold"))
    for a, b in ARROWS:
        out.append(arrow(a, b))
    x, y, w, h = place("cut")
    out.append(f'<path d="M {x + 90} {place("rows")[1]} V {y + h + 3}" fill="none" stroke="#222222" stroke-width="1.5" marker-end="url(#tip)"/>')
    x, y, w, h = place("forward")
    out.append(f'<path d="M {x + 70} {place("rows")[1]} V {y + h + 3}" fill="none" stroke="#222222" stroke-width="1.5" marker-end="url(#tip)"/>')
    for name in BOXES:
        out.extend(box(name))
    out.append("</svg>")
    (Path(__file__).parent / "step.svg").write_text("\n".join(out) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
