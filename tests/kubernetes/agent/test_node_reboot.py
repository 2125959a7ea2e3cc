"""Resets of the agent's machine. The agent is real, but for the place of the kernel's trigger, which is a file here; in
its mount namespace another file is the boot id. A reset is its SIGKILL, and a start with another boot id."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_world import NODE, PROGRAM, Agent, Pod, World, confirmed, states
from waiting import until

from highwater_chaos.base.machine_record import troubles_in
from highwater_chaos.machine.disk.power_loss import FLUSH_NOTHING, shut_down
from highwater_chaos.machine.disk.volumes import Volume
from highwater_chaos.machine.runs.run import MachineRun

LABEL = "highwater.dev/reboot"
INFO = ["machineID", "systemUUID", "kernelVersion", "osImage", "containerRuntimeVersion"]
INFO += ["kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture"]
IN_A_MACHINE_OF_ITS_OWN = f"""
import os, runpy, sys
from pathlib import Path
from highwater_chaos.machine.kernel import linux, reset
trigger, boot, sys.argv[1:] = *sys.argv[1:], []
reset.TRIGGER = Path(trigger)
linux.unshare(linux.CLONE_NEWNS)
linux.mount("none", Path("/"), "none", linux.MS_REC | linux.MS_PRIVATE)
linux.mount(boot, Path("/proc/sys/kernel/random/boot_id"), "none", linux.MS_BIND)
runpy.run_module("{PROGRAM}", run_name="__main__", alter_sys=True)
"""


class Machine:
    """The agent's machine, as the agent and the API server see it."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world, self.folder = world, folder
        self.trigger = folder / "trigger"
        self.trigger.touch()
        self.boots: list[str] = []
        self.agent: Agent
        self.node(NODE, {LABEL: "allowed"})

    @property
    def was_reset(self) -> bool:
        return self.trigger.read_text() == "b"

    def boot(self) -> str:
        """Another boot, in which the kubelet has reported nothing yet."""
        self.trigger.write_text("")
        self.boots.append(str(uuid.uuid4()))
        return self.start_agent()

    def start_agent(self) -> str:
        file = self.folder / f"boot-{len(self.boots)}"
        file.write_text(f"{self.boots[-1]}\n")
        self.agent = Agent(self.world, ("-c", IN_A_MACHINE_OF_ITS_OWN, str(self.trigger), str(file)))
        return self.boots[-1]

    def node(self, name: str, labels: dict[str, str | None], boot: str = "", ready: str = "True") -> None:
        api = self.world.api
        if api.get("v1", "Node", name) is None:
            api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {}})
        api.patch("v1", "Node", name, "", {"metadata": {"labels": labels}})
        condition = {"type": "Ready", "status": ready, "reason": "x", "message": "x"}
        info = {**dict.fromkeys(INFO, "x"), "bootID": boot}
        status = {"nodeInfo": info, "conditions": [condition]}
        api.patch("v1", "Node", name, "", {"status": status}, "status")

    def close(self) -> None:
        self.agent.kill()
        for name in (NODE, "node-2"):
            if self.world.api.get("v1", "Node", name) is not None:
                self.world.api.delete("v1", "Node", name)


@pytest.fixture
def machine(shared_agent: list[Agent], world: World, tmp_path: Path) -> Iterator[Machine]:
    if shared_agent[0].process.poll() is None:
        shared_agent[0].stop()
    made = Machine(world, tmp_path)
    made.node(NODE, {}, made.boot())
    yield made
    made.close()


@pytest.fixture
def broker(world: World) -> Callable[[str], tuple[Pod, int, Path]]:
    """A pod of a LogCluster with its node, which writes events."""

    def make(name: str) -> tuple[Pod, int, Path]:
        pod = world.pod(name)
        events = pod.control.parent / "events"
        events.mkdir()
        return pod, pod.start_node().pid, events

    return make


def refusal(machine: Machine, pod: Pod, fault: str) -> tuple[int, str]:
    answer = machine.agent.put(fault, "nodeReboot", pod)
    looked = machine.agent.ask("GET", f"/v1/pods/default/{pod.name}/reset_refused").json()["result"]
    assert looked.startswith(answer.json()["error"]), "doctor says what an injection would meet"
    return answer.status_code, answer.json()["error"]


def test_a_machine_is_reset_only_if_its_node_allows_it_and_has_a_kernel_of_its_own(
    machine: Machine, broker: Callable[[str], tuple[Pod, int, Path]]
) -> None:
    pod, node, _ = broker("refused-broker-0")
    (boot,) = machine.boots
    found = []
    for number, label in enumerate((None, "no", "Allowed", "")):
        machine.node(NODE, {LABEL: label}, boot)
        found.append(refusal(machine, pod, f"label-{number}"))
    assert {*found} == {(403, f"node {NODE} does not allow that its machine is reset, with every pod on it")}
    role = "node-role.kubernetes.io/control-plane"
    machine.node(NODE, {LABEL: "allowed", role: ""}, boot)
    assert refusal(machine, pod, "role") == (403, f"node {NODE} is of the control plane, which is never reset")
    machine.node(NODE, {role: None}, "another-boot")
    assert refusal(machine, pod, "boot")[0] == 409
    machine.node(NODE, {}, boot)
    machine.node("node-2", {}, boot)
    shared = f"the machine of node {NODE} is that of other nodes, too, and is never reset"
    assert refusal(machine, pod, "shared") == (403, shared)
    machine.node("node-2", {}, "another-boot")
    looked = machine.agent.ask("GET", f"/v1/pods/default/{pod.name}/reset_refused").json()
    assert looked == {"result": ""}
    assert not machine.was_reset
    assert states(node) == ["running"]


def test_a_namespace_that_has_not_opted_in_has_no_machine_reset(machine: Machine, world: World) -> None:
    pod = world.pod("writer-0", labels={})
    pod.start_container("/bin/sleep", "100000")
    answer = machine.agent.put("foreign", "nodeReboot", pod)
    assert (answer.status_code, "is of no LogCluster" in answer.json()["error"]) == (403, True)
    assert not machine.was_reset


def test_a_reset_is_over_when_the_node_is_ready_in_another_boot(
    machine: Machine, broker: Callable[[str], tuple[Pod, int, Path]]
) -> None:
    pod, node, _ = broker("reset-broker-0")
    _, beside, _ = broker("beside-broker-0")
    record = machine.agent.inject("reset", "nodeReboot", pod)
    assert record["state"] == "inForce"
    (before,) = machine.boots
    seen = "the events of 2 nodes are, of which reset-broker-0, beside-broker-0 ran and stand still"
    assert seen in confirmed(record, "inject")[0]
    assert record["evidence"][0]["details"]["boot"] == before
    assert states(node, beside) == ["stopped", "stopped"], "what is done until the reset is in their events"
    until(lambda: machine.was_reset, "the machine is reset")
    machine.agent.kill()
    now = machine.boot()
    until(lambda: len(machine.agent.ask("GET", "/v1/faults/reset").json()["evidence"]) > 1, "the boot is noticed")
    record = machine.agent.ask("GET", "/v1/faults/reset").json()
    assert record["state"] == "inForce", "the kubelet has not reported this boot"
    assert confirmed(record, "inject")[1] == f"machine {NODE} has booted again: it is boot {now}, and was {before}"
    machine.node(NODE, {}, now, ready="Unknown")
    machine.node(NODE, {}, now, ready="True")
    until(lambda: machine.agent.state("reset") == "done", "the node is ready")
    record = machine.agent.heal("reset")
    assert record["state"] == "done", "its end is looked at, and nothing is done"
    assert confirmed(record, "heal") == [f"node {NODE} is Ready in boot {now}"]
    rows = machine.agent.ask("GET", "/v1/machine?since=0").json()["items"]
    starts = [row.get("resetBy") for row in rows if "started" in row]
    assert starts[-1] == "reset"
    assert troubles_in(row for row in rows if row.get("resetBy")) == [], "the run did that itself"
    machine.agent.kill()
    machine.start_agent()
    rows = machine.agent.ask("GET", "/v1/machine?since=0").json()["items"]
    assert "resetBy" not in rows[-1], "an agent that starts again is a trouble"
    assert not machine.was_reset, "once"


def test_events_of_nodes_survive_a_reset_that_takes_the_page_cache(
    machine: Machine, broker: Callable[[str], tuple[Pod, int, Path]], tmp_path: Path
) -> None:
    pod, _, events = broker("events-broker-0")
    with MachineRun.open(label="events", root=tmp_path / "runs") as run:
        disk = run.make(Volume("events", run.directory, str(tmp_path / "disk"), str(events), size=32 << 20)).resource
        machine.agent.kill()
        machine.start_agent()  # in whose mount namespace the disk is
        (events / "events.jsonl").write_text("what the node did last\n")
        (events / "other").write_text("what is in the page cache alone\n")
        machine.agent.inject("synced", "nodeReboot", pod)
        shut_down(events, FLUSH_NOTHING)
        disk.unmount()
        disk.mount()
        assert (events / "events.jsonl").read_text() == "what the node did last\n"
        assert "page cache" not in ((events / "other").read_text() if (events / "other").exists() else "")
        machine.agent.heal("synced")


def test_a_reset_that_is_undone_in_time_does_not_happen(
    machine: Machine, broker: Callable[[str], tuple[Pod, int, Path]]
) -> None:
    pod, node, _ = broker("undone-broker-0")
    machine.agent.inject("undone", "nodeReboot", pod)
    assert states(node) == ["stopped"]
    assert machine.agent.heal("undone")["state"] == "healed"
    assert states(node) == ["running"]
    # The next one's reset comes later than that of the first would have come.
    machine.agent.inject("next", "nodeReboot", pod)
    assert not machine.was_reset
    machine.agent.heal("next")


def test_an_agent_that_ends_before_the_reset_leaves_none_to_the_next_one(
    machine: Machine, broker: Callable[[str], tuple[Pod, int, Path]]
) -> None:
    pod, node, _ = broker("early-broker-0")
    machine.agent.inject("early", "nodeReboot", pod)
    machine.agent.kill()
    assert states(node) == ["stopped"]
    machine.start_agent()
    until(lambda: machine.agent.state("early") == "failed", "the next agent undoes it")
    record = machine.agent.ask("GET", "/v1/faults/early").json()
    assert record["error"] == "the agent ended before it reset the machine"
    assert states(node) == ["running"]
    assert not machine.was_reset


def test_a_kernel_that_does_not_obey(machine: Machine, broker: Callable[[str], tuple[Pod, int, Path]]) -> None:
    pod, node, _ = broker("disobeyed-broker-0")
    machine.agent.inject("disobeyed", "nodeReboot", pod)
    until(lambda: machine.agent.state("disobeyed") == "failed", "it is given up")
    record: dict[str, Any] = machine.agent.ask("GET", "/v1/faults/disobeyed").json()
    assert "the kernel has not reset the machine" in record["error"]
    assert states(node) == ["running"]
