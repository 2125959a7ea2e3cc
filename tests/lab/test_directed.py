"""Each experiment of ``lab/scenarios`` passes, and fails with the bug that it is made for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.experiment import ChaosExperiment, load_experiment
from highwater_chaos.verdict.checked_run import run_and_forget
from highwater_lab.mutants import CATALOGUE, watching
from highwater_runtime.ports import SECOND

Finds = Callable[[ChaosExperiment, str, str], bool]
DIRECTED = Path(__file__).parents[2] / "lab/scenarios"
FOUND = {
    "broker-and-controller-die": ("sessions-lost-at-failover", "assertion dead-broker-is-fenced"),
    "every-record-flushed": ("flush-without-fsync", "committed-loss"),
    "follower-lags": ("isr-never-shrinks", "assertion lagging-follower-leaves-isr"),
    "leader-without-quorum": ("leader-without-quorum-goes-on", "assertion cut-off-controller-resigns"),
    "epoch-without-records": ("epoch-start-not-noted", "assertion follower-has-longer-log"),
    "epoch-unknown-to-leader": ("epoch-end-names-asked-epoch", "divergence"),
    "move-taken-back": ("cancelled-reassignment-keeps-added-in-isr", "isr-not-assigned"),
    "redirected-move-taken-back": (
        "redirected-reassignment-forgets-added",
        "assertion only-the-first-replicas-are-left",
    ),
    "move-past-absent-replicas": ("reassignment-waits-for-added-alone", "lost-write"),
    "read-behind-question": ("read-covered-by-earlier-answer", "stale-read"),
    "answer-from-before": ("read-confirmed-by-earlier-call", "stale-read"),
    "shutdown-of-former-incarnation": ("heartbeat-of-former-incarnation", "unavailable"),
    "longer-older-log": ("vote-by-offset-only", "raft-leader-completeness"),
    "epoch-unknown-to-quorum-leader": ("metadata-divergence-by-offset-only", "raft-committed-data"),
    "two-diverging-epochs": ("high-watermark-taken-over-divergence", "raft-committed-data"),
    "snapshot-arrives-power-fails": ("snapshot-name-not-synced", "node-crash"),
    "snapshot-of-another-history": ("snapshot-epoch-not-compared", "unavailable"),
    "controller-hangs": ("registration-keeps-isr", "isr-incomplete"),
    "stop-of-former-move": ("zk-stop-of-former-leader-epoch", "live-partition-deleted"),
    "flushed-segments-truncated": ("truncation-leaves-segments", "divergence"),
    "truncated-while-flushing": ("flush-under-way-outlives-truncation", "recovery-point-durable"),
    "clean-stop-and-start": ("clean-shutdown-marker-removal-not-synced", "clean-shutdown-marker"),
    "leader-dies-write-refused": ("zk-refused-write-not-repeated", "committed-loss"),
    "leader-not-told": ("zk-isr-written-unconditionally", "committed-loss"),
    "dead-broker-not-told": ("zk-death-not-told", "unavailable"),
    "expired-unseen": ("zk-restart-unnoticed", "unavailable"),
    "command-lost": ("zk-lost-command-not-repeated", "unavailable"),
    "write-arrives-late": ("zk-controller-writes-unconditionally", "committed-loss"),
    "segments-lost-in-between": ("recovery-accepts-lost-segment", "replica-incomplete"),
    "three-diverging-epochs": ("truncates-by-foreign-epoch", "unavailable"),
    "fetch-of-former-incarnation": ("former-leader-epoch-accepted", "model-step"),
    "joins-without-session": ("joins-isr-fenced-without-controller", "lost-write"),
    "move-answered-before-told": ("answer-of-former-leader-epoch", "model-step"),
    "leader-told-last": ("next-leader-epoch-accepted", "model-step"),
    "deletion-not-followed": ("delete-records-answered-at-once", "model-step"),
    "new-topic-not-heard": ("session-survives-lost-response", "unavailable"),
    "throttled-once": ("throttle-survives-its-removal", "unavailable"),
    "coordinator-leads-on": ("coordinator-of-former-epoch", "group-coordinator-epoch"),
    "commit-of-former-generation": ("group-commit-of-former-generation", "group-commit-fenced"),
    "voter-restarts": ("vote-forgotten-at-restart", "raft-election-safety"),
}
FOUND_TOO = [
    ("coordinator-leads-on", "group-keeps-first-commit", "group-offset-stale"),
    ("move-taken-back", "reassignment-completes-early", "model-step"),
    ("move-past-absent-replicas", "reassignment-never-completes", "reassignment-open"),
    ("segments-lost-in-between", "recovery-keeps-later-segments", "replica-incomplete"),
    ("segments-lost-in-between", "recovery-trusts-later-producer-snapshots", "producer-state"),
    ("flushed-segments-truncated", "recovery-point-survives-truncation", "recovery-point-durable"),
]
"""Other mutants that some of them find."""
SEEDS = {"snapshot-arrives-power-fails": 8, "segments-lost-in-between": 2}
"""How many seeds may be needed, if what survives a power loss is drawn; else one."""
RECOVERY = 20 * SECOND
NEEDS_ITS_RATE = "segments-lost-in-between"
"""It fills segments."""
AT_THE_END = (
    "command-lost",
    "expired-unseen",
    "new-topic-not-heard",
    "shutdown-of-former-incarnation",
    "snapshot-arrives-power-fails",
    "snapshot-of-another-history",
    "throttled-once",
)
"""Where a check at the end finds the mutant, which leaves the cluster broken for good. The file waits a minute."""


def test_every_file_is_tried() -> None:
    assert sorted(path.stem for path in DIRECTED.glob("*.yaml")) == sorted(FOUND)


ALWAYS = (
    "broker-and-controller-die",  # an assertion
    "every-record-flushed",  # an invariant of the simulator
    "coordinator-leads-on",  # two checks of groups
    "answer-from-before",  # reads
    "move-answered-before-told",  # the specification
    "command-lost",  # what a cluster owes at the end
)
"""For each way to find a mutant one file: ``make thorough`` tries all."""


@pytest.mark.quick("move-answered-before-told")
@pytest.mark.parametrize(
    "name",
    [name if name in ALWAYS else pytest.param(name, marks=pytest.mark.thorough) for name in FOUND],
)
def test_it_fails_with_its_mutant_alone(finds: Finds, name: str, fewer_records: Any) -> None:
    """Watched, a run is what it is without that (``test_reach.py``)."""
    experiment = load_experiment(DIRECTED / f"{name}.yaml")
    if name != NEEDS_ITS_RATE:
        experiment = fewer_records(experiment)
    if name in AT_THE_END:
        spec = experiment.spec.model_copy(update={"recovery": RECOVERY})
        experiment = experiment.model_copy(update={"spec": spec})
    wanted = dict([FOUND[name], *((mutant, check) for file, mutant, check in FOUND_TOO if file == name)])
    with watching(CATALOGUE[mutant] for mutant in wanted) as reached:
        _, without = run_and_forget(experiment, wire=False)
    assert (without["verdict"], without["anomalies"], without["inconclusiveReasons"]) == ("pass", {}, [])
    assert set(reached) == set(wanted)
    first = experiment.spec.seed
    for mutant, check in wanted.items():
        seeds = range(first, first + SEEDS.get(name, 1))
        assert any(finds(experiment.with_seed_and_switches(seed, {}), mutant, check) for seed in seeds), mutant
