"""Find the lines that ``expect.logged`` names in the logs of a run's nodes.

A verdict says what happened, and not why. A release may pass for a reason that has nothing to do with its fix. What a
node logged shows the reason: which error refused a request, or where a log was cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from highwater_chaos.experiment.model import LoggedLine

_LOG: Final = re.compile(r"((?:broker|controller|zookeeper)-\d+)(?:\.\d+)?\.log")
"""``broker-1.log``, or ``broker-1.2.log``, the log of its second process."""
_LONGEST: Final = 1 << 16
"""Bytes of a line; a longer one counts as several."""
_SHOWN: Final = 500
"""Characters of a line that are kept."""


class Logged(NamedTuple):
    """A line that was asked for, and the first one found; None: there is none."""

    asked: str
    found: str | None

    def to_dict(self) -> dict[str, Any]:
        """As ``verdict.json`` has it."""
        return {"asked": self.asked, "found": self.found}


def find_lines(directory: Path | None, wanted: Sequence[LoggedLine]) -> list[Logged]:
    """The first line for each of ``wanted``, in this order. ``directory``: of the run; None: it has no logs."""
    logs = [] if directory is None or not wanted else list(_logs(directory))
    return [_find(one, [path for node, path in logs if one.node in (None, node)]) for one in wanted]


def _logs(directory: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted((directory / "logs").glob("*.log")):
        match = _LOG.fullmatch(path.name)
        if match is not None and path.is_file() and not path.is_symlink():
            yield match[1], path


def _find(wanted: LoggedLine, logs: Sequence[Path]) -> Logged:
    asked = repr(wanted.line) + (f" of {wanted.node}" if wanted.node is not None else "")
    parts = [part.encode() for part in wanted.line.split("*") if part]
    for path in logs:
        with path.open("rb") as file:
            while line := file.readline(_LONGEST):
                if _has(line, parts):
                    return Logged(asked, f"{path.name}: {line.decode('utf-8', 'replace').strip()}"[:_SHOWN])
    return Logged(asked, None)


def _has(line: bytes, parts: Sequence[bytes]) -> bool:
    """Whether a line has all parts, in this order and one behind the other."""
    at = 0
    for part in parts:
        at = line.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True
