"""The decisions of an election, pure: whom to (pre-)vote for, who has won, how long to wait (KIP-595, KIP-650)."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Final

from highwater_runtime.config import NodeConfig
from highwater_runtime.ports import MS
from highwater_runtime.raft.states import Follower, Leader, Prospective, State, Unattached, Voted

RETRY_BACKOFF_NS: Final = 20 * MS
"""First wait before a failed request is sent again (Kafka's ``controller.quorum.retry.backoff.ms``)."""

_RETRY_BACKOFF_MAX_NS: Final = 320 * MS
_MAX_FETCH_WAIT_NS: Final = 500 * MS
_ELECTION_BACKOFF_BASE_NS: Final = 100 * MS


@dataclass(frozen=True, slots=True)
class LogEnd:
    """How complete a log is: the epoch of its last record (0 where it is empty), then its end offset."""

    epoch: int
    offset: int

    def at_least(self, other: LogEnd) -> bool:
        """Whether this log is at least as complete as ``other``."""
        return (self.epoch, self.offset) >= (other.epoch, other.offset)


def grants_vote(state: State, epoch: int, candidate_id: int, candidate_log: LogEnd, own_log: LogEnd) -> bool:
    """Whether a voter in ``state`` votes for a candidate of ``epoch``, which is not below its own.

    It does where it has no leader and no other vote in that epoch and the candidate's log misses nothing it holds.
    A voter that learns of ``epoch`` by this request has neither.
    """
    assert epoch >= state.epoch
    match state:
        case Voted(voted_epoch, voted_id) if voted_epoch == epoch:
            # A repeated request: the answer was lost, or the candidate asks again. The log was judged then.
            return voted_id == candidate_id
        case Prospective(epoch=own_epoch, leader_id=None, voted_id=int(voted_id)) if own_epoch == epoch:
            return voted_id == candidate_id
        case Unattached() | Prospective(leader_id=None):
            return candidate_log.at_least(own_log)
        case _:
            return epoch > state.epoch and candidate_log.at_least(own_log)


def grants_pre_vote(state: State, candidate_log: LogEnd, own_log: LogEnd, *, hears_leader: bool) -> bool:
    """Whether a voter in ``state`` grants a pre-vote for a candidate with this log (KIP-650).

    ``hears_leader``: it follows a leader and has fetched from it within the fetch time-out. What it voted so far does
    not matter: the election would be one of the next epoch.
    """
    match state:
        case Leader():
            return False
        case Follower() if hears_leader:
            return False
        case _:
            return candidate_log.at_least(own_log)


@dataclass(slots=True)
class VoteTally:
    """The votes of one election, the candidate's own included from the start."""

    node_id: int
    voters: tuple[int, ...]
    granted: dict[int, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.granted[self.node_id] = True

    def record(self, voter: int, granted: bool) -> None:
        """Count an answer. A voter may turn from refusal to grant when asked again, never back."""
        assert voter in self.voters, f"{voter} is no voter of {self.voters}"
        self.granted[voter] = granted or self.granted.get(voter, False)

    @property
    def granting(self) -> tuple[int, ...]:
        """Who granted, ascending."""
        return tuple(sorted(voter for voter, granted in self.granted.items() if granted))

    @property
    def is_won(self) -> bool:
        return len(self.granting) > len(self.voters) // 2

    @property
    def is_lost(self) -> bool:
        """So many have refused that no majority is left."""
        refused = len(self.granted) - len(self.granting)
        return len(self.voters) - refused <= len(self.voters) // 2


@dataclass(frozen=True, slots=True)
class Timing:
    """The quorum's time-outs, in nanoseconds."""

    election_ns: int
    fetch_ns: int
    backoff_max_ns: int
    request_ns: int

    @classmethod
    def of(cls, config: NodeConfig) -> Timing:
        """Return the time-outs that the properties ``controller.quorum.*`` set."""
        return cls(
            election_ns=config.quorum_election_timeout_ms * MS,
            fetch_ns=config.quorum_fetch_timeout_ms * MS,
            backoff_max_ns=config.quorum_election_backoff_max_ms * MS,
            request_ns=config.quorum_request_timeout_ms * MS,
        )

    @property
    def stands_within_ns(self) -> int:
        """The longest that a voter without a leader waits before it stands for election, or stands again."""
        return 2 * self.election_ns + self.backoff_max_ns

    @property
    def check_quorum_ns(self) -> int:
        """How long a leader goes on without a majority's fetches: 1.5 fetch time-outs."""
        return self.fetch_ns * 3 // 2

    @property
    def begin_epoch_ns(self) -> int:
        """A voter that has not fetched for this long gets BeginQuorumEpoch again: half a fetch time-out."""
        return self.fetch_ns // 2

    @property
    def fetch_wait_ms(self) -> int:
        """The longest a fetch may wait at the leader, well below the fetch time-out."""
        return min(_MAX_FETCH_WAIT_NS, self.fetch_ns // 4) // MS

    def election_timeout_ns(self, random: Random) -> int:
        """Between one and two election time-outs, so that voters do not stand up all at once."""
        return self.election_ns + random.randrange(self.election_ns)

    def election_backoff_ns(self, retries: int, random: Random) -> int:
        """Binary exponential back-off of a candidate that failed after ``retries`` earlier failures."""
        steps = random.randrange(1, 2 ** min(retries + 1, 10) + 1)
        jitter = random.randrange(_ELECTION_BACKOFF_BASE_NS)
        return min(steps * _ELECTION_BACKOFF_BASE_NS, self.backoff_max_ns) + min(jitter, self.backoff_max_ns)

    def successor_backoff_ns(self, position: int, successors: int) -> int:
        """When the voter at ``position`` (0: first) of ``successors`` stands after EndQuorumEpoch.

        The first at once; each later one after twice the wait of the one before, the last after the maximum.
        """
        if position == 0:
            return 0
        steps_from_last = max(successors - 1 - position, 0)
        return max(self.backoff_max_ns >> steps_from_last, 1)


def retry_backoff_ns(failures: int) -> int:
    """The wait before a request is sent again after ``failures`` (≥ 1) failures in a row."""
    return int(min(RETRY_BACKOFF_NS << min(failures - 1, 10), _RETRY_BACKOFF_MAX_NS))
