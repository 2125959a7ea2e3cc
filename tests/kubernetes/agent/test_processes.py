from __future__ import annotations

import time
from pathlib import Path

from agent_world import Agent, World, confirmed, states
from waiting import until


def test_kill_hits_the_node_and_not_the_container_that_holds_the_pods_network(agent: Agent, world: World) -> None:
    pod = world.pod("kill-broker-0")
    pause, node = pod.children[0], pod.start_node()
    record = agent.inject("kill-1", "kill", pod)
    assert record["state"] == "done"
    assert "processes of the container are gone" in confirmed(record, "inject")[0]
    assert node.wait(10) == -9
    assert states(pause.pid) == ["running"]
    # The kubelet's next container is another one, and an order that is repeated hits nobody.
    replacement = pod.start_node()
    body = {"kind": "kill", "pod": pod.reference, "deadline": record["request"]["deadline"]}
    again = agent.ask("PUT", "/v1/faults/kill-1", body)
    assert (again.status_code, again.json()) == (200, record)
    assert states(replacement.pid) == ["running"]


def test_stop_is_a_clean_end(agent: Agent, world: World) -> None:
    pod = world.pod("stop-broker-0")
    node = pod.start_node()
    assert confirmed(agent.inject("stop-1", "stop", pod), "inject")
    assert node.wait(10) == -15


def test_a_pause_stops_every_process_until_it_is_healed(agent: Agent, world: World) -> None:
    pod = world.pod("pause-broker-0")
    pause, node = pod.children[0], pod.start_node()
    record = agent.inject("pause-1", "pause", pod)
    assert record["state"] == "inForce"
    assert confirmed(record, "inject") == ["processes of default/pause-broker-0: 1 stopped"]
    assert states(node.pid, pause.pid) == ["stopped", "running"]
    assert agent.ask("GET", "/v1/pods/default/pause-broker-0/process_state").json() == {"result": "stopped"}
    healed = agent.heal("pause-1")
    assert healed["state"] == "healed"
    assert "processes of default/pause-broker-0: 1 running" in confirmed(healed, "heal")
    assert states(node.pid) == ["running"]
    assert agent.heal("pause-1") == healed, "healing is idempotent"


def test_a_fault_ends_at_its_deadline(agent: Agent, world: World) -> None:
    pod = world.pod("late-broker-0")
    node = pod.start_node()
    agent.inject("late-1", "pause", pod, seconds=2)
    assert states(node.pid) == ["stopped"]
    until(lambda: agent.state("late-1") == "expired", "the deadline is noticed")
    assert states(node.pid) == ["running"]
    assert agent.heal("late-1")["state"] == "expired", "healing what has ended changes nothing"


def test_a_node_is_kept_down_for_as_long_as_it_was_asked_for(agent: Agent, world: World) -> None:
    pod = world.pod("down-broker-0")
    node = pod.start_node()
    began = time.monotonic()
    record = agent.inject("down-1", "kill", pod, restartAfter="4s")
    assert node.wait(10) == -9
    # The kubelet does not ask when it may.
    replacement = pod.start_waiting_node()
    assert record["state"] == "inForce"
    assert [file.name for file in pod.control.iterdir()] == ["hold-down-1"]
    assert replacement.stdout is not None
    assert replacement.stdout.readline() == "up\n"
    assert 3.9 < time.monotonic() - began < 30
    until(lambda: agent.state("down-1") == "done", "it is over")
    assert "undone by" in confirmed(agent.ask("GET", "/v1/faults/down-1").json(), "heal")[-1]


def test_a_node_that_two_faults_keep_down_begins_after_the_second(agent: Agent, world: World) -> None:
    pod = world.pod("held-twice-broker-0")
    pod.start_node()
    agent.inject("held-twice-1", "kill", pod, restartAfter="1h")
    pod.start_waiting_node()
    agent.inject("held-twice-2", "kill", pod, restartAfter="1h")
    replacement = pod.start_waiting_node()
    assert agent.heal("held-twice-1")["state"] == "healed"
    assert [file.name for file in pod.control.iterdir()] == ["hold-held-twice-2"]
    agent.heal("held-twice-2")
    assert list(pod.control.iterdir()) == []
    assert replacement.stdout is not None
    assert replacement.stdout.readline() == "up\n"


def test_a_link_in_place_of_the_file_is_not_followed(agent: Agent, world: World, tmp_path: Path) -> None:
    pod = world.pod("held-link-broker-0")
    pod.start_node()
    precious = tmp_path / "precious"
    precious.write_text("all of it")
    (pod.control / "hold-held-link-1").symlink_to(precious)
    agent.inject("held-link-1", "kill", pod, restartAfter="1h")
    assert not (pod.control / "hold-held-link-1").is_symlink()
    agent.heal("held-link-1")
    assert precious.read_text() == "all of it"


def test_without_the_control_volume_nothing_is_killed_that_is_to_stay_down(agent: Agent, world: World) -> None:
    pod = world.pod("held-unknown-broker-0")
    node = pod.start_node()
    pod.control.rmdir()
    answer = agent.put("held-unknown-1", "kill", pod, restartAfter="1s")
    assert answer.status_code == 409
    assert "could not be kept down" in answer.json()["error"]
    assert "HIGHWATER_KUBELET_DIR" in answer.json()["expected"]
    assert states(node.pid) == ["running"]


def test_a_node_that_does_not_run_can_neither_be_killed_nor_paused(agent: Agent, world: World) -> None:
    pod = world.pod("none-broker-0")
    for kind in ("kill", "pause"):
        answer = agent.put(f"none-{kind}", kind, pod)
        assert answer.status_code == 409
        assert answer.json()["error"] == "the node of pod default/none-broker-0 does not run"
    assert agent.state("none-kill") == "failed"
    # Nothing came of it, so the same order may come again.
    pod.start_node()
    again = agent.ask("GET", "/v1/faults/none-kill").json()["request"]
    body = {name: again[name] for name in ("kind", "pod", "deadline")}
    assert agent.ask("PUT", "/v1/faults/none-kill", body).json()["state"] == "done"


def test_what_was_healed_before_it_was_asked_for_never_happens(agent: Agent, world: World) -> None:
    pod = world.pod("tomb-broker-0")
    node = pod.start_node()
    assert agent.heal("tomb-1")["state"] == "healed"
    answer = agent.put("tomb-1", "pause", pod)
    assert answer.status_code == 409
    assert "healed before it was asked for" in answer.json()["error"]
    assert states(node.pid) == ["running"]
