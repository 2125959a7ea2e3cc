"""Assertions of an experiment, judged by a run directory: its phases, and its samples or a Prometheus' answers.

What judges loads on first use: a run is begun without NumPy and PyArrow.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from highwater_chaos.assertions.outcome import Outcome, changed_verdict, reasons_of
from highwater_chaos.assertions.phases import PhaseRow, phase_rows, read_phases, write_phases

if TYPE_CHECKING:
    from highwater_chaos.assertions.check import check_assertions
    from highwater_chaos.assertions.prometheus import ask_prometheus, write_answers

__all__ = [
    "Outcome",
    "PhaseRow",
    "ask_prometheus",
    "changed_verdict",
    "check_assertions",
    "phase_rows",
    "read_phases",
    "reasons_of",
    "write_answers",
    "write_phases",
]

_HOME = {"ask_prometheus": "prometheus", "check_assertions": "check", "write_answers": "prometheus"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
