"""Pods of one LogCluster on one node: each container sees its own crashable volume, and no other's by any path.

Containers are made as a runtime makes them: a mount namespace that hears of no mount elsewhere, an empty directory of
the pod's at the place for its volume, and nothing of the agent's directories.
"""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from agent_world import STAND_IN, Agent, Pod, World, confirmed
from node_stand_in_sizes import SYNCED
from waiting import until

from highwater_chaos.kube.kinds import VOLUME_CLUSTER_UID
from highwater_chaos.machine.disk import loop
from highwater_chaos.machine.disk.mount_copies import attach
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel.identity import Identity
from highwater_operator.agent.places import VOLUME_PATH

DATA = f"{VOLUME_PATH}/data"
SECRET = "nobody else may read this"


def pod_of(world: World, name: str, cluster: str) -> Pod:
    annotations = {"highwater.dev/crashable": "true", "highwater.dev/volume-size": "64Mi", VOLUME_CLUSTER_UID: cluster}
    pod = world.pod(name, annotations=annotations)
    until(pod.data.is_dir, "the agent makes the volume")
    return pod


def start(pod: Pod, *, sees: Path | None = None) -> subprocess.Popen[str]:
    """A container whose node waits for its data, up; ``sees``: a folder of the node that it mounts, as a mistake."""
    world = pod.world
    empty = world.folder / "empty-dirs" / pod.uid
    empty.mkdir(parents=True, exist_ok=True)
    steps = [
        "mount --make-rslave /",
        "mount -t tmpfs tmpfs /var/lib",
        f"mkdir -p {VOLUME_PATH} /var/lib/mistake",
        f"mount --bind {empty} {VOLUME_PATH}",
        *([] if sees is None else [f"mount --rbind {sees} /var/lib/mistake"]),
        f"umount -R -l {world.volumes}",
        f"mount -t tmpfs tmpfs {world.folder}",
        f"mount --make-rprivate {VOLUME_PATH}",
    ]
    waits = f"timeout 60 sh -c 'until [ -d {DATA} ]; do sleep 0.02; done'"
    program = f"{waits} && exec {sys.executable} {STAND_IN} highwater-node {DATA}/log"
    node = pod.start_container("bash", "-c", program, mounts=" && ".join(steps))
    assert node.stdout is not None
    assert node.stdout.readline() == "up\n", "the agent attaches the volume"
    return node


def inside(node: subprocess.Popen[str], script: str) -> str:
    """What a program prints that runs in the container, as root there."""
    command = ["nsenter", "-t", str(node.pid), "-m", "bash", "-c", script]
    return subprocess.run(
        command, capture_output=True, text=True, errors="surrogateescape", check=False, timeout=60
    ).stdout


def devices(world: World, pod: Pod) -> set[str]:
    return loop.numbers_of(world.state / "images" / f"{pod.volume}.img")


def found_by(node: subprocess.Popen[str], other: Pod) -> list[str]:
    """The attack: every mount that the container has is searched for what another pod wrote, and for its disk."""
    mounts = [line.split() for line in inside(node, "cat /proc/self/mountinfo").splitlines()]
    assert [fields for fields in mounts if fields[4] == VOLUME_PATH], "the container has a place for its volume"
    disks = [fields[4] for fields in mounts if fields[2] in devices(other.world, other)]
    texts = inside(node, f"grep -rlF '{SECRET}' /var/lib {other.world.folder} 2>/dev/null").split()
    return [*disks, *texts]


def test_a_pod_reads_no_other_pods_data(agent: Agent, world: World) -> None:
    cluster = str(uuid.uuid4())
    victim, hostile = (pod_of(world, f"own-broker-{number}", cluster) for number in range(2))
    nodes = [start(pod) for pod in (victim, hostile)]
    inside(nodes[0], f"echo '{SECRET}' > {DATA}/secret && sync {DATA}/secret")
    assert (victim.data / "secret").read_text().strip() == SECRET
    assert found_by(nodes[1], victim) == []
    assert DATA + "/secret" in found_by(nodes[0], victim), "the attack finds what can be seen"
    assert inside(nodes[1], f"ls {DATA}").split() == ["log"]
    # As pods were before: the folder of the LogCluster, in which each pod's volume appears.
    mistaken = pod_of(world, "own-broker-2", cluster)
    node = start(mistaken, sees=victim.data.parents[1])
    assert any(path.startswith("/var/lib/mistake") for path in found_by(node, victim))


def test_a_link_in_the_way_leads_nowhere(agent: Agent, world: World) -> None:
    """The place for a volume is the container's own, which may put what it likes there before the agent comes."""
    pod = world.pod("linked-broker-0")
    victim = world.folder / "victim"
    victim.mkdir()
    empty = world.folder / "empty-dirs" / pod.uid
    empty.mkdir(parents=True)
    node = pod.start_container(
        "bash", "-c", f"rmdir {VOLUME_PATH}; ln -s {victim} {VOLUME_PATH}; echo done; sleep 1000",
        mounts=f"mount --make-rprivate / && mount -t tmpfs tmpfs /var/lib && mkdir -p {VOLUME_PATH}",
    )  # fmt: skip
    assert node.stdout is not None
    assert node.stdout.readline() == "done\n"
    source = world.volumes
    process = Identity.of(node.pid)
    assert process is not None
    with pytest.raises(MachineError, match="found a link"):
        attach(source, process, VOLUME_PATH)


@pytest.mark.thorough
def test_a_container_that_starts_again_gets_its_volume_as_the_power_loss_left_it(
    agent: Agent, world: World, restart: Callable[[], Agent]
) -> None:
    pod = pod_of(world, "again-broker-0", str(uuid.uuid4()))
    image = world.state / "images" / f"{pod.volume}.img"
    node = start(pod)
    before = image.stat().st_ino
    record = agent.inject("started-again-1", "powerLoss", pod)
    said = confirmed(record, "inject")
    assert said[0].endswith("processes of the container are gone")
    assert node.wait(10) == -9
    assert (pod.data / "log").read_bytes().rstrip(b"\0") == b"s" * SYNCED
    assert image.stat().st_ino == before, "the container's file system was gone before it came up again"
    node = start(pod)
    # What the container has is what the agent breaks and reads, also by another agent.
    inside(node, f"echo '{SECRET}' > {DATA}/secret")
    agent.kill()
    again = restart()
    assert (pod.data / "secret").read_text().strip() == SECRET
    again.inject("again-2", "diskError", pod)
    assert "Input/output error" in inside(node, f"echo x 2>&1 > {DATA}/more; dd if=/dev/zero of={DATA}/d 2>&1")
    confirmed(again.heal("again-2"), "heal")
    # Its processes had the disk that failed: they end with it, and what starts then has the one that works.
    assert node.wait(10) == -9
    node = start(pod)


def test_a_volume_that_a_container_has_is_not_removed(agent: Agent, world: World) -> None:
    cluster = str(uuid.uuid4())
    pod = pod_of(world, "held-broker-0", cluster)
    node = start(pod)
    answer = agent.ask("DELETE", f"/v1/volumes/{pod.volume}")
    assert answer.status_code == 409
    assert "attached to a container, in use by pid" in answer.json()["error"]
    node.kill()
    node.wait()
    world.api.delete("v1", "Pod", pod.name, "default")

    def removed() -> bool:
        return agent.ask("DELETE", f"/v1/volumes/{pod.volume}").status_code == 200

    until(removed, "the volume can be removed")
