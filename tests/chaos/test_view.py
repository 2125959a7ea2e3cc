from __future__ import annotations

from highwater_runtime.ports.trace import (
    HighWatermarkAdvanced,
    IsrProposalEnded,
    IsrProposed,
    PartitionChanged,
    RaftHighWatermark,
    RaftSnapshot,
)


def test_a_change_that_another_controller_reports_again_is_not_applied_again(events):
    events.partition(isr=[0], leader=0)
    old = PartitionChanged(
        partition="orders-0",
        topic_id="0" * 32,
        replicas=[0, 1],
        isr=[0, 1],
        leader=0,
        leader_epoch=0,
        partition_epoch=0,
        metadata_offset=1,
        reason="created",
    )
    events.put("controller-2", old)
    assert events.view.partitions["orders-0"].isr == [0]


def test_a_deleted_partition_is_gone_even_if_an_older_change_is_replayed(events):
    offset = events.view.partitions["orders-0"].metadata_offset
    events.partition(reason="deleted")
    assert "orders-0" not in events.view.partitions
    events.offset = offset - 1
    events.partition()
    assert "orders-0" not in events.view.partitions


def test_a_broker_is_registered_only_in_the_incarnation_that_registered(events):
    view = events.view
    assert view.is_unfenced(1)
    events.stopped("broker-1")
    assert not view.is_registered(1)
    events.started("broker-1", incarnation=2)
    assert not view.is_registered(1), "the registration in force is that of the dead incarnation"
    events.registered(1, incarnation=2, unfenced=False)
    assert view.is_registered(1)
    assert not view.is_unfenced(1)
    events.fencing(1, "unfenced")
    assert view.is_unfenced(1)
    events.fencing(1, "fenced")
    assert not view.is_unfenced(1)
    assert view.fenced_count[1] == 1


def test_the_active_controller_is_the_living_leader_of_the_highest_epoch(events):
    view = events.view
    assert view.active_controller() == "controller-0"
    events.raft("controller-1", 3, "leader", time_ns=900)
    assert view.active_controller() == "controller-1"
    assert view.active_since_ns() == 900
    events.stopped("controller-1")
    assert view.active_controller() == "controller-0"
    events.raft("controller-0", 3, "follower")
    assert view.active_controller() is None
    assert view.active_since_ns() is None


def test_a_candidate_that_inflates_its_epoch_does_not_hide_the_leader(events):
    events.raft("controller-2", 17, "candidate")
    assert events.view.active_controller() == "controller-0"


def test_a_controller_that_has_loaded_a_snapshot_knows_that_much_to_be_committed(events):
    known = events.view.nodes["controller-0"]
    events.put("controller-0", RaftHighWatermark(offset=77, epoch=1, leader=1000))
    events.stopped("controller-0")
    events.started("controller-0", incarnation=2)
    assert known.metadata_end == -1
    events.put("controller-0", RaftSnapshot(offset=90, epoch=1, crc=0, reason="ignored"))
    assert known.metadata_end == -1
    events.put("controller-0", RaftSnapshot(offset=77, epoch=1, crc=0, reason="loaded"))
    assert known.metadata_end == 77
    events.put("controller-0", RaftHighWatermark(offset=80, epoch=1, leader=1000))
    events.put("controller-0", RaftSnapshot(offset=78, epoch=1, crc=0, reason="written"))
    assert known.metadata_end == 80


def test_a_proposal_counts_until_it_ends_or_the_partition_changes(events):
    partition = events.view.partitions["orders-0"]
    proposed = IsrProposed(
        partition="orders-0", leader_epoch=0, partition_epoch=0, isr=[0], isr_epochs=[1], reason="shrink"
    )
    events.put("broker-0", proposed)
    assert partition.proposed_isr == [0]
    events.put(
        "broker-0",
        IsrProposalEnded(partition="orders-0", leader_epoch=0, partition_epoch=1, isr=[0], reason="committed"),
    )
    assert partition.proposed_isr is None
    events.put("broker-0", proposed)
    events.stopped("broker-0", "power-loss")
    assert partition.proposed_isr == [0], "the request of a dead leader may still be on its way"
    events.partition(isr=[1], leader=1)
    assert events.view.partitions["orders-0"].proposed_isr is None


def test_the_high_watermark_is_the_highest_that_a_leader_reported(events):
    for offset in (5, 9, 7):
        events.put("broker-0", HighWatermarkAdvanced(partition="orders-0", leader_epoch=0, offset=offset))
    assert events.view.partitions["orders-0"].high_watermark == 9
    events.partition(isr=[0])
    assert events.view.partitions["orders-0"].high_watermark == 9


def test_under_replicated_are_partitions_short_of_replicas_or_without_leader(events):
    events.partition("orders-1", isr=[0])
    events.partition("orders-2", leader=-1)
    assert events.view.under_replicated() == ["orders-1", "orders-2"]
