"""What a campaign runs: which seeds of which experiments, in which order, and what is expected of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from highwater_chaos.campaign.draw import RANDOM
from highwater_chaos.campaign.seed import Key, Outcome, SeedJob
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.experiment import dump_experiment as text_of
from highwater_chaos.run.run_id import run_id_within
from highwater_chaos.verdict.verdict import expectation_for
from highwater_runtime.switches import SWITCHES

Engine = Callable[[Iterable[SeedJob]], Iterator[Outcome]]


@dataclass(frozen=True, slots=True)
class Series:
    """The seeds of one experiment, on one variant of the runtime.

    ``text`` is empty where the seeds draw the experiment. ``mode`` is that of its clusters; empty if seeds draw it.
    ``release``: of Apache Kafka, for seeds that draw on it; empty: on our own runtime.
    """

    experiment: str
    expected: str
    text: str = ""
    mode: str = ""
    variant: str = ""
    until_failure: bool = False
    release: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What its outcomes have in common."""
        return self.experiment, self.variant


@dataclass(frozen=True, slots=True)
class Plan:
    """All seeds of a campaign. ``is_real``: seeds run on real processes of this machine, not in the
    simulator."""

    series: tuple[Series, ...]
    seeds: range
    switches: tuple[tuple[str, str], ...] = ()
    wire: bool = False
    patience: int = 300
    store: str = ""
    is_real: bool = False
    run_id: str = ""
    """The campaign's key, from which its runs have theirs; empty: they have none."""

    def describe(self) -> dict[str, Any]:
        """What makes it this campaign and no other, as JSON."""
        return {
            "seeds": f"{self.seeds.start}..{self.seeds.stop - 1}",
            "switches": dict(self.switches),
            "wire": self.wire,
            **({"store": self.store} if self.store else {}),
            **({"backend": "local"} if self.is_real else {}),
            "experiments": [
                [one.experiment, one.mode, one.variant, sha256(one.text.encode()).hexdigest()[:16]]
                for one in self.series
            ],
            "untilFailure": [one.until_failure for one in self.series],
        }

    def unit(self, series: Series, seed: int) -> SeedJob:
        """One seed of a series."""
        return SeedJob(
            series.experiment,
            seed,
            series.text,
            self.switches,
            series.variant,
            series.mode,
            wire=self.wire,
            patience=self.patience,
            store=self.store,
            release=series.release,
            run_id=run_id_within(self.run_id, *series.key, seed) if self.run_id else "",
        )


def series_of_file(
    experiment: ChaosExperiment, switches: Mapping[str, str], *, until_failure: bool, versions: str = ""
) -> Series:
    """The series of an experiment file. ``versions``: those that tell it from the others of its file."""
    given = {**experiment.cluster.switches, **switches}
    expected = expectation_for(experiment.spec, given).verdict
    return Series(
        f"{experiment.metadata.name} {versions}".rstrip(),
        "fail" if expected == "fail" else "pass",
        text_of(experiment),
        experiment.cluster.mode,
        until_failure=until_failure,
    )


def series_of_random(switches: Mapping[str, str], *, until_failure: bool, release: str = "") -> Series:
    """The series whose seeds draw their experiments, in a mode that knows all of these switches, or on this release of
    Apache Kafka.

    With a fix turned off a fail is expected.
    """
    modes = [mode for mode in ("kraft", "zookeeper") if all(mode in SWITCHES[name].modes for name in switches)]
    turned = any(SWITCHES[name].default != value for name, value in switches.items())
    return Series(
        f"{RANDOM} kafka={release}" if release else RANDOM,
        "fail" if turned else "pass",
        mode=modes[0] if len(modes) == 1 else "",
        until_failure=until_failure,
        release=release,
    )


class Progress:
    """Which units are to be run still, and what is known.

    A series that asks for no more is over with its first failing seed. What counts is then what would have been run one
    seed after the other, so that it does not depend on how many ran at a time.
    """

    def __init__(self, plan: Plan, known: Sequence[Outcome] = ()) -> None:
        self.plan = plan
        self._done: dict[Key, Outcome] = {}
        self._of_series: dict[tuple[str, str], dict[int, Outcome]] = {}
        self._first: dict[tuple[str, str], int] = {}
        """The lowest failing seed of each series."""
        for outcome in known:
            self.add(outcome)

    def units(self) -> Iterator[SeedJob]:
        """What is to be run, in order: each seed of all series before the next, so that all series have some soon."""
        for seed in self.plan.seeds:
            if seed > max(self._last(series) for series in self.plan.series):
                return
            for series in self.plan.series:
                unit = self.plan.unit(series, seed)
                if unit.key not in self._done and seed <= self._last(series):
                    yield unit

    def add(self, outcome: Outcome) -> None:
        self._done[outcome.key] = outcome
        self._of_series.setdefault(outcome.key[:2], {})[outcome.seed] = outcome
        if outcome.verdict == "fail" and outcome.seed in self.plan.seeds:  # a campaign may go on with other seeds
            series = outcome.key[:2]
            self._first[series] = min(outcome.seed, self._first.get(series, outcome.seed))

    def of_series(self, series: Series) -> list[Outcome]:
        """The outcomes of a series that count, by seed."""
        known, seeds, last = self._of_series.get(series.key, {}), self.plan.seeds, self._last(series)
        return [known[seed] for seed in sorted(known) if seed in seeds and seed <= last]

    def outcomes(self) -> list[Outcome]:
        return [one for series in self.plan.series for one in self.of_series(series)]

    def _last(self, series: Series) -> int:
        end = self.plan.seeds[-1]
        return self._first.get(series.key, end) if series.until_failure else end
