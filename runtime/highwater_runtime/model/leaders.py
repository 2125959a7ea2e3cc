"""One leader in a leader epoch, whose high watermark does not go back."""

from __future__ import annotations

from typing import Final, NamedTuple


class Claim(NamedTuple):
    """An append as leader. ``row``: that of the event, in a recording."""

    node: str
    incarnation: int
    offset: int = -1
    row: int = -1


class Leaders:
    """Who appended as leader in each leader epoch: one node in one incarnation (KIP-101, KIP-320). Two incarnations
    mean that a leader came back after a crash without a new leader epoch.

    In ZooKeeper mode only nodes count (``of_nodes``): a controller that is elected after a broker has come back knows
    nothing of its death, and lets it lead on in the epoch of before, as Apache Kafka's does.
    """

    def __init__(self, *, of_nodes: bool = False) -> None:
        self.of_nodes = of_nodes
        self.claims: Final[dict[int, dict[tuple[str, int], Claim]]] = {}
        """By leader epoch, the first claim of each; more than one are too many."""

    def append(self, leader_epoch: int, claim: Claim) -> Claim | None:
        """Take in an append. Returns the first claim of another leader to the epoch if this claim is a new one."""
        who = claim.node, 0 if self.of_nodes else claim.incarnation
        claims = self.claims.setdefault(leader_epoch, {})
        if who in claims:
            return None
        claims[who] = claim
        first = next(iter(claims.values()))
        return None if first is claim else first


class Move(NamedTuple):
    """A move of a leader's high watermark. ``row``: that of the event, in a recording."""

    leader_epoch: int
    offset: int
    row: int = -1


class HighWatermarks:
    """The true high watermark does not go back (Detailed Replication Design V3, G; KIP-101): a leader reports none that
    is below one that was reported before in its leader epoch or a lower one.

    A follower's copy may lag and go back, and is not reported. A new leader begins with such a copy, but what it
    reports is its first *move*. That is not below the true one unless a member of the ISR lacked records.
    """

    def __init__(self) -> None:
        self._highest: dict[int, Move] = {}
        """Of each leader epoch."""
        self._last = -1, -1
        self._before: Move | None = None

    def move(self, move: Move, since_epoch: int = -1) -> Move | None:
        """Take in a move. Returns the first highest of those before, of the leader epochs from ``since_epoch`` to that
        of the move, if the move is below it; what is of lower leader epochs is forgotten (see :mod:`.breaks`)."""
        epoch, offset, _ = move
        if self._last != (epoch, since_epoch):
            self._last = epoch, since_epoch
            known = [one for one in self._highest.values() if since_epoch <= one.leader_epoch <= epoch]
            self._before = max(known, key=lambda one: (one.offset, -one.row), default=None)
        before = self._before
        if before is None or offset > before.offset:
            self._before = self._highest[epoch] = move
            return None
        if epoch not in self._highest or offset > self._highest[epoch].offset:
            self._highest[epoch] = move
        return before if offset < before.offset else None
