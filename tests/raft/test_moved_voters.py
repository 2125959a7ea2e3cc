"""A voter's address can come to be that of another one: a pod that was replaced, a name that is resolved too late.

What the other one says then counts for itself alone, or two voters of five would be a majority.
"""

from __future__ import annotations

from highwater_runtime.ports import Endpoint
from highwater_runtime.raft.read_offset import ReadOffset
from highwater_runtime.wire.errors import ErrorCode


def misled(c, name: str, **addresses: str) -> None:
    """From now on ``name`` finds those voters (``v1000``) at the addresses of others."""
    for voter, where in addresses.items():
        c.raft(name)._shared.endpoints[int(voter[1:])] = Endpoint(where, 9093)


def test_no_voter_votes_twice(cluster) -> None:
    c = cluster(5, started=False)
    c.start("controller-1", "controller-4")
    c.until(lambda: len(c.running) == 2)
    misled(c, "controller-4", v1000="controller-1")
    misled(c, "controller-1", v1000="controller-4")
    c.run_ms(3000)
    assert {event.reason for _, event in c.referee.states} == {"unattached", "prospective"}, "two of five elect nobody"
    c.start("controller-2")
    c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])


def test_no_voter_confirms_a_leader_twice(cluster) -> None:
    c = cluster(5)
    leader = c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])
    near, *others = c.followers(leader)
    misled(c, leader, **{f"v{c.ids[name]}": near for name in others})
    c.sim.faults.cut([leader, near], others)
    answers: list[ReadOffset] = []
    c.raft(leader).read_offset(answers.append)
    c.until(lambda: bool(answers))
    assert answers[0].error in (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_LEADER_OR_FOLLOWER)
