"""Seconds and memory to build a large graph from arrays."""
import statistics

from . import environment, report


def run(options):
    environment.build_library()
    program = environment.compile_c("build_graph")
    sizes = [(100_000, 1_000_000)] if options.quick else [(1_000_000, 10_000_000), (10_000_000, 100_000_000)]
    rounds = options.rounds or (1 if options.quick else 3)
    rows, lines = [], []
    for n, m in sizes:
        command = [program, f"nodes={n}", f"edges={m}"]
        found = [r for r in (environment.answer(command, quiet=False) for _ in range(rounds)) if r]
        if not found:
            continue
        r = dict(found[0], seconds=statistics.median(f["seconds"] for f in found))
        # Offsets, columns and values of A + I.
        csr = 8 * (n + 1) + 8 * (2 * r["unique_edges"] + n)
        r.update(csr_bytes=csr, peak_bytes_per_edge=r["peak_bytes"] / m, peak_over_csr=r["peak_bytes"] / csr,
                 kept_over_csr=r["kept_bytes"] / csr)
        rows.append(r)
        lines.append([f"{n:,} nodes, {m:,} edges", report.number(r["seconds"]),
                      report.number(r["peak_bytes_per_edge"]), report.number(csr / 1e6),
                      report.number(r["peak_over_csr"]) + "×", report.number(r["kept_over_csr"]) + "×"])
    report.write_csv(options, "build", rows)
    header = ["", "seconds", "peak bytes per edge", "finished CSR, MB", "peak over CSR", "kept over CSR"]
    report.write_part(options, "build", f"""## Building a graph

`plim_graph_from_edges` on arrays of random edges. The peak is the largest resident size during the call, without the memory
before it, which includes the caller's arrays. The finished CSR is Â with 2·edges + nodes entries: 8 bytes per offset, 4 per column, 4
per value. The target is a peak of at most 2.2× the finished CSR.

{report.table(header, lines)}
{report.provenance()}""")
