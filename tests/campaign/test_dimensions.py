"""What ``random`` draws, how often, and what a campaign tells of it."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

from highwater_chaos.campaign.dimensions import dimensions_of, drawn_by
from highwater_chaos.campaign.draw import draw_data, draw_experiment
from highwater_chaos.campaign.plan import Plan, Series
from highwater_chaos.campaign.seed import Outcome

SEEDS = range(1, 1001)


def test_no_dimension_is_drawn_seldom() -> None:
    drawn = Counter(name for seed in SEEDS for name in dimensions_of(draw_experiment(seed)))
    rare = {name: seeds for name, seeds in drawn.items() if seeds < 20}
    assert not rare, "what is in fewer than 2 of 100 seeds tests little"


def test_a_campaign_counts_what_its_seeds_drew_and_reached() -> None:
    plan = Plan((Series("random", "pass"),), range(1, 9))
    outcomes = [Outcome("random", seed, "", "pass", transitions=("log-created", f"of-{seed}")) for seed in plan.seeds]
    rows = {row.dimension: row for row in drawn_by(plan, outcomes)}
    of_group = [seed for seed in plan.seeds if draw_experiment(seed).spec.workload.group_members]
    assert 0 < len(of_group) < 8
    group = rows["a consumer group"]
    assert (group.seeds, group.of, group.transitions) == (len(of_group), 8, 1 + len(of_group))
    assert group.only_here == tuple(sorted(f"of-{seed}" for seed in of_group)), "any seed reached log-created"
    assert drawn_by(Plan((Series("x", "pass"),), range(1, 9)), []) == []


def test_a_commit_of_every_partition_fits_into_a_segment() -> None:
    """A dozen partitions of each of three topics, at about 100 bytes: else a group never commits again."""
    for seed in range(1, 201):
        spec = draw_experiment(seed).spec
        if "addPartitions" in str(spec.schedule):
            assert spec.cluster is not None
            assert int(spec.cluster.config["offsets.topic.segment.bytes"]) >= 3 * 12 * 100


def test_no_wrong_clock_removes_what_is_kept_by_time() -> None:
    """Whether a topic says so or the nodes do: it would be gone too soon, and nobody could judge it."""
    clocks = 0
    for seed in range(1, 401):
        spec = draw_experiment(seed).spec
        assert spec.cluster is not None
        if "clockSkew" in str(spec.schedule):
            clocks += 1
            assert "log.retention.ms" not in spec.cluster.config
            assert not any("retention.ms" in topic.config for topic in spec.cluster.topics)
    assert clocks


def test_a_rolling_upgrade_begins_when_the_sessions_of_wiped_brokers_are_over() -> None:
    """Until then they are in the ISR, with nothing in their logs."""
    upgrades = 0
    for seed in range(1, 400):
        schedule = draw_data(Random(seed), seed, "zookeeper")["spec"]["schedule"]
        for before, step in pairwise(schedule):
            if "inter.broker.protocol.version" in str(step):
                assert before == {"wait": "6s"}, seed
                upgrades += 1
    assert upgrades
