"""The cost of one sampled step as the graph grows with constant degrees."""
from . import environment, report

DISTRIBUTIONS = ["neighbors", "ladies", "uniform"]


def run(options):
    environment.build_library()
    program = environment.compile_c("steps")
    sizes = [10_000, 100_000] if options.quick else [10_000, 100_000, 1_000_000, 10_000_000]
    steps = 20 if options.quick else 200
    if not environment.VALGRIND:
        environment.loudly("NOT COUNTED: valgrind is not installed, instructions go uncounted")
    rows = []
    for distribution in DISTRIBUTIONS:
        for n in sizes:
            command = [program, f"nodes={n}", f"distribution={distribution}"]
            wall = environment.answer([*command, f"steps={5 * steps}"])
            counted, instructions = max(steps // 4, 10), None
            if environment.VALGRIND:
                total, _ = environment.count_instructions([*command, f"steps={counted}"])
                instructions = total / counted if total else None
            if not wall:
                continue
            rows.append(dict(distribution=distribution, nodes=n, edges=wall["edges"], draws=wall["draws"],
                             touched=wall["touched"], instructions_per_step=instructions, cold_us=1e6 * wall["cold_s"],
                             warm_us=1e6 * wall["warm_s"], relative_error=wall["error"]))
            environment.say(str(rows[-1]))
    report.write_csv(options, "scaling", rows)
    lines, spreads = [], []
    for distribution in DISTRIBUTIONS:
        mine = [r for r in rows if r["distribution"] == distribution]
        first = next((r["instructions_per_step"] for r in mine), None)
        counts = [r["instructions_per_step"] for r in mine if r["instructions_per_step"]]
        if counts:
            spreads.append(f"{distribution} {100 * (max(counts) / min(counts) - 1):.1f} %")
        for r in mine:
            count = r["instructions_per_step"]
            lines.append([f"{distribution}, n = {r['nodes']:,}", f"{r['draws']:,}", f"{count:,.0f}" if count else "–",
                          f"{100 * (count / first - 1):+.1f} %" if count and first else "–",
                          report.number(r["cold_us"]), report.number(r["warm_us"]), report.number(r["relative_error"])])
    header = ["", "draws", "instructions", "against the smallest graph", "µs", "µs, again", "relative error"]
    report.write_part(options, "scaling", f"""## One step, as the graph grows

The graphs are like Mixture, with 10 neighbours per node on average. A step is one gradient of a batch of 256 and one update: two
layers of width 16, exact ÂX, draws at the hidden layer. The number of uniform draws is chosen so that 100 fall on S, the columns that
the batch touches.

- Instructions are counted by callgrind with AVX2 kernels. The largest spread (most over least): {', '.join(spreads) or 'not counted'}.
  The target is less than 10 %.
- Time is the median of single steps, each with its own batch. "Again" repeats the step with the same draws right after. It executes
  the same instructions with its memory in the caches and the TLB, so the difference is the cost of misses.
- The error is that of the gradient against the batch's exact gradient, relative to its norm (median).

{report.table(header, lines)}
{report.provenance()}""")
