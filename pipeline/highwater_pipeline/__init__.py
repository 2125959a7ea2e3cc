"""Histories and node events to verdicts: check kernels over Arrow tables, and Spark jobs that schedule them."""
