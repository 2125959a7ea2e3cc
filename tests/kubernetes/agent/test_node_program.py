"""Faults inside a real node: a controller alone in its quorum, in a pod's network and mounts of its own."""

from __future__ import annotations

import json
import socket
import struct
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from agent_world import Agent, Pod, World, confirmed
from waiting import until

from highwater_chaos.machine.network.namespaces import in_namespace
from highwater_chaos.records.dump import DUMPED
from highwater_operator.agent.pod_files import MOST_BYTES
from highwater_runtime.log.records import Record, build_batch

PORT = 9093


@pytest.fixture(scope="module")
def node(world: World, shared_agent: list[Agent], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pod]:
    """A pod with ``highwater-node`` in it."""
    folder = tmp_path_factory.mktemp("node-files")
    pod = world.pod("real-controller-0")
    (folder / "data").mkdir()
    events = world.kubelet / "pods" / pod.uid / "volumes" / "kubernetes.io~empty-dir" / "events"
    events.mkdir(parents=True)
    properties = {
        "process.roles": "controller",
        "node.id": 1000,
        "cluster.id": "highwater-cluster-0001",
        "controller.quorum.voters": f"1000@127.0.0.1:{PORT}",
        "listeners": f"CONTROLLER://0.0.0.0:{PORT}",
        "log.dirs": folder / "data",
        "highwater.trace.path": events / "events.jsonl",
        "highwater.control.path": "/run/highwater/control.sock",
        "highwater.admin.listener": "http://0.0.0.0:9404",
        "highwater.ready.path": folder / "ready",
    }
    config = folder / "node.properties"
    config.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    # Its /run is its own, as an emptyDir is: the socket is to be found through the container's file system.
    child = pod.start_container(
        sys.executable,
        "-c",
        "import sys; from highwater_runtime.host.main import main; sys.argv[0] = 'highwater-node'; sys.exit(main())",
        str(config),
        mounts="mount -t tmpfs none /run && mkdir /run/highwater",
    )
    until((folder / "ready").exists, f"the node is up: {child.poll()}")
    yield pod
    child.terminate()
    child.wait(60)
    world.remove(pod)


def asks_for_versions(pod: Pod, timeout: float) -> bool:
    """Whether ApiVersions is answered."""

    def ask() -> bool:
        with socket.create_connection(("127.0.0.1", PORT), timeout=10) as end:
            end.settimeout(timeout)
            client = b"agent-test"
            request = struct.pack(">hhih", 18, 0, 7, len(client)) + client
            end.sendall(struct.pack(">i", len(request)) + request)
            try:
                return len(end.recv(8)) > 0
            except TimeoutError:
                return False

    return in_namespace(pod.namespace, ask)


def test_a_node_is_asked_for_the_key_of_its_session(node: Pod, agent: Agent) -> None:
    """A controller of KRaft mode has none, and says so itself."""
    answer = agent.ask("GET", f"/v1/pods/default/{node.name}/session")
    assert (answer.status_code, answer.json()) == (200, {"result": None})


def test_messages_are_dropped_until_healed(node: Pod, agent: Agent) -> None:
    assert asks_for_versions(node, 20)
    record = agent.inject("msg-1", "drop", node, rpc="ApiVersions", sources=["agent-test"])
    assert "the node says that the rule is in force" in confirmed(record, "inject")[0]
    assert not asks_for_versions(node, 0.7)
    seen = agent.ask("GET", "/v1/faults/msg-1").json()["evidence"][-1]
    assert seen["details"] == {"matches": 1}
    healed = agent.heal("msg-1")
    assert "the rule has acted upon 1 messages" in [one["saw"] for one in healed["evidence"]]
    assert "the node has taken it back" in confirmed(healed, "heal")
    assert asks_for_versions(node, 20)


@pytest.mark.thorough
def test_a_deadline_takes_a_rule_back_though_the_agent_is_dead(node: Pod, agent: Agent, world: World) -> None:
    agent.inject("msg-2", "delay", node, seconds=6, rpc="ApiVersions", by="60s")
    assert not asks_for_versions(node, 0.5)
    agent.kill()
    until(lambda: asks_for_versions(node, 1), "the guardian has taken it back")


def test_heartbeats_are_lost(node: Pod, agent: Agent) -> None:
    record = agent.inject("session-1", "drop", node, rpc="BrokerHeartbeat", sources=["broker-1"])
    assert "drop BrokerHeartbeat from broker-1" in confirmed(record, "inject")[0]
    confirmed(agent.heal("session-1"), "heal")


def test_a_stalled_disk(node: Pod, agent: Agent) -> None:
    record = agent.inject("stall-1", "diskStall", node)
    assert confirmed(record, "inject")[0].startswith("a flush by the node waits for 1.")
    second = agent.put("stall-2", "diskStall", node)
    assert (second.status_code, second.json()["found"]) == (409, "stalled")
    assert agent.ask("GET", "/v1/faults/stall-1").json()["state"] == "inForce"
    confirmed(agent.heal("stall-1"), "heal")


def test_a_wrong_clock(node: Pod, agent: Agent) -> None:
    record = agent.inject("clock-1", "clockSkew", node, offset="30s", rate=1.5)
    assert confirmed(record, "inject")[0].endswith("runs at 1.5")
    assert agent.put("clock-2", "clockSkew", node, offset="1s").status_code == 409
    confirmed(agent.heal("clock-1"), "heal")
    behind = agent.inject("clock-3", "clockSkew", node, offset="-30s", rate=0.5)
    assert "is off by -30" in confirmed(behind, "inject")[0]
    confirmed(agent.heal("clock-3"), "heal")


def test_what_a_node_cannot_do_is_refused_with_its_words(node: Pod, agent: Agent) -> None:
    answer = agent.put("wrong-1", "duplicate", node, rpc="Fetch", part="response")
    assert answer.status_code == 500
    assert "a response cannot be duplicated" in answer.json()["error"]
    assert agent.state("wrong-1") == "failed"


def test_events_from_where_one_left_off(node: Pod, agent: Agent) -> None:
    path = f"/v1/pods/default/{node.name}/events"
    first = agent.ask("GET", path)
    lines = first.content.splitlines()
    assert all("kind" in json.loads(line) for line in lines)
    assert lines
    rest = agent.ask("GET", path + f"?offset={len(lines[0]) + 1}")
    assert first.content.endswith(rest.content) or rest.content.startswith(first.content[len(lines[0]) + 1 :])
    beyond = agent.ask("GET", path + "?offset=999999999")
    assert (beyond.status_code, beyond.content) == (200, b"")
    assert beyond.headers["X-Highwater-File"] == first.headers["X-Highwater-File"]
    assert agent.ask("GET", path + "?offset=-1").status_code == 400


def test_links_out_of_a_pod_are_not_followed(agent: Agent, world: World) -> None:
    pod = world.pod("link-broker-0")
    events = world.kubelet / "pods" / pod.uid / "volumes" / "kubernetes.io~empty-dir" / "events"
    events.mkdir(parents=True)
    (events / "events.jsonl").symlink_to("/etc/passwd")
    answer = agent.ask("GET", "/v1/pods/default/link-broker-0/events")
    assert answer.status_code in (404, 422)
    assert "root:" not in answer.text


def test_a_nodes_metrics_are_read_from_inside_its_pod(node: Pod, agent: Agent) -> None:
    answer = agent.ask("GET", f"/v1/pods/default/{node.name}/metrics")
    assert answer.status_code == 200
    assert "kafka_server_raftmetrics_" in answer.text


def test_a_brokers_replicas(agent: Agent, world: World) -> None:
    pod = world.pod(
        "dump-broker-3", annotations={"highwater.dev/crashable": "true", "highwater.dev/volume-size": "64Mi"}
    )
    until(pod.data.is_dir, "the agent makes the volume")
    write_segment(pod.data)
    dumped = DUMPED.decode_lines(agent.ask("GET", "/v1/pods/default/dump-broker-3/dump").content)
    rows = [json.loads(line) for part in dumped for line in part.lines()]
    assert [(row["broker"], row["partition"], row["offset"], row["value"]) for row in rows] == [
        (3, "orders-0", 0, 41),
        (3, "orders-0", 1, 42),
        (3, "orders-0", 2, None),
    ]
    assert [row.get("ended") for row in rows] == [None, None, "end"]


def test_a_controller_has_no_replicas_to_dump(agent: Agent, world: World) -> None:
    pod = world.pod("dump-controller-0")
    assert agent.ask("GET", f"/v1/pods/default/{pod.name}/dump").status_code == 422


def write_segment(data: Path) -> None:
    (data / "orders-0").mkdir()
    batch = build_batch([Record(value=b"41"), Record(value=b"42")], leader_epoch=3)
    (data / "orders-0" / "00000000000000000000.log").write_bytes(batch)


def resident_bytes(process: int) -> int:
    """At most, since that was reset."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


@pytest.mark.thorough
def test_events_of_many_pods_are_never_in_memory_as_a_whole(agent: Agent, world: World) -> None:
    pods = [world.pod(f"talkative-broker-{index}") for index in range(6)]
    written = b"".join(b'{"number": %08d}\n' % number for number in range(MOST_BYTES // 20 + 1000))
    for pod in pods:
        events = world.kubelet / "pods" / pod.uid / "volumes" / "kubernetes.io~empty-dir" / "events"
        events.mkdir(parents=True)
        (events / "events.jsonl").write_bytes(written)
    agent.ask("GET", f"/v1/pods/default/{pods[0].name}/events?offset={len(written) - 20}")
    Path(f"/proc/{agent.process.pid}/clear_refs").write_text("5")  # what it has now is the most that it had
    before = resident_bytes(agent.process.pid)

    def read(pod: Pod) -> bytes:
        first = agent.ask("GET", f"/v1/pods/default/{pod.name}/events")
        assert first.headers["X-Highwater-Next"] == str(len(first.content)) == str(MOST_BYTES)
        second = agent.ask("GET", f"/v1/pods/default/{pod.name}/events?offset={MOST_BYTES}")
        assert second.headers["X-Highwater-Next"] == second.headers["X-Highwater-Size"] == str(len(written))
        return first.content + second.content

    with ThreadPoolExecutor(len(pods)) as callers:
        assert all(found == written for found in callers.map(read, pods))
    # Less than three of six answers: what each thread's allocator keeps of a few pieces.
    assert resident_bytes(agent.process.pid) - before < 3 * MOST_BYTES
