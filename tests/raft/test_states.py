"""The transition table and what comes back after a restart."""

from __future__ import annotations

import pytest

from highwater_runtime.raft.states import (
    MAY_GO_TO,
    Candidate,
    ElectionState,
    Follower,
    Leader,
    Observer,
    Prospective,
    Resigned,
    Unattached,
    Voted,
    check_transition,
    election_state,
    leader_of,
    state_after_restart,
)

VOTERS = (1000, 1001, 1002)

LEGAL = [
    (Unattached(1), Voted(1, 1001)),
    (Unattached(1), Follower(1, 1001)),
    (Voted(1, 1001), Candidate(2, 1000)),
    (Candidate(2, 1000), Leader(2, 1000, (1000, 1001))),
    (Candidate(2, 1000), Follower(2, 1001, 1000)),
    (Leader(2, 1000, (1000, 1001)), Resigned(2, 1000, (1001, 1002))),
    (Resigned(2, 1000, ()), Candidate(3, 1000)),
    (Follower(2, 1001), Voted(5, 1002)),
    (Observer(2, 1001), Observer(3, 1002)),
    (Follower(2, 1001), Prospective(2, 1000, leader_id=1001)),
    (Prospective(2, 1000, leader_id=1001), Follower(2, 1001)),
    (Prospective(2, 1000), Voted(2, 1002)),
    (Prospective(2, 1000), Candidate(3, 1000)),
    (Candidate(3, 1000), Prospective(3, 1000, voted_id=1000)),
]

ILLEGAL = [
    (Unattached(2), Unattached(1)),  # epochs go up
    (Unattached(1), Unattached(1)),
    (Voted(1, 1001), Voted(1, 1002)),  # one vote
    (Follower(1, 1001), Voted(1, 1002)),  # no vote where there is a leader
    (Follower(1, 1001), Follower(1, 1002)),  # one leader
    (Follower(1, 1001), Candidate(3, 1000)),  # the next epoch, none beyond
    (Unattached(1), Leader(1, 1000, (1000,))),  # nobody leads who did not stand
    (Candidate(1, 1000), Leader(2, 1000, (1000,))),
    (Leader(1, 1000, (1000,)), Follower(1, 1001)),
    (Leader(1, 1000, (1000,)), Candidate(2, 1000)),
    (Resigned(1, 1000, ()), Leader(1, 1000, (1000,))),  # no way back
    (Resigned(1, 1000, ()), Voted(1, 1001)),  # it voted for itself
    (Observer(1, 1001), Candidate(2, 5)),
    (Observer(1, 1001), Prospective(1, 5)),
    (Follower(1, 1001), Prospective(2, 1000)),  # to ask bumps nothing
    (Prospective(1, 1000), Leader(1, 1000, (1000,))),  # pre-votes elect nobody
    (Leader(1, 1000, (1000,)), Prospective(1, 1000)),
]


@pytest.mark.parametrize(("old", "new"), LEGAL)
def test_may_go(old, new) -> None:
    check_transition(old, new)


@pytest.mark.parametrize(("old", "new"), ILLEGAL)
def test_may_not_go(old, new) -> None:
    with pytest.raises(AssertionError):
        check_transition(old, new)


def test_every_state_has_a_row_and_can_be_left() -> None:
    states = {Unattached, Voted, Follower, Prospective, Candidate, Leader, Resigned, Observer}
    assert set(MAY_GO_TO) == states
    assert all(MAY_GO_TO[state] for state in states)
    assert {target for row in MAY_GO_TO.values() for target in row} == states, "every state can be reached"


@pytest.mark.parametrize(
    ("saved", "node_id", "expected"),
    [
        (ElectionState(0), 1000, Unattached(0)),
        (ElectionState(4), 1000, Unattached(4)),
        (ElectionState(4, voted_id=1002), 1000, Voted(4, 1002)),
        (ElectionState(4, voted_id=1000), 1000, Voted(4, 1000)),
        (ElectionState(4, 1001, 1001), 1000, Follower(4, 1001, 1001)),
        (ElectionState(4, 1000, 1000), 1000, Resigned(4, 1000, (1001, 1002))),
        (ElectionState(4, 1001), 7, Observer(4, 1001)),
        (ElectionState(4), 7, Unattached(4)),
        (ElectionState(2, 1001, 1001), 1000, Unattached(3)),  # the log has seen epoch 3: the file is an old one
    ],
)
def test_after_a_restart(saved, node_id, expected) -> None:
    state = state_after_restart(saved, node_id, VOTERS, log_epoch=3 if saved.epoch in (2, 4) else 0)
    assert state == expected
    if saved.epoch >= state.epoch:
        assert election_state(state) == saved, "nothing durable is forgotten"


@pytest.mark.parametrize("leader_id", [None, 1001])
@pytest.mark.parametrize("voted_id", [None, 1002])
def test_asking_changes_nothing_durable(leader_id, voted_id) -> None:
    assert election_state(Prospective(4, 1000, 2, leader_id, voted_id)) == ElectionState(4, leader_id, voted_id)


def test_a_prospective_voter_does_not_name_the_leader_it_no_longer_hears() -> None:
    assert leader_of(Prospective(3, 1000, leader_id=1001)) is None


def test_a_resigned_leader_does_not_name_itself() -> None:
    assert leader_of(Leader(3, 1000, (1000, 1001))) == 1000
    assert leader_of(Resigned(3, 1000, ())) is None
