"""A campaign's directory in an object store: a local directory during the campaign, and a copy in the store.

An object store cannot append. So the copy of the journal has pieces, ``journal/00000001.jsonl`` and so on, each written
at once. If the driver is killed, at most :data:`PIECE` outcomes are not yet copied; ``--resume`` runs their seeds
again. All other files are copied when the campaign ends.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from highwater_chaos.base.scratch import ScratchDirectory
from highwater_chaos.campaign.store import JOURNAL, PLAN, BadCampaignError
from highwater_pipeline.tables.remote import RemotePath

PIECE: Final = 20
SECONDS: Final = 5.0
_PIECES: Final = "journal"


class Copy:
    """What is copied to ``there`` of a campaign whose directory is ``here``."""

    def __init__(self, here: Path, there: RemotePath) -> None:
        self.here, self.there = here, there
        self._pieces = 0
        self._lines: list[bytes] = []
        self._last = time.monotonic()

    def begin(self, *, resume: bool) -> None:
        """Look whether there is room for a campaign; with ``resume`` bring what is known of it.

        Raises:
            BadCampaignError: there is something else.
            OSError: the store cannot be asked.
        """
        self.there.look_up()
        if not resume:
            if self.there.exists():
                raise BadCampaignError(f"--out {self.there}: expected nothing there; choose another, or add --resume")
            return
        plan = self.there / PLAN
        if not plan.is_file():
            raise BadCampaignError(f"--resume: {plan}: expected the plan of a campaign; found none")
        (self.here / PLAN).write_bytes(plan.read_bytes())
        pieces = list((self.there / _PIECES).iterdir()) if (self.there / _PIECES).exists() else []
        with (self.here / JOURNAL).open("wb") as journal:
            for piece in pieces:
                journal.write(piece.read_bytes())
        numbers = [int(piece.stem) for piece in pieces if piece.stem.isdecimal()]
        self._pieces = max(numbers, default=0)

    def copy_plan(self) -> None:
        """Say there which campaign it is."""
        (self.there / PLAN).write_bytes((self.here / PLAN).read_bytes())

    def add(self, line: bytes) -> None:
        """A line was added to the journal."""
        self._lines.append(line)
        if len(self._lines) >= PIECE or time.monotonic() - self._last >= SECONDS:
            self.flush()

    def flush(self) -> None:
        """Copy what was added since the last time."""
        if self._lines:
            self._pieces += 1
            (self.there / _PIECES / f"{self._pieces:08d}.jsonl").write_bytes(b"".join(self._lines))
            self._lines.clear()
        self._last = time.monotonic()

    def finish(self) -> None:
        """Copy all but the journal, whose pieces are there."""
        self.flush()
        for file in sorted(self.here.rglob("*")):
            if file.is_file() and file.name != JOURNAL:
                (self.there / file.relative_to(self.here).as_posix()).write_bytes(file.read_bytes())


@contextmanager
def copied_to(there: RemotePath, *, resume: bool) -> Iterator[Copy]:
    """A directory here for a campaign that is kept ``there``; it is gone when the block ends.

    Raises:
        BadCampaignError: there is something else.
        OSError: the store cannot be asked.
    """
    with ScratchDirectory("campaign") as folder:
        copy = Copy(Path(folder) / there.name, there)
        copy.here.mkdir()
        copy.begin(resume=resume)
        yield copy
