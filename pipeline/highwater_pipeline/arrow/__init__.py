"""Columns of Arrow tables as NumPy arrays, and ranges of tables that may lie on disk."""
