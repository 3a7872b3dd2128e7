"""Reruns the paper's experiments through the C interface and writes the report: `make paper` calls it.

    python paper/run.py LIBRARY_DIRECTORY [--seeds 5] [--fast] [--data DIRECTORY] [--out report]

The results of finished jobs are kept in OUT/jobs, under a hash of their arguments and of the library. So an interrupted run
continues, and a run with a changed library starts again.
"""
import argparse
import concurrent.futures as futures
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import bar
import experiments
import fetch
import page
import program

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path, help="the folder with libplimsoll.so")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--fast", action="store_true", help="1,000 draws instead of 10,000, and fewer sizes")
    parser.add_argument("--data", type=Path, default=os.environ.get("PLIMSOLL_DATA"), help="a folder with the .npz files")
    parser.add_argument("--out", type=Path, default=ROOT / "report")
    parser.add_argument("--no-fetch", action="store_true", help="do not download citation data that are missing")
    return parser.parse_args()


def find_data(options):
    """The file of each data set that exists or can be fetched. Mixture is built in."""
    files, missing = {"Mixture": "mixture"}, []
    kept = options.out / "data"
    for data, name in experiments.FILES.items():
        for folder in filter(None, (options.data, kept)):
            if (Path(folder) / f"{name}.npz").exists():
                files[data] = str((Path(folder) / f"{name}.npz").resolve())
                break
        else:
            if data != "Mixture":
                missing.append(data)
    if missing and not options.no_fetch:
        print(f"Fetching {' and '.join(missing)} …", flush=True)
        try:
            fetch.fetch(kept, [experiments.FILES[data] for data in missing])
            files |= {data: str((kept / f"{experiments.FILES[data]}.npz").resolve()) for data in missing}
            missing = []
        except fetch.Failure as failure:
            print(f"*** {failure}", file=sys.stderr)
    if missing:
        print(f"*** {' and '.join(missing)}: no data. The report has the other data sets only. Put the .npz files into a\n"
              f"*** folder and name it by --data or PLIMSOLL_DATA.", file=sys.stderr)
    return files


class Runner:
    """Runs jobs, or uses the results of an earlier run."""

    def __init__(self, options):
        self.out, self.program = options.out / "jobs", program.build(HERE / "job.c", options)
        self.library = hashlib.sha256((options.library / "libplimsoll.so").read_bytes()).hexdigest()

    def file_of(self, job):
        return self.out / (hashlib.sha256("\n".join((self.library, *job.words)).encode()).hexdigest()[:24] + ".json")

    def __call__(self, job):
        file = self.file_of(job)
        if not file.exists():
            run = subprocess.run([self.program, *job.words], capture_output=True, text=True)
            if run.returncode != 0:
                raise SystemExit(f"job {' '.join(job.words)} fails with {run.returncode}:\n{run.stderr}")
            json.loads(run.stdout)
            unfinished = file.with_suffix(f".{os.getpid()}.{id(job)}")
            unfinished.write_text(run.stdout, encoding="utf-8")
            unfinished.replace(file)
        return job

    def result(self, job):
        return json.loads(self.file_of(job).read_text(encoding="utf-8"))

    def run(self, jobs):
        """Runs first the jobs that can share the machine, then the others one by one."""
        left = [job for job in jobs if not self.file_of(job).exists()]
        if len(left) < len(jobs):
            print(f"{len(jobs) - len(left)} of {len(jobs)} runs have results from before", flush=True)
        progress = bar.Bar(sum(job.cost for job in left))
        shared = [job for job in left if not job.alone]
        with futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            try:
                for done in futures.as_completed([pool.submit(self, job) for job in shared]):
                    progress.advance(done.result().cost)
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        for job in left:
            if job.alone:
                progress.advance(self(job).cost)
        progress.end()


def main():
    options = parse()
    start = time.time()
    options.out.mkdir(parents=True, exist_ok=True)
    plan = experiments.Plan(find_data(options), options.seeds, options.fast)
    runner = Runner(options)
    print("Training and measuring; an interrupted run continues where it stopped", flush=True)
    runner.run(plan.jobs())
    index = page.write(plan, runner, options, start)
    print(f"{index} written in {time.time() - start:.0f} s")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("interrupted; the same command continues from here")
