"""The experiments of compare.py, one module each: `run(options)` measures, and writes a CSV file and a part of the report."""
