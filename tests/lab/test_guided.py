"""Guided campaigns: later seeds depend on what earlier ones reached, on nothing else, and are always valid."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from highwater_chaos.backends import make_backend
from highwater_chaos.campaign.draw import draw_experiment
from highwater_chaos.campaign.plan import Plan, Progress, series_of_random
from highwater_chaos.campaign.seed import Outcome
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.experiment.consistency import problems_of
from highwater_chaos.schedule.capability import missing_capabilities
from highwater_lab.guided import ROUND, Guide, GuidedProgress, guided_plan
from highwater_pipeline.transitions import signature

NAMES = [f"t{number}" for number in range(300)]


def outcome(seed: int, *features: str, verdict: str = "pass") -> Outcome:
    return Outcome("guided", seed, "", verdict, combinations=features)


def progress(seeds: range, known: list[Outcome] | None = None, *, until_failure: bool = False) -> Progress:
    plan = Plan((series_of_random({}, until_failure=until_failure),), seeds)
    return GuidedProgress(guided_plan(plan), known or [])


@pytest.mark.quick("zookeeper")
@pytest.mark.parametrize("mode", ["", "kraft", "zookeeper"])
def test_each_experiment_can_be_run_and_keeps_to_the_promise(mode: str) -> None:
    guide, random, backend = Guide(mode), Random(1), make_backend("sim")
    changed = set()
    for seed in range(1, 401):
        data = guide.experiment(seed)
        experiment = ChaosExperiment.model_validate(data)
        assert problems_of(experiment) == []
        assert missing_capabilities(experiment, backend) == []
        assert mode in ("", experiment.cluster.mode)
        parts = [branch[0]["random"] for branch in data["spec"]["schedule"][0]["parallel"]]
        assert 1 <= len(parts) <= 5
        assert not any("spare" in part for part in parts), "the default: what a replicated log promises to survive"
        changed.add(json.dumps(data["spec"] | {"seed": 0}))
        guide.add(outcome(seed, *random.sample(NAMES, 8)))
    assert len(changed) > 300
    assert 20 < len(guide.kept) < 400


def test_the_first_round_is_that_of_random() -> None:
    guide = Guide("")
    for seed in range(1, ROUND + 1):
        assert ChaosExperiment.model_validate(guide.experiment(seed)).spec == draw_experiment(seed).spec


def test_what_reached_something_new_is_changed_and_what_did_not_is_not() -> None:
    def parents(new: int) -> int:
        """How many of 60 later experiments have the cluster of the one seed that reached something new."""
        guide = Guide("kraft")
        made = {seed: guide.experiment(seed) for seed in range(1, ROUND + 1)}
        for seed in made:
            guide.add(outcome(seed, "a", "b") if seed == new else Outcome("guided", seed, "", "error"))
        assert [one.seed for one in guide.kept] == [new]
        topics = made[new]["spec"]["cluster"]["topics"]
        return sum(guide.experiment(seed)["spec"]["cluster"]["topics"] == topics for seed in range(100, 160))

    assert parents(3) > 25
    assert parents(7) > 25


def test_a_resumed_campaign_goes_on_as_it_would_have() -> None:
    def run(campaign: Progress) -> dict[int, str]:
        texts = {}
        for units in campaign.rounds():
            for unit in sorted(units, key=lambda one: -one.seed):  # they may end in any order
                texts[unit.seed] = unit.text
                campaign.add(outcomes[unit.seed])
        return texts

    random = Random(7)
    outcomes = {seed: outcome(seed, *random.sample(NAMES, 5)) for seed in range(1, 71)}
    whole = run(progress(range(1, 71)))
    assert sorted(whole) == list(range(1, 71))
    known = [outcomes[seed] for seed in (*range(1, 31), 35, 38)]  # killed in the second round
    rest = run(progress(range(1, 71), known))
    assert rest == {seed: text for seed, text in whole.items() if seed > 30 and seed not in (35, 38)}
    shorter = run(progress(range(1, 51)))
    assert shorter == {seed: whole[seed] for seed in shorter}, "more seeds change nothing of those before"
    outcomes[5] = outcome(5, "something else")
    other = run(progress(range(1, 71)))
    assert {seed: other[seed] for seed in range(1, ROUND + 1)} == {seed: whole[seed] for seed in range(1, ROUND + 1)}
    assert other != whole, "what a seed reached has a say in the rounds after it"


def test_until_failure_leaves_out_the_rounds_after_it() -> None:
    campaign = progress(range(1, 71), until_failure=True)
    for units in campaign.rounds():
        for unit in units:
            campaign.add(outcome(unit.seed, f"t{unit.seed}", verdict="fail" if unit.seed == 25 else "pass"))
    assert [one.seed for one in campaign.outcomes()] == list(range(1, 26))


def test_combinations_follow_each_other_on_a_node_or_in_a_partition() -> None:
    def line(kind: str, node: str, reason: str, **fields: Any) -> bytes:
        return json.dumps({"kind": kind, "node": node, "reason": reason, **fields}, separators=(",", ":")).encode()

    found = signature(
        [
            line("node-stopped", "broker-1", "kill"),
            line("node-stopped", "broker-2", "power-loss"),
            line("log-cut", "broker-1", "bad-crc", partition="orders-0"),
            line("log-truncated", "broker-3", "diverging-epoch", partition="orders-0"),
            line("log-truncated", "broker-3", "diverging-epoch", partition="orders-0"),
        ]
    )
    assert found.combinations == ("cut-bad-crc > truncated-diverging-epoch", "node-killed > cut-bad-crc")
    assert found.transitions == ("cut-bad-crc", "node-killed", "node-lost-power", "truncated-diverging-epoch")
