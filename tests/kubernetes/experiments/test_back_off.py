"""A node whose container the kubelet lets wait is waited for as long, and it is said why it does not run."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from highwater_chaos.backends.kubernetes.kubelet import held_up
from highwater_chaos.backends.protocol import HeldUp, NodeState
from highwater_chaos.faults import FaultContext, FaultRecord
from highwater_chaos.faults.nodes import bring_back
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


def _bring_back(answers: list[bool], waits: HeldUp | None) -> tuple[FaultContext, list[int]]:
    backend = SimpleNamespace(
        now_ns=lambda: 0, state=lambda node: NodeState.UP, incarnation=lambda node: 3, held_up=lambda node: waits
    )
    record = FaultRecord(id="fault-1", name="", kind="kill", parameters={}, started_ns=0, deadline_ns=None)
    view: Any = SimpleNamespace(nodes={})
    context = FaultContext(backend, None, view, Random(0), record)  # type: ignore[arg-type]
    process, bounds = bring_back(context, ["controller-1"]), []
    until = next(process)
    try:
        while True:
            bounds.append(until.timeout_ns)  # type: ignore[union-attr]
            until = process.send(answers.pop(0))
    except StopIteration:
        return context, bounds


def test_it_is_waited_for_until_the_kubelet_has_started_it() -> None:
    context, bounds = _bring_back([False, True], HeldUp("the kubelet waits 40 s", 40 * SECOND))
    assert bounds == [30 * SECOND, 70 * SECOND]
    assert [(one.what, one.ok) for one in context.record.heal_evidence] == [("controller-1 runs again", True)]


def test_the_evidence_says_what_it_waits_for() -> None:
    context, _ = _bring_back([False, False], HeldUp("the kubelet waits 160 s", 160 * SECOND))
    (one,) = context.record.heal_evidence
    assert (one.what, one.ok) == ("controller-1 does not run: the kubelet waits 160 s", False)


def test_a_node_that_nobody_holds_up_is_waited_for_once() -> None:
    context, bounds = _bring_back([False], None)
    assert bounds == [30 * SECOND]
    assert [one.what for one in context.record.heal_evidence] == ["controller-1 does not run: up"]
