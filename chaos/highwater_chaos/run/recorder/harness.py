"""The harness's side of the recorder: start it, give it the run's files, and move its tables into the run directory."""

from __future__ import annotations

import logging
import os
import select
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from highwater_chaos.machine.kernel.own_program import own_program
from highwater_chaos.run.recorder.messages import (
    DECODE_ANSWER,
    ENCODE,
    Begin,
    Done,
    Finish,
    Follow,
    LoadEnded,
    Message,
)
from highwater_pipeline.tables.settings import Settings

_log = logging.getLogger(__name__)

FROM_BYTES: Final = 64 << 20
"""A run with at least this many bytes of lines has Parquet tables, unless ``--tables`` says otherwise. Smaller runs are
judged within seconds from JSON Lines, which every tool reads."""
_PATIENCE_NS: Final = 5_000_000_000
_LOG: Final = "recorder.log"
SILENT_S: Final = 300.0
"""Seconds in which a recorder that works reports another part: a part takes seconds of processor time, and the machine
may be busy."""


class Recorder:
    """Converts one run's files while it goes on, from the time when they have ``from_bytes``.

    Args:
        spool: a directory for what it writes.
        run_id: of all rows.
        start_ns: when run time began, by CLOCK_MONOTONIC.
        units: whether to split the run by partition.
        silent_s: seconds after which a recorder that reports nothing, or does not read what it is told, is ended.
    """

    def __init__(
        self,
        spool: Path,
        run_id: str,
        start_ns: int,
        *,
        units: bool,
        from_bytes: int = FROM_BYTES,
        silent_s: float = SILENT_S,
    ) -> None:
        self._begin: Final = Begin(
            directory=str(spool / "tables"), run_id=run_id, start_ns=start_ns, units=units, patience_ns=_PATIENCE_NS
        )
        self._spool: Final = spool
        self._from_bytes: Final = from_bytes
        self._process: subprocess.Popen[bytes] | None = None
        self._followed = [0, 0]
        self._silent_s: Final = silent_s
        self._hung = ""
        """What it did not do in time, if it was ended for that."""
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

    def load_ended(self) -> None:
        """Let it work with normal priority: clients have ended."""
        if self._process is not None:
            self._tell(LoadEnded())

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

        ``history``, ``events``: as for :meth:`look`, all there are. False: the recorder has failed or hangs, which is
        logged, also to the run's ``logs/recorder.log``; the lines are there as ever.
        """
        assert self._process is not None
        self.look(history, events)
        dump = None if replica_log is None else str(replica_log)
        self._tell(Finish(replica_log=dump, about=str(directory), settings=settings, checks=checks))
        self.done = self._answer()
        self.close()
        log = (self._spool / _LOG).read_bytes()
        if self.done is None:
            complaint = self._hung or f"the recorder ended with status {self._process.returncode}: JSON Lines are kept"
            _log.warning("%s", complaint)
            log += complaint.encode() + b"\n"
        if log:
            (directory / "logs").mkdir(exist_ok=True)
            (directory / "logs" / _LOG).write_bytes(log)
        if self.done is None:
            return False
        written = Path(self._begin.directory)
        for file in sorted(path for path in written.rglob("*") if path.is_file()):
            target = directory / file.relative_to(written)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(file, target)
        _log.info("recorded %s rows, %d of them at the end", self.done.rows, self.done.left)
        return True

    def close(self) -> None:
        """End the process. Idempotent."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()

    def _start(self) -> subprocess.Popen[bytes]:
        with (self._spool / _LOG).open("wb") as log:
            return subprocess.Popen(  # noqa: S603
                own_program("highwater_chaos.run.recorder.process"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,
                start_new_session=True,  # Ctrl-C ends a run early, and what it recorded is kept
            )

    def _tell(self, message: Message) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        if self._hung:
            return
        pipe, left = self._process.stdin.fileno(), ENCODE(message) + b"\n"
        os.set_blocking(pipe, False)
        while left:
            if not self._is_ready(pipe, select.POLLOUT):
                self._give_up("a recorder that reads its messages")
                return
            try:
                left = left[os.write(pipe, left) :]
            except BrokenPipeError:  # its exit status says that it has failed
                return

    def _answer(self) -> Done | None:
        """The last answer to :class:`Finish`; None: the recorder has failed. It has ended then, and after the last."""
        assert self._process is not None
        assert self._process.stdout is not None
        if self._hung:
            return None
        pipe, partial, done = self._process.stdout.fileno(), b"", None
        while True:
            if not self._is_ready(pipe, select.POLLIN):
                self._give_up("a report that another part of the tables is written")
                return None
            if not (data := os.read(pipe, 1 << 16)):
                break
            *lines, partial = (partial + data).split(b"\n")
            for answer in map(DECODE_ANSWER, lines):
                done = answer if isinstance(answer, Done) else None
        try:
            return done if self._process.wait(self._silent_s) == 0 else None
        except subprocess.TimeoutExpired:
            self._give_up("its end")
            return None

    def _is_ready(self, pipe: int, event: int) -> bool:
        """Whether something happens at a pipe before the recorder has been silent for too long."""
        poll = select.poll()
        poll.register(pipe, event)
        return bool(poll.poll(1000 * self._silent_s))

    def _give_up(self, expected: str) -> None:
        """End the process, which hangs, and say so."""
        assert self._process is not None
        self._hung = (
            f"the recorder (process {self._process.pid}, {self._spool}): expected {expected}, found none for"
            f" {self._silent_s:g} s; it was ended, and JSON Lines are kept; if the machine or its disk was not stopped"
            " for that long, please report it; --tables jsonl runs without a recorder"
        )
        self.close()
