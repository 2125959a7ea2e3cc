"""PyArrow without pandas. A module that makes Arrow arrays imports this one or ``schemas`` before it makes the first.

PyArrow looks for pandas when it converts its first list, and by that imports it where it is installed: most of what
starting a process costs, and no table here is one of pandas. What cannot do without, as ``to_pandas``, looks again.
"""

from __future__ import annotations

import importlib.abc
import sys

import pyarrow as pa


class _NoPandas(importlib.abc.MetaPathFinder):
    """Finds that pandas is not installed."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        del path, target
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is left out", name=fullname)


def _leave_pandas_out() -> None:
    """Let PyArrow believe, for now, that there is no pandas."""
    if "pandas" in sys.modules:
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)


_leave_pandas_out()
