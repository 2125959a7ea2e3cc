"""What /proc shows of processes and threads. Any of them may end while it is looked at: then it is left out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")


def command_lines() -> Iterator[tuple[int, list[bytes]]]:
    """Each process with the words of its command; a process that has ended has none."""
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if words := (entry / "cmdline").read_bytes().split(b"\0")[:-1]:
                    yield int(entry.name), words


def guardian_of(run: Path) -> int:
    """The process that guards a run."""
    for pid, words in command_lines():
        if b"highwater_chaos.machine.runs.guardian" in words and os.fsencode(run) in words:
            return pid
    raise AssertionError(f"nobody guards {run}")


def states(pid: int) -> list[str]:
    """The state letter of each thread, sorted; none if the process is gone."""
    found = []
    for stat in (PROC / str(pid) / "task").glob("*/stat"):
        with suppress(OSError):
            found.append(stat.read_text(errors="replace").rpartition(") ")[2][0])
    return sorted(found)


def children(pid: int) -> list[int]:
    """The children of a process, whichever of its threads has started them."""
    found: list[int] = []
    for started in (PROC / str(pid) / "task").glob("*/children"):
        with suppress(OSError):
            found += map(int, started.read_bytes().split())
    return found


def open_files() -> list[Path]:
    """What the descriptors of this process name, without those that other threads close meanwhile."""
    found = []
    for link in (PROC / "self" / "fd").iterdir():
        with suppress(OSError):
            found.append(link.readlink())
    return found
