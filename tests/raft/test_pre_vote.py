"""Stories of pre-vote (KIP-650): who is cut off disturbs nobody, and a leader that is gone is still replaced."""

from __future__ import annotations

from dataclasses import replace

import pytest

from highwater_runtime.config import NodeConfig
from highwater_runtime.ports import InboundRequest
from highwater_runtime.raft import messages
from highwater_runtime.raft.election import LogEnd, grants_pre_vote
from highwater_runtime.raft.messages import Ballot, QuorumResponse
from highwater_runtime.raft.states import Candidate, Follower, Leader, Prospective, Resigned, Unattached, Voted
from highwater_runtime.switches import Switches
from highwater_runtime.wire.errors import ErrorCode

OFF = Switches(pre_vote="off")
OWN = LogEnd(3, 100)


def ask_pre_vote(raft, epoch: int, candidate: int, log_end: LogEnd | None = None):
    """The answer of ``raft`` to a pre-vote request, by default with the longest log that there can be."""
    answers = []
    ballot = Ballot(epoch, candidate, log_end or LogEnd(epoch, 1000), pre_vote=True)
    body = messages.vote("cluster", raft.node_id, ballot)
    raft.on_request(InboundRequest(body, messages.PRE_VOTE_VERSION, "test", "test", answers.append))
    (response,) = answers
    return response


@pytest.mark.parametrize(
    ("state", "hears_leader", "granted"),
    [
        (Unattached(5), False, True),
        (Voted(5, 1002), False, True),  # it would be another epoch's vote
        (Follower(5, 1002), True, False),
        (Follower(5, 1002), False, True),
        (Prospective(5, 1000), False, True),
        (Prospective(5, 1000, leader_id=1002), False, True),
        (Candidate(5, 1000), False, True),
        (Leader(5, 1000, (1000, 1002)), False, False),
        (Resigned(5, 1000, ()), False, True),
    ],
)
def test_who_would_not_mind_an_election(state, hears_leader: bool, granted: bool) -> None:
    assert grants_pre_vote(state, OWN, OWN, hears_leader=hears_leader) is granted
    assert not grants_pre_vote(state, LogEnd(3, 99), OWN, hears_leader=hears_leader), "the shorter log never"


def test_a_voter_that_was_cut_off_comes_back_without_a_sound(cluster) -> None:
    c = cluster(5)
    leader = c.await_leader()
    c.await_everywhere([])
    epoch = c.raft(leader).epoch
    lonely = c.followers(leader)[0]
    before = c.raft(lonely)._quorum.saved
    cut = c.sim.faults.isolate(lonely)
    c.run_ms(5000)
    assert c.raft(lonely).epoch == epoch, "nothing is bumped"
    assert c.raft(lonely)._quorum.saved == before, "nothing is written"
    c.sim.faults.heal(cut)
    c.append(b"a")
    c.await_everywhere([b"a"])
    assert (c.leader, c.raft(leader).epoch) == (leader, epoch)
    assert isinstance(c.raft(lonely).state, Follower)


def test_off_a_voter_that_was_cut_off_deposes_a_leader_that_was_well(cluster) -> None:
    c = cluster(5, switches=OFF)
    leader = c.await_leader()
    c.await_everywhere([])
    epoch = c.raft(leader).epoch
    lonely = c.followers(leader)[0]
    cut = c.sim.faults.isolate(lonely)
    c.run_ms(5000)
    assert c.raft(lonely).epoch > epoch + 5
    assert c.raft(leader).epoch == epoch
    c.sim.faults.heal(cut)
    c.run_ms(1000)
    c.await_leader()
    assert c.raft(c.leader).epoch > epoch + 5


@pytest.mark.parametrize("voters", [2, 3, 4, 5])
def test_a_crashed_leader_is_replaced(cluster, voters: int) -> None:
    c = cluster(voters)
    leader = c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])
    c.sim.power_loss(leader)
    if voters == 2:
        c.run_ms(1000)
        c.start(leader)
    c.await_leader(other_than=leader if voters > 2 else None, within_ms=1500)
    c.append(b"b")
    c.await_everywhere([b"a", b"b"])


def test_no_ping_pong_over_one_cut_link(cluster) -> None:
    """Leader and one follower do not hear each other, everybody else hears both: the leader stays."""
    c = cluster(3)
    leader = c.await_leader()
    c.await_everywhere([])
    c.run_ms(200)
    epoch = c.raft(leader).epoch
    cut_off, other = c.followers(leader)
    c.sim.faults.cut(cut_off, leader)
    c.run_ms(5000)
    assert (c.leader, c.raft(leader).epoch) == (leader, epoch)
    assert {c.raft(name).epoch for name in c.voters} == {epoch}
    assert c.raft(other).leader_id == c.ids[leader]


def test_off_one_cut_link_makes_the_leadership_go_round(cluster) -> None:
    c = cluster(3, switches=OFF)
    leader = c.await_leader()
    c.await_everywhere([])
    c.run_ms(200)
    c.sim.faults.cut(c.followers(leader)[0], leader)
    c.run_ms(10_000)
    assert max(c.referee.leaders) > 2, "again and again"


@pytest.mark.parametrize("seed", range(8))
def test_two_prospective_voters_agree(cluster, seed: int) -> None:
    c = cluster(3, seed=seed)
    leader = c.await_leader()
    c.await_everywhere([])
    hold = c.sim.faults.hold("Vote")
    c.sim.power_loss(leader)
    asking = c.followers(leader)
    c.until(lambda: all(isinstance(c.raft(name).state, Prospective) for name in asking), within_ms=2000)
    epochs = {c.raft(name).epoch for name in asking}
    c.sim.faults.heal(hold)
    c.await_leader(other_than=leader, within_ms=3000)
    assert c.raft(c.leader).epoch <= max(epochs) + 4, "a tie or two, not a race"


def test_a_pre_vote_binds_nobody(cluster) -> None:
    c = cluster(3, started=False)
    c.start("controller-0")
    c.until(lambda: c.running == ["controller-0"])
    voter = c.raft("controller-0")
    saved = voter._quorum.saved
    for candidate in (1001, 1002, 1001):
        answer = messages.answer_of(ask_pre_vote(voter, 0, candidate))
        assert answer == QuorumResponse(ErrorCode.NONE, 0, -1, True)
    assert voter._quorum.saved == saved


def test_a_leader_and_a_follower_that_hears_it_refuse(cluster) -> None:
    c = cluster(3)
    leader = c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])
    epoch = c.raft(leader).epoch
    follower, third = c.followers(leader)
    for asked in (leader, follower):
        answer = messages.answer_of(ask_pre_vote(c.raft(asked), epoch, c.ids[third]))
        assert answer == QuorumResponse(ErrorCode.NONE, epoch, c.ids[leader], False)
    stale = messages.answer_of(ask_pre_vote(c.raft(follower), epoch - 1, c.ids[third]))
    assert stale == QuorumResponse(ErrorCode.FENCED_LEADER_EPOCH, epoch, c.ids[leader])
    assert messages.answer_of(ask_pre_vote(c.raft(follower), epoch, 7)).error is ErrorCode.INCONSISTENT_VOTER_SET
    impossible = ask_pre_vote(c.raft(follower), epoch, c.ids[third], LogEnd(epoch + 1, 5))
    assert impossible.error_code == ErrorCode.INVALID_REQUEST


def test_a_resigned_leader_s_successor_stands_without_asking(cluster) -> None:
    c = cluster(5)
    leader = c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])
    c.run_ms(100)
    c.referee.states.clear()
    c.raft(leader).resign()
    before = c.sim.now_ns
    new = c.await_leader(other_than=leader)
    assert c.sim.now_ns - before < 60e6
    assert [state.reason for name, state in c.referee.states if name == new] == ["candidate", "leader"]


def test_a_voter_that_does_not_know_the_flag_refuses_the_version(cluster) -> None:
    c = cluster(3, switches=OFF, started=False)
    c.start("controller-0")
    c.until(lambda: c.running == ["controller-0"])
    assert ask_pre_vote(c.raft("controller-0"), 0, 1001).error_code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize("knowing", range(4))
def test_a_mixed_quorum_elects(cluster, knowing: int) -> None:
    """During a rolling upgrade: however many know pre-votes, a crashed leader is replaced."""
    c = cluster(
        3, switches={f"controller-{i}": replace(OFF, pre_vote="on" if i < knowing else "off") for i in range(3)}
    )
    leader = c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])
    c.sim.kill(leader)
    c.await_leader(other_than=leader, within_ms=2000)
    c.append(b"b")
    c.start(leader)
    c.await_everywhere([b"a", b"b"])


def test_a_prospective_voter_goes_back_when_the_leader_calls(cluster) -> None:
    c = cluster(3)
    leader = c.await_leader()
    c.await_everywhere([])
    lonely = c.followers(leader)[0]
    cut = c.sim.faults.isolate(lonely)
    c.until(lambda: isinstance(c.raft(lonely).state, Prospective), within_ms=1000)
    c.sim.faults.heal(cut)
    c.until(lambda: isinstance(c.raft(lonely).state, Follower), within_ms=400)
    assert c.raft(lonely).leader_id == c.ids[leader]


@pytest.mark.parametrize("seed", range(4))
def test_who_cannot_win_does_not_keep_others_from_standing(cluster, seed: int) -> None:
    """A voter that lags stands again and again, quicker than the others; their time-outs must not begin again."""
    c = cluster(3, switches=OFF, seed=seed, config=NodeConfig())
    leader = c.await_leader()
    c.await_everywhere([])
    lagging = c.followers(leader)[0]
    cut = c.sim.faults.isolate(lagging)
    c.append(b"a")
    c.run_ms(20_000)
    c.sim.faults.heal(cut)
    c.until(lambda: c.leader is None)
    c.await_leader(within_ms=2500)
    c.await_everywhere([b"a"])
