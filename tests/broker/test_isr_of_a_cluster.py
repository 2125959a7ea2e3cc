"""The ISR of a partition in a cluster: who leaves it, who comes back, and what that means for producers."""

from __future__ import annotations

import pytest

from highwater_runtime.ports.trace import (
    AlterPartitionHandled,
    IsrProposalEnded,
    IsrProposed,
)
from highwater_runtime.wire.errors import ErrorCode

NONE = ErrorCode.NONE


def isr_is(cluster, *members, name="orders-0"):
    return lambda: sorted(cluster.leader(name).committed_isr) == sorted(members)


def test_a_follower_that_hangs_leaves_the_isr_and_returns(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1, 2])
    c.produce(b"1")
    cut = c.sim.faults.cut("broker-0", "broker-2")
    answers = []
    c.send("broker-0", c.produce_request(b"2", timeout_ms=20_000), 9, answers.append)
    c.until(isr_is(c, 0, 1), 10)
    c.until(lambda: bool(answers), 0.1)  # the committed shrink itself wakes who waits
    assert answers[0].responses[0].partition_responses[0].error_code == NONE
    c.sim.faults.heal(cut)
    c.until(isr_is(c, 0, 1, 2), 10)
    assert c.values(2) == [b"1", b"2"]
    reasons = [e.reason for _, _, e in c.of_kind(IsrProposed)]
    assert reasons == ["shrink", "expand"]
    assert [e.reason for _, _, e in c.of_kind(IsrProposalEnded)] == ["committed", "committed"]


def test_a_held_back_expansion_counts_for_the_hw_and_is_refused_for_a_new_incarnation(make_cluster):
    """KAFKA-14139, up to the controller's answer."""
    c = make_cluster(controllers=3)
    c.create_topic([0, 1])
    cut = c.sim.faults.cut("broker-0", "broker-1")
    c.until(isr_is(c, 0), 10)
    held = c.sim.faults.hold("AlterPartition", from_nodes="broker-0")
    c.sim.faults.heal(cut)
    c.until(lambda: c.leader().maximal_isr == (0, 1), 10)
    old_epoch = c.broker(1).broker_epoch
    c.sim.faults.cut("broker-0", "broker-1")
    c.sim.power_loss("broker-1", wipe=True)
    c.sim.start("broker-1")
    c.until(lambda: c.unfenced(1), 15)
    c.sim.faults.heal(held)
    c.until(lambda: any(e.reason == "INELIGIBLE_REPLICA" for _, _, e in c.of_kind(AlterPartitionHandled)), 5)
    refused = next(e for _, _, e in c.of_kind(AlterPartitionHandled) if e.reason == "INELIGIBLE_REPLICA")
    assert refused.isr_epochs[1] == old_epoch != refused.registered_epochs[1]
    c.until(lambda: c.leader().maximal_isr == (0,), 5)
    c.run(10)
    assert c.leader().committed_isr == (0,), "the old fetches make nobody eligible"
    c.sim.faults.heal_all()
    c.until(isr_is(c, 0, 1), 15)


@pytest.mark.parametrize(("version", "fetch", "alter"), [("3.4-IV0", -1, 2), ("3.5-IV1", None, 3)])
def test_metadata_version_decides_what_travels(make_cluster, version, fetch, alter):
    c = make_cluster(metadata_version=version)
    c.create_topic([0, 1])
    cut = c.sim.faults.cut("broker-0", "broker-1")
    c.until(isr_is(c, 0), 10)
    c.sim.faults.heal(cut)
    c.until(isr_is(c, 0, 1), 10)
    expansion = [e for _, _, e in c.of_kind(IsrProposed) if e.reason == "expand"][-1]
    told = c.broker(1).broker_epoch if fetch is None else fetch
    assert expansion.isr_epochs == [c.broker(0).broker_epoch, told]
    assert c.broker(0).image.metadata_version.alter_partition_version == alter
    handled = [e for _, _, e in c.of_kind(AlterPartitionHandled) if e.reason == "NONE"][-1]
    assert handled.isr_epochs == ([-1, -1] if alter == 2 else expansion.isr_epochs)


def test_an_alter_partition_whose_answer_is_lost_is_asked_again_and_done_once(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1])
    c.sim.faults.drop("AlterPartition", direction="response", limit=1)
    c.sim.faults.cut("broker-0", "broker-1")
    c.until(isr_is(c, 0), 15)
    c.run(10)
    leader = c.leader()
    assert (leader.committed_isr, leader.maximal_isr) == ((0,), (0,))
    ended = [e.reason for _, _, e in c.of_kind(IsrProposalEnded)]
    assert ended == ["committed"]
