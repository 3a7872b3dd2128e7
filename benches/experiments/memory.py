"""Memory of training on Pubmed: the peak, and what training adds to the graph."""
import sys

from . import environment, report
from .cells import step_of


def run(options):
    environment.build_library()
    program = environment.compile_c("cells")
    sets = environment.data_sets(program)
    data = "Pubmed" if "Pubmed" in sets else "Mixture"
    path, raw = sets[data]
    rows = []
    for layers in (1, 2):
        for sample in ("400", "3200", "unbiased", "full"):
            step = step_of(data, layers)
            ours = [program, f"data={path}", f"layers={layers}", f"sample={sample}", f"step={step}", f"raw={int(raw)}",
                    "seconds=0.1", "least=3"]
            found = {"plimsoll": environment.answer(ours), "plimsoll, no cache": environment.answer([*ours, "cache=0"])}
            for engine in ("scipy", "torch"):
                found[engine] = environment.answer([
                    sys.executable, environment.BENCHES / "peer.py", engine, path, "--layers", layers, "--sample",
                    sample, "--lr", step, "--seconds", 0.1, "--least", 2, *(["--raw-features"] if raw else [])])
            for engine, r in found.items():
                if r:
                    rows.append(dict(data=data, layers=layers, sample=sample, engine=engine, peak_mb=r["rss_mb"],
                                     loaded_mb=r.get("load_rss_mb"), graph_bytes=r.get("graph_bytes"),
                                     training_bytes=r.get("training_bytes"), ms=1e3 * r["median_s"]))
            shown = ", ".join(f"{e} {r['rss_mb']:.0f} MB" for e, r in found.items() if r)
            environment.say(f"{layers}-layer {sample}: {shown}")
    report.write_csv(options, "memory", rows)
    lines = []
    for layers in (1, 2):
        for sample in ("400", "3200", "unbiased", "full"):
            mine = {r["engine"]: r for r in rows if (r["layers"], r["sample"]) == (layers, sample)}
            engines = ["plimsoll", "plimsoll, no cache", "scipy", "torch"]
            line = [f"{layers}-layer {sample}"] + [f"{mine[e]['peak_mb']:.1f}" if e in mine else "–" for e in engines]
            bare = mine.get("plimsoll, no cache")
            line.append(f"{100 * bare['training_bytes'] / bare['graph_bytes']:.0f} %" if bare else "–")
            lines.append(line)
    ours = next((r for r in rows if r["engine"] == "plimsoll"), None)
    loaded = f"{ours['loaded_mb']:.1f} MB" if ours else "–"
    header = ["peak RSS, MB", "Plimsoll", "Plimsoll, no cache", "SciPy", "PyTorch", "training adds"]
    report.write_part(options, "memory", f"""## Memory

{data}. The peak is the largest resident size (VmHWM) of a process that loads the data set and trains; loading alone takes
{loaded}. The cache is ÂX. "Training adds" is the memory that malloc holds during training without the cache, beyond that of the
loaded graph, relative to the graph's own bytes. The targets are 90 MB with the cache, 40 MB without, and 20 % added.

{report.table(header, lines)}
{report.provenance()}""")
