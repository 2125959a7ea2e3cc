"""Brokers of a cluster in ZooKeeper mode, by Detailed Replication Design V3."""

from __future__ import annotations

import pytest

from highwater_runtime.ports.trace import NodeCrashed, NodeStopped
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic


def test_a_cluster_comes_up_produces_and_elects_another_leader(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1, 2])
    assert c.produce(0, b"a", b"b") is ErrorCode.NONE
    c.sim.kill("broker-0")
    c.until(lambda: c.leads(1) or c.leads(2))
    leader = 1 if c.leads(1) else 2
    assert c.produce(leader, b"c") is ErrorCode.NONE
    assert c.values(leader) == [b"a", b"b", b"c"]
    c.sim.start("broker-0")
    c.until(lambda: set(c.state()[0].isr) == {0, 1, 2})
    assert c.values(0) == [b"a", b"b", b"c"]


def test_clients_find_a_new_leader_before_it_leads_and_lose_nothing(make_cluster):
    """Discussion 6: brokers name the new leader while it has not heard of that. Its refusals make clients ask again."""
    c = make_cluster(config={"controller.socket.timeout.ms": 1000})
    controller = c.controller
    old, new = (b for b in range(3) if b != controller)
    c.create_topic([old, new, controller])
    assert c.produce(old, b"a") is ErrorCode.NONE
    epoch = c.state()[0].leader_epoch
    late = c.sim.faults.hold("LeaderAndIsr", to_nodes=[f"broker-{new}"])
    c.sim.kill(f"broker-{old}")
    named = lambda: c.ask(controller, MetadataRequest(topics=[MetadataRequestTopic(name="orders")]), 9)  # noqa: E731
    c.until(lambda: named().topics[0].partitions[0].leader_id == new)
    assert (c.state()[0].leader, c.state()[0].leader_epoch) == (new, epoch + 1), "it was published first"
    assert c.sim.node(f"broker-{new}").core.broker_epoch >= 0
    for _ in range(3):
        assert c.produce(new, b"too early") is ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert c.fetch(new, 0).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    c.sim.faults.heal(late)
    answers = []

    def retried() -> bool:
        answers.append(c.produce(new, b"b"))
        return answers[-1] is ErrorCode.NONE

    c.until(retried)
    assert c.values(new) == [b"a", b"b"], "what was refused is nowhere"
    assert c.state()[0].leader_epoch >= epoch + 1


@pytest.mark.parametrize("role", ["leader", "member", "outside", "none"])
@pytest.mark.parametrize("trouble", ["fsync", "damage"])
def test_the_first_log_that_fails_ends_the_broker_whatever_its_role(make_cluster, role, trouble):
    """As Kafka with one log directory. By an error of the disk; a file that was changed is a finding."""
    c = make_cluster()
    victim = next(b for b in range(3) if b != c.controller)
    other = c.controller
    c.create_topic({"leader": [victim, other], "none": [victim, other]}.get(role, [other, victim]))
    assert c.produce(other if role in ("member", "outside") else victim, b"a") is ErrorCode.NONE
    disk, log = c.sim.node(f"broker-{victim}").disk, c.broker(victim).logs["orders", 0]
    if role == "outside":
        held = c.sim.faults.hold("Fetch", from_nodes=[f"broker-{victim}"])
        assert c.produce(other, b"b", acks=1) is ErrorCode.NONE
        c.until(lambda: list(c.state()[0].isr) == [other])
        assert held.caught
    if role == "none":  # loaded, and without a role yet
        c.broker(victim)._replicas._key_of.clear()
    if trouble == "fsync":
        log.flush_later(lambda _error: None)
        disk.set_errors("fsync")
    else:
        disk.open("orders-0/00000000000000000000.log").truncate(20)
        with pytest.raises(Exception, match="offline"):
            log.read(0, 1000)
    c.until(lambda: c.sim.node(f"broker-{victim}").core is None)
    assert [e.reason for e in c.of_kind(NodeStopped, f"broker-{victim}")] == ["crash"]
    assert len(c.of_kind(NodeCrashed)) == (trouble == "damage")
