"""Judges one run in this process: for ``highwater run``, and for simulator workers that judge thousands."""

from __future__ import annotations

from collections.abc import Sequence

from highwater_pipeline.checks import check_unit
from highwater_pipeline.judgement import Judgement, merge
from highwater_pipeline.tables import RunTables
from highwater_pipeline.units import split


def judge_run(tables: RunTables, checks: Sequence[str] | None = None) -> Judgement:
    """The judgement of one run by the checks asked for (None: all). Needs no Java and no Spark.

    Raises ``ValueError`` for a name in ``checks`` that is not a check's.
    """
    facts, units = split(tables)
    return merge(facts, (check_unit(unit, checks) for unit in units), checks)
