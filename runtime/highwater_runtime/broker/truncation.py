"""To where a follower cuts its log back when its leader's log is another: the truncation ladder. Pure.

The switch ``truncation`` chooses a protocol. Each is what a release of Apache Kafka did, with the versions of the
requests that it sent (:data:`PROTOCOLS`); the highest is the default.

``to-high-watermark`` (Design V3, becomeFollower; Kafka before 0.11, rules as in 0.10.2)
    Cut to the HW that the follower knows, without asking. That HW may lag behind the leader's, so committed records go.
``by-leader-epoch`` (KIP-101 and KAFKA-6361, as their texts say)
    Ask the leader where the epoch of the own last record ends. The answer is an offset and no epoch. A leader that has
    not got that epoch names the start of its next larger one, which says nothing of the records below: KAFKA-6361.
``as-1.1.1`` (Kafka 0.11 to 1.1, rules as in 1.1.1)
    The same, but for a cut within a batch. The batch goes as a whole, and the follower goes on at the cut. So its log
    has a hole, and the third case of KAFKA-6361 does not heal, as its text says it does.
``by-exact-leader-epoch`` (KIP-279; Kafka 2.0, rules as in 2.0.1)
    The answer carries the epoch that it is about: the largest one of the leader that is not above the asked one. Cut to
    the own end of that epoch, and ask again if it is not here. No request names the leader epoch that it is for, so a
    deposed leader may answer, and a leader believes followers of another leader epoch.
``fenced`` (KIP-320, Kafka 2.1; by Fetch alone since Kafka 2.7)
    Each Fetch names the leader epoch that the follower believes in, and the epoch of its last record. The leader
    answers with a *diverging epoch* as above, or with an error if it is not in that leader epoch.

A follower of one of the lower four is first TRUNCATING, and FETCHING once it has cut its log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

ProtocolName = Literal["fenced", "by-exact-leader-epoch", "by-leader-epoch", "as-1.1.1", "to-high-watermark"]

_FENCED_SINCE: Final = 9
"""The first version of Fetch that names the leader epoch of the request (KIP-320)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncationProtocol:
    """What followers send and do with one protocol.

    Args:
        latest_fetch: the highest version of Fetch; ``None``: the one that the metadata version allows.
        epoch_request: the version of OffsetForLeaderEpoch that a TRUNCATING follower sends; ``None``: it sends none.
        list_offsets: the version of ListOffsets.
        truncates_first: whether a follower is TRUNCATING before it is FETCHING.
        epochs_of_same_leader: how many leader epochs of one and the same leader may pass without a new truncation;
            ``None``: any number. Kafka's ``Partition.makeFollower`` has that rule up to 2.0.
        leaves_hole: whether a follower whose cut is within a batch, which goes as a whole, goes on at the cut.
    """

    latest_fetch: int | None
    epoch_request: int | None
    list_offsets: int
    truncates_first: bool
    epochs_of_same_leader: int | None
    leaves_hole: bool = False

    def fetch_version(self, allowed: int) -> int:
        """The version of Fetch to send, where the metadata version allows up to ``allowed``."""
        return allowed if self.latest_fetch is None else min(allowed, self.latest_fetch)

    @property
    def fences(self) -> bool:
        """Whether requests name the leader epoch that they are for."""
        return self.latest_fetch is None or self.latest_fetch >= _FENCED_SINCE

    def goes_on(self, epoch_before: int, epoch: int) -> bool:
        """Whether a follower that stays with its leader, now in ``epoch``, goes on without a new truncation."""
        return self.epochs_of_same_leader is None or epoch - epoch_before <= self.epochs_of_same_leader


PROTOCOLS: Final[Mapping[ProtocolName, TruncationProtocol]] = {
    "fenced": TruncationProtocol(
        latest_fetch=None, epoch_request=None, list_offsets=7, truncates_first=False, epochs_of_same_leader=0
    ),
    "by-exact-leader-epoch": TruncationProtocol(
        latest_fetch=8, epoch_request=1, list_offsets=3, truncates_first=True, epochs_of_same_leader=1
    ),
    "by-leader-epoch": TruncationProtocol(
        latest_fetch=7, epoch_request=0, list_offsets=1, truncates_first=True, epochs_of_same_leader=None
    ),
    "as-1.1.1": TruncationProtocol(
        latest_fetch=7,
        epoch_request=0,
        list_offsets=1,
        truncates_first=True,
        epochs_of_same_leader=None,
        leaves_hole=True,
    ),
    # Kafka 0.10.2 sent Fetch v3. Batches of format v2, the only one here, need v4.
    "to-high-watermark": TruncationProtocol(
        latest_fetch=4, epoch_request=None, list_offsets=1, truncates_first=True, epochs_of_same_leader=None
    ),
}


@dataclass(frozen=True, slots=True)
class EpochEnd:
    """The largest epoch of a log that is not above an asked one, and the exclusive end offset of it."""

    epoch: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class Cut:
    """Where to cut. ``agreed``: below it both logs are taken to be the same; else the follower asks again, with an
    older epoch."""

    offset: int
    agreed: bool


def cut_to_high_watermark(high_watermark: int, own_end_offset: int) -> Cut:
    """Return the cut of a follower that does not ask its leader (Design V3)."""
    return Cut(min(high_watermark, own_end_offset), agreed=True)


def cut_by_leader_epoch(leader_end: int | None, high_watermark: int, own_end_offset: int) -> Cut:
    """Where a follower cuts, given the offset at which its last epoch ends at the leader (KIP-101).

    ``None``: the leader knows no such offset, so the follower cuts to its HW.
    """
    if leader_end is None:
        return cut_to_high_watermark(high_watermark, own_end_offset)
    return Cut(min(leader_end, own_end_offset), agreed=True)


def cut_by_exact_leader_epoch(
    leader: EpochEnd | None, own: EpochEnd | None, high_watermark: int, own_end_offset: int
) -> Cut:
    """Where a follower cuts, given the leader's answer and its own view of the epoch in it (KIP-279).

    ``leader`` is ``None`` if the leader knows no such epoch: the follower cuts to its HW. The rest is
    :func:`cut_for_divergence`.
    """
    if leader is None:
        return cut_to_high_watermark(high_watermark, own_end_offset)
    return cut_for_divergence(leader, own, own_end_offset)


def cut_for_divergence(leader: EpochEnd, own: EpochEnd | None, own_end_offset: int) -> Cut:
    """Where a follower cuts, given the leader's diverging epoch and its own view of that same epoch (KIP-320).

    Args:
        leader: the leader's largest epoch not above the follower's, with its end.
        own: the follower's largest epoch not above ``leader.epoch``, with its end; ``None`` where it has none.
        own_end_offset: the follower's LEO.

    Where the follower has the leader's epoch too, the logs agree up to the nearer end of it. Where it has not, its own
    largest smaller epoch is the best guess so far: cut to the end of that, and the next fetch names that epoch.
    """
    if own is None:
        return Cut(min(leader.end_offset, own_end_offset), agreed=True)
    if own.epoch == leader.epoch:
        return Cut(min(own.end_offset, leader.end_offset, own_end_offset), agreed=True)
    return Cut(min(own.end_offset, own_end_offset), agreed=False)


def end_without_epoch(asked: int, end: EpochEnd | None, first_epoch: int) -> int | None:
    """What a leader of KIP-101 answers (OffsetForLeaderEpoch v0, Kafka 1.1): an offset alone; ``None``: it knows none.

    Args:
        asked: the follower's last epoch.
        end: the leader's largest epoch not above it, with its end, as later versions answer.
        first_epoch: the oldest epoch of which the leader's log knows. It knows no offset for an older one.
    """
    return None if end is None or asked < first_epoch else end.end_offset
