"""Programs that measure, each run by hand: ``python -m highwater_lab.benchmarks.NAME --help``."""
