"""Seeds with bugs put in on purpose: which of them could make a difference, made one, and were found?"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import msgspec

from highwater_chaos.campaign.plan import Series
from highwater_chaos.campaign.rows import Row
from highwater_chaos.campaign.seed import Outcome, SeedJob, bounded, check_experiment, experiment_of
from highwater_chaos.experiment import dump_experiment, parse_experiment
from highwater_lab.mutants import SETS, Mutant, applied, mutant_named, set_of, watching


def series_of_mutant(series: Series, mutant: Mutant) -> Series | None:
    """The same series with a bug put in, over once the bug is found; None if its clusters do not have the rule."""
    if mutant.mode and series.mode not in ("", mutant.mode):
        return None
    return replace(
        series,
        expected="pass" if mutant.harmless else "fail",
        variant=mutant.name,
        mode=mutant.mode or series.mode,
        until_failure=True,
    )


def run_mutated(unit: SeedJob) -> Outcome:
    """Run and judge one seed on its variant of the runtime, the mutant of that name, as :func:`bounded`."""
    return bounded(unit, _judged)


def around(unit: SeedJob) -> AbstractContextManager[None]:
    """The mutant of a unit, for the time of a block."""
    return applied(mutant_named(unit.variant)) if unit.variant else nullcontext()


def _judged(unit: SeedJob) -> Outcome:
    experiment = experiment_of(unit)
    if not unit.variant:
        return check_experiment(unit, experiment)
    without, reached = _watched(dump_experiment(experiment), unit.wire, set_of(unit.variant))
    is_reached, fails_anyway = unit.variant in reached, without.verdict == "fail"
    if fails_anyway:  # so a fail would say nothing of the bug
        why = f"it fails without the bug, too: {', '.join(without.anomalies)}"
        without = msgspec.structs.replace(without, verdict="inconclusive", anomalies=(), reasons=(why,))
    if fails_anyway or not is_reached:
        return msgspec.structs.replace(
            without, experiment=unit.experiment, variant=unit.variant, reached=is_reached, changed=False
        )
    with around(unit):
        outcome = check_experiment(unit, experiment)
    return msgspec.structs.replace(outcome, changed=_shows(outcome) != _shows(without))


def _shows(outcome: Outcome) -> tuple[object, ...]:
    """What tells a run from another: the digest of all events of nodes, what clients got, and the verdict."""
    return outcome.trace_digest, outcome.acknowledged, outcome.verdict, outcome.anomalies, outcome.reasons


@lru_cache(maxsize=8)
def _watched(text: str, wire: bool, which: str) -> tuple[Outcome, frozenset[str]]:
    """The outcome of an experiment without any mutant, and which mutants of a set could make a difference to it.

    A worker gets the seed of one mutant after the other, so that the last few are what it needs.
    """
    experiment = parse_experiment(text, "")
    with watching(SETS[which].values()) as reached:
        outcome = check_experiment(SeedJob("", experiment.spec.seed, wire=wire), experiment)
    return outcome, frozenset(reached)


@dataclass(frozen=True)
class MutantRow(Row):
    """One mutant in one experiment, over all its seeds."""

    variant_is: ClassVar[str] = "mutant"

    @property
    def as_expected(self) -> bool:
        """As of any row; but errors do not count once the bug is found, for it may well upset the harness too."""
        return (self.found and self.expected == "fail") or super().as_expected

    @property
    def note(self) -> str:
        """The rule that the mutant breaks."""
        return mutant_named(self.variant).breaks

    @property
    def figures(self) -> dict[str, int]:
        """In how many seeds the mutant could make a difference, and made one."""
        return {"reached": self.reached, "changed": self.changed}

    def line(self, outcomes: Sequence[Outcome]) -> str:
        """The row in a line of text."""
        mutant = mutant_named(self.variant)
        if self.expected == "fail" and not self.found:
            reached = f"reached in {self.reached}, changed {self.changed}"
            return f"NOT FOUND: {self.name}: {self.seeds} seeds, {reached}, {self.seconds:.1f} s; {mutant.breaks}"
        if self.expected == "pass" and self.as_expected:
            reached = f"reached in {self.reached}"
            return f"HARMLESS: {self.name}: {self.seeds} seeds, {reached}, {self.seconds:.1f} s: {mutant.harmless}"
        return super().line(outcomes)

    def to_dict(self) -> dict[str, Any]:
        """As ``--json`` has it."""
        own = {"mutant": self.variant, "seedsReached": self.reached, "seedsChanged": self.changed}
        return {"experiment": self.experiment, **own, **super().to_dict()}


class Rate(NamedTuple):
    """How many bugs were put in, and in how many of them a seed could make a difference, made one, and failed."""

    bugs: int
    reached: int
    changed: int
    found: int

    def to_dict(self) -> dict[str, Any]:
        """As ``--json`` has it; the share is of all bugs."""
        return {**self._asdict(), "foundShare": round(self.found / self.bugs, 3) if self.bugs else None}


def rate_of_mutants(rows: Sequence[Row]) -> Rate:
    """The rate of the mutants that are not harmless, each over all experiments that it was put into."""
    of_mutant: dict[str, list[Row]] = {}
    for row in rows:
        if row.variant and row.expected == "fail":
            of_mutant.setdefault(row.variant, []).append(row)
    all_rows = of_mutant.values()
    return Rate(
        len(of_mutant),
        sum(any(row.reached for row in of_one) for of_one in all_rows),
        sum(any(row.changed for row in of_one) for of_one in all_rows),
        sum(any(row.found for row in of_one) for of_one in all_rows),
    )
