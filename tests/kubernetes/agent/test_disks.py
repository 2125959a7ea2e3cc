from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from agent_world import Agent, Pod, World, confirmed, guardians, mounted_loops
from node_stand_in_sizes import SYNCED, UNSYNCED
from waiting import until

from highwater_chaos.kube.kinds import VOLUME_CLUSTER_UID, VOLUME_CRASHABLE, VOLUME_SIZE, VOLUME_WHEN_DELETED
from highwater_chaos.machine.disk import loop
from highwater_chaos.machine.disk.power_loss import try_to_write
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel import linux
from highwater_chaos.machine.kernel.proc import boot_id
from highwater_operator.agent.refusals import RefusalError
from highwater_operator.agent.volumes import VolumeRecord, Volumes

MIB = 1 << 20


def crashable(world: World, name: str, file_system: str = "ext4") -> Pod:
    size = {"ext4": "64Mi", "xfs": "320Mi"}[file_system]
    pod = world.pod(
        name,
        annotations={
            "highwater.dev/crashable": "true",
            "highwater.dev/volume-size": size,
            "highwater.dev/file-system": file_system,
        },
    )
    until(pod.data.is_dir, "the agent makes the volume")
    return pod


@pytest.mark.parametrize("file_system", ["ext4", "xfs"])
def test_a_power_loss_takes_what_was_not_synced(agent: Agent, world: World, file_system: str) -> None:
    pod = crashable(world, f"power-{file_system}-broker-0", file_system)
    node = pod.start_node(pod.data / "log")
    record = agent.inject(f"power-{file_system}", "powerLoss", pod)
    assert record["state"] == "done"
    said = confirmed(record, "inject")
    assert said[0] == "all 1 processes of the container are gone"
    assert node.wait(10) == -9
    details = record["evidence"][1]["details"]
    assert details["lostBytes"] >= UNSYNCED - 4096
    assert (pod.data / "log").read_bytes().rstrip(b"\0") == b"s" * SYNCED
    # As whom the pod runs, so that the next incarnation can write.
    assert (pod.data.stat().st_uid, pod.data.stat().st_gid) == (10001, 10002)
    pod.start_node(pod.data / "next")


def test_a_power_loss_with_a_new_disk(agent: Agent, world: World) -> None:
    pod = crashable(world, "replaced-broker-0")
    pod.start_node(pod.data / "log")
    record = agent.inject("replaced-1", "powerLoss", pod, wipe=True, keep="torn")
    assert "volume default_replaced-broker-0 is empty after mkfs" in confirmed(record, "inject")
    assert list(pod.data.iterdir()) == []


def test_a_wiped_disk(agent: Agent, world: World) -> None:
    pod = crashable(world, "wiped-broker-0")
    node = pod.start_node(pod.data / "log")
    record = agent.inject("wiped-1", "diskWipe", pod)
    assert len(confirmed(record, "inject")) == 2
    assert node.wait(10) == -9
    assert list(pod.data.iterdir()) == []


def test_a_full_disk(agent: Agent, world: World) -> None:
    pod = crashable(world, "full-broker-0")
    node = pod.start_node(pod.data / "log")
    record = agent.inject("full-1", "diskFull", pod)
    assert confirmed(record, "inject") == ["a write to volume default_full-broker-0 fails with ENOSPC"]
    healed = agent.heal("full-1")
    assert "a write to volume default_full-broker-0 works" in confirmed(healed, "heal")
    assert node.poll() is None, "a full disk kills nobody"


def test_a_failing_disk_and_whoever_still_uses_it(agent: Agent, world: World) -> None:
    pod = crashable(world, "error-broker-0")
    node = pod.start_node(pod.data / "log")
    record = agent.inject("error-1", "diskError", pod)
    assert confirmed(record, "inject") == ["a write to volume default_error-broker-0 fails with EIO"]
    pause = pod.children[0]
    healed = agent.heal("error-1")
    assert "a write to volume default_error-broker-0 works" in confirmed(healed, "heal")
    # Its files could never work again. What it had written before is there: the fault itself loses nothing.
    assert node.wait(10) == -9
    assert pause.poll() is None
    assert (pod.data / "log").stat().st_size == SYNCED + UNSYNCED


def test_a_disk_that_takes_no_writes_keeps_no_agent_from_starting(
    agent: Agent, world: World, restart: Callable[[], Agent]
) -> None:
    """It looks after every volume when it starts, before it undoes anything."""
    pod = crashable(world, "blocked-broker-0")
    node = pod.start_node(pod.data / "log")
    record = agent.inject("blocked-own", "diskFreeze", pod, seconds=120)
    assert confirmed(record, "inject") == ["a write to volume default_blocked-broker-0 fails with blocked"]
    agent.kill()
    for guardian in guardians(world):
        guardian.send(9)
        assert guardian.wait_gone(10)
    healed = restart().heal("blocked-own")
    assert "a write to volume default_blocked-broker-0 works" in confirmed(healed, "heal")
    assert node.poll() is None


def test_only_crashable_volumes_can_be_broken(agent: Agent, world: World) -> None:
    pod = world.pod("plain-broker-0")
    node = pod.start_node()
    for kind in ("powerLoss", "diskWipe", "diskFull", "diskError"):
        answer = agent.put(f"plain-{kind}", kind, pod)
        assert (answer.status_code, answer.json()["found"]) == (422, "none on this node")
    assert node.poll() is None, "refused before anything was done"


def test_volumes_are_asked_for_and_given_back(agent: Agent, world: World) -> None:
    name, path = "default_asked-broker-0", "/v1/volumes/default_asked-broker-0"
    wanted = {"sizeBytes": 40 * MIB, "fileSystem": "ext4"}
    made = agent.ask("PUT", path, wanted).json()
    assert (made["name"], made["mounted"]) == (name, True)
    data = Path(made["data"])
    (data / "kept").write_text("kept")
    assert agent.ask("PUT", path, wanted).json() == made
    assert (data / "kept").read_text() == "kept"
    other = agent.ask("PUT", path, {**wanted, "sizeBytes": 80 * MIB})
    assert other.status_code == 409
    assert other.json()["found"] == f"ext4 of {40 * MIB} bytes"
    with (data / "kept").open() as _:
        assert agent.ask("DELETE", path).status_code == 409
    assert agent.ask("DELETE", path).json() == {"name": name, "removed": True}
    assert agent.ask("DELETE", path).json() == {"name": name, "removed": False}
    assert not data.parent.exists()
    for bad in ("noprefix", "a_b_c", "..%2F_x", "Default_x"):
        assert agent.ask("PUT", f"/v1/volumes/{bad}", wanted).status_code in (400, 404), bad
    assert agent.ask("PUT", path, {"sizeBytes": 40 * MIB, "fileSystem": "xfs"}).status_code == 400
    assert agent.ask("PUT", path, {"sizeBytes": 1}).status_code == 400


def test_a_cluster_made_anew_gets_an_empty_volume(world: World, tmp_path: Path) -> None:
    volumes = Volumes(tmp_path / "state", tmp_path / "mounts")
    first = VolumeRecord("default_demo-broker-0", 40 * MIB, "ext4", 10001, 10001, cluster="first")
    try:
        volumes.ensure(first)
        (volumes.data(first.name) / "kept").write_text("kept")
        volumes.ensure(first)
        assert (volumes.data(first.name) / "kept").read_text() == "kept"
        volumes.ensure(replace(first, cluster="second", size_bytes=50 * MIB))
        assert list(volumes.data(first.name).iterdir()) == []
    finally:
        volumes.remove(first.name)


def test_data_move_to_the_cluster_s_folder_and_user(world: World, tmp_path: Path) -> None:
    """What an earlier version made lies beside the folders of clusters, and belongs to the user of all."""
    volumes = Volumes(tmp_path / "state", tmp_path / "mounts")
    old = VolumeRecord("default_demo-broker-0", 40 * MIB, "ext4", 10001, 10001)
    mine, theirs = tmp_path / "mounts" / "default_mine", tmp_path / "secret"
    theirs.write_text("theirs")
    try:
        volumes.ensure(old)
        (volumes.data(old.name) / "orders-0").mkdir()
        (volumes.data(old.name) / "orders-0" / "log").write_text("kept")
        (volumes.data(old.name) / "link").symlink_to(theirs)
        wanted = replace(old, cluster="mine", user=1_000_007, group=1_000_007)
        with (volumes.data(old.name) / "orders-0" / "log").open(), pytest.raises(MachineError, match="in use by pid"):
            volumes.ensure(wanted)
        assert linux.mount_points(tmp_path / "mounts") == [tmp_path / "mounts" / old.name], "its pod still lives"
        record = volumes.ensure(wanted)
        assert linux.mount_points(tmp_path / "mounts") == [mine / old.name]
        data = mine / old.name / "data"
        assert (data / "orders-0" / "log").read_text() == "kept"
        owners = {data.stat().st_uid, (data / "orders-0").stat().st_uid, (data / "orders-0" / "log").stat().st_uid}
        assert owners == {1_000_007}
        assert theirs.stat().st_uid == 0, "a pod's link gives it no file of others"
        with pytest.raises(RefusalError, match="no uid of a LogCluster"):
            volumes.ensure(replace(record, name="default_x", cluster="../../etc"))
    finally:
        volumes.remove(old.name)


def test_retained_data_make_way_for_nobody(world: World, tmp_path: Path) -> None:
    volumes = Volumes(tmp_path / "state", tmp_path / "mounts")
    first = VolumeRecord("default_demo-broker-0", 40 * MIB, "ext4", 10001, 10001, cluster="first", retain=True)
    try:
        volumes.ensure(first)
        (volumes.data(first.name) / "kept").write_text("kept")
        # Asked for by hand: that says nothing of whose it is, nor of its end.
        assert volumes.ensure(replace(first, cluster="", retain=False)) == replace(first, made=True)
        with pytest.raises(RefusalError, match="is retained from another LogCluster; delete it first"):
            volumes.ensure(replace(first, cluster="second", retain=False))
        assert (volumes.data(first.name) / "kept").read_text() == "kept"
    finally:
        volumes.remove(first.name)


def removals(agent: Agent) -> float:
    text = agent.ask("GET", "/metrics", token=None).text
    found = re.search(r'^highwater_agent_volume_removals_total\{result="removed"\} (.+)$', text, re.M)
    return 0.0 if found is None else float(found[1])


def test_volumes_of_a_deleted_cluster_go(agent: Agent, world: World) -> None:
    before, clusters = removals(agent), {}
    for name in ("gone", "lives"):
        meta = {"name": name, "namespace": "default"}
        made = world.api.create(
            {"apiVersion": "highwater.dev/v1alpha1", "kind": "LogCluster", "metadata": meta, "spec": {}}
        )
        clusters[name] = made["metadata"]["uid"]
    for name in ("gone", "lives", "retained"):
        annotations = {
            VOLUME_CRASHABLE: "true",
            VOLUME_SIZE: "40Mi",
            VOLUME_CLUSTER_UID: clusters["lives" if name == "lives" else "gone"],
        }
        if name == "retained":
            annotations[VOLUME_WHEN_DELETED] = "Retain"
        pod = world.pod(f"{name}-broker-0", annotations=annotations)
        until(pod.data.is_dir, "the agent makes the volume")
        (pod.data / "kept").write_text("kept")
        world.api.delete("v1", "Pod", pod.name, "default", grace=0)
    world.api.delete("highwater.dev/v1alpha1", "LogCluster", "gone", "default")
    image = world.state / "images" / "default_gone-broker-0.img"
    assert image.exists()
    until(lambda: not (world.state / "volumes" / "default_gone-broker-0.json").exists(), "it is removed", 120)
    assert not image.exists()
    assert mounted_loops(image) == []
    assert not (world.volumes / f"default_{clusters['gone']}" / "default_gone-broker-0").exists()
    for name in ("lives", "retained"):
        folder = world.volumes / f"default_{clusters['lives' if name == 'lives' else 'gone']}"
        assert (folder / f"default_{name}-broker-0" / "data" / "kept").read_text() == "kept"
    assert f"removed: LogCluster {clusters['gone']} was deleted" in world.folder.joinpath("agent.log").read_text()
    assert removals(agent) > before  # volumes of other tests may go as well
    # With the rights that are shipped.
    assert [str(one) for one in world.account.refused] == []


@contextmanager
def working_in(point: Path) -> Iterator[subprocess.Popen[str]]:
    """Somebody else's container: with copies of the node's mounts, and at work in one of them."""
    script = f"cd {point}; echo ready; exec sleep 1000"
    with subprocess.Popen(["unshare", "--mount", "sh", "-c", script], stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == "ready\n"
            yield other
        finally:
            other.kill()


def test_a_copy_of_a_mount_keeps_no_dead_file_system(agent: Agent, world: World) -> None:
    pod = crashable(world, "copied-broker-0")
    image = world.state / "images" / f"{pod.volume}.img"
    with working_in(pod.data.parent) as other:
        pod.start_node(pod.data / "log")
        old = image.stat().st_ino
        confirmed(agent.inject("copied-1", "powerLoss", pod), "inject")
        assert (pod.data / "log").read_bytes().rstrip(b"\0") == b"s" * SYNCED
        assert try_to_write(pod.data.parent) is None
        assert image.stat().st_ino != old, "the volume goes on with a copy"
        assert len(loop.devices_of(image)) == 1
        assert other.poll() is None, "nobody of ours"


def test_a_copy_of_a_mount_keeps_no_volume(tmp_path: Path) -> None:
    volumes = Volumes(tmp_path / "state", tmp_path / "mounts")
    record = VolumeRecord("default_demo-broker-0", 40 * MIB, "ext4", 10001, 10001)
    volumes.ensure(record)
    image = tmp_path / "state" / "images" / f"{record.name}.img"
    with working_in(volumes.data(record.name)) as other:
        assert volumes.remove(record.name)
        assert list(image.parent.iterdir()) == []
        assert mounted_loops(image) == []
        assert not linux.mount_points(tmp_path)
        assert other.poll() is None, "nobody of ours"
        volumes.ensure(record)
        assert list(volumes.data(record.name).iterdir()) == []
        assert volumes.remove(record.name)


@pytest.mark.thorough
def test_volumes_are_there_again_after_a_reboot(agent: Agent, world: World, restart: Callable[[], Agent]) -> None:
    pod = crashable(world, "reboot-broker-0")
    (pod.data / "kept").write_text("kept")
    agent.inject("reboot-full", "diskFull", pod)
    agent.stop()
    # What a reboot does: nothing is mounted, and a run is of another boot.
    linux.umount(pod.data.parent)
    (run,) = (world.state / "runs").iterdir()
    info = run / "run.json"
    info.write_text(info.read_text().replace(boot_id(), "00000000-0000-0000-0000-000000000000"))
    again = restart()
    assert (pod.data / "kept").read_text() == "kept"
    assert try_to_write(pod.data.parent) is None, "the ballast is gone, though its mount was"
    until(lambda: again.state("reboot-full") == "expired", "it is noticed")
