"""Why a pod does not run: from its status and the Events about it, as a kubelet of Kubernetes 1.34 writes them."""

from __future__ import annotations

from typing import Any

import pytest
from api_server.world import PENDING, READY

from highwater_operator.reconcile.pod_troubles import end_of, is_creating, trouble_of, warning_in_events

CRASH = "back-off 40s restarting failed container=node pod=demo-broker-0_default(5d1b6d5e)"
MOUNT = 'MountVolume.SetUp failed for volume "config" : secret "keys" not found'


def pod(state: dict[str, Any], last: dict[str, Any] | None = None, phase: str = "Pending") -> dict[str, Any]:
    container = {"name": "node", "image": "highwater/node:0.2.0", "state": state, "lastState": last or {}}
    return {"spec": {"nodeName": "a"}, "status": {"phase": phase, "containerStatuses": [container]}}


def waits(reason: str, message: str = "") -> dict[str, Any]:
    return {"waiting": {"reason": reason, "message": message}}


def ended(status: int, reason: str, message: str = "") -> dict[str, Any]:
    return {"terminated": {"exitCode": status, "reason": reason, "message": message}}


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (pod({"running": {}}), None),
        (pod(waits("ContainerCreating")), None),
        (pod(waits("ErrImagePull", "not found")), "ErrImagePull: image highwater/node:0.2.0; not found"),
        (
            pod(waits("CrashLoopBackOff", CRASH), ended(137, "OOMKilled")),
            f"CrashLoopBackOff: OOMKilled, exit status 137; {CRASH}",
        ),
        (
            pod(waits("CrashLoopBackOff", CRASH), ended(2, "Error", "starting\nnode.id: expected a number\n")),
            f"CrashLoopBackOff: Error, exit status 2: node.id: expected a number; {CRASH}",
        ),
    ],
)
def test_a_status_tells_the_cause(found: dict[str, Any], words: str | None) -> None:
    trouble = trouble_of(found)
    assert (None if trouble is None else str(trouble)) == words


def test_how_a_pod_ended() -> None:
    assert end_of({"status": {"reason": "Evicted", "message": "low on memory"}}) == "Evicted: low on memory"
    assert end_of(pod(ended(0, "Completed"), phase="Succeeded")) is None
    assert end_of(pod(ended(1, "Error", "a\nb\n"), phase="Failed")) == "Error, exit status 1: b"


def test_events_count_only_while_containers_are_created() -> None:
    assert is_creating(pod(waits("ContainerCreating")))
    assert not is_creating(pod({"running": {}}, phase="Running"))
    assert not is_creating({"spec": {}, "status": {"phase": "Pending"}}), "no node has it"
    normal = {"type": "Normal", "reason": "Scheduled", "message": "m", "lastTimestamp": "2026-01-01T00:00:09Z"}
    old = {"type": "Warning", "reason": "FailedMount", "message": "old", "lastTimestamp": "2026-01-01T00:00:01Z"}
    new = {**old, "message": MOUNT, "lastTimestamp": "2026-01-01T00:00:05Z"}
    assert str(warning_in_events([new, normal, old])) == f"FailedMount: {MOUNT}"
    assert warning_in_events([normal]) is None
    # A kubelet that is faster than its report of the pod: the container runs, and does not listen yet.
    probed = {"type": "Warning", "reason": "Unhealthy", "message": "Startup probe failed", "lastTimestamp": "2027"}
    assert warning_in_events([probed, normal]) is None


@pytest.mark.parametrize(
    ("reason", "word"),
    [("network-not ready", "NetworkNotReady"), ("3rd try", "Warning3rdTry"), ("Failed_Mount", "Failed_Mount")],
)
def test_an_events_reason_may_be_any_text(reason: str, word: str) -> None:
    """Kubernetes takes any; a condition takes a word."""
    event = {"type": "Warning", "reason": reason, "message": "no plugin", "lastTimestamp": "2026-01-01T00:00:00Z"}
    assert str(warning_in_events([event])) == f"{word}: no plugin"


def test_what_a_kubelet_cannot_mount_stands_in_the_status(stage: Any, wait_for: Any) -> None:
    """Within one look: the pod's own status says nothing but ContainerCreating."""
    stage.world.pods.decide = lambda pod: PENDING if "broker-1" in pod["metadata"]["name"] else READY
    stage.start()
    stage.create()
    wait_for(lambda: ("default", "demo-broker-1") in stage.world.pods.started, "the pod")
    uid = stage.api.get("v1", "Pod", "demo-broker-1", "default")["metadata"]["uid"]
    about = {"kind": "Pod", "name": "demo-broker-1", "namespace": "default", "uid": uid}
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "told", "namespace": "default"}}
    told = {"involvedObject": about, "type": "Warning", "reason": "FailedMount", "message": MOUNT}
    stage.api.create({**event, **told})
    wait_for(lambda: stage.condition("Degraded")["reason"] == "PodsFailing", "the cause", 10)
    assert stage.condition("Degraded")["message"] == f"demo-broker-1: FailedMount: {MOUNT}"
