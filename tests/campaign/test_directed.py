"""Each experiment of ``scenarios/mutants`` passes, and fails with the bug that it is made for."""

from __future__ import annotations

from pathlib import Path

import pytest

from highwater_chaos.campaign import Unit, run_unit, series_of_file
from highwater_chaos.campaign.mutants import CATALOGUE, applied, watching
from highwater_chaos.experiment import load_experiment
from highwater_runtime.ports import SECOND

DIRECTED = Path(__file__).parents[2] / "scenarios/mutants"
FOUND = {
    "broker-and-controller-die": ("sessions-lost-at-failover", "assertion dead-broker-is-fenced"),
    "every-record-flushed": ("flush-without-fsync", "committed-loss"),
    "follower-lags": ("isr-never-shrinks", "assertion lagging-follower-leaves-isr"),
    "leader-without-quorum": ("leader-without-quorum-goes-on", "assertion cut-off-controller-resigns"),
    "epoch-without-records": ("epoch-start-not-noted", "assertion follower-has-longer-log"),
    "epoch-unknown-to-leader": ("epoch-end-names-asked-epoch", "divergence"),
    "move-taken-back": ("cancelled-reassignment-keeps-added-in-isr", "isr-not-assigned"),
    "move-redirected-twice": ("redirected-reassignment-forgets-added", "model-step"),
    "read-behind-question": ("read-covered-by-earlier-answer", "stale-read"),
    "answer-from-before": ("read-confirmed-by-earlier-call", "stale-read"),
    "shutdown-of-former-life": ("heartbeat-of-former-life", "unavailable"),
    "longer-older-log": ("vote-by-offset-only", "raft-leader-completeness"),
    "epoch-unknown-to-quorum-leader": ("metadata-divergence-by-offset-only", "raft-committed-data"),
    "two-diverging-epochs": ("high-watermark-taken-over-divergence", "raft-committed-data"),
    "snapshot-arrives-power-fails": ("snapshot-name-not-synced", "node-crash"),
    "snapshot-of-another-history": ("snapshot-epoch-not-compared", "unavailable"),
    "controller-hangs": ("registration-keeps-isr", "isr-incomplete"),
    "stop-of-former-move": ("zk-stop-of-former-leader-epoch", "live-partition-deleted"),
    "deletion-arrives-again": ("zk-late-stop-deletes-next-topic", "live-partition-deleted"),
    "order-arrives-again": ("zk-late-order-revives-replica", "stray-partition"),
    "full-list-arrives-again": ("zk-late-list-judges-strays", "live-partition-deleted"),
    "flushed-segments-truncated": ("truncation-leaves-segments", "divergence"),
    "truncated-while-flushing": ("flush-under-way-outlives-truncation", "recovery-point-durable"),
    "clean-stop-and-start": ("clean-shutdown-marker-removal-not-synced", "clean-shutdown-marker"),
    "leader-dies-write-refused": ("zk-refused-write-not-repeated", "committed-loss"),
    "leader-not-told": ("zk-isr-written-unconditionally", "committed-loss"),
    "expired-unseen": ("zk-restart-unnoticed", "unavailable"),
    "command-lost": ("zk-lost-command-not-repeated", "unavailable"),
    "write-arrives-late": ("zk-controller-writes-unconditionally", "committed-loss"),
    "segments-lost-in-between": ("recovery-accepts-lost-segment", "replica-incomplete"),
    "three-diverging-epochs": ("truncates-by-foreign-epoch", "unseen"),
    "fetch-of-former-life": ("former-leader-epoch-accepted", "model-step"),
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
    ("segments-lost-in-between", "recovery-keeps-later-segments", "replica-incomplete"),
    ("segments-lost-in-between", "recovery-trusts-later-producer-snapshots", "producer-state"),
    ("flushed-segments-truncated", "recovery-point-survives-truncation", "recovery-point-durable"),
]
"""Other mutants that some of them find."""
SEEDS = {"snapshot-arrives-power-fails": 8, "segments-lost-in-between": 2}
"""How many seeds may be needed, if what survives a power loss is drawn; else one."""
RECOVERY = {
    **dict.fromkeys(("longer-older-log", "two-diverging-epochs"), 10 * SECOND),
    **dict.fromkeys(
        (
            "command-lost",
            "expired-unseen",
            "leader-not-told",
            "new-topic-not-heard",
            "shutdown-of-former-life",
            "snapshot-arrives-power-fails",
            "snapshot-of-another-history",
            "throttled-once",
            "voter-restarts",
        ),
        20 * SECOND,
    ),
}
"""Where the mutant leaves the cluster broken for good, which the file waits a minute for. Without it this is enough."""


def test_every_file_is_tried() -> None:
    assert sorted(path.stem for path in DIRECTED.glob("*.yaml")) == sorted(FOUND)


@pytest.mark.parametrize("name", FOUND)
def test_it_fails_with_its_mutant_alone(name: str) -> None:
    """Watched, a run is what it is without that (``test_reach.py``)."""
    experiment = load_experiment(DIRECTED / f"{name}.yaml")
    if name in RECOVERY:
        spec = experiment.spec.model_copy(update={"recovery": RECOVERY[name]})
        experiment = experiment.model_copy(update={"spec": spec})
    series = series_of_file(experiment, {}, until_failure=False)
    unit = Unit(series.experiment, experiment.spec.seed, series.text)
    wanted = dict([FOUND[name], *((mutant, check) for file, mutant, check in FOUND_TOO if file == name)])
    with watching(CATALOGUE[mutant] for mutant in wanted) as reached:
        without = run_unit(unit)
    assert (without.verdict, without.anomalies, without.reasons) == ("pass", (), ())
    assert set(reached) == set(wanted)
    for mutant, check in wanted.items():
        with applied(CATALOGUE[mutant]):
            seeds = range(unit.seed, unit.seed + SEEDS.get(name, 1))
            outcomes = (run_unit(Unit(unit.experiment, seed, unit.text)) for seed in seeds)
            found = next((outcome for outcome in outcomes if outcome.verdict == "fail"), without)
        assert check in found.anomalies, mutant
