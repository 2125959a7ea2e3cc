"""What a campaign is: its seeds, how one of them is run, and what is said of all.

A campaign of the product is :class:`Campaign` itself. Whoever wants another one derives from it, as the laboratory
does, which runs seeds on variants of the runtime: bugs put in on purpose. Whatever it is, the command runs it, keeps
its outcomes and shows them in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater_chaos.campaign.plan import Plan, Series
from highwater_chaos.campaign.rows import Row
from highwater_chaos.campaign.seed import Outcome, Run, SeedJob, run_seed_job


@dataclass(frozen=True)
class Campaign:
    """The seeds of ``plan``, on the runtime as it is."""

    title: str
    plan: Plan

    program: ClassVar[tuple[str, ...]] = ("highwater",)
    """The command line that has the command, for those who want to run the campaign again."""

    @property
    def run(self) -> Run:
        """What makes an outcome of a unit: a function of a module, for other processes import it by its name."""
        return run_seed_job

    def around(self, _unit: SeedJob) -> AbstractContextManager[None]:
        """Within what a failing unit is run again here, to be written down and shrunk: its variant of the runtime."""
        return nullcontext()

    def row(self, series: Series, outcomes: Sequence[Outcome]) -> Row:
        """What the outcomes of a series came to."""
        return Row.of(*series.key, series.expected, outcomes)

    def remark(self, _rows: Sequence[Row]) -> str:
        """What else to say of bugs that were looked for: sentences, each with a space before it."""
        return ""

    def summary(self, _rows: Sequence[Row]) -> dict[str, Any]:
        """What else ``--json`` has, after the rows."""
        return {}
