"""What a run exercised: the words and the form in which every output has it.

A pass says little about a schedule that never touched what it is about. So each verdict also counts what the faults
brought about. What the recording cannot show is *not available* (None), never 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

MOST_WARNINGS: Final = 20


class ScheduleWarning(msgspec.Struct, frozen=True):
    """Why a fault, or the schedule, may have exercised less than it seems to. ``kind``: a short stable name;
    ``faults``: the ids of those that it is about. It changes no verdict."""

    kind: str
    text: str
    faults: tuple[str, ...] = ()


class Exercised(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Counts of what happened in a run. None: the backend records nothing that shows it.

    ``faults``: confirmed ones by kind; ``bytes_lost``: unsynced bytes that power losses took; ``disks_replaced``;
    ``elections``: another leader was committed, or the same one after there was none; ``isr_shrinks`` and
    ``isr_expansions``: committed ones; ``truncations`` of a replica's log; ``broker_restarts``: brokers that came back
    as another incarnation; ``transitions`` of the protocol that were reached, of the catalogue of campaigns.
    """

    faults: dict[str, int]
    bytes_lost: int | None
    disks_replaced: int
    elections: int | None
    isr_shrinks: int | None
    isr_expansions: int | None
    truncations: int | None
    broker_restarts: int | None
    transitions: int | None
    warnings: tuple[ScheduleWarning, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As ``verdict.json`` has it."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return {**found, "warnings": list(found["warnings"])}


_COUNTED: Final = (
    ("bytesLost", "unsynced byte lost", "unsynced bytes lost"),
    ("disksReplaced", "disk replaced", "disks replaced"),
    ("elections", "election", "elections"),
    ("isrShrinks", "ISR shrink", "ISR shrinks"),
    ("isrExpansions", "ISR expansion", "ISR expansions"),
    ("truncations", "truncation", "truncations"),
    ("brokerRestarts", "broker restart", "broker restarts"),
    ("transitions", "transition reached", "transitions reached"),
)


def exercised_text(exercised: Mapping[str, Any]) -> str:
    """All counts in one line. ``exercised``: as ``verdict.json`` has it."""
    faults: Mapping[str, int] = exercised["faults"]
    kinds = ", ".join(f"{kind} {count}" for kind, count in faults.items())
    parts = [f"{_number(sum(faults.values()), 'fault', 'faults')} confirmed{f' ({kinds})' if kinds else ''}"]
    parts += [_number(exercised[key], one, more) for key, one, more in _COUNTED if exercised[key] is not None]
    unknown = [more for key, _, more in _COUNTED if exercised[key] is None]
    return ", ".join(parts) + (f"; not available here: {', '.join(unknown)}" if unknown else "")


def exercised_counts(exercised: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """Each count with its key, as text."""
    counts = [(key, "not available" if exercised[key] is None else str(exercised[key])) for key, _, _ in _COUNTED]
    return [("faults", str(sum(exercised["faults"].values()))), *counts]


def warning_texts(exercised: Mapping[str, Any] | None) -> list[str]:
    """The warnings, as sentences without a full stop; none of a verdict of an earlier version."""
    return [] if exercised is None else [str(one["text"]) for one in exercised["warnings"]]


def _number(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"
