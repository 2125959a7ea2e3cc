"""Messages of the harness to the recorder, one JSON object a line on its stdin, and its answers on its stdout.

The recorder ends with its stdin.
"""

from __future__ import annotations

from typing import Final

import msgspec

from highwater_pipeline.tables.settings import Settings


class Begin(msgspec.Struct, frozen=True, kw_only=True, tag="begin"):
    """First. ``directory``: where to write; ``start_ns``: when run time began, by CLOCK_MONOTONIC; ``units``: whether
    to split the run by partition; ``patience_ns``: how old a time is before it is settled."""

    directory: str
    run_id: str
    start_ns: int
    units: bool
    patience_ns: int


class Follow(msgspec.Struct, frozen=True, tag="follow"):
    """Further files of the history and of node events, in this order."""

    history: tuple[str, ...]
    events: tuple[str, ...]


class LoadEnded(msgspec.Struct, frozen=True, tag="load-ended"):
    """Clients have ended: converting need not give way to anything any more."""


class Finish(msgspec.Struct, frozen=True, kw_only=True, tag="finish"):
    """Last: all files are complete. ``replica_log``: an Arrow file with the dump, None: there is none; ``about``: the
    run directory with the small tables; ``checks``: those that the run is to be judged by."""

    replica_log: str | None
    about: str
    settings: Settings
    checks: tuple[str, ...]


class Progress(msgspec.Struct, frozen=True, tag="progress"):
    """An answer to :class:`Finish`: another part is written."""


class Done(msgspec.Struct, frozen=True, tag="done"):
    """The last answer: all is written. ``begun_anew``: how often it started again because of a late line;
    ``rows``: how many of each table; ``left``: of history and events, how many were converted after :class:`Finish` had
    come."""

    begun_anew: int
    rows: dict[str, int]
    left: int


Message = Begin | Follow | LoadEnded | Finish
Answer = Progress | Done
ENCODE: Final = msgspec.json.Encoder().encode
DECODE: Final = msgspec.json.Decoder(Message).decode
DECODE_ANSWER: Final = msgspec.json.Decoder(Answer).decode
