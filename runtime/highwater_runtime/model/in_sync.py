"""Who may be counted as in sync: by incarnation (KIP-903), and how many an acknowledgement needs."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Final

UNKNOWN: Final = -1
"""A broker epoch that a request does not tell."""


class Registrations:
    """Under which broker epoch each broker is registered at each place of the metadata. A controller says so when it
    judges a proposal, but the registrations themselves tell it too."""

    def __init__(self) -> None:
        self._of: Final[dict[int, list[tuple[int, int]]]] = {}

    def add(self, broker: int, metadata_offset: int, broker_epoch: int) -> None:
        """Take in a registration, in any order; :data:`UNKNOWN`: the broker is not registered any more."""
        of_broker = self._of.setdefault(broker, [])
        if (metadata_offset, broker_epoch) not in of_broker:
            insort(of_broker, (metadata_offset, broker_epoch))

    def in_force(self, broker: int, metadata_offset: int) -> int | None:
        """Return the epoch for what is decided at ``metadata_offset``; None: no registration before it is known."""
        of_broker = self._of.get(broker, [])
        place = bisect_left(of_broker, (metadata_offset, UNKNOWN))
        return of_broker[place - 1][1] if place else None


def claimed_epoch(sent: int, known: int) -> int:
    """The broker epoch under which a leader claims that a replica is in sync: the one that AlterPartition has, or if
    it has none (below version 3) the one that the leader knows from Fetch (:data:`UNKNOWN`: none)."""
    return known if sent == UNKNOWN else sent


def joins_stale(claimed: int, in_force: int, *, registered_since: bool) -> bool:
    """Whether a replica joins the ISR under a broker epoch that is no longer its own (KIP-903, KAFKA-14139).

    ``in_force``: the one that it has when the controller judges. If none is claimed, a registration since the leader
    proposed it (``registered_since``) proves it.
    """
    return registered_since if claimed == UNKNOWN else claimed != in_force


def too_few_in_sync(committed: Sequence[int] | None, reported: Sequence[int], min_isr: int) -> Sequence[int] | None:
    """The ISR under which ``acks=all`` is acknowledged, if it is below ``min.insync.replicas``; else None.

    A leader may count a replica that it has only *proposed* to add. So what counts is the ISR that is committed under
    the leader and partition epoch of the acknowledgement. Only if that is not known (None), the one that is reported.
    """
    isr = reported if committed is None else committed
    return isr if len(isr) < min_isr else None
