"""What a pod that wants to do harm answers, as root with the real agent: it costs its own faults, and nobody else's."""

from __future__ import annotations

import itertools
import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from agent_world import Agent, Pod, World, guardians, stopped
from waiting import until

HOSTILE = Path(__file__).with_name("hostile_node.py")
MIB = 1 << 20
_clusters = itertools.count(1)
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
def hostile(world: World, tmp_path: Path) -> Iterator[dict[str, Hostile]]:
    """A pod for each answer."""
    made = {}
    for answer in ANSWERS:
        pod, mode = (
            world.pod(f"x{tmp_path.name[-20:].strip('-_').replace('_', '-')}-{answer}-broker-0"),
            tmp_path / answer,
        )
        pod.start_container(
            sys.executable,
            str(HOSTILE),
            "highwater-node",
            str(mode),
            mounts="mount -t tmpfs none /run && mkdir /run/highwater",
        )
        made[answer] = Hostile(pod, mode)
    for one in made.values():
        up = one.pod.children[-1].stdout
        assert up is not None
        assert up.readline() == "up\n"
    yield made
    for one in made.values():
        one.behave()
        one.pod.children[-1].kill()
        one.pod.children[-1].wait()


def resident(agent: Agent) -> int:
    """Bytes of memory of the agent and of the guardian of its run."""
    total = 0
    for pid in (agent.process.pid, *(guardian.pid for guardian in guardians(agent.world))):
        with suppress(OSError, ValueError):  # one that has ended has no memory
            status = Path(f"/proc/{pid}/status").read_text()
            (line,) = [one for one in status.splitlines() if one.startswith("VmHWM")]
            total += int(line.split()[1]) * 1024
    return total


def test_answers_on_control_sockets_stop_no_deadline_but_their_own(
    agent: Agent, world: World, hostile: dict[str, Hostile]
) -> None:
    """All of them at once, as one tenant's pods may."""
    victim = world.pod("victim-broker-0")
    victim.start_node()
    cut = [f"by-request-{how}" for how in hostile]
    for fault, one in zip(cut, hostile.values(), strict=True):
        agent.inject(fault, "partition", victim, 600, peer=one.pod.address, probePort=9404)
    for how, one in hostile.items():
        agent.inject(f"{how}-hostile", "drop", one.pod, seconds=3, rpc="Fetch")
        one.attack(how)  # before that
    before = resident(agent)
    agent.inject("paused", "pause", victim, seconds=6)  # last, for the deadline runs from here
    assert stopped(victim)
    until(lambda: not stopped(victim), "the victim runs again after its deadline", 12)
    began = time.monotonic()
    assert {agent.heal(fault)["state"] for fault in cut} == {"healed"}
    assert time.monotonic() - began < 10, "nobody waits for the hostile pods"
    until(lambda: agent.state("paused") == "expired", "it is noted", 12)
    for how in hostile:
        assert agent.state(f"{how}-hostile") == "inForce", "it was not undone, and nobody says so"
    assert agent.ask("GET", "/healthz", token=None).status_code == 200
    assert resident(agent) - before < 64 * MIB
    # Its own fault is undone as soon as it can be: no bad answer ends the attempts.
    for one in hostile.values():
        one.behave()
    for how in hostile:
        until(lambda how=how: agent.state(f"{how}-hostile") == "expired", "it is undone once the node answers", 30)


def test_pods_that_never_finish_an_answer_keep_nobody_from_being_healed(
    agent: Agent, world: World, hostile: dict[str, Hostile]
) -> None:
    victim = world.pod("healed-broker-0")
    victim.start_node()
    agent.inject("admin", "pause", victim, seconds=600)
    endless = [hostile[how] for how in ("drip", "endless", "silent")]
    for one in endless:
        one.attack(one.mode.name)
    before = resident(agent)
    paths = [f"/v1/pods/default/{one.pod.name}/metrics" for one in endless]
    with ThreadPoolExecutor(60) as callers:
        asked = [callers.submit(agent.ask, "GET", path) for _ in range(20) for path in paths]
        time.sleep(1.0)  # for them to have arrived: nothing shows it
        began = time.monotonic()
        assert agent.heal("admin")["state"] == "healed"
        assert agent.ask("GET", "/healthz", token=None).status_code == 200
        assert agent.ask("GET", f"/v1/pods/default/{victim.name}/process_state").status_code == 200
        assert time.monotonic() - began < 4
        statuses = {one.result().status_code for one in asked}
    assert statuses <= {502, 503}, "an answer that does not end is none"
    # 4 MiB an answer, and what the allocator keeps for each thread that had one.
    assert resident(agent) - before < 192 * MIB
    assert not stopped(victim)


def test_a_link_where_the_socket_should_be_leads_nowhere(agent: Agent, world: World, tmp_path: Path) -> None:
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
    until(lambda: (Path(f"/proc/{child.pid}/root/run/highwater")).is_symlink(), "the link is there")
    with listener:
        answer = agent.put("linked-1", "drop", linker, rpc="Fetch")
        assert answer.status_code == 500
        assert "found a link" in answer.json()["error"]
        with pytest.raises(TimeoutError):
            listener.accept()
    # The fault may be in force as far as the agent can tell, so it stays until the node has ended.
    linker.end()
    until(lambda: agent.ask("DELETE", "/v1/faults/linked-1").status_code == 200, "the node's end has undone it")
