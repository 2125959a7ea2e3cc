"""Brokers of a cluster in ZooKeeper mode, by Detailed Replication Design V3."""

from __future__ import annotations

from highwater_runtime.wire.errors import ErrorCode


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
