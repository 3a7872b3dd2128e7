"""Checks a report: it has every cell and figure, Table 1 is right, and curves approach the unbiased one as samples grow.

    python paper/check.py REPORT_DIRECTORY
"""
import csv
import re
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

import experiments as ex

FIGURES = ["figure1", "figure2", "figure3", "figure4", "bounds", "time1", "time2", "layers", "distributions"]


def rows(folder, name):
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def check_table1(folder, data):
    found = {(r["data"], int(r["layers"]), r["algorithm"]): r for r in rows(folder, "table1")}
    wanted = [(d, layers, ex.name_of(a)) for d, layers in ex.TABLE1 if d in data for a in ex.TABLE1[d, layers]]
    assert sorted(found) == sorted(wanted), f"cells of Table 1: {sorted(set(found) ^ set(wanted))}"
    for key, row in found.items():
        mean, reference, deviation = (float(row[k]) for k in ("mean", "oracle_mean", "oracle_std"))
        # Three standard errors, and a point because the Mixture graph may be another one.
        limit = 1.0 + 3 * deviation / int(row["seeds"]) ** 0.5
        assert abs(mean - reference) <= limit, f"{key}: {mean} %, not within {limit:.2f} of {reference} %"
    return len(found)


def check_curves(folder, name, layers, data):
    last = {}
    for row in rows(folder, name):
        last[row["data"], row["algorithm"]] = float(row["train_loss"])
    for d in data:
        unbiased = last[d, "SGD unbiased"]
        excess = [last[d, ex.name_of(size)] - unbiased for size in ex.SIZES[d]]
        assert all(small > large for small, large in zip(excess, excess[1:])) and excess[-1] > -0.02, \
            f"{d}, {layers} layers: the loss exceeds the unbiased one by {excess}"


def check_tails(folder, data):
    curves = {}
    for row in rows(folder, "figure3"):
        curves.setdefault((row["data"], row["layers"], row["delta"]), []).append(row)
    assert len(curves) == len(data) * len(ex.LAYERS) * len(ex.TAIL_DELTAS), "a curve of Figure 3 is missing"
    for key, curve in curves.items():
        for small, large in zip(curve, curve[1:]):
            assert float(large["lower"]) <= float(small["upper"]), f"{key}: misses grow with the sample: {small}, {large}"


def check_times(folder):
    for row in rows(folder, "table4"):
        assert float(row["seconds"]) > 0 and float(row["seconds_without_cache"]) > 0, row


def check_bounds(folder):
    for row in rows(folder, "bounds"):
        assert float(row["largest"]) <= float(row["bound"]), f"above its bound: {row}"


def main():
    folder = Path(sys.argv[1])
    data = sorted({row["data"] for row in rows(folder, "table1")}, key=ex.DATA.index)
    cells = check_table1(folder, data)
    check_curves(folder, "figure1", 1, data)
    check_curves(folder, "figure2", 2, data)
    check_tails(folder, data)
    check_times(folder)
    check_bounds(folder)
    page = (folder / "index.html").read_text(encoding="utf-8")
    for name in FIGURES:
        xml.parse(folder / f"{name}.svg")
        assert f"{name}.csv" in page and (folder / f"{name}.csv").stat().st_size > 0, name
    outside = [url for url in re.findall(r'(?:src|href)="([^"]*)"', page) if not re.match(r"#|data:", url)]
    assert not outside, f"the page refers to {outside[:3]}"
    print(f"{folder / 'index.html'}: {cells} cells, {len(FIGURES)} figures of {', '.join(data)} are as they should be")


if __name__ == "__main__":
    main()
