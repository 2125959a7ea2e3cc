"""Scenarios of ZooKeeper mode, of moves, and of logs come out as they say, with every switch value that they speak of.

A file of the same name for the quorum: ``tests/raft/test_scenarios.py``; for KIP-903: ``test_engine.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import load_experiment
from highwater_chaos.verdict.checked_run import run_and_forget

SCENARIOS = Path(__file__).parents[2] / "scenarios"
FILES = sorted(
    path
    for folder in ("kafka-16952", "kafka-7362", "log", "reassignment", "zookeeper")
    for path in (SCENARIOS / folder).glob("*.yaml")
)
CASES = [
    (path, when)
    for path in FILES
    for when in ([entry.when for entry in load_experiment(path).spec.expect] or [dict[str, str]()])
]


NEEDS_ITS_RATE = "truncation-not-synced"
"""It loses what was sent within a short time."""


@pytest.mark.quick("False")
@pytest.mark.parametrize("upgraded", [True, False])
def test_a_stray_goes_with_the_upgrade_and_stays_without_it(upgraded: bool, fewer_records: Any) -> None:
    """Controllers of the old protocol know no full lists: it takes the new one to tell broker 2 what it has to have."""
    experiment = fewer_records(load_experiment(SCENARIOS / "zookeeper" / "rolling-upgrade.yaml"))
    steps = [
        step for step in experiment.spec.schedule if upgraded or step.inject is None or step.inject.choice != "restart"
    ]
    experiment = experiment.model_copy(update={"spec": experiment.spec.model_copy(update={"schedule": steps})})
    result = run_experiment(experiment, SimBackend())
    assert result.inconclusive_reasons == []
    holders = {row["broker"] for row in result.replica_log if row["partition"] == "orders-0"}
    assert holders == ({0, 1} if upgraded else {0, 1, 2})


@pytest.mark.quick(
    "controller-session-expires",
    "init-leaderless-isr-{'init-leaderless-isr': 'on'}",
    "isr-expansion-{'isr-expansion-rule': 'as-printed'}",
    "leader-returns-first",
    "order-arrives-again-{'stale-command-check': 'off'}",
    "rolling-upgrade",
    "unclean-election-{'unclean-leader-election': 'on'}",
    "zombie-controller-{'controller-epoch-fencing': 'off'}",
    "zombie-leader",
    "zookeeper-created-again-{'stray-cleanup': 'off'}",
)
@pytest.mark.parametrize(("path", "switches"), CASES, ids=[f"{path.stem}-{when}" for path, when in CASES])
def test_as_expected(path: Path, switches: dict[str, str], fewer_records: Any) -> None:
    experiment = load_experiment(path).with_seed_and_switches(None, switches)
    if path.stem != NEEDS_ITS_RATE:
        experiment = fewer_records(experiment)
    _, verdict = run_and_forget(experiment, wire=False)
    assert verdict["asExpected"], verdict["expected"]["whyNot"]


def test_what_a_switch_opens_is_expected() -> None:
    """A file that expected less would pass above."""
    expected = {
        (f"{path.parent.name}/{path.stem}", *when.items()): set(entry.anomalies)
        for path, when in CASES
        for entry in load_experiment(path).spec.expect
        if entry.when == when and entry.anomalies
    }
    lost = {"lost-write", "committed-loss"}
    strays, unclean = ("stray-cleanup", "off"), ("unclean-leader-election", "on")
    late = ("stale-command-check", "off")
    assert expected == {
        ("kafka-7362/kraft-moved-away", strays): {"stray-partition"},
        ("kafka-7362/zookeeper-created-again", strays): {"stray-partition", "deleted-topic-records"},
        ("kafka-7362/zookeeper-moved-away", strays): {"stray-partition"},
        ("log/truncation-not-synced", ("truncation-sync", "off")): {"divergence", *lost},
        ("log/unclean-election", unclean): lost,
        ("zookeeper/deleted-while-down", strays): {"stray-partition"},
        ("zookeeper/deletion-arrives-again", late): {"live-partition-deleted"},
        ("zookeeper/full-list-arrives-again", late): {"live-partition-deleted"},
        ("zookeeper/init-leaderless-isr", ("init-leaderless-isr", "on")): lost,
        ("zookeeper/isr-expansion", ("isr-expansion-rule", "as-printed")): lost,
        ("zookeeper/leader-returns-first",): lost,
        ("zookeeper/metadata-arrives-again", late): {"unavailable"},
        ("zookeeper/order-arrives-again", late): {"stray-partition"},
        ("zookeeper/unclean-election", unclean): lost,
        ("zookeeper/zombie-controller", ("controller-epoch-fencing", "off")): {"live-partition-deleted"},
    }


@pytest.mark.thorough
def test_a_random_schedule_finds_a_truncation_that_is_not_synced() -> None:
    file = SCENARIOS / "random" / "truncation-and-power.yaml"
    experiment = load_experiment(file).with_seed_and_switches(None, {"truncation-sync": "off"})
    _, verdict = run_and_forget(experiment, wire=False)
    assert (verdict["verdict"], "committed-loss" in verdict["anomalies"]) == ("fail", True)
