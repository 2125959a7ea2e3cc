"""What a pod that wants to do harm answers, as root with the real agent: it costs its own faults, and nobody else's."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from agent_world import Agent, Pod, World, await_true

HOSTILE = Path(__file__).with_name("hostile_node.py")
MIB = 1 << 20
ANSWERS = ["garbage", "list", "deep", "digits", "drip", "endless", "silent"]


@dataclass
class Hostile:
    pod: Pod
    mode: Path

    def attack(self, how: str) -> None:
        self.mode.write_text(how)

    def behave(self) -> None:
        self.mode.unlink(missing_ok=True)


@pytest.fixture
def hostile(world: World, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Hostile]:
    name = "".join(one if one.isalnum() else "-" for one in request.node.name.lower()).strip("-")[-40:].strip("-")
    pod, mode = world.pod(f"x{name}-broker-0"), tmp_path / "mode"
    child = pod.start_container(
        sys.executable,
        str(HOSTILE),
        "highwater-node",
        str(mode),
        mounts="mount -t tmpfs none /run && mkdir /run/highwater",
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "up\n"
    yield Hostile(pod, mode)
    mode.unlink(missing_ok=True)
    child.kill()
    child.wait()


def stopped(pod: Pod) -> bool:
    (status,) = [Path(f"/proc/{child.pid}/stat").read_text() for child in pod.children[1:2]]
    return status.rpartition(")")[2].split()[0] == "T"


def resident(agent: Agent) -> int:
    """Bytes of memory of the agent and of the guardian of its run."""
    total = 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes()
            ours = int(entry.name) == agent.process.pid or (
                b"machine.guardian" in words and bytes(agent.world.state) in words
            )
            if ours:
                (line,) = [one for one in (entry / "status").read_text().splitlines() if one.startswith("VmHWM")]
                total += int(line.split()[1]) * 1024
        except (OSError, ValueError):
            continue
    return total


@pytest.mark.parametrize("how", ANSWERS)
def test_an_answer_on_the_control_socket_stops_no_deadline_but_its_own(
    agent: Agent, world: World, hostile: Hostile, how: str
) -> None:
    victim = world.pod(f"victim-{how}-broker-0")
    victim.start_node()
    agent.inject(f"{how}-paused", "pause", victim, seconds=5)
    agent.inject(f"{how}-by-request", "partition", victim, 600, cuts=[{"peer": hostile.pod.address}])
    agent.inject(f"{how}-hostile", "drop", hostile.pod, seconds=2, rpc="Fetch")
    hostile.attack(how)
    before = resident(agent)
    assert stopped(victim)
    await_true(lambda: not stopped(victim), "the victim runs again after its deadline", 12)
    began = time.monotonic()
    healed = agent.heal(f"{how}-by-request")
    assert healed["state"] == "healed"
    assert time.monotonic() - began < 10, "nobody waits for the hostile pod"
    await_true(lambda: agent.state(f"{how}-paused") == "expired", "it is noted", 12)
    assert agent.state(f"{how}-hostile") == "inForce", "it was not undone, and nobody says so"
    assert agent.ask("GET", "/healthz", token=None).status_code == 200
    assert resident(agent) - before < 64 * MIB
    # Its own fault is undone as soon as it can be: no bad answer ends the attempts.
    hostile.behave()
    await_true(lambda: agent.state(f"{how}-hostile") == "expired", "it is undone once the node answers", 30)


@pytest.mark.parametrize("how", ["drip", "endless", "silent"])
def test_pods_that_never_finish_an_answer_keep_nobody_from_being_healed(
    agent: Agent, world: World, hostile: Hostile, how: str
) -> None:
    victim = world.pod(f"healed-{how}-broker-0")
    victim.start_node()
    agent.inject(f"admin-{how}", "pause", victim, seconds=600)
    hostile.attack(how)
    before = resident(agent)
    path = f"/v1/pods/default/{hostile.pod.name}/metrics"
    with ThreadPoolExecutor(40) as callers:
        asked = [callers.submit(agent.ask, "GET", path) for _ in range(40)]
        time.sleep(1.0)  # for them to have arrived: nothing shows it
        began = time.monotonic()
        assert agent.heal(f"admin-{how}")["state"] == "healed"
        assert agent.ask("GET", "/healthz", token=None).status_code == 200
        assert agent.ask("GET", f"/v1/pods/default/{victim.name}").status_code == 200
        assert time.monotonic() - began < 4
        statuses = {one.result().status_code for one in asked}
    assert statuses <= {502, 503}, "an answer that does not end is none"
    # 4 MiB an answer, and what the allocator keeps for each thread that had one.
    assert resident(agent) - before < 192 * MIB
    assert not stopped(victim)


def test_a_link_where_the_socket_should_be_leads_nowhere(
    agent: Agent, world: World, hostile: Hostile, tmp_path: Path
) -> None:
    """A pod that puts a link to another's directory in place of its own does not have the agent talk to that other."""
    told = tmp_path / "victim"
    told.mkdir()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(told / "control.sock"))
    listener.listen(8)
    listener.settimeout(0.5)
    linker = world.pod("linker-broker-0")
    child = linker.start_container(
        *(sys.executable, "-c", "import time; time.sleep(1000)", "highwater-node"),
        mounts=f"mount -t tmpfs none /run && ln -s {told} /run/highwater",
    )
    await_true(lambda: (Path(f"/proc/{child.pid}/root/run/highwater")).is_symlink(), "the link is there")
    with listener:
        answer = agent.put("linked-1", "drop", linker, rpc="Fetch")
        assert answer.status_code == 500
        assert "found a link" in answer.json()["error"]
        with pytest.raises(TimeoutError):
            listener.accept()
