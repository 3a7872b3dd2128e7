"""The limits of the machine (triad and gather bandwidth, fused multiply-adds), and its software."""
import os
import platform
import subprocess

from . import environment, report


def measure(options, threads=(1, 2)):
    """The results of machine.c for each of these numbers of threads."""
    program = environment.compile_c("machine", "-O3", "-march=native", "-ffp-contract=fast")
    megabytes = 100 if options.quick else 512
    return {t: environment.answer([program, f"threads={t}", f"megabytes={megabytes}"], t) for t in threads}


def run(options):
    peaks = measure(options)
    report.write_csv(options, "machine", list(peaks.values()))
    versions = ", ".join(f"{name} {version}" for name, version in report.versions().items())
    compilers = [subprocess.run(c, capture_output=True, text=True).stdout.splitlines()[0]
                 for c in ([environment.CC, "--version"], ["rustc", "--version"])]
    rows = [[f"{t} thread{'s' if t > 1 else ''}", report.number(p["triad_gb_s"]), report.number(p["gather_gb_s"]),
             report.number(p["peak_256_gflops"]), report.number(p["peak_512_gflops"])] for t, p in peaks.items()]
    report.write_part(options, "machine", f"""## Machine

{report.processor()}, {os.cpu_count()} cores, {report.caches()}, {report.memory_gib():.0f} GiB; {platform.system()}
{platform.release()}; {'; '.join(compilers)}; Python {platform.python_version()}, {versions}.

{report.table(["", "triad, GB/s", "gather, GB/s", "256-bit FMA, GFLOP/s", "512-bit FMA, GFLOP/s"], rows)}
The triad is `a = b + q·c` in doubles over arrays far beyond the caches: 24 bytes per element, plain stores. The gather reads
rows of 256 bytes at random places of one such array and prefetches each 16 rows ahead. It is the bound of a sparse product with a
factor in memory, if no row is read again while it is in the cache ([machine.c](../../benches/c/machine.c)). {report.provenance()}""")
    return peaks
