"""Names that are paths, and sizes that are no sizes: refused, and everything else goes on."""

from __future__ import annotations

import json
import socket
import ssl
from dataclasses import asdict
from pathlib import Path

import pytest
from agent_world import TOKEN, Agent, World
from waiting import until

from highwater_chaos.kube.kinds import VOLUME_CRASHABLE, VOLUME_SIZE
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel import linux
from highwater_operator.agent.pods import Pod
from highwater_operator.agent.records import FaultRecord, Records
from highwater_operator.agent.refusals import RefusalError
from highwater_operator.agent.volumes import VolumeRecord, Volumes
from highwater_operator.agent.wanted_volumes import wanted_by

MIB = 1 << 20
SIZES = ["8Ei", "1e30", "Infinity", "-Infinity", "NaN", "-1Gi", "0", "1e999999999", "9" * 300, "1e-9", "17Ti", "", "x"]


def raw(agent: Agent, request: str) -> str:
    """The status line of an answer to a request whose path no client library would send."""
    trust = ssl.create_default_context(cafile=agent.verify)
    with (
        socket.create_connection(("127.0.0.1", agent.port), timeout=30) as plain,
        trust.wrap_socket(plain, server_hostname="highwater-agent") as end,
    ):
        head = f"{request} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n"
        end.sendall(head.encode())
        return end.makefile("rb").readline().decode()


def test_a_volume_s_name_is_no_path(agent: Agent, world: World, tmp_path: Path) -> None:
    """With the token: another's file system is unmounted by a record that lies elsewhere."""
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    linux.mount("none", foreign, "tmpfs")
    try:
        planted = VolumeRecord(str(foreign), 40 * MIB, "ext4", 0, 0, made=True)
        (tmp_path / "planted.json").write_text(json.dumps(asdict(planted)))
        up = "..%2F" * 12
        status = raw(agent, f"DELETE /v1/volumes/{up}{str(tmp_path)[1:].replace('/', '%2F')}%2Fplanted")
        assert linux.mounted_at(foreign), "another's file system stays mounted"
        assert status.split()[1] == "400"
    finally:
        if linux.mounted_at(foreign):
            linux.umount(foreign)


@pytest.mark.parametrize("name", ["default_x%0A", "%0Adefault_x", "..%2Fx_y", "default_x%00"])
def test_a_name_is_matched_as_a_whole(agent: Agent, name: str) -> None:
    assert raw(agent, f"PUT /v1/volumes/{name}").split()[1] in ("400", "404")
    assert raw(agent, f"DELETE /v1/volumes/{name}").split()[1] in ("400", "404")
    assert raw(agent, f"DELETE /v1/faults/{name}").split()[1] in ("400", "404")


def test_a_record_is_that_of_its_file(tmp_path: Path) -> None:
    records = Records(tmp_path / "faults")
    records.put(FaultRecord("good", "healed"))
    (tmp_path / "faults" / "other.json").write_text((tmp_path / "faults" / "good.json").read_text())
    (tmp_path / "faults" / "torn.json").write_text('{"id": "to')
    with pytest.raises(MachineError, match="expected id other, found 'good'"):
        records.get("other")
    assert [one.id for one in records.all()] == ["good"], "one bad file hides no other"
    volumes = Volumes(tmp_path / "state", tmp_path / "mounts")
    planted = VolumeRecord("default_b", 40 * MIB, "ext4", 0, 0, made=True)
    (tmp_path / "state" / "volumes" / "default_a.json").write_text(json.dumps(asdict(planted)))
    with pytest.raises(MachineError, match="expected default_a, found 'default_b'"):
        volumes.get("default_a")
    assert volumes.all() == []
    assert len(volumes.mount_all()) == 1, "it is told"


def test_a_fault_that_is_asked_for_again_is_looked_after_again(tmp_path: Path) -> None:
    """Those that are over are not read each time; one that failed may come to be in force."""
    records = Records(tmp_path / "faults")
    for state, seen in (("injecting", 1), ("failed", 0), ("inForce", 1), ("expired", 0)):
        records.put(FaultRecord("one", state))  # type: ignore[arg-type]
        assert [len(list(records.all(over=False))) for _ in range(2)] == [seen] * 2
        assert [one.state for one in records.all()] == [state]


@pytest.mark.parametrize("size", SIZES)
def test_a_size_is_a_size(size: str, tmp_path: Path) -> None:
    pod = Pod("ns", "demo-broker-0", "u", "node-1", annotations={VOLUME_CRASHABLE: "true", VOLUME_SIZE: size})
    with pytest.raises((ValueError, RefusalError), match=r"volume-size|needs more|at most"):
        Volumes(tmp_path / "state", tmp_path / "mounts").ensure(wanted_by(pod) or pytest.fail("it wants one"))


def test_volumes_are_made_after_sizes_that_are_none(agent: Agent, world: World) -> None:
    for number, size in enumerate(("8Ei", "1e30", "Infinity")):
        world.pod(f"big{number}-broker-0", annotations={VOLUME_CRASHABLE: "true", VOLUME_SIZE: size})
    pod = world.pod("small-broker-0", annotations={VOLUME_CRASHABLE: "true", VOLUME_SIZE: "40Mi"})
    until(pod.data.is_dir, "the agent makes the next volume", 20)
    assert agent.ask("GET", "/healthz", token=None).status_code == 200
