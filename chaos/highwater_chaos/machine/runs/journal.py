"""The run's journal: what was going to be made, what was made, what was undone.

``journal.jsonl``, one JSON object a line, appended under the run's lock and fsynced before anything happens:

- ``{"step": "intent", "id", "kind", "resource", "deadlineNs"?, "tag"?}`` before it is made; ``resource`` says how to
  undo it;
- ``{"step": "done", "id", "resource"}`` once it is made, with what only then was known;
- ``{"step": "undone", "id", "by"}`` once nothing is left of it.

An entry without ``undone`` is *outstanding*, whether or not it has ``done``: the maker may have died in between.
A process killed while it wrote leaves a line without end; it is not read, and the next writer ends it. Lines of kinds
and fields that this version does not know are kept and reported, not dropped.
"""

from __future__ import annotations

import errno
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel.ownership import read_own

JOURNAL: Final = "journal.jsonl"
RESERVE: Final = "reserve"
"""A file beside the journal whose space is for notes that something is undone, on a disk that is full by then."""
RESERVED: Final = 1 << 16
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


@dataclass(slots=True)
class Entry:
    """One thing made, with its life so far. ``deadline_ns`` is time since boot; None: until the run ends. ``tag`` is
    the maker's own name for what this is a part of."""

    id: str
    kind: str
    resource: dict[str, Any]
    deadline_ns: int | None
    done: bool = False
    undone_by: str | None = None
    tag: str = ""


@dataclass(slots=True)
class Journal:
    """Reads and appends one run's journal. Every method must be called with the run's lock held."""

    path: Path
    entries: dict[str, Entry] = field(default_factory=dict)
    _read: int = 0

    def refresh(self) -> None:
        """Read what others appended since.

        Raises:
            NotOwnError: another user may have written it.
        """
        data = read_own(self.path, self._read)
        end = data.rfind(b"\n") + 1
        for line in data[:end].splitlines():
            self._take(line)
        self._read += end

    def outstanding(self) -> list[Entry]:
        """What is not undone, in the order in which it was made."""
        return [entry for entry in self.entries.values() if entry.undone_by is None]

    def intent(self, kind: str, resource: dict[str, Any], deadline_ns: int | None, tag: str = "") -> str:
        """Note that something is about to be made; returns its id."""
        entry_id = f"m{len(self.entries) + 1}"
        line: dict[str, Any] = {"step": "intent", "id": entry_id, "kind": kind, "resource": resource}
        if tag:
            line["tag"] = tag
        self._append(line if deadline_ns is None else {**line, "deadlineNs": deadline_ns})
        return entry_id

    def done(self, entry_id: str, resource: dict[str, Any]) -> None:
        """Note that it is made."""
        self._append({"step": "done", "id": entry_id, "resource": resource})

    def undone(self, entry_id: str, by: str) -> None:
        """Note that nothing is left of it, and who saw to that."""
        line = {"step": "undone", "id": entry_id, "by": by}
        try:
            self._append(line)
        except OSError as error:
            if error.errno not in _FULL:
                raise
            self.path.with_name(RESERVE).unlink(missing_ok=True)
            self._append(line)

    def _append(self, line: dict[str, Any]) -> None:
        file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            size = os.fstat(file).st_size
            torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
            data = (b"\n" if torn else b"") + json.dumps(line, separators=(",", ":")).encode() + b"\n"
            if os.write(file, data) != len(data):  # the next one begins a line of its own
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            os.fsync(file)
        finally:
            os.close(file)
        self.refresh()

    def _take(self, line: bytes) -> None:
        try:
            row = json.loads(line)
        except ValueError:
            return  # torn by a writer that was killed: what it announced was never begun
        match row:
            case {"step": "intent", "id": str(entry_id), "kind": str(kind), "resource": dict(resource)}:
                self.entries[entry_id] = Entry(entry_id, kind, resource, row.get("deadlineNs"), tag=row.get("tag", ""))
            case {"step": "done", "id": str(entry_id), "resource": dict(resource)} if entry_id in self.entries:
                self.entries[entry_id].resource = resource
                self.entries[entry_id].done = True
            case {"step": "undone", "id": str(entry_id), "by": str(by)} if entry_id in self.entries:
                self.entries[entry_id].undone_by = by
            case _:
                raise MachineError(f"{self.path}: not a line of this journal's version: {line[:200]!r}")
