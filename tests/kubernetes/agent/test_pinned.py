"""A pod's volume is made where the operator has written that it is, and no new one in place of one that was used."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from agent_world import NODE, Agent, World
from waiting import until

from highwater_chaos.kube.kinds import (
    VOLUME_CLUSTER_UID,
    VOLUME_CRASHABLE,
    VOLUME_GENERATION,
    VOLUME_NODE,
    VOLUME_PINNED,
    VOLUME_SIZE,
    VOLUME_USED,
)
from highwater_operator.agent.pods import Pod
from highwater_operator.agent.refusals import RefusalError
from highwater_operator.agent.volumes import Volumes
from highwater_operator.agent.wanted_volumes import wanted_by

DECLARED = {
    VOLUME_CRASHABLE: "true",
    VOLUME_SIZE: "40Mi",
    VOLUME_PINNED: "true",
    VOLUME_CLUSTER_UID: "c1",
}


def test_no_volume_is_made_before_it_is_written_where(agent: Agent, world: World) -> None:
    pod, other = world.pod("pinned-broker-0", annotations=DECLARED), world.pod("pinned-broker-1", annotations=DECLARED)
    world.api.patch("v1", "Pod", other.name, "default", {"metadata": {"annotations": {VOLUME_NODE: "node-2"}}})
    plain = world.pod("plain-of-before-broker-0", annotations={VOLUME_CRASHABLE: "true", VOLUME_SIZE: "40Mi"})
    until(plain.data.is_dir, "what an operator of before has made is served")
    time.sleep(1.0)  # for a mistake to be made
    assert not pod.data.exists()
    world.api.patch("v1", "Pod", pod.name, "default", {"metadata": {"annotations": {VOLUME_NODE: NODE}}})
    until(pod.data.is_dir, "it is made")
    assert not other.data.exists(), "another node's"
    names = [one["name"] for one in agent.ask("GET", "/v1/volumes").json()["items"]]
    assert other.volume not in names


def test_a_used_volume_that_is_gone_is_not_made_anew(agent: Agent, world: World) -> None:
    annotations = {**DECLARED, VOLUME_NODE: NODE, VOLUME_USED: "true"}
    pod = world.pod("lost-controller-0", annotations=annotations)

    def said() -> list[str]:
        events = world.api.objects("v1", "Event", "default")
        return [one["message"] for one in events if one["involvedObject"]["uid"] == pod.uid]

    until(said, "the agent refuses")
    assert "was used on this node and is gone; annotate the LogCluster with highwater.dev/abandon-volume" in said()[0]
    assert not pod.data.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root and a machine that can do everything")
def test_a_disk_that_was_given_up_never_comes_back(tmp_path: Path) -> None:
    volumes = Volumes(tmp_path / "state", tmp_path / "mounts")
    pod = Pod("default", "demo-controller-0", "uid-1", NODE, annotations={**DECLARED, VOLUME_NODE: NODE})
    first = wanted_by(pod)
    assert first is not None
    volumes.ensure(first)
    try:
        (volumes.data(first.name) / "votes").write_text("1")
        volumes.ensure_is_there(first)
        volumes.ensure(first)
        assert (volumes.data(first.name) / "votes").exists()
        again = wanted_by(replace(pod, uid="uid-2", annotations={**pod.annotations, VOLUME_GENERATION: "1"}))
        assert again is not None
        with pytest.raises(RefusalError, match="was used on this node and is gone"):
            volumes.ensure_is_there(again)
        volumes.ensure(again)
        assert list(volumes.data(first.name).iterdir()) == [], "it is the new one"
        volumes.ensure_is_there(again)
    finally:
        volumes.remove(first.name)
