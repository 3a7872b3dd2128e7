"""The experiments of compare.py, one module each: `run(options)` measures, writes a CSV and a part of the report."""
