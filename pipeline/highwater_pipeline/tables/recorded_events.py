"""Which kinds of node events a run recorded: ``events/recorded.json``.

A quiet run has no event of many kinds. Only if the recording says that they would be there, nothing happened. So every
run says which kinds its nodes report, and how many events of each it recorded. Imports no Arrow: runs write it too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from highwater_pipeline.tables.recordings import RECORDED_EVENTS_FILE
from highwater_runtime.ports.trace import NodeEvent


class RecordedEvents(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which ``kinds`` of node events were recorded in full, also those that never happened; ``why`` the others were not
    (a clause: "Apache Kafka does not tell …"; empty if there are no others); and how many there are of each kind
    (``counts``; None: not counted). ``seen``: kinds of which some were recorded, each true, and some were
    missed."""

    kinds: tuple[str, ...]
    why: str
    counts: dict[str, int] | None = None
    seen: tuple[str, ...] = ()


def event_classes(base: type[NodeEvent] = NodeEvent) -> Iterator[type[NodeEvent]]:
    """Yield the class of each kind of event."""
    for event in base.__subclasses__():
        yield event
        yield from event_classes(event)


EVERY_KIND: Final = RecordedEvents(tuple(sorted(str(one.__struct_config__.tag) for one in event_classes())), "")
"""What our own nodes report."""


def write_recorded_events(directory: Path, declared: RecordedEvents, counts: Mapping[str, int]) -> RecordedEvents:
    """Write into a run directory which kinds of events were recorded, and how many of each; returns what was written.

    Raises ``OSError``.
    """
    counted = msgspec.structs.replace(declared, counts=dict(sorted(counts.items())))
    path = directory / RECORDED_EVENTS_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode(counted))
    return counted
