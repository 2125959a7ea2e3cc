"""The pure decisions: votes, tallies, time-outs, the leader's view of progress."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highwater_runtime.config import NodeConfig
from highwater_runtime.ports import MS
from highwater_runtime.raft.election import LogEnd, Timing, VoteTally, grants_vote, retry_backoff_ns
from highwater_runtime.raft.progress import LeaderProgress
from highwater_runtime.raft.states import Candidate, Follower, Leader, Resigned, Unattached, Voted

OWN = LogEnd(3, 100)


@pytest.mark.parametrize(
    ("candidate_log", "granted"),
    [
        (LogEnd(3, 100), True),
        (LogEnd(3, 101), True),
        (LogEnd(3, 99), False),
        (LogEnd(4, 1), True),  # a later epoch outweighs any length
        (LogEnd(2, 1000), False),
    ],
)
def test_a_vote_needs_a_log_at_least_as_complete(candidate_log: LogEnd, granted: bool) -> None:
    assert grants_vote(Unattached(5), 5, 1001, candidate_log, OWN) is granted
    assert grants_vote(Follower(4, 1002), 5, 1001, candidate_log, OWN) is granted


@pytest.mark.parametrize(
    ("state", "granted"),
    [
        (Unattached(5), True),
        (Voted(5, 1001), True),  # asked again
        (Voted(5, 1002), False),
        (Follower(5, 1002), False),
        (Follower(5, 1001), False),
        (Candidate(5, 1000), False),
        (Leader(5, 1000, (1000, 1002)), False),
        (Resigned(5, 1000, ()), False),
    ],
)
def test_one_vote_in_an_epoch(state, granted: bool) -> None:
    assert grants_vote(state, 5, 1001, OWN, OWN) is granted
    assert grants_vote(state, 6, 1001, OWN, OWN), "a new epoch, a new vote"


def test_tally() -> None:
    tally = VoteTally(1, (1, 2, 3, 4, 5))
    tally.record(2, True)
    tally.record(3, False)
    assert not tally.is_won
    assert not tally.is_lost
    tally.record(4, False)
    assert not tally.is_lost, "1, 2 and 5 would do"
    tally.record(3, True)
    assert tally.is_won
    assert tally.granting == (1, 2, 3)


def test_tally_lost() -> None:
    tally = VoteTally(1, (1, 2, 3))
    tally.record(2, False)
    assert not tally.is_lost
    tally.record(3, False)
    assert tally.is_lost
    assert VoteTally(1, (1,)).is_won


TIMING = Timing.of(NodeConfig())


@given(st.integers(0, 40), st.integers())
def test_backoff_grows_and_is_bounded(retries: int, seed: int) -> None:
    backoff = TIMING.election_backoff_ns(retries, Random(seed))
    assert 0 < backoff <= 2 * TIMING.backoff_max_ns
    assert TIMING.election_ns <= TIMING.election_timeout_ns(Random(seed)) < 2 * TIMING.election_ns


def test_successors_stand_one_after_the_other() -> None:
    waits = [TIMING.successor_backoff_ns(position, 4) for position in range(5)]
    assert waits == [0, 250 * MS, 500 * MS, 1000 * MS, 1000 * MS]


def test_retries_slow_down() -> None:
    assert [retry_backoff_ns(failures) // MS for failures in (1, 2, 3, 5, 50)] == [20, 40, 80, 320, 320]


def test_the_high_watermark_is_what_a_majority_has_and_covers_the_epoch() -> None:
    progress = LeaderProgress((2, 3, 4, 5), epoch_start=10, now_ns=0)
    progress.voters[2].end_offset = 30
    progress.voters[3].end_offset = 20
    assert progress.high_watermark(25) == 20
    assert progress.high_watermark(15) == 15, "the leader counts up to where it is flushed"
    progress.voters[3].end_offset = 10
    assert progress.high_watermark(25) is None, "all that a majority has is of older epochs"
    progress.voters[4].end_offset = 11
    assert progress.high_watermark(25) == 11
    assert progress.successors() == (2, 4, 3, 5)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=5))
def test_the_high_watermark_is_on_a_majority_and_nothing_more_is(ends: list[int]) -> None:
    progress = LeaderProgress(tuple(range(2, len(ends) + 1)), epoch_start=-1, now_ns=0)
    for voter, end in enumerate(ends[1:], start=2):
        progress.voters[voter].end_offset = end
    reached = progress.high_watermark(ends[0])
    assert reached is not None
    assert sum(end >= reached for end in ends) > len(ends) // 2
    assert sum(end > reached for end in ends) <= len(ends) // 2


def test_a_majority_is_heard_of() -> None:
    progress = LeaderProgress((2, 3, 4, 5), epoch_start=0, now_ns=5)
    progress.voters[2].heard_ns = 90
    assert progress.majority_heard_ns() == 5
    progress.voters[5].heard_ns = 70
    assert progress.majority_heard_ns() == 70, "the leader, 2 and 5"
    progress.of(77, 95).heard_ns = 95
    assert progress.majority_heard_ns() == 70, "observers do not count"
    assert LeaderProgress((), epoch_start=0, now_ns=0).majority_heard_ns() is None
