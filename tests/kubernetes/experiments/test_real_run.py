"""An experiment from ``create`` to its verdict: operator, runner, real nodes, faults that really happen."""

from __future__ import annotations

import json
import signal
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from api_server.faults import Fault
from experiments.conftest import KIND, experiment, until
from experiments.test_foreign import allow_disruptions

from highwater_chaos.backends.kubernetes import archive
from highwater_chaos.backends.kubernetes.archive import fetch
from highwater_chaos.kube.client import Kube
from highwater_operator.experiments.context import JudgingSettings

LONG = 150.0
CONFIG = {
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 300,
    "controller.quorum.fetch.timeout.ms": 1500,
    "replica.fetch.wait.max.ms": 200,
}


@pytest.mark.thorough
def test_deleted_in_the_middle_of_a_real_run(real: Any) -> None:
    real.start()
    schedule = [{"inject": {"pause": {"target": {"broker": 1}}, "for": "90s"}}, {"wait": "90s"}]
    topics = [{"name": "orders", "replicationFactor": 2}]
    cluster = {"brokers": 2, "controllers": 1, "config": CONFIG, "topics": topics}
    real.api.create(experiment(cluster=cluster, schedule=schedule))
    agent = real.agents[0]
    (fault,) = until(agent.in_force, "the fault", LONG)
    until(lambda: real.status().get("faults", {}).get("planned") == 1, "the fault to be counted")
    real.api.delete(*KIND, "demo", "default")
    until(lambda: real.get() is None, "the experiment to go", LONG)
    assert agent.injected == agent.undone == [fault]
    assert real.api.get("highwater.dev/v1alpha1", "LogCluster", "demo", "default") is None
    assert real.jobs() == []
    assert {one["reason"] for one in real.api.objects("v1", "Event", "default")} >= {
        "Aborting",
        "Verified",
    }


@pytest.mark.quick("True")
@pytest.mark.parametrize("borrowed", [False, True])
def test_the_log_cluster_is_deleted_in_the_middle_of_a_real_run(real: Any, tmp_path: Path, borrowed: bool) -> None:
    """The run has nothing more to wait for. It keeps what it recorded, and says why it ended."""
    real.start()
    name = "theirs" if borrowed else "demo"
    kind = ("highwater.dev/v1alpha1", "LogCluster", name, "default")
    topics = [{"name": "orders", "replicationFactor": 2}]
    cluster = {"brokers": 2, "controllers": 1, "config": CONFIG}
    made = experiment(cluster={**cluster, "topics": topics})
    if borrowed:
        meta = {"name": name, "namespace": "default"}
        real.api.create({"apiVersion": kind[0], "kind": kind[1], "metadata": meta, "spec": cluster})
        made["spec"].pop("cluster")
        made["spec"]["clusterRef"] = {"name": name, "topics": topics}
    schedule = [
        {"inject": {"name": "hit", "kill" if borrowed else "pause": {"target": {"broker": 1}}}},
        {"wait": "100s"},
    ]
    real.api.create({**made, "spec": {**made["spec"], "schedule": schedule}})
    agent = real.agents[0]
    (fault,) = until(agent.in_force, "the fault", LONG)
    in_force = {"planned": 1, "injected": 1, "confirmed": 1, "healed": 0}
    until(lambda: real.status()["faults"] == in_force, "the fault to be counted while it is in force", 30)
    (entry,) = real.status()["journal"]
    lasts = datetime.fromisoformat(entry["deadline"]) - datetime.now(UTC)
    assert lasts < timedelta(minutes=2 + 1, seconds=5), "with the timeout: it has no end of its own"
    began = time.monotonic()
    real.api.delete(*kind)
    until(lambda: real.phase() == "Completed", "the end", LONG)
    assert time.monotonic() - began < 45, "promptly"
    status = real.status()
    why = f"the run was ended early, in its phase 'fault': LogCluster default/{name} was deleted while the experiment"
    assert (status["verdict"], status["expected"]) == ("inconclusive", False)
    assert status["reason"].startswith(why), status["reason"]
    assert status["faults"] == {"planned": 1, "injected": 1, "confirmed": 1, "healed": 1}
    assert (real.condition("Healed")["status"], agent.undone) == ("True", [fault])
    directory = fetch(Kube(real.api.configuration()), "default", "demo", tmp_path / "fetched")
    assert json.loads((directory / "verdict.json").read_text())["acknowledged"] > 0


@pytest.mark.thorough
def test_a_runner_whose_pod_is_asked_to_stop_keeps_what_it_recorded(real: Any, tmp_path: Path, caplog: Any) -> None:
    """As when its node is drained. Logs that a kubelet does not give are asked for at once, not one after the other."""
    caplog.set_level("INFO", "highwater.runner")
    real.start()
    no_logs = real.api.faults.add(Fault(verb="get", resource="pods/log", times=None, status=500))
    schedule = [{"inject": {"pause": {"target": {"broker": 1}}, "for": "90s"}}, {"wait": "90s"}]
    topics = [{"name": "orders", "replicationFactor": 2}]
    cluster = {"brokers": 2, "controllers": 1, "config": CONFIG, "topics": topics}
    real.api.create(experiment(cluster=cluster, schedule=schedule))
    agent = real.agents[0]
    (fault,) = until(agent.in_force, "the fault", LONG)
    (early_end,) = real.early_ends
    early_end.on_signal(signal.SIGTERM, None)
    until(lambda: real.phase() == "Completed", "the verdict", LONG)
    status = real.status()
    why = "the run was ended early, in its phase 'fault': the runner's pod was asked to stop (SIGTERM)"
    assert (status["verdict"], status["reason"][: len(why)]) == ("inconclusive", why), json.dumps(status, indent=1)
    assert (status["faults"]["planned"], status["faults"]["healed"]) == (1, 1)
    assert agent.injected == agent.undone == [fault]
    directory = fetch(Kube(real.api.configuration()), "default", "demo", tmp_path / "fetched")
    verdict = json.loads((directory / "verdict.json").read_text())
    assert verdict["verdict"] == "inconclusive"
    assert [one.fields["verdict"] for one in caplog.records if one.getMessage() == "verdict"] == ["inconclusive"]
    assert verdict["acknowledged"] > 0
    assert (directory / "dumps" / "replica_log.jsonl").stat().st_size > 0
    assert (directory / "report.html").stat().st_size > 1000
    assert len({hit.name for hit in no_logs.hits[:3]}) == 3
    assert "could not be read" in (directory / "logs" / "broker-0.log").read_text()
    with pytest.raises(SystemExit):  # with all of it kept there is nothing to stay for
        early_end.on_signal(signal.SIGTERM, None)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


@pytest.mark.thorough
@pytest.mark.parametrize("largest", [archive.LARGEST, 1000])
def test_recorded_by_a_runner_and_judged_by_a_job(
    real: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, largest: int
) -> None:
    """What is too large to be handed over the runner judges itself. With a claim for it: ``test_whole_runs.py``."""
    monkeypatch.setattr(archive, "LARGEST", largest)
    real.judging = JudgingSettings(job=True)
    real.start()
    cluster = {"brokers": 1, "controllers": 1, "config": CONFIG, "topics": [{"name": "orders"}]}
    schedule = [{"inject": {"pause": {"target": {"broker": 0}}, "for": "500ms"}}, {"wait": "1s"}]
    real.api.create(experiment(cluster=cluster, schedule=schedule))
    until(lambda: real.phase() == "Completed", "the verdict", LONG)
    status = real.status()
    assert (status["verdict"], status["expected"]) == ("pass", True), json.dumps(status, indent=1)
    directory = fetch(Kube(real.api.configuration()), "default", "demo", tmp_path / "fetched")
    assert json.loads((directory / "verdict.json").read_text())["backend"] == "kubernetes"
    handed_over = largest > 1000
    assert ("demo-verdict-0" in status["run"]) == handed_over
    assert ("without recordings" in status["run"]) == (not handed_over)
    assert (real.condition("Recorded").get("status") == "True") == handed_over
    uid = real.get()["metadata"]["uid"]
    judged_by = {f"highwater-judge-{uid}"} if handed_over else set()
    assert set(real.users) == {"operator", f"highwater-run-{uid}"} | judged_by
    until(lambda: real.accounts() == [], "the accounts of its Jobs to go")


@pytest.mark.thorough
def test_two_after_each_other_on_a_cluster_that_was_there_before(real: Any, tmp_path: Path) -> None:
    """The second one has a topic of the first one's name, and is judged by nothing of what that did or broke. Its
    clients are programs of their own, beside the runner."""
    pytest.importorskip("confluent_kafka")
    real.start()
    kind = ("highwater.dev/v1alpha1", "LogCluster", "theirs", "default")
    spec = {"brokers": 2, "controllers": 1, "config": CONFIG, "topics": [{"name": "old", "replicationFactor": 2}]}
    switches = {"replica-epoch-check": "off"}
    meta = {"name": "theirs", "namespace": "default"}
    real.api.create({"apiVersion": kind[0], "kind": kind[1], "metadata": meta, "spec": {**spec, "switches": switches}})
    before = None
    for name, fault, driver in (("first", "kill", "highwater"), ("second", "pause", "confluent-kafka")):
        hit = {fault: {"target": {"leaderOf": "orders-0"}, **({"restartAfter": "1s"} if fault == "kill" else {})}}
        schedule = [{"inject": {**hit, **({"for": "1s"} if fault == "pause" else {})}}, {"wait": "2s"}]
        workload = {"driver": driver, "producers": 1, "rate": "50/s", "consumers": 1}
        made = experiment(name, schedule=schedule, workload=workload)
        made["spec"].pop("cluster")
        reference = {"name": "theirs", "topics": [{"name": "orders", "replicationFactor": 2}]}
        expect = [{"when": switches, "verdict": "pass"}, {"verdict": "fail"}]
        made["spec"] |= {"clusterRef": reference, "expect": expect}
        real.api.create(made)
        until(lambda name=name: real.phase(name) in ("Completed", "Refused"), "the verdict", LONG)
        status = real.status(name)
        assert (status["verdict"], status["expected"]) == ("pass", True), json.dumps(status, indent=1)
        assert status["faults"] == {"planned": 1, "injected": 1, "confirmed": 1, "healed": 1}
        until(lambda: not real.api.get(*kind)["status"].get("experiment"), "the LogCluster to come back")
        directory = fetch(Kube(real.api.configuration()), "default", name, tmp_path / name)
        assert json.loads((directory / "verdict.json").read_text())["switches"]["replica-epoch-check"] == "off"
        rows = [json.loads(line) for line in (directory / "events" / "nodes.jsonl").read_text().splitlines()]
        assert {one["partition"] for one in rows if one.get("partition")} == {"orders-0"}
        assert min(one["time_ns"] for one in rows) == 0
        after = real.api.get(*kind)
        assert before is None or (before["metadata"]["uid"], before["spec"]) == (
            after["metadata"]["uid"],
            after["spec"],
        )
        before = after


def test_pods_that_are_replaced_are_the_next_incarnation_of_their_nodes(real: Any, tmp_path: Path) -> None:
    """Deleted, evicted, drained: nothing that a node did before is missed, so that the run is judged as any other."""
    real.start()
    config = {**CONFIG, "min.insync.replicas": 1}
    topics = [{"name": "orders", "replicationFactor": 2}]
    cluster = {"brokers": 2, "controllers": 1, "config": config, "topics": topics}
    in_sync = {"await": {"isr": {"partition": "orders-0", "size": 2}, "within": "40s"}}
    schedule = [
        {"wait": "1s"},
        {"inject": {"podDelete": {"target": {"leaderOf": "orders-0"}}}},
        in_sync,
        {"inject": {"drain": {"target": {"broker": 1}, "within": "30s"}, "for": "2s"}},
        {"wait": "4s"},
        in_sync,
    ]
    real.api.create(experiment(cluster=cluster, schedule=schedule))
    until(lambda: len(real.api.objects("policy/v1", "PodDisruptionBudget", "default")) == 2, "its budgets", LONG)
    allow_disruptions(real.api)
    until(lambda: real.phase() in ("Completed", "Refused"), "the end", LONG)
    status = real.status()
    assert (status["verdict"], status["phase"]) == ("pass", "Completed"), status["reason"]
    run = fetch(Kube(real.api.configuration()), "default", "demo", tmp_path / "fetched")
    faults = [json.loads(line) for line in (run / "faults.jsonl").read_text().splitlines()]
    assert [(one["kind"], one["confirmed"], one["healed"]) for one in faults] == [
        ("podDelete", True, True),
        ("drain", True, True),
    ]
    rows = [json.loads(line) for line in (run / "events" / "nodes.jsonl").read_text().splitlines()]
    ends = [(one["node"], one["incarnation"]) for one in rows if one.get("reason") == "pod-gone"]
    begins = {(one["node"], one["incarnation"]) for one in rows if one["kind"] == "node-started"}
    assert len(ends) >= 2
    assert begins >= {(node, number + 1) for node, number in ends}
