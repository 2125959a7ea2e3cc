"""A pod with crashable storage comes back to its disk, or waits for it; a new disk is made when a person says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from api_server.world import World

from highwater_chaos.kube.kinds import ABANDON_VOLUME, VOLUME_GENERATION, VOLUME_NODE, VOLUME_USED
from highwater_operator.reconcile.observation import PodView
from highwater_operator.reconcile.volumes import Disk, place

POD = "demo-controller-0"
CRASHABLE = {"crashable": True, "size": "128Mi"}
VIEW = PodView(POD, "uid-1", "controller", 0, None, ready=False, terminating=False)


@pytest.fixture
def stage(kube_api: Any, make_stage: Any) -> Iterator[Any]:
    """With five nodes, which pods get in turn."""
    with World(kube_api, nodes=5) as world:
        made = make_stage(kube_api, world)
        try:
            yield made
        finally:
            made.stop()


def node_of(stage: Any, pod: str = POD) -> str | None:
    found = stage.pods().get(pod)
    return None if found is None else found["spec"].get("nodeName")


def told(stage: Any) -> dict[str, str] | None:
    """The pod's annotations once they name its node."""
    found: dict[str, str] = stage.pods()[POD]["metadata"].get("annotations", {})
    return found if VOLUME_NODE in found else None


def replaced(stage: Any, wait_for: Any) -> None:
    uid = stage.pods()[POD]["metadata"]["uid"]
    stage.api.delete("v1", "Pod", POD, "default")
    wait_for(lambda: POD in stage.pods() and stage.pods()[POD]["metadata"]["uid"] != uid, "its successor")


def test_a_pod_comes_back_to_the_node_of_its_disk(stage: Any, wait_for: Any) -> None:
    stage.serve(storage=CRASHABLE)
    where = {one["pod"]: one["node"] for one in stage.status()["volumes"]}
    assert where == {name: pod["spec"]["nodeName"] for name, pod in stage.pods().items()}
    assert len(where) == 6
    assert stage.condition("DisksKept")["status"] == "True"
    for _ in range(2):
        replaced(stage, wait_for)
        wait_for(lambda: node_of(stage) is not None, "a node")
        assert node_of(stage) == where[POD], "nodes are taken in turn: another would be next"
        stage.until_settled()
        annotations = wait_for(lambda: told(stage), "the agent to be told")
        assert (annotations[VOLUME_NODE], annotations[VOLUME_USED]) == (where[POD], "true")
    assert stage.events("DiskGivenUp") == []


def test_a_pod_waits_for_its_node_until_a_person_gives_the_disk_up(stage: Any, wait_for: Any) -> None:
    stage.serve(storage=CRASHABLE)
    old = node_of(stage)
    stage.world.cordoned.add(old)
    replaced(stage, wait_for)
    wait_for(lambda: f"its disk is on node {old}" in stage.condition("Degraded")["message"], "why it waits")
    assert stage.condition("Degraded")["message"].startswith(f"{POD}: Unschedulable: ")
    assert node_of(stage) is None
    asked = {"metadata": {"annotations": {ABANDON_VOLUME: f"{POD} # the machine has burnt"}}}
    stage.api.patch("highwater.dev/v1alpha1", "LogCluster", "demo", "default", asked)
    wait_for(lambda: node_of(stage) not in (None, old), "another node")
    wait_for(lambda: stage.condition("DisksKept")["status"] == "False", "the condition")
    assert stage.condition("DisksKept")["reason"] == "NewDisk"
    (event,) = wait_for(lambda: stage.events("DiskGivenUp"), "the Event")
    assert (event["type"], POD in event["message"]) == ("Warning", True)
    stage.until_settled()
    (disk,) = [one for one in stage.status()["volumes"] if one["pod"] == POD]
    assert (disk["node"], disk["replaced"]) == (node_of(stage), 1)
    annotations = wait_for(lambda: told(stage), "the agent to be told")
    assert annotations[VOLUME_GENERATION] == "1"
    assert VOLUME_USED not in annotations, "the agent may make it"


def test_no_agent_is_told_before_it_is_written_down(stage: Any, wait_for: Any) -> None:
    begun = stage.api.fault(verb="get", resource="logclusters", when="after", times=None)
    stage.api.fault(verb="patch", resource="logclusters/status", status=500, times=None)
    stage.start()
    stage.create(storage=CRASHABLE)
    wait_for(lambda: node_of(stage) is not None, "a node")
    before = len(begun.hits)
    wait_for(lambda: len(begun.hits) > before + 1, "an attempt that knows of the node")
    assert all(VOLUME_NODE not in pod["metadata"].get("annotations", {}) for pod in stage.pods().values())


def test_what_is_decided() -> None:
    on_a = replace(VIEW, node="a")
    # Written down with its node, which the agent is told; used once it has been ready.
    first = place((), [on_a], "")
    assert first.disks == (Disk(POD, "a"),)
    assert first.patches[POD]["metadata"]["annotations"] == {VOLUME_NODE: "a", VOLUME_GENERATION: "0"}
    ready = replace(on_a, ready=True, annotations={VOLUME_NODE: "a"})
    assert place(first.disks, [ready], "") == place(first.disks, [ready], "")
    (used,) = place(first.disks, [ready], "").disks
    assert used == Disk(POD, "a", used=True)
    # Somewhere else it is not told, and goes.
    on_b = replace(VIEW, uid="uid-2", node="b")
    elsewhere = place([used], [on_b], "")
    assert (elsewhere.gone, dict(elsewhere.patches), elsewhere.disks) == ((on_b,), {}, (used,))
    assert [reason for reason, _ in elsewhere.news] == ["PodElsewhere"]
    # One that ends says nothing of where its successor is to be.
    assert place([used], [replace(on_b, terminating=True)], "").gone == ()
    # Given up once, and again only if it is asked for anew; what was asked before there was a disk does not count.
    given = place([used], [], POD)
    assert given.disks == (Disk(POD, replaced=1, abandoned=POD),)
    assert place(given.disks, [], POD).disks == given.disks
    assert place(given.disks, [], f"{POD}#2").disks == (Disk(POD, replaced=2, abandoned=f"{POD}#2"),)
    fresh = place((), [on_a], POD).disks
    assert place(fresh, [ready], POD).disks == (replace(fresh[0], used=True),)
