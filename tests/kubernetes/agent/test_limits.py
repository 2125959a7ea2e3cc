"""Volumes have their blocks when they are made, or are refused; and the refusal is shown where people look."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from agent_world import Agent, World
from waiting import until

from highwater_chaos.kube.kinds import VOLUME_CRASHABLE, VOLUME_SIZE
from highwater_chaos.machine.disk.power_loss import PowerLoss, try_to_write
from highwater_chaos.machine.disk.wipe import Wipe
from highwater_chaos.machine.kernel import linux
from highwater_operator.agent.limits import Limits
from highwater_operator.agent.refusals import RefusalError
from highwater_operator.agent.volumes import VolumeRecord, Volumes
from highwater_operator.reconcile.pod_troubles import Trouble, refused_volume

MIB = 1 << 20
FIRST = VolumeRecord("default_a-broker-0", 64 * MIB, "ext4", 0, 0)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root and a machine that can do everything")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """The node's disk, of 128 MiB."""
    point = tmp_path / "disk"
    point.mkdir()
    linux.mount("tmpfs", point, "tmpfs", 0, "size=128m")
    yield point
    linux.umount(point)


def fill(disk: Path) -> None:
    with (disk / "others").open("wb") as file:
        status = os.statvfs(disk)
        os.posix_fallocate(file.fileno(), 0, status.f_bavail * status.f_frsize)
    assert os.statvfs(disk).f_bavail == 0


@as_root
@pytest.mark.parametrize("what", ["nothing", "power loss", "wipe"])
def test_a_full_disk_of_the_node_fails_no_write_of_a_volume(disk: Path, tmp_path: Path, what: str) -> None:
    volumes = Volumes(disk, tmp_path / "mounts", Limits(free=MIB))
    record = volumes.ensure(FIRST)
    try:
        volume = volumes.machine_volume(record)
        if what == "power loss":
            PowerLoss(volume).make(())
        if what == "wipe":
            Wipe(volume).make(())
        volumes.ensure_data(record)
        fill(disk)
        data = volumes.data(FIRST.name)
        [mount] = [line for line in Path("/proc/mounts").read_text().splitlines() if str(data.parent) in line]
        assert "noinit_itable" in mount  # inode tables zeroed in the background would be holes in the image
        free = os.statvfs(data).f_bavail * os.statvfs(data).f_frsize
        assert free > 48 * MIB
        with (data / "log").open("wb") as log:
            for _ in range(free // MIB - 2):
                log.write(os.urandom(MIB))
            log.flush()
            os.fsync(log.fileno())
        assert try_to_write(data) is None
        volumes.machine_volume(record).unmount()
        volumes.mount(record)
        assert (data / "log").stat().st_size >= 46 * MIB
    finally:
        volumes.remove(FIRST.name)


@as_root
def test_what_has_no_room_is_refused_and_leaves_nothing(disk: Path, tmp_path: Path) -> None:
    volumes = Volumes(disk, tmp_path / "mounts", Limits(free=MIB))
    volumes.ensure(FIRST)
    second = replace(FIRST, name="default_b-broker-0")
    try:
        with pytest.raises(RefusalError, match="no room for default_b-broker-0") as refused:
            volumes.ensure(second)
        assert refused.value.status == 507
        assert [one.name for one in volumes.all()] == [FIRST.name]
        assert [path.name for path in (disk / "images").iterdir()] == [f"{FIRST.name}.img"]
        volumes.remove(FIRST.name)
        volumes.ensure(second)
    finally:
        volumes.remove(FIRST.name)
        volumes.remove(second.name)


def test_one_namespace_does_not_take_the_disk_of_all() -> None:
    limits = Limits(largest=100, namespace=150)
    others = [("default", 100), ("other", 100)]
    limits.check("b", "default", 50, others)
    limits.check("b", "other", 50, others)
    with pytest.raises(RefusalError, match="beside the others of namespace default") as refused:
        limits.check("b", "default", 51, others)
    assert refused.value.status == 507, "another node may have room for it"
    with pytest.raises(RefusalError, match="too large for this node's agent") as refused:
        limits.check("a", "third", 101, others)
    assert refused.value.status == 422
    assert Limits(largest=1 << 50, namespace=150, free=0).room(Path("/tmp")) == 150


def test_a_refusal_is_an_event_about_the_pod(agent: Agent, world: World) -> None:
    pod = world.pod("greedy-broker-0", annotations={VOLUME_CRASHABLE: "true", VOLUME_SIZE: "16Ti"})

    def trouble() -> Trouble | None:
        return refused_volume(
            event for event in world.api.objects("v1", "Event", "default") if event["involvedObject"]["uid"] == pod.uid
        )

    until(lambda: trouble() is not None, "the agent says so")
    assert trouble() == Trouble(
        "VolumeRefused",
        "volume default_greedy-broker-0: volume default_greedy-broker-0 is too large for this node's agent "
        f"(HIGHWATER_AGENT_LARGEST_VOLUME): expected at most {64 << 30} bytes, found {16 << 40}",
    )
    assert agent.ask("GET", "/v1/volumes").json()["items"] == [] or not pod.data.exists()
    # With the rights that are shipped.
    assert [str(one) for one in world.account.refused] == []
    meta = {**world.api.get("v1", "Pod", pod.name, "default")["metadata"]["annotations"], VOLUME_SIZE: "40Mi"}
    world.api.patch("v1", "Pod", pod.name, "default", {"metadata": {"annotations": meta}})
    until(pod.data.is_dir, "it asks for less")
    until(lambda: trouble() is None, "a volume that was made since is no trouble")
