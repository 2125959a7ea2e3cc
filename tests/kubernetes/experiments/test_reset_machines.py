"""Machines that are reset while a run goes on: whom it hits, what is refused, and what is known afterwards."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from experiments.broken_pods import FAULTS, NODES, TARGET, Run
from experiments.conftest import experiment
from waiting import until

from highwater_chaos.backends.kubernetes import observing
from highwater_chaos.backends.kubernetes.cluster import ClusterError
from highwater_chaos.backends.primitives import RebootsMachines
from highwater_chaos.backends.protocol import NodeState
from highwater_chaos.experiment.faults import Inject
from highwater_chaos.liveness.health import Condition, Health
from highwater_chaos.machine.kernel.proc import boot_id
from highwater_operator.experiments.contention import may_reset_machines
from highwater_runtime.ports import SECOND
from highwater_runtime.ports.trace import BrokerStateChanged

REBOOT = FAULTS["nodeReboot"]
KINDS = ("node-started", "node-stopped", "broker-state")


def lives(run: Run, node: str) -> list[str]:
    """Starts and ends of a node, and what it said of itself, in the order in which they are recorded."""
    rows = [json.loads(line) for line in run.backend.event_lines()]
    return [row.get("reason") or "started" for row in rows if row["node"] == node and row["kind"] in KINDS]


def test_a_reset_hits_every_node_of_the_machine(run: Run) -> None:
    record = run.inject("nodeReboot", REBOOT)
    run.heal()
    assert record.inconclusive_reason() is None
    assert {*record.targets} == {*NODES}
    seen = [one.what for one in record.inject_evidence if one.ok]
    assert len(seen) == 3
    assert "broker-0: machine  was reset: boot boot-1 follows boot boot-0" in seen
    assert [run.backend.incarnation(name) for name in NODES] == [2, 2, 2]
    assert list(run.backend.inconclusive_reasons()) == []
    for name in NODES:
        assert run.manager.lost_cache(name) is not None
        assert "power-loss" in lives(run, name)
    cluster = run.backend._cluster
    health = Health(cluster, run.manager.records, {}, run.backend.now_ns()).among(NODES)
    assert {health.condition(name, record.started_ns + 1) for name in NODES} == {Condition.TROUBLED}


def test_a_drain_hits_every_node_of_the_machine(run: Run) -> None:
    record = run.inject("drain", FAULTS["drain"])
    assert {*record.targets} == {*NODES}


def test_what_a_node_wrote_before_the_reset_is_read_after_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent is away for longer than one may be silent."""
    monkeypatch.setattr(observing, "_SILENT_NS", SECOND // 2)
    pod, inject = run.model.pods["broker-1"], run.model.inject

    def away(fault: str, body: Any) -> Any:
        found = inject(fault, body)
        if body["kind"] == "nodeReboot":
            at_last = BrokerStateChanged(broker=1, broker_epoch=1, reason="running")
            run.model.event("broker-1", at_last)
            run.model.silent = True
        return found

    run.model.inject = away
    inject_step = Inject.model_validate({"nodeReboot": {**REBOOT, "within": "20s"}})
    task = run.scheduler.spawn("inject", run.manager.inject(inject_step))
    assert run.until(lambda: bool(run.manager.records and run.manager.records[-1].intent))
    run.scheduler.run(lambda: False, run.backend.now_ns() + 2 * SECOND)
    assert run.backend.state("broker-1") is NodeState.DOWN
    assert not task.done
    run.model.silent = False
    assert run.until(lambda: task.done)
    run.heal()
    assert run.manager.records[-1].inconclusive_reason() is None
    assert list(run.backend.inconclusive_reasons()) == []
    # Read late, and all the same before the end of the node that wrote it.
    said = lives(run, "broker-1")
    assert said[-3:] == ["power-loss", "started", "registered"], said
    assert said[-4] == "running"
    assert pod.incarnation == 2


def test_a_machine_that_does_not_come_back(run: Run) -> None:
    run.model.left_out = "inject"
    began = time.monotonic()
    record = run.inject("nodeReboot", REBOOT)
    assert time.monotonic() - began > 2
    reason = record.inconclusive_reason()
    assert reason is not None
    assert "has not booted again within 2s" in reason


def test_a_machine_that_is_back_too_late_is_seen_to_be_back(run: Run) -> None:
    """The fault is not confirmed; what the cluster does from then on is known all the same."""
    run.model.left_out = "inject"
    record = run.inject("nodeReboot", REBOOT)
    run.heal()
    run.scheduler.run(lambda: False, run.backend.now_ns() + 6 * SECOND)  # until no probe waits for it
    assert run.backend.state("broker-1") is NodeState.DOWN
    run.model.left_out = ""
    assert run.until(lambda: run.backend.state("broker-1") is NodeState.UP, 20)
    assert run.until(lambda: run.backend.incarnation("broker-1") == 2, 20)
    assert run.until(lambda: run.manager.look_once_more() is None and not record.unhealed, 20)
    assert "has not booted again within 2s" in str(record.inconclusive_reason())
    assert list(run.backend.inconclusive_reasons()) == []


def test_a_reset_that_the_agent_could_not_do_is_not_waited_for(run: Run) -> None:
    def fail(record: Any) -> list[Any]:
        record.update(state="failed", error="the kernel has not reset the machine")
        return []

    run.model.observe = fail
    record = run.inject("nodeReboot", {**TARGET, "within": "1h"})
    assert "the kernel has not reset the machine" in str(record.inconclusive_reason())


def test_the_machine_of_the_runner_is_not_reset(run: Run) -> None:
    run.model.boot_id = boot_id()
    record = run.inject("nodeReboot", REBOOT)
    run.heal()
    assert "the experiment's runner is on it, or on a machine with the same kernel" in str(record.error)
    assert run.model.boots == ["boot-0"]
    assert record.inconclusive_reason() is not None


@pytest.mark.parametrize("kind", ["kill", "partition", "diskFull"])
def test_a_machine_on_which_another_fault_is_in_force_is_not_reset(run: Run, kind: str) -> None:
    run.inject(kind, {**FAULTS[kind]})
    record = run.inject("nodeReboot", {**REBOOT, "target": {"broker": 0}})
    assert "a reset of its machine would end that: let it be healed first" in str(record.error)
    assert run.model.boots == ["boot-0"]


def test_a_rule_about_messages_outlives_a_reset(run: Run) -> None:
    run.inject("delay", FAULTS["delay"])
    record = run.inject("nodeReboot", REBOOT)
    run.heal()
    assert record.inconclusive_reason() is None


def test_a_run_begins_only_if_some_machine_may_be_reset(run: Run) -> None:
    needs = frozenset({RebootsMachines})
    with pytest.raises(ClusterError, match="no machine of the cluster may be reset: node does not allow it"):
        run.backend._ensure_resettable(needs)
    run.backend._ensure_resettable(frozenset())
    run.model.reset_refused = ""
    run.backend._ensure_resettable(needs)


def test_a_runner_that_resets_machines_is_put_on_another_one(stage: Any) -> None:
    step = {"inject": {"nodeReboot": {"target": {"broker": 0}}}}
    made = experiment("resets", schedule=[step])
    assert may_reset_machines(made)
    assert not may_reset_machines(experiment("stays"))
    stage.start()
    stage.api.create(made)
    until(stage.runner_pods, "the runner")
    (job,) = stage.jobs()
    affinity = job["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    (preferred,) = affinity["preferredDuringSchedulingIgnoredDuringExecution"]
    (term,) = preferred["preference"]["matchExpressions"]
    assert term == {"key": "highwater.dev/reboot", "operator": "NotIn", "values": ["allowed"]}
