#!/usr/bin/env python3
"""Lints the Python sources with ruff, by the rules in tools/ruff.toml: `make lint`.

    lint.py RUFF

Without ruff this is reported and passes.
"""
import subprocess
import sys
from pathlib import Path

from common import ROOT, not_checked


def main():
    ruff = Path(sys.argv[1]).absolute()
    if not ruff.exists():
        return not_checked("ruff cannot be installed; the Python sources are not linted")
    return subprocess.run([ruff, "check", "--quiet", "--no-cache", "--config", "tools/ruff.toml"], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
