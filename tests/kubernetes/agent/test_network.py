from __future__ import annotations

import subprocess

import pytest
from agent_world import Agent, World, confirmed

from highwater_chaos.machine.network.link_probes import answering


def probes_in(saw: str) -> int:
    """How many were dropped: three are sent, and the kernel sends one again that waits for long."""
    count, word, _ = saw.split(maxsplit=2)
    assert word == "probes"
    return int(count)


@pytest.mark.parametrize("direction", ["in", "out"])
def test_a_partition_cuts_one_peer_off_and_no_other(agent: Agent, world: World, direction: str) -> None:
    pod, peer, other = (world.pod(f"{name}-{direction}-broker-0") for name in ("cut", "peer", "other"))
    for one in (pod, peer, other):
        one.start_node()
    cut = {"peer": peer.address, "probePort": 9404, "outgoing": direction == "out"}
    (saw,) = confirmed(agent.inject(f"cut-{direction}", "partition", pod, **cut), "inject")
    assert probes_in(saw) >= 3
    assert saw.endswith("its port 9404 does not answer across the cut")
    targets = [(peer.address, 9404), (other.address, 9404)]
    assert answering(pod.namespace, targets, 1) == {(other.address, 9404)}
    _, seen = agent.ask("GET", f"/v1/faults/cut-{direction}").json()["evidence"]
    assert seen["details"]["dropped"] > 0
    healed = agent.heal(f"cut-{direction}")
    assert f"no rule against {peer.address} is left; port 9404 answers" in confirmed(healed, "heal")
    assert answering(pod.namespace, targets, 10) == set(targets)


def test_whether_a_pod_reaches_a_peer_is_tried_by_a_connection(agent: Agent, world: World) -> None:
    pod, peer = world.pod("reach-broker-0"), world.pod("reach-broker-1")
    pod.start_node()
    peer.start_node()

    def reaches(query: str) -> tuple[int, object]:
        answer = agent.ask("GET", f"/v1/pods/default/{pod.name}/reaches?{query}")
        return answer.status_code, answer.json().get("result")

    assert reaches(f"peer={peer.address}&port=9404") == (200, True)
    assert reaches(f"peer={peer.address}&port=9") == (200, True), "a refusal is an answer"
    agent.inject("reach-cut", "partition", pod, peer=peer.address, probePort=9404)
    assert reaches(f"peer={peer.address}&port=9404") == (200, False)
    agent.heal("reach-cut")
    assert reaches(f"peer={peer.address}&port=9404") == (200, True)
    wrong = (
        "",
        "peer=example.org&port=9404",
        *(f"peer={peer.address}&port={port}" for port in ("0", "70000", "1&x=2")),
    )
    for query in wrong:
        assert reaches(query) == (400, None)


def test_a_cut_outlives_the_container_that_lived_in_the_network_when_it_was_made(agent: Agent, world: World) -> None:
    pod, peer = world.pod("keep-broker-0"), world.pod("keep-broker-1")
    pod.start_node()
    peer.start_node()
    agent.inject("keep-cut", "partition", pod, peer=peer.address, probePort=9404)
    agent.inject("keep-kill", "kill", pod)
    assert answering(pod.namespace, [(peer.address, 9404)], 0.5) == set()
    confirmed(agent.heal("keep-cut"), "heal")
    rules = subprocess.run(
        ["ip", "netns", "exec", pod.namespace, "nft", "list", "ruleset"], capture_output=True, check=True
    )
    assert rules.stdout == b"", "not even an empty table is left"
    assert answering(pod.namespace, [(peer.address, 9404)], 10) == {(peer.address, 9404)}


def test_two_partitions_of_a_pair_heal_apart(agent: Agent, world: World) -> None:
    pod, peer = world.pod("twice-broker-0"), world.pod("twice-broker-1")
    pod.start_node()
    peer.start_node()
    target = (peer.address, 9404)
    agent.inject("twice-1", "partition", pod, peer=peer.address, probePort=9404)
    second = agent.inject("twice-2", "partition", pod, peer=peer.address, probePort=9404)
    # The first rule drops what the second would; both are in force.
    (saw,) = confirmed(second, "inject")
    assert probes_in(saw) >= 3
    assert second["evidence"][0]["details"]["dropped"] == 0
    agent.heal("twice-1")
    assert answering(pod.namespace, [target], 0.5) == set()
    agent.heal("twice-2")
    assert answering(pod.namespace, [target], 10) == {target}


def test_both_ways_as_two_faults_at_either_end(agent: Agent, world: World) -> None:
    """As the backend cuts, at each receiver. When the second is made, nothing that it could ask the peer comes back."""
    pods = [world.pod(f"ends-broker-{number}") for number in range(2)]
    for pod in pods:
        pod.start_node()
    for number, pod in enumerate(pods):
        record = agent.inject(f"ends-{number}", "partition", pod, peer=pods[1 - number].address, probePort=9404)
        confirmed(record, "inject")
    for number in range(2):
        confirmed(agent.heal(f"ends-{number}"), "heal")
    assert answering(pods[0].namespace, [(pods[1].address, 9404)], 10)


def test_a_container_that_is_not_in_its_pods_network_yet_says_nothing_of_it(agent: Agent, world: World) -> None:
    """As what the runtime starts in a group that is frozen: it waits there before it has entered anything."""
    pod, peer = world.pod("starting-broker-0"), world.pod("starting-broker-1")
    pod.start_node()
    peer.start_node()
    for _ in range(8):  # containers are looked at in the order of their ids
        pod.start_container("/bin/sleep", "100000", in_network=False)
    record = agent.inject("starting-1", "partition", pod, peer=peer.address, probePort=9404)
    assert confirmed(record, "inject")
    assert answering(pod.namespace, [(peer.address, 9404)], 0.5) == set()
    confirmed(agent.heal("starting-1"), "heal")
    assert answering(pod.namespace, [(peer.address, 9404)], 10)


def test_the_machines_own_network_is_never_cut(agent: Agent, world: World) -> None:
    pod = world.pod("host-broker-0")
    for child in pod.children:
        child.kill()
        child.wait()
    pod.start_container("/bin/sleep", "100000", in_network=False)
    answer = agent.put("host-1", "partition", pod, peer="192.0.2.1", probePort=9404)
    assert answer.status_code == 422
    assert answer.json()["found"] == "hostNetwork"
