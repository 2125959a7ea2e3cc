"""``python -m highwater_lab``: ``campaign``, as that of ``highwater``, with mutants;
``track-record``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import typer

from highwater_chaos.campaign.definition import Campaign
from highwater_chaos.campaign.draw import RANDOM
from highwater_chaos.campaign.plan import Plan, Series
from highwater_chaos.campaign.rows import Row
from highwater_chaos.campaign.seed import Outcome, Run, SeedJob
from highwater_chaos.cli.campaign_options import (
    Engine,
    Experiments,
    Jobs,
    Json,
    Keep,
    Options,
    Out,
    Patience,
    Resume,
    Seeds,
    Shrink,
    Store,
    Switch,
    UntilFailure,
    Wire,
    plan_of,
)
from highwater_chaos.cli.campaign_run import run_campaign
from highwater_chaos.cli.command import Command
from highwater_chaos.cli.exits import UsageError
from highwater_chaos.cli.spark_options import Master
from highwater_chaos.cli.watching import Metrics
from highwater_lab.mutants import SETS, Mutant, mutant_named
from highwater_lab.mutated import MutantRow, around, rate_of_mutants, run_mutated, series_of_mutant
from highwater_lab.track_record import track_record

MutantSet = Literal["known", "held-out", "systematic"]
"""The sets of bugs that a campaign can put in."""


@dataclass(frozen=True)
class LabCampaign(Campaign):
    """A campaign of which seeds may run with mutants."""

    mutants: bool = False

    program: ClassVar[tuple[str, ...]] = ("python", "-m", "highwater_lab")

    @property
    def run(self) -> Run:
        """With the mutant that is the unit's variant, if it has one."""
        return run_mutated

    def around(self, unit: SeedJob) -> AbstractContextManager[None]:
        """The mutant of a unit."""
        return around(unit)

    def row(self, series: Series, outcomes: Sequence[Outcome]) -> Row:
        """What the outcomes of a series came to; of a mutant with its figures."""
        return (MutantRow if series.variant else Row).of(*series.key, series.expected, outcomes)

    def remark(self, rows: Sequence[Row]) -> str:
        """How many mutants were reached, and changed a run."""
        rate = rate_of_mutants(rows)
        return f" {rate.reached} were reached, {rate.changed} changed a run." if rate.bugs else ""

    def summary(self, rows: Sequence[Row]) -> dict[str, Any]:
        """The rate of all mutants."""
        return {"mutants": rate_of_mutants(rows).to_dict()} if self.mutants else {}


def campaign(
    experiments: Experiments = None,
    seeds: Seeds = None,
    switch: Switch = None,
    engine: Engine = "process",
    master: Master = None,
    jobs: Jobs = None,
    until_failure: UntilFailure = False,
    resume: Resume = False,
    out: Out = None,
    store: Store = None,
    keep: Keep = 1,
    shrink: Shrink = 0,
    patience: Patience = 300,
    mutants: Annotated[
        bool, typer.Option("--mutants", help="Run with bugs put in on purpose: does a campaign find them?")
    ] = False,
    which: Annotated[
        MutantSet | None,
        typer.Option(
            "--set",
            show_default=False,
            help="Which mutants: known (default), held out from all files, or written by nobody (systematic).",
        ),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this mutant; may be given several times.")
    ] = None,
    wire: Wire = False,
    as_json: Json = False,
    metrics: Metrics = None,
) -> int:
    """Run many seeds of experiments in the simulator, and count, as 'highwater campaign' does.

    If a bug was put in, one failing seed is enough.
    """
    if not mutants and (which or only):
        raise UsageError(f"--{'set' if which else 'only'} names mutants; it needs --mutants")
    put_in = _mutants(which, only or []) if mutants else []
    given = experiments or ([RANDOM] if mutants else [])
    plan = plan_of(given, seeds, switch, until_failure=until_failure, wire=wire, patience=patience, store=store)
    if mutants:
        plan = _with_mutants(plan, put_in)
    title = "mutants" if mutants else plan.series[0].experiment if len(plan.series) == 1 else "campaign"
    options = Options(engine, master, jobs, resume, out, keep, shrink, as_json, metrics)
    return run_campaign(LabCampaign(title, plan, mutants), options)


def command_line(_wanted: str | None = None) -> typer.Typer:
    """The laboratory's command line."""
    app = typer.Typer(
        name=" ".join(LabCampaign.program), no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None
    )
    app.callback()(_laboratory)
    app.command("campaign", cls=Command)(campaign)
    app.command("track-record", cls=Command)(track_record)
    return app


def _laboratory() -> None:
    """Measure Highwater itself: which bugs does it find, and what does that take?"""


def _mutants(which: MutantSet | None, only: Sequence[str]) -> list[Mutant]:
    if not only:
        return list(SETS[which or "known"].values())
    known = {name for one in SETS if which in (None, one) for name in SETS[one]}
    for name in only:
        if name not in known:
            of_set = f" in the set {which}" if which else ""
            raise UsageError(
                f"--only {name!r}: there is no such mutant{of_set}; docs/internals/laboratory.md says where they are"
            )
    return [mutant_named(name) for name in dict.fromkeys(only)]


def _with_mutants(plan: Plan, mutants: Sequence[Mutant]) -> Plan:
    """The plan with each of its series once for each mutant."""
    if plan.store:
        raise UsageError("--store keeps one run of each seed; leave it out, or leave out --mutants")
    mutated = [series_of_mutant(series, mutant) for mutant in mutants for series in plan.series]
    if not any(mutated):
        raise UsageError(
            "--mutants: none of these bugs can be in clusters of these experiments; see docs/internals/laboratory.md"
        )
    return replace(plan, series=tuple(series for series in mutated if series is not None))
