"""Volumes of claims: the CSI driver as the kubelet and the provisioner call it, and faults on what it has published."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import grpc
import pytest
from agent_world import NODE, Agent, Pod, World, confirmed, guardians, mounted_loops, states
from waiting import until

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel import linux
from highwater_operator.agent.csi import TOPOLOGY
from highwater_operator.agent.csi import csi_pb2 as csi
from highwater_operator.agent.pods import Pod as NodePod
from highwater_operator.agent.refusals import RefusalError
from highwater_operator.agent.volumes import VolumeRecord, Volumes

MIB = 1 << 20
LABEL = "highwater.dev/chaos"
WRITER = """
import os, sys, time
folder = sys.argv[1]
def put(name, *, sync):
    with open(f"{folder}/{name}", "wb", buffering=0) as file:
        file.write(name.encode() * 4096)
        if sync:
            os.fsync(file.fileno())
            parent = os.open(folder, os.O_RDONLY)
            os.fsync(parent)
put("synced", sync=True)
put("unsynced", sync=False)
print("up", flush=True)
time.sleep(1000)
"""


class Driver:
    """An agent that serves the driver, and a client of it."""

    def __init__(self, world: World, shared: list[Agent]) -> None:
        self.world = world
        self._shared = shared
        self.socket = world.folder / "csi.sock"
        self.start()

    def start(self) -> None:
        self.agent = Agent(self.world, HIGHWATER_AGENT_CSI_SOCKET=str(self.socket))
        self._shared[0] = self.agent

    def call(self, method: str, **fields: Any) -> Any:
        service = "Controller" if "Node" not in method else "Node"
        request, response = (getattr(csi, f"{method}{kind}") for kind in ("Request", "Response"))
        with grpc.insecure_channel(f"unix:{self.socket}") as channel:
            stub = channel.unary_unary(f"/csi.v1.{service}/{method}", request.SerializeToString, response.FromString)
            return stub(request(**fields), timeout=60, wait_for_ready=True)

    def code(self, method: str, **fields: Any) -> str:
        try:
            self.call(method, **fields)
        except grpc.RpcError as error:
            return str(error.code().name)
        return "OK"

    def create(self, name: str, kind: str = "ext4", mib: int = 0, claim: str = "") -> str:
        of = {"csi.storage.k8s.io/pvc/name": claim, "csi.storage.k8s.io/pvc/namespace": "default"} if claim else {}
        found = self.call(
            "CreateVolume",
            name=name,
            capacity_range={"required_bytes": (mib or {"ext4": 32, "xfs": 300}[kind]) * MIB},
            volume_capabilities=[capability(kind)],
            parameters=of,
        ).volume
        assert found.accessible_topology[0].segments == {TOPOLOGY: NODE}
        return str(found.volume_id)

    def publish(self, handle: str, target: Path, **more: Any) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        self.call(
            "NodePublishVolume",
            volume_id=handle,
            target_path=str(target),
            volume_capability=capability(),
            **more,
        )

    def remove(self, handle: str, *targets: Path) -> None:
        """And see that nothing is left."""
        for target in targets:
            self.call("NodeUnpublishVolume", volume_id=handle, target_path=str(target))
            assert not target.exists()
        self.call("DeleteVolume", volume_id=handle)
        image = self.world.state / "images" / f"csi_{handle}.img"
        assert not image.exists()
        assert mounted_loops(image) == []
        assert list(self.world.state.glob(f"volumes/csi_{handle}*")) == []
        assert not (self.world.volumes / f"csi_{handle}").exists()


def capability(kind: str = "", mode: str = "SINGLE_NODE_WRITER", **access: Any) -> dict[str, Any]:
    return {"access_mode": {"mode": mode}, **(access or {"mount": {"fs_type": kind}})}


def target_of(pod: Pod) -> Path:
    return pod.world.kubelet / "pods" / pod.uid / "volumes" / "kubernetes.io~csi" / "pvc-1" / "mount"


@pytest.fixture(scope="module")
def driver(world: World, shared_agent: list[Agent]) -> Iterator[Driver]:
    if shared_agent[0].process.poll() is None:
        shared_agent[0].stop()
    made = Driver(world, shared_agent)
    world.api.patch("v1", "Namespace", "default", "", {"metadata": {"labels": {LABEL: "allowed"}}})
    yield made
    world.api.patch("v1", "Namespace", "default", "", {"metadata": {"labels": {LABEL: None}}})
    made.agent.stop()


def container(pod: Pod, target: Path, *arguments: str, without: Sequence[Path] = ()) -> subprocess.Popen[str]:
    """A container with the volume, and nothing else of the machine's mounts of it, nor those of another one."""
    place = pod.world.folder / f"inside-{pod.name}"
    place.mkdir(exist_ok=True)
    mounts = f"mount --make-rprivate / && mount --bind {target} {place} && umount {target}"
    mounts += "".join(f" && umount {one}" for one in without)
    child = pod.start_container(sys.executable, "-c", *arguments, str(place), mounts=mounts)
    assert child.stdout is not None
    assert child.stdout.readline() == "up\n", child.stderr.read() if child.stderr else ""
    return child


def test_calls_are_idempotent_and_wrong_ones_are_refused(driver: Driver) -> None:
    world = driver.world
    handle = driver.create("pvc-calls")
    assert driver.create("pvc-calls") == handle == "pvc-calls"
    pod = world.pod("calls-0", labels={})
    target = target_of(pod)
    create = {"name": "pvc-calls", "volume_capabilities": [capability()]}
    elsewhere = {"requisite": [{"segments": {TOPOLOGY: "node-2"}}]}
    for fields, code in (
        ({"capacity_range": {"required_bytes": 64 * MIB}}, "ALREADY_EXISTS"),
        ({"volume_capabilities": [capability("xfs")]}, "ALREADY_EXISTS"),
        ({"name": ""}, "INVALID_ARGUMENT"),
        ({"name": "x" * 129}, "INVALID_ARGUMENT"),
        ({"volume_capabilities": []}, "INVALID_ARGUMENT"),
        ({"volume_capabilities": [capability(block={})]}, "INVALID_ARGUMENT"),
        ({"volume_capabilities": [capability(mode="MULTI_NODE_MULTI_WRITER")]}, "INVALID_ARGUMENT"),
        ({"volume_capabilities": [capability("btrfs")]}, "INVALID_ARGUMENT"),
        ({"parameters": {"fast": "yes"}}, "INVALID_ARGUMENT"),
        ({"name": "other", "capacity_range": {"limit_bytes": MIB}}, "OUT_OF_RANGE"),
        ({"name": "other", "capacity_range": {"required_bytes": 1 << 50}}, "OUT_OF_RANGE"),
        ({"name": "other", "accessibility_requirements": elsewhere}, "RESOURCE_EXHAUSTED"),
    ):
        assert (fields, driver.code("CreateVolume", **{**create, **fields})) == (fields, code)
    hostile = driver.create("../../etc/passwd")
    assert hostile.startswith("hash-")
    assert (world.state / "volumes" / f"csi_{hostile}.json").exists()
    assert driver.code("ControllerExpandVolume", volume_id=handle) == "UNIMPLEMENTED"
    assert driver.code("DeleteVolume", volume_id="../../../etc") == "OK", "there is none"
    publish = {"volume_id": handle, "target_path": str(target), "volume_capability": capability()}
    assert driver.code("NodePublishVolume", **publish) == "INVALID_ARGUMENT", "its parent is the kubelet's to make"
    driver.publish(handle, target)
    driver.publish(handle, target)
    outside = str(world.folder / "outside")
    for fields, code in (
        ({"volume_id": "pvc-none"}, "NOT_FOUND"),
        ({"target_path": outside}, "INVALID_ARGUMENT"),
        ({"target_path": f"{target.parent}/../../../x"}, "INVALID_ARGUMENT"),
        ({"readonly": True}, "ALREADY_EXISTS"),
        ({"volume_capability": capability("xfs")}, "INVALID_ARGUMENT"),
    ):
        assert (fields, driver.code("NodePublishVolume", **{**publish, **fields})) == (fields, code)
    assert driver.code("NodeUnpublishVolume", volume_id=handle, target_path=outside) == "INVALID_ARGUMENT"
    assert driver.code("DeleteVolume", volume_id=handle) == "FAILED_PRECONDITION"
    total = driver.call("NodeGetVolumeStats", volume_id=handle, volume_path=str(target)).usage[0].total
    assert 20 * MIB < total <= 32 * MIB
    capacity = driver.call("GetCapacity", accessible_topology={"segments": {TOPOLOGY: "node-2"}})
    assert (capacity.available_capacity, driver.call("GetCapacity").available_capacity > 0) == (0, True)
    # It goes by its claim, and neither as a LogCluster's orphan nor by a request of a person's.
    assert driver.agent.ask("DELETE", f"/v1/volumes/csi_{handle}").status_code == 409
    assert driver.agent.ask("PUT", f"/v1/volumes/csi_{handle}", {"sizeBytes": 32 * MIB}).status_code == 409
    other = target.with_name("read")
    driver.publish(handle, other, readonly=True)
    with pytest.raises(OSError, match="Read-only"):
        (other / "file").write_text("no")
    for unknown in ("pvc-none", hostile):
        assert driver.code("NodeUnpublishVolume", volume_id=unknown, target_path=str(target)) == "NOT_FOUND"
    assert target.is_mount(), "what is not that volume's stays"
    driver.remove(handle, target, other)
    assert driver.code("NodeUnpublishVolume", volume_id="pvc-none", target_path=str(target)) == "OK", "nothing is there"
    driver.remove(hostile)
    assert [driver.code("DeleteVolume", volume_id=one) for one in (handle, hostile)] == ["OK", "OK"]


@pytest.mark.parametrize("kind", ["ext4", pytest.param("xfs", marks=pytest.mark.thorough)])
def test_power_loss_takes_what_a_claims_pod_did_not_sync(driver: Driver, kind: str) -> None:
    world = driver.world
    pod = world.pod(f"postgres-{kind}-0", labels={}, containers=("postgres",))
    handle, target = driver.create(f"pvc-{kind}", kind), target_of(pod)
    driver.publish(handle, target)
    os.chown(target, 70, 71)
    target.chmod(0o2770)
    drop = f"mount --make-rprivate / && umount {target} {world.volumes / f'csi_{handle}'}"
    beside = pod.start_container("/bin/sleep", "1000", mounts=drop)
    writer = container(pod, target, WRITER)
    sidecar = container(pod, target, "print('up', flush=True); import time; time.sleep(1000)")
    record = driver.agent.inject(f"loss-{kind}", "powerLoss", pod)
    assert record["state"] == "done"
    confirmed(record, "inject")
    assert (writer.wait(10), sidecar.wait(10)) == (-9, -9)
    assert states(beside.pid) == ["running"], "it does not have the volume"
    assert (target / "synced").read_bytes() == b"synced" * 4096
    assert not (target / "unsynced").exists() or (target / "unsynced").read_bytes() == b""
    again = container(pod, target, WRITER)
    assert (target / "unsynced").read_bytes(), "the new container and the kubelet see one file system"
    record = driver.agent.inject(f"wiped-{kind}", "diskWipe", pod)
    confirmed(record, "inject")
    assert again.wait(10) == -9
    found = target.stat()
    assert (list(target.iterdir()), found.st_uid, found.st_gid, found.st_mode & 0o7777) == ([], 70, 71, 0o2770)
    full = driver.agent.inject(f"full-{kind}", "diskFull", pod)
    confirmed(full, "inject")
    with pytest.raises(OSError, match="No space"):
        (target / "file").write_bytes(bytes(MIB))
    confirmed(driver.agent.heal(f"full-{kind}"), "heal")
    confirmed(driver.agent.inject(f"error-{kind}", "diskError", pod), "inject")
    later = {"target_path": str(target.with_name("later")), "volume_capability": capability()}
    assert driver.code("NodePublishVolume", volume_id=handle, **later) == "UNAVAILABLE", "it would fail for ever"
    confirmed(driver.agent.heal(f"error-{kind}"), "heal")
    (target / "file").write_bytes(bytes(4096))
    pod.end()
    driver.remove(handle, target)


def test_a_volume_and_its_targets_outlive_the_agent_and_the_node(driver: Driver) -> None:
    """Killed with its guardian; and started after all mounts have gone, as after a reboot."""
    world = driver.world
    pod, gone = world.pod("lasting-0", labels={}), world.pod("lasting-1", labels={})
    handle, target, lost = driver.create("pvc-lasting"), target_of(pod), target_of(gone)
    driver.publish(handle, target)
    driver.publish(handle, lost)
    (target / "file").write_text("there")

    def end() -> None:
        driver.agent.kill()
        for guardian in guardians(world):
            guardian.send(9)
            assert guardian.wait_gone(10)

    end()
    assert (target / "file").read_text() == "there"
    driver.start()
    driver.publish(handle, target)
    end()
    for point in (target, lost, world.volumes / f"csi_{handle}"):
        linux.umount(point)
    lost.rmdir()
    lost.parent.rmdir()  # the pod was deleted while the node was down, and the kubelet has cleaned up
    # A fault was in the middle of it: a file holds the place, so that no container begins with an empty directory.
    target.rmdir()
    target.touch()
    driver.start()
    until((target / "file").exists, "it is published again")
    assert not lost.exists()
    assert driver.code("DeleteVolume", volume_id=handle) == "FAILED_PRECONDITION"
    record = json.loads((world.state / "volumes" / f"csi_{handle}.json").read_text())
    assert {one["target"] for one in record["places"]} == {str(target), str(lost)}
    driver.remove(handle, target)


TICKS = """
import sys, time
file = open(f"{sys.argv[1]}/ticks", "ab", buffering=0)
print("up", flush=True)
while True:
    file.write(b".")
    time.sleep(0.02)
"""


def test_a_claim_that_takes_no_writes_is_in_no_agent_s_way(driver: Driver) -> None:
    """Whoever writes there waits in the kernel: an agent that did would neither start nor undo it."""
    pod, late = (driver.world.pod(f"blocked-{number}", labels={}) for number in range(2))
    handle, target = driver.create("pvc-blocked"), target_of(pod)
    driver.publish(handle, target)
    writer = container(pod, target, TICKS)
    record = driver.agent.inject("blocked-1", "diskFreeze", pod, seconds=120)
    assert confirmed(record, "inject") == [f"a write to volume csi_{handle} fails with blocked"]
    ticks = driver.world.volumes / f"csi_{handle}" / "data" / "ticks"
    before = ticks.stat().st_size
    # Its pod is deleted, and cannot end; another one takes its place.
    driver.call("NodeUnpublishVolume", volume_id=handle, target_path=str(target))
    target.parent.rmdir()
    target_of(late).parent.mkdir(parents=True)
    there = {"target_path": str(target_of(late)), "volume_capability": capability()}
    assert driver.code("NodePublishVolume", volume_id=handle, **there) == "UNAVAILABLE"
    driver.agent.kill()
    for guardian in guardians(driver.world):
        guardian.send(9)
        assert guardian.wait_gone(10)
    driver.start()
    assert ticks.stat().st_size == before
    healed = driver.agent.heal("blocked-1")
    assert f"a write to volume csi_{handle} works" in confirmed(healed, "heal")
    until(lambda: ticks.stat().st_size > before, "what waited goes on")
    assert writer.poll() is None
    pod.end()
    driver.publish(handle, target_of(late))
    driver.remove(handle, target_of(late))


def test_faults_of_a_claim_need_a_pod_that_has_one(driver: Driver) -> None:
    pod = driver.world.pod("none-0", labels={})
    probe = f"/v1/pods/default/{pod.name}/crashable"
    assert driver.agent.ask("GET", probe).json() == {"result": False}
    answer = driver.agent.put("no-volume", "powerLoss", pod)
    assert answer.status_code == 422
    assert "highwater-crashable" in answer.json()["expected"]


def test_of_several_claims_the_one_with_the_data_is_named(driver: Driver) -> None:
    """A power loss that leaves the data in memory would pass for one that lost nothing; one of a machine takes all."""
    claims = {"data": "data-0", "wal": "wal-0", "cold": "cold-0"}
    pod = driver.world.pod("two-0", labels={}, claims=claims)
    targets = {one: target_of(pod).parent.with_name(f"pvc-{one}") / "mount" for one in ("data", "wal")}
    handles = {one: driver.create(f"pvc-two-{one}", claim=f"{one}-0") for one in targets}
    for one, target in targets.items():
        driver.publish(handles[one], target)
    writers = {one: container(pod, target, WRITER) for one, target in targets.items()}
    probe = f"/v1/pods/default/{pod.name}/crashable"
    for asked, whether in (("", False), ("?volume=data", True), ("?volume=cold", False), ("?volume=x", False)):
        assert driver.agent.ask("GET", f"{probe}{asked}").json() == {"result": whether}, asked
    for kind in ("powerLoss", "diskWipe", "diskFull", "diskError", "diskFreeze"):
        answer = driver.agent.put(f"unnamed-{kind}", kind, pod)
        assert (answer.status_code, answer.json()["expected"]) == (
            422,
            "the name of the volume with the data (spec.clusterRef.volume)",
        )
        assert "cold (claim cold-0, not of this class), data (claim data-0, of this class)" in answer.json()["found"]
    answer = driver.agent.put("other-class", "powerLoss", pod, volume="cold")
    assert (answer.status_code, answer.json()["expected"]) == (422, "a claim of the class highwater-crashable")
    assert all((target / "unsynced").read_bytes() for target in targets.values())
    confirmed(driver.agent.inject("both", "powerLoss", pod, volume="data"), "inject")
    assert [writer.wait(10) for writer in writers.values()] == [-9, -9]
    for target in targets.values():
        assert (target / "synced").read_bytes() == b"synced" * 4096
        assert not (target / "unsynced").exists() or (target / "unsynced").read_bytes() == b""
    other = (targets["data"], driver.world.volumes / f"csi_{handles['data']}")
    again = container(pod, targets["wal"], WRITER, without=other)
    confirmed(driver.agent.inject("wiped", "diskWipe", pod, volume="data"), "inject")
    assert (again.poll(), list(targets["data"].iterdir())) == (None, [])
    assert (targets["wal"] / "synced").exists(), "a wipe is of one disk"
    confirmed(driver.agent.inject("full", "diskFull", pod, volume="data"), "inject")
    (targets["wal"] / "file").write_bytes(bytes(MIB))
    confirmed(driver.agent.heal("full"), "heal")
    pod.end()
    for one, target in targets.items():
        driver.remove(handles[one], target)


def test_a_power_loss_that_might_miss_the_data_is_refused(driver: Driver) -> None:
    """One claim of this class, and one of another: nobody has said where the data are."""
    pod = driver.world.pod("mixed-0", labels={}, claims={"scratch": "scratch-0", "data": "data-0"})
    handle, target = driver.create("pvc-mixed", claim="scratch-0"), target_of(pod)
    driver.publish(handle, target)
    writer = container(pod, target, WRITER)
    answer = driver.agent.put("mixed", "powerLoss", pod)
    assert answer.status_code == 422
    assert "several claims" in answer.json()["error"]
    assert writer.poll() is None
    pod.end()
    driver.remove(handle, target)


def test_no_pod_has_the_volume_of_a_claim_by_its_name(tmp_path: Path) -> None:
    """Names of volumes begin with a namespace, and one may be called as claims' volumes begin."""
    volumes = Volumes(tmp_path / "state", tmp_path / "mounts")
    volumes.write(VolumeRecord("csi_pvc-1", 32 * MIB, "ext4", 0, 0, claim="victim/data"))
    with pytest.raises(RefusalError, match="called like a volume of a claim"):
        volumes.of_pod(NodePod("csi", "pvc-1", "3f0e5a52-7c1d-4f0e-9a51-0d6f2f3a1b20", NODE))
    assert volumes.own("csi_pvc-1") is None, "neither attached to it nor dumped"


def test_a_volume_that_could_not_be_made_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise MachineError("mkfs ended with 1")

    monkeypatch.setattr("highwater_operator.agent.volumes.make_file_system", fails)
    volumes = Volumes(tmp_path / "state", tmp_path / "mounts")
    with pytest.raises(MachineError, match="mkfs"):
        volumes.ensure(VolumeRecord("csi_pvc-1", 32 * MIB, "ext4", 0, 0, claim="victim/data"))
    assert (volumes.all(), list((tmp_path / "state" / "images").iterdir())) == ([], [])
