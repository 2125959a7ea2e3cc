"""For each rule of the executable specification, histories that keep it and histories that break it, and random walks.

``history`` is what the cases are written with. The other modules have the cases by subject.
"""

from __future__ import annotations

from typing import Any

from pipeline_specification import decisions, leaders, logs, roles
from pipeline_specification.history import Case, History, Tail
from pipeline_specification.walk import Walk

from highwater_pipeline.specification import Decisions, Machine, Refusal, check_decisions, check_judgements
from highwater_pipeline.tables.settings import NOTHING_PROMISED, PromisedSettings

__all__ = ["CASES", "History", "Row", "Tail", "Walk", "beginning_with", "refusals"]

Row = dict[str, Any]

CASES: list[Case] = [*decisions.CASES, *logs.CASES, *roles.CASES, *leaders.CASES]
"""Whatever was known of a partition, one step that is permitted, and one like it that is not."""


def refusals(
    rows: list[Row],
    *,
    exact_order: bool = True,
    is_zookeeper: bool = False,
    compacted: bool = False,
    unclean: bool = False,
    of_others: bool = False,
    promises: PromisedSettings = NOTHING_PROMISED,
) -> list[Refusal]:
    decisions = Decisions.of(rows, is_zookeeper=is_zookeeper, unclean=unclean, of_others=of_others)
    machine = Machine(decisions, exact_order=exact_order, compacted=compacted, promises=promises)
    return [
        *check_decisions(decisions),
        *check_judgements(decisions),
        *(refusal for row in rows for refusal in machine.step(row)),
    ]


def beginning_with(tail: Tail) -> list[Row]:
    """A recording that begins with ``tail``."""
    history = History()
    before = len(history.events.rows)
    tail(history)
    return list(history.events.rows[before:])
