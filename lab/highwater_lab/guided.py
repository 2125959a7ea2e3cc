"""Guided exploration: experiments that reached something new are kept, changed a little, and run again.

A fuzzer keeps the inputs that took a new path through the program. Here the input is an experiment, and its path is its
signature: the transitions and combinations that its run reached (``highwater_pipeline.transitions``). Seeds run in
rounds. The first round is that of ``random``. In each later round one seed in three has the experiment that it has
there. The others change an experiment of an earlier round that reached something new; one whose signature is rare is
more likely to be chosen.

A round depends only on the outcomes of the rounds before it, and not on their order in time. So the same seeds give the
same campaign on any engine, also after an interruption.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from random import Random
from typing import Any, Final, NamedTuple

from highwater_chaos.campaign.draw import (
    EVERY,
    LASTING,
    draw_data,
    draw_parts,
    draw_workload,
    keeps_replica_epochs,
    schedule_of,
)
from highwater_chaos.campaign.plan import Plan, Progress, Series
from highwater_chaos.campaign.seed import Outcome, SeedJob
from highwater_chaos.experiment import ChaosExperiment, dump_experiment
from highwater_runtime.seeds import derive_random

GUIDED: Final = "guided"
"""What stands for an experiment file where the campaign makes the experiments."""
ROUND: Final = 20
"""Seeds of a round. They do not learn from each other; fewer would leave the processes of a large machine idle."""
_BLIND: Final = 1 / 3
_MOST_PARTS: Final = 5
_FIXED: Final = ("min.insync.replicas", "log.segment.bytes")
"""Properties that topics and clients were drawn to fit."""

Data = dict[str, Any]
"""An experiment as a file has it."""


class Kept(NamedTuple):
    """An experiment that reached something new, and all that it reached."""

    seed: int
    data: Data
    features: frozenset[str]


class Guide:
    """Makes the experiments of a guided series, whose outcomes it is given in the order of seeds."""

    def __init__(self, mode: str) -> None:
        self.kept: list[Kept] = []
        self.reached: Counter[str] = Counter()
        """In how many seeds each transition and combination was."""
        self._mode = mode
        self._waiting: dict[int, Data] = {}

    def experiment(self, seed: int) -> Data:
        """The experiment of a seed of the next round."""
        random = derive_random(seed, "guided")
        blind = not self.kept or random.random() < _BLIND
        drawn = derive_random(seed, "campaign")  # as that of draw_experiment
        data = draw_data(drawn, seed, self._mode) if blind else self._changed(random)
        data["metadata"] = {"name": f"{GUIDED}-{seed}"}
        data["spec"]["seed"] = seed
        self._waiting[seed] = data
        return data

    def add(self, outcome: Outcome) -> None:
        """Learn from a seed whose experiment was made here."""
        data = self._waiting.pop(outcome.seed)
        features = frozenset((*outcome.transitions, *outcome.combinations))
        if features - self.reached.keys():
            self.kept.append(Kept(outcome.seed, data, features))
        self.reached.update(features)

    def _changed(self, random: Random) -> Data:
        # Sorted, for a sum of floating-point numbers depends on their order.
        rarity = [sum(sorted(1 / self.reached[one] for one in kept.features)) for kept in self.kept]
        parent, other = random.choices(self.kept, rarity, k=2)
        data = copy.deepcopy(parent.data)
        for _ in range(random.choice((1, 1, 2, 3))):
            random.choice(_CHANGES)(random, data, other.data)
        return data


@dataclass(frozen=True)
class GuidedPlan(Plan):
    """A plan all of whose series are guided."""

    def describe(self) -> dict[str, Any]:
        """Where rounds begin decides who learns from whom."""
        return {**super().describe(), "first": self.seeds.start}


def guided_plan(plan: Plan) -> GuidedPlan:
    """The same with guided series; all of them are of ``random``."""
    given = {field.name: getattr(plan, field.name) for field in fields(plan)}
    series = tuple(replace(one, experiment=GUIDED) for one in plan.series)
    return GuidedPlan(**{**given, "series": series, "combinations": True})


class GuidedProgress(Progress):
    """Which units of a guided plan are to be run still. Each series has a guide of its own."""

    def __init__(self, plan: Plan, known: Sequence[Outcome] = ()) -> None:
        super().__init__(plan, known)
        self._guides: dict[tuple[str, str], Guide] = {}
        self._texts: dict[tuple[tuple[str, str], int], str] = {}
        """The experiments that guides made."""

    def rounds(self) -> Iterator[Iterator[SeedJob]]:
        """What can be run at a time. A round may be asked for when the outcomes of those before it were added."""
        seeds, series = self.plan.seeds, self.plan.series
        for first in range(seeds.start, seeds.stop, ROUND):
            of_round = range(first, min(first + ROUND, seeds.stop))
            for one in [one for one in series if first <= self._last(one)]:
                guide = self._guides.setdefault(one.key, Guide(one.mode))
                for seed in of_round:
                    experiment = ChaosExperiment.model_validate(guide.experiment(seed))
                    self._texts[one.key, seed] = dump_experiment(experiment)
            yield self._units(of_round)
            for one in [one for one in series if of_round.stop <= self._last(one)]:
                for seed in of_round:
                    self._guides[one.key].add(self._done[*one.key, seed])

    def unit(self, series: Series, seed: int) -> SeedJob:
        """One seed of a series, of a round that was asked for."""
        text = self._texts.get((series.key, seed), "")  # none of a series that was over before the round
        return self.plan.unit(replace(series, text=text), seed)


# --- changes: each gets what to change, and another experiment that was kept ---


def _properties(random: Random, data: Data, _other: Data) -> None:
    """Take some of the cluster's properties from a new draw."""
    mode, config = data["spec"]["cluster"]["mode"], data["spec"]["cluster"]["config"]
    fresh = draw_data(random, 0, mode)["spec"]["cluster"]["config"]
    for name in sorted(fresh.keys() | config.keys()):
        if name in _FIXED or name.startswith("broker.") or random.random() < 0.7:
            continue
        config.pop(name, None)
        if name in fresh:
            config[name] = fresh[name]


def _clients(random: Random, data: Data, _other: Data) -> None:
    """Draw the clients again."""
    cluster = data["spec"]["cluster"]
    data["spec"]["workload"] = draw_workload(random, cluster["mode"], cluster)


def _timing(random: Random, data: Data, _other: Data) -> None:
    """Other rates and lengths for one kind of trouble."""
    part = random.choice(_parts(data))
    part["every"], part["lasting"] = random.choice(EVERY), random.choice(LASTING)


def _weights(random: Random, data: Data, _other: Data) -> None:
    """One kind of fault less in one part, or another weight."""
    part = random.choice(_parts(data))
    kind = random.choice(sorted(part["faults"]))
    if len(part["faults"]) > 1 and random.random() < 0.5:
        del part["faults"][kind]
    else:
        part["faults"][kind] = random.randint(1, 10)
    data["spec"]["schedule"] = schedule_of(_parts(data))


def _fewer(random: Random, data: Data, _other: Data) -> None:
    """One part less."""
    parts = _parts(data)
    if len(parts) > 1:
        parts.pop(random.randrange(len(parts)))
        data["spec"]["schedule"] = schedule_of(parts)


def _fresh(random: Random, data: Data, _other: Data) -> None:
    """One more part, of a new draw for this cluster."""
    cluster = data["spec"]["cluster"]
    _add(data, random.choice(draw_parts(random, cluster["mode"], cluster)))


def _crossed(random: Random, data: Data, other: Data) -> None:
    """One more part, of the other experiment, if its cluster has the same nodes to break."""
    cluster, theirs = data["spec"]["cluster"], other["spec"]["cluster"]
    if _nodes_to_break(cluster) == _nodes_to_break(theirs):
        _add(data, copy.deepcopy(random.choice(_parts(other))))


def _nodes_to_break(cluster: Data) -> tuple[Any, ...]:
    return cluster["mode"], cluster.get("controllers", 0) > 1, keeps_replica_epochs(cluster)


_CHANGES: Final[tuple[Callable[[Random, Data, Data], None], ...]] = (
    _properties,
    _clients,
    _timing,
    _weights,
    _fewer,
    _fresh,
    _crossed,
    _crossed,
)


def _parts(data: Data) -> list[Data]:
    return [branch[0]["random"] for branch in data["spec"]["schedule"][0]["parallel"]]


def _add(data: Data, part: Data) -> None:
    parts = _parts(data)
    data["spec"]["schedule"] = schedule_of([*parts[: _MOST_PARTS - 1], part])
