"""The states of one replica of the quorum, and which may go to which (KIP-595, pre-vote: KIP-650).

Theory of operation
===================
The metadata log ``__cluster_metadata-0`` is replicated by Raft turned round: the leader does not push, the others
**fetch**. A fixed set of *voters* (the controllers) elects a leader and decides what is committed; any number of
*observers* (the brokers) fetch as voters do, but count for nothing.

**Epochs.** Time is cut into epochs, numbered upwards. Each has at most one leader, since a voter gives at most one
vote in an epoch, a leader needs a majority's, and any two majorities share a voter. Every message carries its
sender's epoch. Who is behind is refused and told of the newer epoch; who learns of a newer epoch joins it at once.
Epoch, vote and leader are **durable before they are used** (:mod:`~highwater_runtime.raft.quorum_state_store`):
a voter that loses power cannot vote a second time, a leader cannot come back to lead the epoch it led before.

**Elections.** A voter that hears from no leader for a while (election time-out while it knows none, fetch time-out
while it follows one) first asks whether it would be elected (below), then becomes *candidate* in the next epoch, votes
for itself and asks the others. They vote for it if
they have not voted otherwise and its log is **at least as complete** as theirs: its last epoch is higher, or equal and
the log no shorter. Time-outs are drawn at random, and failed candidates wait ever longer (binary exponential back-off),
so that ties break.

**Pre-vote.** A voter that is cut off and stood at every time-out would come back with an epoch far above all others'
and depose a leader that was well. So it becomes *prospective* first: it asks for a *pre-vote* in the epoch in which it
is, and neither bumps nor writes anything. Asked so, a leader refuses; a follower refuses that has fetched from its
leader in this epoch and within the fetch time-out; every other voter compares logs as for a vote. A pre-vote binds
nobody: two prospective voters grant each other's. With a majority of grants the prospective voter becomes candidate.
Refused by a majority, or without one in time, it goes back to its leader and fetches on where it had one (if that is
alive after all, all is well; if not, the voter is no longer one that hears from it, and grants the pre-votes of
others), else it backs off and asks again. So a voter that can reach the others, but not the leader whom they hear,
does not take the leadership away, to lose it to the other side in turn. A voter that does not know the flag
(UNSUPPORTED_VERSION) cannot refuse: it counts as a grant, and its vote will tell. There is nobody to disturb where the
leader itself has called for an election (EndQuorumEpoch): the one in line is candidate at once.

**Replication.** A fetch names the offset it wants and the epoch of the record before it. The leader compares this
with its own log: where the two differ it answers with the *diverging epoch* (the largest epoch it shares and where
that ends) and the replica cuts its log back, then asks again. So two logs that agree at an offset and epoch agree on
everything below (log matching). A fetch also says: *all below its offset is on my disk*. A replica flushes before it
fetches on, and the leader counts its own log up to where it is flushed, no further.

**Commitment.** The high watermark (HW) is the offset that a majority of the voters has reached on disk, but a leader
moves it only once it covers a record of its own epoch: the *LeaderChange* record with which every leader begins. (A
record of an older epoch on a majority could still be overwritten; below a record of this epoch nothing can.) Others
learn the HW from the answers to their fetches. What is below the HW is never cut back, on no replica.

**Giving up.** A leader from which a majority of voters has not fetched for 1.5 fetch time-outs has probably lost them:
it *resigns* (check-quorum). A resigned leader keeps its epoch, leads no more, tells the voters (EndQuorumEpoch, with
the most caught-up first in line for the next election) and waits. A leader that restarts comes back *resigned*, since
what it appended last may be gone.

States and transitions
======================
Every transition out of the table below is an assertion. ``next`` is epoch + 1, ``higher`` any higher epoch::

    unattached  knows the epoch, no leader, has not voted in it
    voted       has voted for another (or, after a restart, for itself) in this epoch
    prospective hears from no leader, and asks whether it would be elected; keeps the vote it gave in this epoch
    candidate   has voted for itself and asks the others
    leader      was elected
    resigned    was leader of this epoch and is no more
    follower    a voter that fetches from a leader
    observer    no voter; fetches from a leader

With the switch ``pre-vote`` off, and after EndQuorumEpoch, a voter goes to candidate past prospective.
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
    """Led ``epoch`` and leads no more; ``successors`` are the other voters, the one to take over first."""

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
        # Only where the file was lost and the log was not: whoever led the log's epoch, this replica cannot know.
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
    """Who leads, as far as ``state`` knows. A resigned leader does not name itself: it leads no more. Nor does a
    prospective voter name the leader it no longer hears."""
    match state:
        case Follower(leader_id=leader_id) | Observer(leader_id=leader_id):
            return leader_id
        case Leader(node_id=node_id):
            return node_id
        case _:
            return None
