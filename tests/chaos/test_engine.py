"""Whole runs: from an experiment to what a verdict needs."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from highwater_chaos.backends.primitives import PausesNodes, SkewsClocks
from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import Cluster, load_experiment
from highwater_chaos.run.result import settings_of_run
from highwater_chaos.schedule.capability import BackendCannotError, missing_capabilities
from highwater_chaos.verdict.checked_run import check_and_forget
from highwater_chaos.workload.clients import Clients
from highwater_chaos.workload.consumer import RecordingConsumer
from highwater_pipeline.transitions import transitions_of
from highwater_runtime.ports import MS, SECOND

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "kip-903"


def run(experiment, **options):
    return run_experiment(experiment, SimBackend(**options))


class SeveralClocks(SimBackend):
    """As if each node ran on a machine of its own."""

    def clock_errors_ns(self):
        return {"broker-0": 3 * MS, "broker-1": 0}


def test_how_far_clocks_may_be_off_is_judged_by(make_experiment):
    experiment = make_experiment('[{"wait": "100ms"}]')
    for backend, errors in ((SeveralClocks(), {"broker-0": 3 * MS, "broker-1": 0}), (SimBackend(), None)):
        assert settings_of_run(experiment, run_experiment(experiment, backend)).clock_errors_ns == errors


def acknowledged_and_read(result):
    sent = {o.value[0].value for o in result.operations if o.f == "send" and o.type == "ok"}
    read = {
        item.value
        for o in result.operations
        if o.client == "final-reader" and o.f == "poll" and o.type == "ok"
        for item in o.value
    }
    return sent, read


def test_a_run_without_faults_leaves_everything_that_a_verdict_needs(make_experiment):
    result = run(make_experiment('[{"wait": "2s"}]'))
    assert result.inconclusive_reasons == []
    assert result.violations == []
    sent, read = acknowledged_and_read(result)
    assert sent == read
    assert len(sent) == result.acknowledged > 50
    assert [phase.name for phase in result.phases] == ["setup", "steady", "fault", "recovered", "final"]
    assert all(a.end_ns == b.start_ns for a, b in zip(result.phases, result.phases[1:], strict=False))
    assert {row["broker"] for row in result.replica_log} == {0, 1}
    records = [row for row in result.replica_log if "ended" not in row]
    assert [(row["broker"], row["ended"]) for row in result.replica_log if "ended" in row] == [(0, "end"), (1, "end")]
    by_broker = [
        [(row["offset"], row["value"], row["crc"]) for row in records if row["broker"] == broker] for broker in (0, 1)
    ]
    assert by_broker[0] == by_broker[1]
    assert {value for _, value, _ in by_broker[0]} == sent
    assert {len(row["topic_id"]) for row in result.replica_log} == {32}
    assert json.loads(result.event_lines[0])["seq"] == 0
    assert {row.name for row in result.metrics} >= {"kafka_server_replicamanager_leadercount"}
    assert result.run_ns > 6 * SECOND


@pytest.mark.quick("off")
@pytest.mark.parametrize(("check", "lost"), [("off", True), ("on", False)])
def test_kafka_14139(check, lost):
    experiment = load_experiment(SCENARIOS / "kafka-14139.yaml")
    result = run(experiment.with_seed_and_switches(None, {"replica-epoch-check": check}))
    assert result.inconclusive_reasons == []
    sent, read = acknowledged_and_read(result)
    assert bool(sent - read) is lost
    assert {violation.name for violation in result.violations} >= (
        {"stale-isr-join", "committed-loss"} if lost else set()
    )
    assert all(record.confirmed and record.healed for record in result.faults)


class _SlowToStart(SimBackend):
    """A node that was stopped needs 100 s to start."""

    def start(self, node):
        self.simulator.call_later(100 * SECOND, lambda: super(_SlowToStart, self).start(node))


@pytest.mark.thorough
def test_a_heal_that_comes_after_its_probe_is_seen_in_the_end(make_experiment):
    schedule = '[{"inject": {"kill": {"target": {"broker": 1}, "restartAfter": "1s"}}}, {"wait": "40s"}]'
    workload = "{producers: 1, rate: 2/s}"
    experiment = make_experiment(schedule, timeout="10m", recovery="2m", workload=workload)
    result = run_experiment(experiment, _SlowToStart())
    (fault,) = result.faults
    assert [item.ok for item in fault.heal_evidence] == [False, False, True]
    assert result.inconclusive_reasons == []


LOSES = {
    "kafka-14139": {"off": True, "on": False},
    "late-fetch": {"off": True, "on": False},
    "late-fetch-in-isr": {"off": True, "on": False},
    "rolling-upgrade": {"off": True, "on": False},
    "before-the-upgrade": {"off": True, "on": True},
    "epoch-unknown": {"off": True, "on": True},
    "forgotten-proposal": {"off": True, "on": False},
    "last-isr-member": {"off": True, "on": True},
    "registered-but-fenced": {"off": False, "on": False},
    "retried-alter-partition": {"off": False, "on": False},
    "slow-proposal": {"off": True, "on": False},
}


SWITCH_OF = {
    "forgotten-proposal": "proposal-kept",
    "late-fetch-in-isr": "stale-fetch-check",
    "slow-proposal": "refusal-moves-epoch",
}
"""The switch that a scenario of this folder is about, where it is not ``replica-epoch-check``."""


NEEDS_ITS_RATE = "late-fetch-in-isr"
"""It loses what is sent within a short time."""


def test_every_scenario_is_in_the_table():
    assert sorted(LOSES) == sorted(path.stem for path in SCENARIOS.glob("*.yaml"))


@pytest.mark.quick("before-the-upgrade-on", "forgotten-proposal-off", "registered-but-fenced-off", "slow-proposal-off")
@pytest.mark.parametrize(
    ("name", "check"), [(name, check) for name, loses in LOSES.items() for check in loses if name != "kafka-14139"]
)
def test_what_each_scenario_of_kip_903_shows(name, check, fewer_records):
    experiment = load_experiment(SCENARIOS / f"{name}.yaml")
    if name != NEEDS_ITS_RATE:
        experiment = fewer_records(experiment, 40)
    switch = SWITCH_OF.get(name, "replica-epoch-check")
    result = run(experiment.with_seed_and_switches(None, {switch: check}), watch_invariants=False)
    assert result.inconclusive_reasons == []
    sent, read = acknowledged_and_read(result)
    assert bool(sent - read) is LOSES[name][check]


# --- what cannot be judged ------------------------------------------------------------------------------------------


def test_no_producers_means_inconclusive(make_experiment):
    result = run(make_experiment(workload="{producers: 0, consumers: 1}"))
    assert result.inconclusive_reasons == ["no write was acknowledged, so none can have been lost"]


def test_a_fault_that_never_took_hold_makes_the_run_inconclusive(make_experiment):
    result = run(make_experiment("[{inject: {name: h, hold: {rpc: AlterPartition}}}, {wait: 1s}]"))
    assert [reason for reason in result.inconclusive_reasons if "fault-1 (h) never took hold" in reason]


def test_a_condition_not_met_makes_the_run_inconclusive_and_everything_is_healed(make_experiment):
    result = run(
        make_experiment(
            "[{inject: {kill: {target: {broker: 2}}}}, {await: {underReplicated: 7, within: 1s}}, {wait: 1m}]"
        )
    )
    assert len(result.inconclusive_reasons) == 1
    assert "underReplicated 7 was not met within 1s" in result.inconclusive_reasons[0]
    assert result.faults[0].healed


def test_past_its_timeout_a_run_is_healed_and_inconclusive(make_experiment):
    result = run(make_experiment("[{inject: {pause: {target: {broker: 1}}}}, {wait: 19s}]", timeout="20s"))
    assert "timeout of 20s came in the middle of the schedule, at step 2" in result.inconclusive_reasons[0]
    assert result.final_reads_cut_short, "what is unread then is not lost"
    assert result.faults[0].healed
    assert 20 * SECOND <= result.run_ns < 25 * SECOND


@pytest.mark.thorough
def test_what_nobody_can_read_because_of_a_fault_is_not_lost(make_experiment, monkeypatch):
    """The only broker of one of two partitions is never started again: its records are unread, and there."""
    schedule = "[{inject: {name: death, kill: {target: {broker: 2}}}}, {wait: 1s}, {heal: death}]"
    workload = "{producers: 1, rate: 50/s, consumers: 0, deliveryTimeout: 2s}"
    experiment = make_experiment(schedule, workload=workload, recovery="5s", timeout="10m")
    (topic,) = experiment.cluster.topics
    cluster = experiment.cluster.model_copy(
        update={
            "topics": [topic.model_copy(update={"partitions": 2, "assignment": [[0], [2]], "replication_factor": None})]
        }
    )
    experiment = experiment.model_copy(update={"spec": experiment.spec.model_copy(update={"cluster": cluster})})
    monkeypatch.setattr(SimBackend, "start", lambda *_: None)
    result = run(experiment)
    (record,) = result.faults
    assert not record.healed
    assert any("the final reads did not reach the high watermark" in reason for reason in result.inconclusive_reasons)
    verdict = check_and_forget(experiment, result, wire=False)
    assert (verdict["verdict"], verdict["checks"]["unseen"]) == ("inconclusive", "unknown"), verdict["reasons"]


def test_what_nobody_can_read_without_a_fault_is_not_seen(make_experiment, monkeypatch):
    """All nodes run, and no broker answers a Fetch: the cluster is at fault."""
    experiment = make_experiment(workload="{producers: 1, rate: 50/s, consumers: 0}")
    monkeypatch.setattr(RecordingConsumer, "_fetch", lambda *_: None)
    result = run(experiment)
    verdict = check_and_forget(experiment, result, wire=False)
    assert (verdict["verdict"], list(verdict["anomalies"])) == ("fail", ["unseen", "unavailable"])


def test_the_final_reader_waits_for_every_partition_that_was_written_to(make_experiment, monkeypatch):
    expected = []
    start = Clients._start

    def started(clients, driver, settings):
        expected.extend(key for reader in settings.consumers for key in reader.expected)
        start(clients, driver, settings)

    monkeypatch.setattr(Clients, "_start", started)
    run(make_experiment())
    assert expected == [("orders", 0)]


def test_without_acknowledgements_a_run_in_which_nothing_was_read_decides_nothing(make_experiment):
    """Whichever checks are chosen: nothing is known to have been written."""
    experiment = make_experiment(workload="{producers: 0, consumers: 1, acks: 0, idempotence: false}")
    spec = experiment.spec.model_copy(update={"checks": ["two-leaders"]})
    experiment = experiment.model_copy(update={"spec": spec})
    verdict = check_and_forget(experiment, run(experiment), wire=False)
    assert verdict["verdict"] == "inconclusive"
    assert verdict["reasons"] == ["no record was read, so none is known to have been written (acks: 0)"]


def test_a_cluster_that_does_not_recover_makes_the_run_inconclusive(make_experiment):
    result = run(make_experiment("[{inject: {kill: {target: {all: brokers}}}}]", recovery="50ms"))
    assert any(
        "did not recover" in reason and "broker 0 is not unfenced" in reason for reason in result.inconclusive_reasons
    )


class LackingBackend(SimBackend):
    """A simulator that cannot do these things."""

    def __init__(self, *missing):
        super().__init__()
        self.missing = missing

    def can(self, cluster):
        return super().can(cluster) - set(self.missing)


def test_what_the_backend_cannot_do_is_refused_before_anything_starts(make_experiment):
    backend = LackingBackend(PausesNodes, SkewsClocks)
    schedule = """[
        {inject: {clockSkew: {target: {broker: 0}, offset: 1s}}},
        {parallel: [[{repeat: {times: 2, steps: [{inject: {pause: {target: {broker: 0}}}}]}}]]}
    ]"""
    with pytest.raises(BackendCannotError) as refusal:
        run_experiment(make_experiment(schedule), backend)
    assert refusal.value.problems == [
        "clockSkew needs clock skew, which sim does not have",
        "pause needs pause, which sim does not have",
    ]
    assert not hasattr(backend, "simulator"), "nothing was built"


class Processes(SimBackend):
    """Real processes, as far as refusals know."""

    name = "local"


@pytest.mark.parametrize(
    ("mode", "check", "problem"),
    [
        ("kraft", "raft-commit-durable", "needs a look at the live state of nodes, which local does not have"),
        ("kraft", "raft-log-matching", None),
        ("zookeeper", "raft-log-matching", "needs events of the quorum, and ZooKeeper's own servers report none"),
        ("zookeeper", "stable-leadership", "needs events of the quorum, and ZooKeeper's own servers report none"),
        ("zookeeper", "lost-write", None),
    ],
)
def test_an_invariant_that_nobody_would_look_at_is_refused(make_experiment, mode, check, problem):
    """It would be ok, whatever happened."""
    experiment = make_experiment()
    cluster = Cluster(mode=mode, brokers=3, topics=experiment.cluster.topics)
    spec = experiment.spec.model_copy(update={"checks": ["all", check], "cluster": cluster})
    experiment = experiment.model_copy(update={"spec": spec})
    assert missing_capabilities(experiment, SimBackend()) == []
    assert missing_capabilities(experiment, Processes()) == (
        [] if problem is None else [f"spec.checks: {check} {problem}"]
    )


def test_a_random_step_is_refused_by_its_kinds(make_experiment):
    backend = LackingBackend(*SimBackend().primitives)
    kinds = "{powerLoss: 1, partition: 1, diskStall: 1, clockSkew: 1}"
    with pytest.raises(BackendCannotError, match=r"powerLoss needs power loss.*network cuts|network cuts.*powerLoss"):
        run_experiment(make_experiment(f"[{{random: {{for: 1s, every: 1s, faults: {kinds}}}}}]"), backend)


class SlowBackend(SimBackend):
    """Time passes while a fault is injected, as on a real machine."""

    def kill(self, node: str) -> None:
        super().kill(node)
        self.advance(self.now_ns() + 300 * MS)


def test_what_was_drawn_while_another_fault_was_injected_is_looked_at_again(make_experiment):
    """Two `random` steps draw the same nodes, one while the other's fault is being injected."""
    random = "{for: 6s, every: 50ms, lasting: 1s, faults: {kill: 1}, targets: [brokers]}"
    schedule = f"[{{parallel: [[{{random: {random}}}], [{{random: {random}}}]]}}]"
    result = run_experiment(make_experiment(schedule), SlowBackend())
    of_node = {}
    for record in result.faults:
        of_node.setdefault(record.targets[0], []).append(record)
    assert len(result.faults) > 5
    assert [record.id for record in result.faults if not record.confirmed] == []
    for records in of_node.values():
        assert all(one.healed_ns <= other.started_ns for one, other in pairwise(records))


# --- determinism ----------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_random_cancels_throttled_moves_and_upgrades_the_metadata_version(make_experiment):
    """What of it cannot fail is done, and the cluster recovers once the throttles are gone."""
    kinds = "{throttledReassign: 2, cancelReassign: 3, upgradeMetadata: 1}"
    schedule = f"[{{random: {{for: 20s, every: 400ms, faults: {kinds}}}}}]"
    drawn = make_experiment(schedule, workload="{producers: 1, rate: 50/s, recordSize: 1000}")
    cluster = drawn.cluster.model_copy(update={"metadata_version": "3.4-IV0"})
    result = run(drawn.model_copy(update={"spec": drawn.spec.model_copy(update={"cluster": cluster})}))
    assert (result.inconclusive_reasons, result.violations) == ([], [])
    done = [step.step.admin for step in result.done if step.step.admin is not None]
    assert {move.reassign.throttle is not None for move in done if move.reassign is not None} == {True}
    assert any(move.cancel_reassign is not None for move in done)
    versions = [step.upgrade_metadata.version for step in done if step.upgrade_metadata is not None]
    assert versions[:4] == ["3.5-IV0", "3.5-IV1", "3.5-IV2", "3.6-IV0"]
    assert "reassignment-cancelled" in transitions_of(result.event_lines)


def test_clients_follow_a_topic_that_comes_back_with_fewer_partitions(make_experiment):
    """The coordinator refuses offsets of partitions that are gone, as Apache Kafka does."""
    more, gone = "{admin: {addPartitions: {topic: orders, total: 3}}}", "{admin: {deleteTopic: {name: orders}}}"
    again = "{admin: {createTopic: {name: orders, partitions: 1, replicationFactor: 2}}}"
    steps = f"[{more}, {{wait: 20s}}, {gone}, {{wait: 5s}}, {again}, {{wait: 25s}}]"
    result = run(make_experiment(steps, workload="{producers: 1, rate: 20/s, groupMembers: 2, deliveryTimeout: 5s}"))
    commits = [one for one in result.operations if one.f == "commit" and one.type == "ok"]
    assert len(commits) > 10
    assert [value.key for value in commits[-1].value] == ["workload/orders-0"]
    assert max(len(one.value) for one in commits) == 3
    sent = [one for one in result.operations if one.f == "send" and one.type != "invoke"]
    assert {one.type for one in sent[-50:]} == {"ok"}
    assert result.violations == []


@pytest.mark.parametrize("most", [1, 4])
def test_records_that_are_handed_over_at_once_share_a_batch(make_experiment, most):
    result = run(make_experiment("[{wait: 8s}]", workload=f"{{producers: 2, rate: 30/s, recordsAtOnce: {most}}}"))
    lines = [line for line in map(json.loads, result.event_lines) if line["kind"] == "log-appended"]
    sizes = {line["end_offset"] - line["offset"] for line in lines if line["partition"] == "orders-0"}
    assert sizes == set(range(1, most + 1))
    assert result.load.offered / result.load.seconds == pytest.approx(30, rel=0.1)
    assert (result.inconclusive_reasons, result.violations) == ([], [])


@pytest.mark.thorough
def test_clients_start_one_after_the_other(make_experiment):
    workload = "{producers: 3, rate: 60/s, consumers: 1, groupMembers: 2, startWithin: 6s}"
    result = run(make_experiment("[{wait: 8s}]", workload=workload))
    began: dict[str, int] = {}
    for operation in result.operations:
        began.setdefault(operation.client, operation.time)
    starts = {name: began[name] - began["producer-0"] for name in began}
    for name, due in {"producer-1": 2, "producer-2": 4, "consumer-0": 6, "group-member-1": 3}.items():
        assert due * SECOND - 100 * MS <= starts[name] <= (due + 1.5) * SECOND, name
    assert result.inconclusive_reasons == []
