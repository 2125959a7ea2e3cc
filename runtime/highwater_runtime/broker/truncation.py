"""To where a follower cuts its log back when its leader's log is another (KIP-101, KIP-279, KIP-320). Pure.

The rung that is built is ``fenced``, the highest of the truncation ladder: the follower's Fetch names the epoch of its
last record and the leader epoch that it believes in; the leader answers with a *diverging epoch*: the largest epoch it
has that is not above the asked one, and where that epoch ends. A leader that is not in that leader epoch answers with
an error instead, so nobody is cut by a leader that has been deposed.

The other rungs (switch ``truncation``: ``by-exact-leader-epoch``, ``by-leader-epoch``, ``to-high-watermark``) get their
function here as well, beside :func:`cut_for_divergence`: each says, from the same facts, where to cut.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EpochEnd:
    """The largest epoch of a log that is not above an asked one, and the exclusive end offset of it."""

    epoch: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class Cut:
    """Where to cut. ``agreed``: below it both logs are the same; else the next fetch asks again from an older epoch."""

    offset: int
    agreed: bool


def cut_for_divergence(leader: EpochEnd, own: EpochEnd | None, own_end_offset: int) -> Cut:
    """Where a follower cuts, given the leader's diverging epoch and its own view of that same epoch.

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
