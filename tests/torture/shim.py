"""Builds a library from a C file of this folder and restarts the program with it preloaded."""
import os
import platform
import subprocess
import sys

from world import ROOT


def preload(name):
    """Returns if the library is loaded. Where there can be none, this is reported and the program ends."""
    path = os.path.join(ROOT, "target", "torture", name + ".so")
    if os.environ.get("LD_PRELOAD") == path:
        del os.environ["LD_PRELOAD"]
        return
    if platform.libc_ver()[0] != "glibc" or platform.machine() not in ("x86_64", "aarch64"):
        print(f"\n*** NOT CHECKED: {name}, which requires glibc on x86-64 or AArch64 ***\n", file=sys.stderr)
        sys.exit(0)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".c")
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
                    source, "-o", path, "-ldl"], check=True)
    os.environ["LD_PRELOAD"] = path
    os.execv(sys.executable, [sys.executable, *sys.argv])
