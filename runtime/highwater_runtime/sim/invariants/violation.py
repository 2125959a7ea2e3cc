"""A broken invariant, and where violations are collected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

MOST: Final = 1000
"""Violations kept of one run; a broken cluster breaks the same invariant after every event."""


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant (``name``) that did not hold after the event at ``time_ns``; ``what`` is a sentence."""

    name: str
    time_ns: int
    subject: str
    what: str


class Unrest(NamedTuple):
    """What does not agree in a cluster at rest: the invariant, its subject (a partition or a node), and a sentence."""

    name: str
    subject: str
    what: str


class Violations:
    """Collects violations: one for each (name, subject, key), however long it stays broken."""

    __slots__ = ("_seen", "found", "now_ns")

    def __init__(self) -> None:
        self.found: list[Violation] = []
        self.now_ns = 0
        self._seen: set[tuple[str, str, object]] = set()

    def add(self, name: str, subject: str, what: str, key: object = None) -> None:
        """Note that ``name`` does not hold for ``subject`` (a partition, a node); once for each ``key``."""
        identity = (name, subject, key)
        if identity not in self._seen and len(self.found) < MOST:
            self._seen.add(identity)
            self.found.append(Violation(name, self.now_ns, subject, what))
