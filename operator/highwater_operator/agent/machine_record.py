"""How the node's machine is: its load and disk space over the last hours, and each start of the agent.

A run takes the part that is about it: what looks like a fault of the cluster may be one of the machine. Kept in a file,
which a restart of the agent does not end.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

FILE: Final = "machine.jsonl"
_MOST_BYTES: Final = 2 << 20
"""Of the file: about six hours. It is begun anew then, and the one before it kept."""
_LONGEST_LINE: Final = 1000


class MachineRecord:
    """Of this node, in the directory ``state``. Any thread may call. ``reset_by``: the fault that reset the machine,
    so that the agent started again."""

    def __init__(
        self, node: str, state: Path, *, reset_by: str | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._node = node
        self._path = state / FILE
        self._clock = clock
        self._busy = threading.Lock()
        by = {} if reset_by is None else {"resetBy": reset_by}
        self._note({"started": self._clock(), **by})

    def sample(self) -> None:
        """Note how the machine is now."""
        status = os.statvfs(self._path.parent)
        self._note(
            {
                "at": self._clock(),
                "load": round(os.getloadavg()[0], 2),
                "processors": os.cpu_count() or 1,
                "freeBytes": status.f_bavail * status.f_frsize,
            }
        )

    def since(self, when: float) -> list[dict[str, Any]]:
        """What was noted since a time (seconds since the epoch), oldest first."""
        found = []
        for path in (self._older, self._path):
            with suppress(FileNotFoundError), path.open("rb") as file:
                while line := file.readline(_LONGEST_LINE):
                    with suppress(ValueError):  # cut off when the machine went down, or its disk was full
                        row = json.loads(line)
                        if isinstance(row, dict) and float(row.get("at") or row.get("started") or 0) >= when:
                            found.append(row)
        return found

    @property
    def _older(self) -> Path:
        return self._path.with_suffix(".jsonl.1")

    def _note(self, row: dict[str, Any]) -> None:
        line = json.dumps({"node": self._node, **row}) + "\n"
        # A disk that is full is what other rows tell of: this one is missing then.
        with self._busy, suppress(OSError):
            if self._path.exists() and self._path.stat().st_size > _MOST_BYTES:
                self._path.replace(self._older)
            with self._path.open("a") as file:
                file.write(line)
