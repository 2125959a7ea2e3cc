"""How a replica answers single requests: errors, epochs and leader hints as KIP-595 has them."""

from __future__ import annotations

from uuid import UUID

import pytest

from highwater_runtime.ports import InboundRequest
from highwater_runtime.raft import messages
from highwater_runtime.raft.election import LogEnd
from highwater_runtime.raft.messages import Ballot, FetchParams, LeaderNotice, QuorumResponse
from highwater_runtime.raft.states import Follower, Unattached, Voted
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.fetch_request import FetchRequest, FetchTopic
from highwater_runtime.wire.messages.produce_request import ProduceRequest

LONG = LogEnd(8, 1000)


def ask(replica, body, version=0):
    """The answer given at once; None where the request waits."""
    replies = []
    request = InboundRequest(body, version, "test", "test", replies.append)
    assert replica.handles(request)
    replica.on_request(request)
    assert len(replies) <= 1
    return replies[0] if replies else None


def ask_vote(replica, epoch: int, candidate: int, log_end: LogEnd | None = None) -> QuorumResponse:
    """By default the candidate has the longest log that there can be in the epoch before."""
    ballot = Ballot(epoch, candidate, log_end or LogEnd(epoch - 1, 1000))
    return messages.answer_of(ask(replica, messages.vote("cluster", replica.node_id, ballot), 1))


def ask_fetch(replica, *, epoch: int, offset: int = 0, last_epoch: int = 0, replica_id: int = 5, wait_ms: int = 0):
    body = messages.fetch("cluster", FetchParams(replica_id, epoch, offset, last_epoch, 1 << 20, wait_ms))
    response = ask(replica, body, messages.FETCH_VERSION)
    return None if response is None else messages.fetched_of(response)


@pytest.fixture
def led(cluster):
    """Three voters with a leader and one committed value: (cluster, leader, follower)."""
    c = cluster(3)
    leader = c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])
    return c, c.raft(leader), c.raft(c.followers(leader)[0])


def test_what_is_for_the_quorum(led) -> None:
    _, leader, _ = led

    def handles(body) -> bool:
        return leader.handles(InboundRequest(body, 15, "test", "test", lambda response: None))

    assert handles(messages.end_quorum_epoch("cluster", LeaderNotice(1, 1000)))
    assert handles(messages.fetch("cluster", FetchParams(5, 1, 0, 0, 1, 0)))
    assert not handles(FetchRequest(topics=[FetchTopic(topic_id=UUID(int=77))]))
    assert not handles(ProduceRequest())


def test_a_vote_is_given_once_and_repeated(cluster) -> None:
    c = cluster(3)
    c.until(lambda: len(c.running) == 3)
    voter = c.raft("controller-0")
    assert ask_vote(voter, 1, 1001) == QuorumResponse(ErrorCode.NONE, 1, -1, True)
    assert voter.state == Voted(1, 1001)
    assert ask_vote(voter, 1, 1002) == QuorumResponse(ErrorCode.NONE, 1, -1, False)
    assert ask_vote(voter, 1, 1001) == QuorumResponse(ErrorCode.NONE, 1, -1, True)
    assert ask_vote(voter, 2, 1002) == QuorumResponse(ErrorCode.NONE, 2, -1, True)


def test_a_vote_is_refused_to_a_shorter_log_but_the_epoch_is_joined(led) -> None:
    _, leader, follower = led
    epoch = leader.epoch
    candidate = next(voter for voter in (1000, 1001, 1002) if voter not in (leader.node_id, follower.node_id))
    assert ask_vote(follower, epoch, candidate) == QuorumResponse(ErrorCode.NONE, epoch, leader.node_id, False)
    assert ask_vote(follower, epoch + 1, candidate, LogEnd(epoch, 1)) == QuorumResponse(
        ErrorCode.NONE, epoch + 1, -1, False
    )
    assert follower.state == Unattached(epoch + 1)


def test_a_leader_gives_way_to_a_newer_epoch(led) -> None:
    c, leader, follower = led
    epoch = leader.epoch
    assert ask_vote(leader, epoch + 1, follower.node_id).vote_granted
    assert not leader.is_leader
    name = next(name for name, node_id in c.ids.items() if node_id == leader.node_id)
    assert c.heard(name).leaders[-1] == (None, epoch + 1)


@pytest.mark.parametrize("candidate", [7, 1003])
def test_a_stranger_gets_no_vote_and_moves_no_epoch(led, candidate: int) -> None:
    _, leader, _ = led
    answer = ask_vote(leader, 50, candidate)
    assert answer == QuorumResponse(ErrorCode.INCONSISTENT_VOTER_SET, leader.epoch, leader.node_id)
    assert leader.is_leader


def test_an_old_epoch_is_fenced_and_told_of_the_new_one(led) -> None:
    _, leader, follower = led
    newer = LeaderNotice(leader.epoch + 1, leader.node_id)
    ask(follower, messages.begin_quorum_epoch("cluster", follower.node_id, newer))
    fenced = QuorumResponse(ErrorCode.FENCED_LEADER_EPOCH, follower.epoch, leader.node_id)
    other = next(voter for voter in (1000, 1001, 1002) if voter not in (leader.node_id, follower.node_id))
    old = LeaderNotice(follower.epoch - 1, other)
    assert ask_vote(follower, follower.epoch - 1, other) == fenced
    assert messages.answer_of(ask(follower, messages.begin_quorum_epoch("cluster", follower.node_id, old))) == fenced
    assert messages.answer_of(ask(follower, messages.end_quorum_epoch("cluster", old))) == fenced


def test_begin_quorum_epoch_makes_a_follower(led) -> None:
    _, leader, follower = led
    notice = LeaderNotice(follower.epoch + 3, leader.node_id)
    answer = messages.answer_of(ask(follower, messages.begin_quorum_epoch("cluster", follower.node_id, notice)))
    assert answer == QuorumResponse(ErrorCode.NONE, notice.epoch, leader.node_id)
    assert follower.state == Follower(notice.epoch, leader.node_id)


def test_another_cluster_is_refused(led) -> None:
    _, leader, _ = led
    for body in (
        messages.vote("other", leader.node_id, Ballot(50, 1001, LONG)),
        messages.begin_quorum_epoch("other", leader.node_id, LeaderNotice(50, 1001)),
        messages.end_quorum_epoch("other", LeaderNotice(50, 1001)),
        messages.fetch("other", FetchParams(5, leader.epoch, 0, 0, 1, 0)),
    ):
        assert ask(leader, body, 15 if isinstance(body, FetchRequest) else 0).error_code == (
            ErrorCode.INCONSISTENT_CLUSTER_ID
        )
    assert leader.is_leader


def test_malformed_requests_are_refused(led) -> None:
    _, leader, _ = led
    vote = messages.vote("cluster", messages.ANY_VOTER, Ballot(50, 1001, LONG))
    vote.topics[0].topic_name = "orders"
    assert ask(leader, vote).error_code == ErrorCode.INVALID_REQUEST
    vote.topics.clear()
    assert ask(leader, vote).error_code == ErrorCode.INVALID_REQUEST
    fetch = messages.fetch("cluster", FetchParams(5, leader.epoch, -1, 0, 1, 0))
    assert ask(leader, fetch, 15).error_code == ErrorCode.INVALID_REQUEST
    assert leader.is_leader


LOGS_THAT_CANNOT_BE = {
    "before the first epoch": LogEnd(-1, 5),
    "before the first offset": LogEnd(3, -1),
    "of the epoch of the election": LogEnd(50, 5),
    "at the end of all numbers": LogEnd((1 << 31) - 1, (1 << 63) - 1),
}


@pytest.mark.parametrize("what", LOGS_THAT_CANNOT_BE)
def test_a_candidate_with_a_log_that_cannot_be_gets_no_vote(led, what: str) -> None:
    _, leader, follower = led
    state = follower.state
    ballot = Ballot(50, leader.node_id, LOGS_THAT_CANNOT_BE[what])
    answer = ask(follower, messages.vote("cluster", follower.node_id, ballot), messages.VOTE_VERSION)
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert follower.state == state


def test_a_request_that_is_meant_for_another_voter_is_refused_and_changes_nothing(led) -> None:
    _, leader, follower = led
    state = follower.state
    other = next(voter for voter in (1000, 1001, 1002) if voter not in (leader.node_id, follower.node_id))
    refused = QuorumResponse(ErrorCode.INVALID_VOTER_KEY, leader.epoch, leader.node_id)
    for body in (
        messages.vote("cluster", other, Ballot(50, leader.node_id, LONG)),
        messages.begin_quorum_epoch("cluster", other, LeaderNotice(50, leader.node_id)),
    ):
        assert messages.answer_of(ask(follower, body, 1)) == refused
    assert follower.state == state


def test_fetch_errors_name_the_leader(led) -> None:
    _, leader, follower = led
    epoch, leader_id = leader.epoch, leader.node_id
    answer, _ = ask_fetch(follower, epoch=epoch)
    assert answer == QuorumResponse(ErrorCode.NOT_LEADER_OR_FOLLOWER, epoch, leader_id)
    answer, _ = ask_fetch(leader, epoch=epoch - 1)
    assert answer == QuorumResponse(ErrorCode.FENCED_LEADER_EPOCH, epoch, leader_id)
    answer, _ = ask_fetch(leader, epoch=epoch + 1)
    assert answer == QuorumResponse(ErrorCode.UNKNOWN_LEADER_EPOCH, epoch, leader_id)


def test_a_resigned_leader_names_nobody(led) -> None:
    _, leader, _ = led
    leader.resign()
    answer, _ = ask_fetch(leader, epoch=leader.epoch)
    assert answer == QuorumResponse(ErrorCode.NOT_LEADER_OR_FOLLOWER, leader.epoch, -1)


@pytest.mark.parametrize("version", [14, 15])
def test_a_fetch_gets_records_and_the_high_watermark(led, version: int) -> None:
    _, leader, _ = led
    body = messages.fetch("cluster", FetchParams(5, leader.epoch, 0, 0, 1 << 20, 500))
    body.replica_id = 5
    answer, data = messages.fetched_of(ask(leader, body, version))
    assert answer == QuorumResponse(ErrorCode.NONE, leader.epoch, leader.node_id)
    assert data.high_watermark == leader.high_watermark == 2
    assert data.records == leader.log.read(0, 1 << 20)
    assert 5 in leader._role.progress.observers


def test_logs_that_part_are_told_where(led) -> None:
    _, leader, _ = led
    epoch = leader.epoch
    answer, data = ask_fetch(leader, epoch=epoch, offset=9, last_epoch=epoch, wait_ms=500)
    assert answer.error is ErrorCode.NONE
    assert (data.diverging_epoch.epoch, data.diverging_epoch.end_offset) == (epoch, 2)
    _, data = ask_fetch(leader, epoch=epoch, offset=1, last_epoch=epoch - 1, wait_ms=500)
    assert (data.diverging_epoch.epoch, data.diverging_epoch.end_offset) == (0, 0)
    assert data.records == b""


def test_a_waiting_fetch_is_answered_by_whatever_comes_first(led) -> None:
    c, leader, follower = led

    def wait(replica_id: int, wait_ms: int = 10_000):
        got = []
        end = leader.log_end_offset
        body = messages.fetch("cluster", FetchParams(replica_id, leader.epoch, end, leader.epoch, 1 << 20, wait_ms))
        leader.on_request(InboundRequest(body, 15, "test", "test", got.append))
        return got

    news = wait(5, wait_ms=0)
    assert messages.fetched_of(news[0])[1].high_watermark == leader.high_watermark, "told the HW"
    append, timed_out = wait(5), wait(6)
    assert timed_out, "6 had not been told the HW yet"
    timed_out = wait(6, wait_ms=30)
    assert not append
    c.run_ms(40)
    assert messages.fetched_of(timed_out[0])[1].records == b""
    assert not append
    c.append(b"b")
    assert messages.fetched_of(append[0])[1].records, "in the very event of the append"
    commit = wait(5)
    c.run_ms(20)
    assert messages.fetched_of(commit[0])[1].high_watermark == leader.high_watermark == 3
    again = wait(5)
    superseding = wait(5)
    assert again, "a second fetch of the same replica ends the first"
    leader.resign()
    assert messages.fetched_of(superseding[0])[0].error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert follower.leader_id == leader.node_id


def test_a_stopped_replica_refuses(led) -> None:
    c, leader, follower = led
    follower.stop()
    vote = messages.vote("cluster", messages.ANY_VOTER, Ballot(9, 1001, LONG))
    assert ask(follower, vote).error_code == ErrorCode.BROKER_NOT_AVAILABLE
    leader.stop()
    assert not leader.is_leader
    c.run_ms(300)
    assert ask(leader, vote).error_code == ErrorCode.BROKER_NOT_AVAILABLE
