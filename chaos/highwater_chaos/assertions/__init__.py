"""Assertions of an experiment, judged by a run directory: its phases, and its samples or a Prometheus' answers."""

from highwater_chaos.assertions.judge import Outcome, changed_verdict, judge_assertions, reasons_of
from highwater_chaos.assertions.phases import PhaseRow, phase_rows, read_phases, write_phases
from highwater_chaos.assertions.prometheus import ask_prometheus, write_answers

__all__ = [
    "Outcome",
    "PhaseRow",
    "ask_prometheus",
    "changed_verdict",
    "judge_assertions",
    "phase_rows",
    "read_phases",
    "reasons_of",
    "write_answers",
    "write_phases",
]
