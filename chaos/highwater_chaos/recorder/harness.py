"""The harness's side of the recorder: start it, give it the run's files, and move its tables into the run directory."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from highwater_chaos.recorder.messages import ENCODE, Begin, Done, Finish, Follow
from highwater_pipeline.settings import Settings

_log = logging.getLogger(__name__)

FROM_BYTES: Final = 64 << 20
"""A run with at least this many bytes of lines has Parquet tables, unless ``--tables`` says otherwise. Smaller runs are
judged within seconds from JSON Lines, which every tool reads."""
_PATIENCE_NS: Final = 5_000_000_000
_LOG: Final = "recorder.log"


class Recorder:
    """Converts one run's files while it goes on, from the time when they have ``from_bytes``.

    Args:
        spool: a directory for what it writes.
        run_id: of all rows.
        start_ns: when run time began, by CLOCK_MONOTONIC.
        units: whether to split the run by partition.
    """

    def __init__(self, spool: Path, run_id: str, start_ns: int, *, units: bool, from_bytes: int = FROM_BYTES) -> None:
        self._begin: Final = Begin(
            directory=str(spool / "tables"), run_id=run_id, start_ns=start_ns, units=units, patience_ns=_PATIENCE_NS
        )
        self._spool: Final = spool
        self._from_bytes: Final = from_bytes
        self._process: subprocess.Popen[bytes] | None = None
        self._followed = [0, 0]
        self.done: Done | None = None

    @property
    def has_begun(self) -> bool:
        """Whether there is enough to convert."""
        return self._process is not None

    def look(self, history: Sequence[Path], events: Sequence[Path]) -> None:
        """Take note of the run's files, all of them so far. Called now and then."""
        if self._process is None:
            files = [path for path in (*history, *events) if path.exists()]
            if not files or sum(path.stat().st_size for path in files) < self._from_bytes:
                return
            self._process = self._start()
            self._tell(self._begin)
        new = (history[self._followed[0] :], events[self._followed[1] :])
        if new != ([], []) and any(new):
            self._tell(Follow(*(tuple(map(str, paths)) for paths in new)))
            self._followed = [len(history), len(events)]

    def finish(
        self,
        directory: Path,
        history: Sequence[Path],
        events: Sequence[Path],
        replica_log: Path | None,
        settings: Settings,
        checks: tuple[str, ...],
    ) -> bool:
        """Move the tables into a run directory that has all else already, when they are whole; all files are complete.

        ``history``, ``events``: as for :meth:`look`, all there are. False: the recorder has failed, which is logged;
        the lines are there as ever.
        """
        assert self._process is not None
        self.look(history, events)
        dump = None if replica_log is None else str(replica_log)
        self._tell(Finish(replica_log=dump, about=str(directory), settings=settings, checks=checks))
        answer, _ = self._process.communicate()
        if said := (self._spool / _LOG).read_bytes():
            (directory / "logs").mkdir(exist_ok=True)
            (directory / "logs" / _LOG).write_bytes(said)
        if self._process.returncode != 0:
            _log.warning("the recorder ended with status %d: JSON Lines are kept", self._process.returncode)
            return False
        self.done = msgspec.json.decode(answer, type=Done)
        written = Path(self._begin.directory)
        for file in sorted(path for path in written.rglob("*") if path.is_file()):
            target = directory / file.relative_to(written)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(file, target)
        _log.info("recorded %s rows, %d of them at the end", self.done.rows, self.done.left)
        return True

    def close(self) -> None:
        """End the process. Idempotent."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.communicate()

    def _start(self) -> subprocess.Popen[bytes]:
        with (self._spool / _LOG).open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "highwater_chaos.recorder.process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C ends a run early, and what it recorded is kept
            )

    def _tell(self, message: Begin | Follow | Finish) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(ENCODE(message) + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:  # its exit status says that it has failed
            pass
