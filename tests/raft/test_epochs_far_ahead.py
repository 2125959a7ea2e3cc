"""An epoch far ahead of one's own changes nothing, whatever names it; at the bound it is joined."""

from __future__ import annotations

from typing import Any

import pytest

from highwater_runtime.epochs import LAST, MOST_AHEAD
from highwater_runtime.ports import InboundRequest
from highwater_runtime.raft import answering, messages
from highwater_runtime.raft.election import LogEnd
from highwater_runtime.raft.messages import FETCH_VERSION, Ballot, FetchParams, LeaderNotice
from highwater_runtime.raft.snapshot_messages import SnapshotParams, fetch_snapshot
from highwater_runtime.raft.snapshots import SnapshotId
from highwater_runtime.wire.errors import ErrorCode

LONG = LogEnd(1, 10**9)


def _ask(replica: Any, body: Any, version: int) -> Any:
    replies: list[Any] = []
    replica.on_request(InboundRequest(body, version, "test", "test", replies.append))
    assert len(replies) == 1
    return replies[0]


def _requests(replica: Any, other: int, epoch: int) -> dict[str, tuple[Any, int]]:
    notice = LeaderNotice(epoch, other)
    fetch = FetchParams(other, epoch, 0, 0, 1 << 20, 0)
    piece = SnapshotParams(other, epoch, SnapshotId(1, 1), 0, 1 << 20)
    return {
        "vote": (messages.vote("cluster", replica.node_id, Ballot(epoch, other, LONG)), 1),
        "pre-vote": (messages.vote("cluster", replica.node_id, Ballot(epoch, other, LONG, pre_vote=True)), 2),
        "begin": (messages.begin_quorum_epoch("cluster", replica.node_id, notice), 1),
        "end": (messages.end_quorum_epoch("cluster", notice), 1),
        "fetch": (messages.fetch("cluster", fetch), FETCH_VERSION),
        "fetch snapshot": (fetch_snapshot("cluster", piece), 1),
    }


KINDS = ("vote", "pre-vote", "begin", "end", "fetch", "fetch snapshot")
JOIN = ("vote", "pre-vote", "begin", "end")
"""Those that make a replica join the epoch they name."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("role", ["leader", "follower"])
def test_no_request_moves_a_replica_far(cluster, kind: str, role: str) -> None:
    c = cluster(3)
    leader = c.await_leader()
    replica = c.raft(leader if role == "leader" else c.followers(leader)[0])
    other = next(voter for voter in (1000, 1001, 1002) if voter not in (replica.node_id, replica.leader_id))
    before = replica.state
    for epoch in (before.epoch + MOST_AHEAD + 1, LAST):
        response = _ask(replica, *_requests(replica, other, epoch)[kind])
        expected = ErrorCode.INVALID_REQUEST if kind in JOIN else ErrorCode.UNKNOWN_LEADER_EPOCH
        assert expected in (response.error_code, *_errors_of(response))
        assert replica.state == before
    _ask(replica, *_requests(replica, other, before.epoch + MOST_AHEAD)[kind])
    assert replica.epoch == before.epoch + (MOST_AHEAD if kind in JOIN else 0)
    # After EndQuorumEpoch it stands in the next epoch, which is too far ahead for the others: they go on without it.
    c.until(lambda: c.leader is not None and (kind == "end" or c.raft(c.leader).epoch >= replica.epoch))


def _errors_of(response: Any) -> list[int]:
    topics = getattr(response, "topics", None) or getattr(response, "responses", [])
    return [partition.error_code for topic in topics for partition in topic.partitions]


@pytest.mark.parametrize(("ahead", "is_joined"), [(MOST_AHEAD, True), (MOST_AHEAD + 1, False), (LAST, False)])
def test_no_response_moves_a_replica_far(cluster, monkeypatch, ahead: int, is_joined: bool) -> None:
    """One voter answers whatever it is asked with an epoch far ahead."""
    build, liar = messages.reply, []

    def tampered(request: Any, answer: Any) -> Any:
        epoch = min(answer.epoch + ahead, LAST)
        return build(request, answer._replace(epoch=epoch, error=ErrorCode.FENCED_LEADER_EPOCH, leader_id=-1))

    def reply(request: Any, answer: Any) -> Any:
        return tampered(request, answer) if liar else build(request, answer)

    monkeypatch.setattr(answering.messages, "reply", reply)
    c = cluster(3)
    leader = c.await_leader()
    epoch = c.raft(leader).epoch
    c.sim.kill(leader)
    liar.append(True)
    c.run_ms(3000)
    highest = max(c.raft(name).epoch for name in c.running)
    assert (highest >= MOST_AHEAD) == is_joined
    liar.clear()
    c.until(lambda: c.leader is not None)
    assert c.raft(c.leader).epoch > epoch


def test_in_the_last_epoch_nobody_stands_and_nobody_crashes(cluster) -> None:
    """Step by step a voter gets there; the documents say what an operator does then."""
    c = cluster(3)
    c.await_leader()
    for replica in map(c.raft, c.running):
        other = next(voter for voter in (1000, 1001, 1002) if voter != replica.node_id)
        while replica.epoch < LAST:
            ballot = Ballot(min(replica.epoch + MOST_AHEAD, LAST), other, LogEnd(0, 0))
            _ask(replica, messages.vote("cluster", replica.node_id, ballot), 1)
    c.run_ms(5000)
    assert [c.raft(name).epoch for name in c.running] == [LAST] * 3
