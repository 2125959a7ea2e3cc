"""The states of one replica of the quorum, and which may go to which (KIP-595, pre-vote: KIP-650).

Theory of operation
===================
The metadata log ``__cluster_metadata-0`` is replicated by pull-based Raft: the leader does not push, the others
**fetch**. A fixed set of *voters* (the controllers) elects a leader and decides what is committed. Any number of
*observers* (the brokers) fetch like voters, but do not count.

**Epochs.** Epochs are numbered. Each has at most one leader: a voter gives at most one vote in an epoch, a leader needs
the votes of a majority, and any two majorities share a voter. Every message has the epoch of its sender. If the sender
is behind, the response is an error with the newer epoch. A replica that learns of a newer epoch joins it at once.
Epoch, vote and leader are **durable before they are used** (:mod:`~highwater_runtime.raft.quorum_state_store`). So a
voter that loses power cannot vote twice, and a leader that restarts cannot lead the same epoch again.

**Elections.** A voter becomes *candidate* if it has not heard from a leader for a time-out: the fetch time-out if it
follows a leader, the election time-out if it knows none. It sends pre-votes first (below). A candidate is in the next
epoch, votes for itself, and asks the other voters. A voter grants its vote if it has not voted for another candidate
and the candidate's log is **at least as complete** as its own: the last epoch is higher, or it is equal and the log is
not shorter. Time-outs are random, and failed candidates wait longer each time (binary exponential back-off), so ties
end.

**Pre-vote.** Without it, a voter that is cut off would bump its epoch at every time-out. When it comes back, it would
depose a healthy leader. So a voter becomes *prospective* first: it asks for *pre-votes* in its current epoch, and
neither bumps nor writes anything.

* A leader refuses a pre-vote. So does a follower that has fetched from its leader in this epoch within the fetch
  time-out. Every other voter compares logs as for a vote.
* A pre-vote is not a promise: two prospective voters grant each other's.
* With a majority of grants the prospective voter becomes candidate.
* If a majority refuses, or there is no majority in time, the voter follows its former leader again. If the leader is
  alive, nothing has changed. If not, the voter no longer hears from it, and grants the pre-votes of others. If it had
  no leader, it backs off and asks again. So a voter that reaches the others but not their leader does not depose that
  leader.
* A voter that does not know pre-votes (UNSUPPORTED_VERSION) cannot refuse. It counts as a grant, and its vote decides.
* If the leader itself asks for an election (EndQuorumEpoch), the first successor becomes candidate at once.

**Replication.** A fetch has an offset and the epoch of the record before it. The leader compares this with its log. If
the logs differ, the response has the *diverging epoch* (the largest epoch of the leader's log that is not above the
fetched one, and its end offset). The replica truncates its log and fetches again. So if two logs agree at an offset and
epoch, they agree on everything below (log matching). A fetch also promises that *everything below its offset is
durable* on the sender. So a replica flushes before it fetches again, and the leader counts its own log up to its
flushed end.

**Commitment.** The high watermark (HW) is the offset up to which a majority of the voters is durable. A leader advances
it only when it covers a record of the leader's own epoch: the *LeaderChange* record with which every leader begins. (A
record of an older epoch on a majority may still be overwritten; below a record of this epoch nothing can be.) Other
replicas learn the HW from fetch responses. No replica ever truncates below the HW.

**Resigning.** If a majority of voters has not fetched from a leader for 1.5 fetch time-outs, the leader has probably
lost them, and it *resigns* (check-quorum). A resigned leader keeps its epoch but does not lead. It sends EndQuorumEpoch
to the voters, with successors in the order of their logs, and waits. A leader that restarts is *resigned*, because its
last appends may be lost.

States and transitions
======================
A transition that is not in the table is a bug (an assertion). ``next`` is epoch + 1, ``higher`` any higher epoch::

    unattached  knows the epoch, but no leader; has not voted in it
    voted       has voted for another voter in this epoch (or, after a restart, for itself)
    prospective hears from no leader, and asks for pre-votes; keeps its vote of this epoch
    candidate   has voted for itself, and asks for votes
    leader      was elected
    resigned    was leader of this epoch, and does not lead
    follower    a voter that fetches from a leader
    observer    not a voter; fetches from a leader

With the switch ``pre-vote`` off, and after EndQuorumEpoch, a voter becomes candidate without being prospective.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Final


@dataclass(frozen=True, slots=True)
class Unattached:
    """Knows of ``epoch`` and of no leader in it; has not voted in it."""

    NAME: ClassVar[str] = "unattached"
    epoch: int


@dataclass(frozen=True, slots=True)
class Voted:
    """Has voted for ``voted_id`` in ``epoch`` and knows of no leader in it."""

    NAME: ClassVar[str] = "voted"
    epoch: int
    voted_id: int


@dataclass(frozen=True, slots=True)
class Follower:
    """A voter that follows ``leader_id``; ``voted_id`` is its vote in this epoch, if it gave one."""

    NAME: ClassVar[str] = "follower"
    epoch: int
    leader_id: int
    voted_id: int | None = None


@dataclass(frozen=True, slots=True)
class Prospective:
    """Asks in ``epoch`` whether it would be elected in the next one; ``retries`` as for :class:`Candidate`.

    ``leader_id`` and ``voted_id`` are what it knows of ``epoch``: the leader that it no longer hears, its own vote.
    """

    NAME: ClassVar[str] = "prospective"
    epoch: int
    node_id: int
    retries: int = 0
    leader_id: int | None = None
    voted_id: int | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """Has voted for itself, ``node_id``, in ``epoch``; ``retries`` elections were lost or tied in a row before this."""

    NAME: ClassVar[str] = "candidate"
    epoch: int
    node_id: int
    retries: int = 0


@dataclass(frozen=True, slots=True)
class Leader:
    """Leads ``epoch``, elected by ``granting`` (voter ids, itself among them, ascending)."""

    NAME: ClassVar[str] = "leader"
    epoch: int
    node_id: int
    granting: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Resigned:
    """Led ``epoch`` and has resigned. ``successors`` are the other voters, most complete log first."""

    NAME: ClassVar[str] = "resigned"
    epoch: int
    node_id: int
    successors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Observer:
    """Not a voter; follows ``leader_id``."""

    NAME: ClassVar[str] = "observer"
    epoch: int
    leader_id: int


State = Unattached | Voted | Follower | Prospective | Candidate | Leader | Resigned | Observer


class EpochRule(Enum):
    """How the epoch of the new state relates to that of the old one."""

    SAME = "same"
    NEXT = "next"
    HIGHER = "higher"
    SAME_OR_HIGHER = "same or higher"

    def allows(self, old: int, new: int) -> bool:
        """Whether a transition may lead from epoch ``old`` to ``new``."""
        match self:
            case EpochRule.SAME:
                return new == old
            case EpochRule.NEXT:
                return new == old + 1
            case EpochRule.HIGHER:
                return new > old
            case EpochRule.SAME_OR_HIGHER:
                return new >= old


_SAME, _NEXT, _HIGHER, _SAME_OR_HIGHER = EpochRule.SAME, EpochRule.NEXT, EpochRule.HIGHER, EpochRule.SAME_OR_HIGHER

MAY_GO_TO: Final[dict[type, dict[type, EpochRule]]] = {
    # A newer epoch takes every voter to unattached, voted or follower; the rest is what each state is for.
    Unattached: {
        Unattached: _HIGHER,
        Voted: _SAME_OR_HIGHER,
        Follower: _SAME_OR_HIGHER,
        Prospective: _SAME,
        Candidate: _NEXT,
        Observer: _SAME_OR_HIGHER,
    },
    Voted: {
        Unattached: _HIGHER,
        Voted: _HIGHER,
        Follower: _SAME_OR_HIGHER,
        Prospective: _SAME,
        Candidate: _NEXT,
    },
    Follower: {
        Unattached: _HIGHER,
        Voted: _HIGHER,
        Follower: _HIGHER,
        Prospective: _SAME,
        Candidate: _NEXT,
    },
    Prospective: {
        Unattached: _HIGHER,
        Voted: _SAME_OR_HIGHER,
        Follower: _SAME_OR_HIGHER,
        Prospective: _SAME,
        Candidate: _NEXT,
    },
    Candidate: {
        Unattached: _HIGHER,
        Voted: _HIGHER,
        Follower: _SAME_OR_HIGHER,
        Prospective: _SAME,
        Candidate: _NEXT,
        Leader: _SAME,
    },
    Leader: {
        Unattached: _HIGHER,
        Voted: _HIGHER,
        Follower: _HIGHER,
        Resigned: _SAME,
    },
    Resigned: {
        Unattached: _HIGHER,
        Voted: _HIGHER,
        Follower: _HIGHER,
        Prospective: _SAME,
        Candidate: _NEXT,
    },
    Observer: {
        Unattached: _HIGHER,
        Observer: _HIGHER,
    },
}
"""From each state, the states it may go to and what that asks of the epoch."""


def check_transition(old: State, new: State) -> None:
    """Raise ``AssertionError`` unless :data:`MAY_GO_TO` allows it."""
    rule = MAY_GO_TO[type(old)].get(type(new))
    assert rule is not None, f"a quorum state never goes from {old} to {new}"
    assert rule.allows(old.epoch, new.epoch), f"from {old} to {new} the epoch must be {rule.value}"


@dataclass(frozen=True, slots=True)
class ElectionState:
    """What of a state is durable: the epoch, its leader where known, and the vote where given."""

    epoch: int
    leader_id: int | None = None
    voted_id: int | None = None


def election_state(state: State) -> ElectionState:
    """The durable part of ``state``."""
    match state:
        case Unattached(epoch):
            return ElectionState(epoch)
        case Voted(epoch, voted_id):
            return ElectionState(epoch, voted_id=voted_id)
        case Follower(epoch, leader_id, voted_id):
            return ElectionState(epoch, leader_id, voted_id)
        case Prospective(epoch=epoch, leader_id=leader_id, voted_id=voted_id):
            return ElectionState(epoch, leader_id, voted_id)
        case Candidate(epoch, node_id):
            return ElectionState(epoch, voted_id=node_id)
        case Leader(epoch, node_id) | Resigned(epoch, node_id):
            return ElectionState(epoch, node_id, node_id)
        case Observer(epoch, leader_id):
            return ElectionState(epoch, leader_id)


def state_after_restart(saved: ElectionState, node_id: int, voters: tuple[int, ...], log_epoch: int) -> State:
    """The state in which a replica comes back with ``saved`` on disk and ``log_epoch`` as its log's last epoch."""
    if saved.epoch < log_epoch:
        # The file was lost and the log was not: this replica cannot know the leader of the log's epoch.
        return Unattached(log_epoch)
    if node_id not in voters:
        return Unattached(saved.epoch) if saved.leader_id not in voters else Observer(saved.epoch, saved.leader_id)
    match saved:
        case ElectionState(epoch, leader_id) if leader_id == node_id:
            return Resigned(epoch, node_id, tuple(voter for voter in voters if voter != node_id))
        case ElectionState(epoch, leader_id, voted_id) if leader_id in voters:
            return Follower(epoch, leader_id, voted_id)
        case ElectionState(epoch, _, int(voted_id)):
            return Voted(epoch, voted_id)
        case ElectionState(epoch):
            return Unattached(epoch)


def leader_of(state: State) -> int | None:
    """Return the leader that ``state`` knows. Return None for a resigned leader and for a prospective voter."""
    match state:
        case Follower(leader_id=leader_id) | Observer(leader_id=leader_id):
            return leader_id
        case Leader(node_id=node_id):
            return node_id
        case _:
            return None
