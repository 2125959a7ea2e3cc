"""What the harness's own process logs while a run goes on: into a file of the run, not between lines of progress."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class _Fields(logging.Formatter):
    """As lines of nodes: time, level, who, event, fields."""

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        fields = getattr(record, "fields", {})
        who = getattr(record, "node", record.name)
        return f"{who} {line}" + "".join(f" {name}={str(value)!r}" for name, value in fields.items())


@contextmanager
def logged_to(path: Path) -> Iterator[None]:
    """Send all that is logged in this process to a file, which is made when there is something to say."""
    handler = logging.FileHandler(path, encoding="utf-8", delay=True)
    handler.setFormatter(_Fields("%(asctime)s %(levelname)s %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()
