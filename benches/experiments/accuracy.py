"""Seconds of training until the test accuracy reaches a bound, beside PyG's NeighborLoader."""
import math
import statistics
import sys

from . import environment, report

PYG = "PyG, fan-outs [10, 10]"
WANTED = {"Pubmed": 0.87, "Cora": 0.86}
STEPS = [0.1, 0.01]
OURS = {"400 uniform": ["sample=400", "distribution=0"], "400 neighbours": ["sample=400", "distribution=2"],
        "400 LADIES": ["sample=400", "distribution=3"], "3200 uniform": ["sample=3200", "distribution=0"],
        "unbiased": ["sample=unbiased"]}


def run(options):
    environment.build_library()
    program, cells = environment.compile_c("time_to_accuracy"), environment.compile_c("cells")
    sets = environment.data_sets(cells)
    seeds = range(2 if options.quick else options.rounds or 11)
    epochs = 10 if options.quick else 100
    rows = []
    for data, wanted in WANTED.items():
        if data not in sets:
            continue
        path, _ = sets[data]
        for step in STEPS:
            ours = [program, f"data={path}", f"accuracy={wanted}", f"step={step}", f"epochs={epochs}"]
            # 3200 draws are more than Cora has nodes.
            commands = {f"Plimsoll, {name}": [*ours, *words] for name, words in OURS.items()
                        if data == "Pubmed" or "3200" not in name}
            commands[PYG] = [sys.executable, environment.BENCHES / "peer_accuracy.py", path, "--accuracy", wanted,
                             "--lr", step, "--epochs", epochs]
            found = {name: [] for name in commands}
            for seed in seeds:
                for name, command in commands.items():
                    result = environment.answer(command + (["--seed", seed] if name == PYG else [f"seed={seed}"]))
                    if result:
                        found[name].append(result)
            for name, results in found.items():
                reached = sum(r["reached"] for r in results)
                row = dict(data=data, accuracy=wanted, step=step, engine=name, seeds=len(results), reached=reached,
                           seconds=None, epochs=None)
                if reached > len(results) / 2:
                    # A run that does not reach it counts as longer than all others.
                    for key in ("seconds", "epochs"):
                        row[key] = statistics.median(r[key] if r["reached"] else math.inf for r in results)
                rows.append(row)
                environment.say(str(rows[-1]))
    report.write_csv(options, "accuracy", rows)
    lines = []
    for r in rows:
        rival = next((q["seconds"] for q in rows
                      if q["engine"] == PYG and (q["data"], q["step"]) == (r["data"], r["step"])), None)
        ratio = report.number(rival / r["seconds"]) + "×" if rival and r["seconds"] else "–"
        lines.append([f"{r['data']} {100 * r['accuracy']:.0f} %", f"Adam {r['step']}", r["engine"],
                      report.number(r["seconds"]), report.number(r["epochs"], 2), f"{r['reached']} of {r['seeds']}",
                      ratio])
    report.write_part(options, "accuracy", f"""## Time to accuracy

Seconds of training steps until the test accuracy is reached. It is checked after each epoch, outside the measured time. Two layers
of width 16, batches of 256, Adam with the same step on both sides, one thread. Plimsoll's times include computing ÂX once; it draws at
the hidden layer. Median over {len(seeds)} seeds, at most {epochs} epochs. A dash means that half of the seeds or more do not reach the
accuracy.

{report.table(["", "", "", "seconds", "epochs", "seeds that reach it", "PyG takes"], lines, text=3)}
{report.provenance()}""")
