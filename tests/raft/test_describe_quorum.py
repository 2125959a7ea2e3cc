"""DescribeQuorum: what the leader says of the others, and what others say."""

from __future__ import annotations

import pytest

from highwater_runtime.ports import MS, SECOND, InboundRequest
from highwater_runtime.raft import progress as progress_module
from highwater_runtime.raft.progress import LeaderProgress, ReplicaProgress
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData


def describe(raft, topic: str = "__cluster_metadata", partition: int = 0):
    answers = []
    asked = DescribeQuorumRequest(
        topics=[TopicData(topic_name=topic, partitions=[PartitionData(partition_index=partition)])]
    )
    request = InboundRequest(asked, 1, "test", "test", answers.append)
    assert raft.handles(request)
    raft.on_request(request)
    (response,) = answers
    assert response.error_code == ErrorCode.NONE
    return response.topics[0].partitions[0]


def test_the_leader_tells_how_far_everybody_is(cluster) -> None:
    c = cluster(3, observers=2)
    leader = c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])
    c.run_ms(300)
    dead, alive = c.followers(leader)
    c.sim.power_loss(dead)
    c.append(b"b")
    c.until(lambda: c.heard(alive).values == [b"a", b"b"])
    c.run_ms(100)
    found = describe(c.raft(leader))
    assert (found.error_code, found.leader_id, found.leader_epoch) == (0, c.ids[leader], c.raft(leader).epoch)
    end = c.raft(leader).log_end_offset
    assert found.high_watermark == end
    assert [one.replica_id for one in found.current_voters] == [1000, 1001, 1002]
    assert [one.replica_id for one in found.observers] == [0, 1]
    states = {one.replica_id: one for one in (*found.current_voters, *found.observers)}
    assert {states[c.ids[name]].log_end_offset for name in (leader, alive, *c.observers)} == {end}
    behind = states[c.ids[dead]]
    assert behind.log_end_offset == end - 1
    now_ms = c.node(leader).clock.wall_ms()
    assert now_ms - behind.last_caught_up_timestamp >= 100
    assert now_ms - states[c.ids[alive]].last_caught_up_timestamp <= 100
    assert states[c.ids[leader]].last_fetch_timestamp == now_ms


def test_a_voter_that_has_not_fetched_yet(cluster) -> None:
    c = cluster(3, started=False)
    c.start(*c.voters[:2])
    leader = c.await_leader()
    (absent,) = [one for one in describe(c.raft(leader)).current_voters if one.replica_id == 1002]
    assert (absent.log_end_offset, absent.last_fetch_timestamp, absent.last_caught_up_timestamp) == (-1, -1, -1)


def test_others_name_the_leader(cluster) -> None:
    c = cluster(3)
    leader = c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])
    found = describe(c.raft(c.followers(leader)[0]))
    assert (found.error_code, found.leader_id) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, c.ids[leader])
    assert found.current_voters == []


@pytest.mark.parametrize(("topic", "partition"), [("orders", 0), ("__cluster_metadata", 1)])
def test_another_partition_is_unknown(cluster, topic: str, partition: int) -> None:
    c = cluster(1)
    found = describe(c.raft(c.await_leader()), topic, partition)
    assert (found.error_code, found.partition_index) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, partition)


def test_who_asks_for_more_than_the_metadata_log_is_told_of_none_of_it(cluster) -> None:
    """The same request over and over, in one message: each of them would be answered in full."""
    c = cluster(1)
    raft = c.raft(c.await_leader())
    answers = []
    asked = DescribeQuorumRequest(
        topics=[TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)] * 3)]
    )
    raft.on_request(InboundRequest(asked, 1, "test", "test", answers.append))
    found = answers[0].topics[0].partitions
    assert [(one.error_code, one.current_voters) for one in found] == [(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, [])] * 3


def test_caught_up_as_of_the_fetch_before() -> None:
    """It fetches at 10 while the leader grows: it never reaches the end of now, but always that of last time."""
    progress = ReplicaProgress(heard_ns=0)
    for now, offset, leader_end in ((1 * MS, 0, 10), (2 * MS, 10, 20), (3 * MS, 20, 30)):
        progress.fetched(offset, leader_end, now)
        progress.heard_ns = now
    assert progress.caught_up_ns == 2 * MS
    progress.fetched(25, 40, 4 * MS)
    assert progress.caught_up_ns == 2 * MS, "short of where the leader ended at its last fetch"


def test_successors_stand_in_order_of_their_logs() -> None:
    progress = LeaderProgress((1, 2, 3, 4), epoch_start=0, now_ns=0)
    for voter, offset in ((1, 5), (2, 9), (3, 9)):
        progress.of(voter, 0).fetched(offset, 9, 1)
    assert progress.successors() == (2, 3, 1, 4), "longest log first, equal ones by id, the unheard of last"


def test_observers_that_are_gone_are_left_out(cluster, monkeypatch) -> None:
    monkeypatch.setattr(progress_module, "OBSERVER_SESSION_NS", SECOND)
    c = cluster(3, observers=2)
    leader = c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])
    c.sim.kill("broker-1")
    c.run_ms(900)
    assert [one.replica_id for one in describe(c.raft(leader)).observers] == [0, 1]
    c.run_ms(200)
    assert [one.replica_id for one in describe(c.raft(leader)).observers] == [0]
    c.start("broker-1")
    c.until(lambda: [one.replica_id for one in describe(c.raft(leader)).observers] == [0, 1])
