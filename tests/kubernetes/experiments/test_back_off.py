"""A node whose container the kubelet lets wait is waited for as long, and it is said why it does not run."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from highwater_chaos.backends.kubernetes.kubelet import held_up
from highwater_chaos.backends.protocol import HeldUp, NodeState
from highwater_chaos.experiment.targets import Target
from highwater_chaos.faults import FaultContext, FaultRecord
from highwater_chaos.faults.kill import Kill
from highwater_chaos.schedule.fault_manager import FaultManager, _Active
from highwater_runtime.ports import SECOND

MESSAGE = 'back-off {} restarting failed container=node pod=demo-controller-1_default(5d1b6d5e)"'


def pod(message: str, restarts: int, reason: str = "CrashLoopBackOff", container: str = "node") -> dict[str, Any]:
    waiting = {"reason": reason, "message": message}
    status = {"name": container, "restartCount": restarts, "state": {"waiting": waiting}}
    return {"status": {"containerStatuses": [{"name": "sidecar", "state": {"running": {}}}, status]}}


@pytest.mark.parametrize(("message", "seconds"), [("10s", 10), ("40s", 40), ("1m20s", 80), ("5m0s", 300)])
def test_how_long_the_kubelet_waits_is_what_it_says(message: str, seconds: int) -> None:
    found = held_up(pod(MESSAGE.format(message), 2), "node")
    assert found == HeldUp(
        f"the kubelet waits {seconds} s before it starts the container again: CrashLoopBackOff after 2 restarts",
        seconds * SECOND,
    )


def test_what_it_does_not_say_may_be_the_longest() -> None:
    found = held_up(pod("", 1), "node")
    assert found is not None
    assert found.why.endswith("waits 300 s before it starts the container again: CrashLoopBackOff after 1 restart")


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"status": {"containerStatuses": [{"name": "node", "state": {"running": {}}}]}},
        pod("", 0, "ContainerCreating"),
        pod(MESSAGE.format("10s"), 2, container="sidecar"),
    ],
)
def test_nothing_else_is_taken_for_it(other: dict[str, Any]) -> None:
    assert held_up(other, "node") is None


def _heal(answers: list[bool], waits: HeldUp | None) -> tuple[FaultRecord, list[int]]:
    """The heal of a kill of a node that runs again from the n-th wait on; and how long each wait may take."""
    node = SimpleNamespace(up=False, incarnation=3)
    backend: Any = SimpleNamespace(
        now_ns=lambda: 0, state=lambda node: NodeState.UP, incarnation=lambda node: 3, held_up=lambda node: waits
    )
    view: Any = SimpleNamespace(nodes={"controller-1": node})
    scheduler: Any = SimpleNamespace()
    manager = FaultManager(backend, None, view, scheduler, Random, 1 << 60)  # type: ignore[arg-type]
    kill = Kill(target=Target(controller=1))
    record = FaultRecord(id="fault-1", name="", kind="kill", parameters={})
    context = FaultContext(backend, None, view, Random(0), record, kill.needs)  # type: ignore[arg-type]
    context.intend("node", "controller-1", ("controller-1",))
    active = _Active(kill, context, injecting=False)
    manager._active["fault-1"] = active
    bounds = []
    process = manager._see_healed(active)
    with suppress(StopIteration):
        until = next(process)
        while True:
            bounds.append(until.timeout_ns)  # type: ignore[union-attr]
            node.up = answers.pop(0)
            until = process.send(until.predicate())  # type: ignore[union-attr]
    return record, bounds


def test_it_is_waited_for_until_the_kubelet_has_started_it() -> None:
    record, bounds = _heal([False, True], HeldUp("the kubelet waits 40 s", 40 * SECOND))
    assert bounds == [30 * SECOND, 70 * SECOND]
    assert [(one.what, one.ok) for one in record.heal_evidence] == [("controller-1 runs again", True)]


def test_the_evidence_says_what_it_waits_for() -> None:
    record, _ = _heal([False, False], HeldUp("the kubelet waits 160 s", 160 * SECOND))
    (one,) = record.heal_evidence
    assert (one.what, one.ok) == ("controller-1 does not run: the kubelet waits 160 s", False)


def test_a_node_that_nobody_holds_up_is_waited_for_once() -> None:
    record, bounds = _heal([False], None)
    assert bounds == [30 * SECOND]
    assert [one.what for one in record.heal_evidence] == ["controller-1 does not run: no event of it has come since"]
