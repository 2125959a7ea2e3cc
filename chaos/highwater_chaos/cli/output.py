"""Where a command may write."""

from __future__ import annotations

import os
from pathlib import Path

from highwater_chaos.cli.exits import UsageError


def check_output(folder: Path, option: str) -> None:
    """Raise :class:`UsageError` unless ``folder`` is, or could be made, a directory to write to; makes nothing."""
    existing = folder.absolute()
    while not existing.exists():
        existing = existing.parent
    if not existing.is_dir():
        raise UsageError(
            f"{option} {folder}: expected a directory, found that {existing} is a file; choose another place"
        )
    if not os.access(existing, os.W_OK | os.X_OK):
        raise UsageError(f"{option}: no permission to write to {existing}")
