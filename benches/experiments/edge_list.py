"""Seconds to read a large edge list, beside a plain pass over the file."""
import statistics

from . import environment, report


def run(options):
    environment.build_library()
    program = environment.compile_c("edge_list")
    size = 20_000_000 if options.quick else 200_000_000
    rounds = options.rounds or (1 if options.quick else 5)
    rows, lines = [], []
    for ids, target in (("numbers", 2), ("names", 4)):
        path = environment.WORK / f"edges-{ids}.csv"
        environment.run([program, f"write={ids}", f"path={path}", f"bytes={size}"])
        pairs = []
        for _ in range(rounds):  # in turn, because the machine varies
            by_hand = environment.answer([program, "by=hand", f"path={path}"], quiet=False)
            library = environment.answer([program, "by=library", f"path={path}", f"names={int(ids == 'names')}"], quiet=False)
            if by_hand and library:
                pairs.append((by_hand, library))
        path.unlink()
        if not pairs:
            continue
        hand = statistics.median(pair[0]["seconds"] for pair in pairs)
        whole = statistics.median(pair[1]["seconds"] for pair in pairs)
        building = statistics.median(pair[1]["building_seconds"] for pair in pairs)
        found = pairs[0][1]
        wall = [statistics.median(pair[i]["wall_seconds"] for pair in pairs) for i in (0, 1)]
        rows.append({"ids": ids, "bytes": size, "lines": found["lines"], "nodes": found["nodes"], "rounds": len(pairs),
                     "by_hand_seconds": hand, "seconds": whole, "building_seconds": building,
                     "by_hand_wall_seconds": wall[0], "wall_seconds": wall[1],
                     "over_by_hand": whole / hand, "reading_over_by_hand": (whole - building) / hand, "target": target,
                     "peak_bytes": found["peak_bytes"]})
        lines.append([f"{ids}, {found['lines']:,} lines", *map(report.number, (hand, whole, whole - building)),
                      report.number((whole - building) / hand) + "×", report.number(whole / hand) + "×", f"{target}×",
                      report.number(size / whole / 1e6)])
    report.write_csv(options, "edge_list", rows)
    header = ["ids", "plain pass, s", "whole call, s", "without building, s", "reading over plain", "call over plain",
              "target", "MB per second"]
    report.write_part(options, "edge_list", f"""## Reading an edge list

`plim_graph_from_edge_list_with` on {size / 1e6:.0f} MB of CSV, `source,target,amount,time`, with a million accounts. A plain pass
counts the lines and calls `strtof` for every field, on one thread ([edge_list.c](../../benches/c/edge_list.c)); `strtof` stops early
at ids that are names. Seconds are of the processor, since both are single threads. The whole call includes the building of the graph, which is timed alone by `plim_graph_from_edges` on the same
edges. The file is in the page cache. The target is for the reading.

{report.table(header, lines)}
{report.provenance()}""")
