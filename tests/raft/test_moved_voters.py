"""A voter's address can come to be that of another one: a pod that was replaced, a name that is resolved too late.

What the other one says then counts for itself alone, or two voters of five would be a majority.
"""

from __future__ import annotations

import pytest

from highwater_runtime.ports import Endpoint
from highwater_runtime.raft.read_offset import ReadOffset
from highwater_runtime.sim.network_port import SimNetwork
from highwater_runtime.wire.errors import ErrorCode


def at(c, name: str, voter: str, address: str) -> None:
    """From now on ``name`` finds ``voter`` at the address of ``address``."""
    c.raft(name)._shared.endpoints[c.ids[voter]] = Endpoint(address, 9093)


@pytest.fixture
def stale_names(monkeypatch):
    """Whoever connects anew is led to the wrong voter again."""
    monkeypatch.setattr(SimNetwork, "disconnect", lambda network, to: None)


def test_no_voter_votes_twice(cluster, stale_names) -> None:
    c = cluster(5, started=False)
    c.start("controller-1", "controller-4")
    c.until(lambda: len(c.running) == 2)
    at(c, "controller-4", "controller-0", "controller-1")
    at(c, "controller-1", "controller-0", "controller-4")
    c.run_ms(3000)
    assert {event.reason for _, event in c.referee.states} == {"unattached", "prospective"}, "two of five elect nobody"
    c.start("controller-2")
    c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])


def test_no_voter_confirms_a_leader_twice(cluster, stale_names) -> None:
    c = cluster(5)
    leader = c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])
    near, *others = c.followers(leader)
    for name in others:
        at(c, leader, name, near)
    c.sim.faults.cut([leader, near], others)
    answers: list[ReadOffset] = []
    c.raft(leader).read_offset(answers.append)
    c.until(lambda: bool(answers))
    assert answers[0].error in (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_LEADER_OR_FOLLOWER)


@pytest.mark.parametrize("what", ["fetch of a follower", "fetch of an observer", "call of a leader"])
def test_who_finds_another_voter_at_an_address_connects_anew(cluster, monkeypatch, what: str) -> None:
    c = cluster(3, observers=1)
    leader = c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])
    first, second = c.followers(leader)
    name, voter, found = {
        "fetch of a follower": (first, leader, second),
        "fetch of an observer": ("broker-0", leader, second),
        "call of a leader": (leader, first, second),
    }[what]
    disconnected = []

    def resolved_anew(network: SimNetwork, to: Endpoint) -> None:
        disconnected.append(to)
        at(c, name, voter, voter)

    monkeypatch.setattr(SimNetwork, "disconnect", resolved_anew)
    at(c, name, voter, found)
    if what == "call of a leader":
        answers: list[ReadOffset] = []
        c.raft(leader).read_offset(answers.append)
    c.run_ms(150)
    c.append(b"b")
    c.await_everywhere([b"a", b"b"])
    assert (disconnected, c.leader) == ([Endpoint(found, 9093)], leader)
