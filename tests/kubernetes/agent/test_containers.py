"""Which processes are a pod's: by control groups in all forms that container runtimes give them."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_world import control_groups
from waiting import until

from highwater_chaos.machine.process.control_groups import container_of
from highwater_chaos.machine.process.processes import Process
from highwater_operator.agent.containers import containers_of, node_container
from highwater_operator.agent.pods import Pod

UID = "0f3b6c1e-8f57-4f0e-9a51-2d7c4b1a9e10"
HEX = "ab" * 32
SYSTEMD = f"kubepods-burstable-pod{UID.replace('-', '_')}.slice"


@pytest.mark.parametrize(
    "path",
    [
        f"/kubepods.slice/kubepods-burstable.slice/{SYSTEMD}/cri-containerd-{HEX}.scope",
        f"/kubepods.slice/kubepods-burstable.slice/{SYSTEMD}/crio-{HEX}.scope/container",
        f"/kubepods.slice/{SYSTEMD}/docker-{HEX}.scope",
        f"/kubepods/burstable/pod{UID}/{HEX}",
        f"/system.slice/containerd.service/{SYSTEMD}:cri-containerd:{HEX}",
        f"/../../{SYSTEMD}/cri-containerd-{HEX}.scope",
        f"/docker/{'12' * 32}/kubelet.slice/kubelet-kubepods.slice/{SYSTEMD}/cri-containerd-{HEX}.scope",
    ],
)
def test_the_containers_id_is_found_in_every_layout(path: str) -> None:
    assert container_of(path) == HEX


@pytest.mark.parametrize("path", ["/", "/user.slice/session-1.scope", f"/kubepods/pod{UID}", "/x/" + "ab" * 33])
def test_what_is_no_container_is_none(path: str) -> None:
    assert container_of(path) is None


@pytest.fixture(params=["systemd", "cgroupfs", "version 1"])
def living(request: pytest.FixtureRequest) -> Iterator[tuple[Pod, dict[str, int]]]:
    """A pod with a pause container, a node and CRI-O's monitor, in real control groups."""
    uid, version_1 = str(uuid.uuid4()), Path("/sys/fs/cgroup/pids")
    pod_group = f"kubepods-pod{uid.replace('-', '_')}.slice" if request.param == "systemd" else f"pod{uid}"
    root = control_groups()
    if request.param == "version 1":
        if not (version_1 / "cgroup.procs").exists():
            pytest.skip("version 1 of control groups is not mounted")
        root = version_1
    ids = {"pause": "a1" * 32, "node": "b2" * 32}
    names = {name: f"crio-{one}.scope" if request.param == "systemd" else one for name, one in ids.items()} | {
        "conmon": f"crio-conmon-{ids['node']}"
    }
    children, groups = {}, []
    for name, group_name in names.items():
        group = root / pod_group / group_name
        try:
            group.mkdir(parents=True)
        except OSError as error:
            pytest.skip(f"control groups cannot be made here: {error}")
        groups.append(group)
        argument = {"pause": "/pause", "node": "highwater-node", "conmon": "conmon"}[name]
        children[name] = subprocess.Popen([argument, "100000"], executable="/bin/sleep")
        (group / "cgroup.procs").write_text(str(children[name].pid))
    yield Pod("default", "p", uid, "node-1"), {name: child.pid for name, child in children.items()}
    for child in children.values():
        child.kill()
        child.wait()
    for group in groups:
        until(lambda group=group: not (group / "cgroup.procs").read_text().split(), "it is empty")
        group.rmdir()
    groups[0].parent.rmdir()


def test_a_pods_processes_are_found_by_their_control_groups(living: tuple[Pod, dict[str, int]]) -> None:
    pod, pids = living
    found = {one.id: [process.pid for process in one.processes] for one in containers_of(pod)}
    assert found == {"a1" * 32: [pids["pause"]], "b2" * 32: [pids["node"]]}
    node = node_container(pod)
    assert node is not None
    assert node.id == "b2" * 32
    members = Process("p", "/nowhere", group=node.id).members()
    assert [one.pid for one in members] == [pids["node"]], "the monitor is no process of the container"


def test_another_pods_processes_are_not_found(living: tuple[Pod, dict[str, int]]) -> None:
    assert containers_of(Pod("default", "other", str(uuid.uuid4()), "node-1")) == []


def test_the_agent_and_the_operator_mean_the_same_places() -> None:
    from highwater_operator.agent import places
    from highwater_operator.objects import config_map, naming

    assert places.ADMIN_PORT == naming.ADMIN_PORT
    for name in (
        "DATA_PATH",
        "EVENTS_PATH",
        "CONTROL_PATH",
        "HOLD_FILES",
        "EVENTS_VOLUME",
        "CONTROL_VOLUME",
        "VOLUME_PATH",
    ):
        assert getattr(places, name) == getattr(config_map, name)
