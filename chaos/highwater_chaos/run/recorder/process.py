"""``python -m highwater_chaos.run.recorder.process``: the recorder. See :mod:`highwater_chaos.run.recorder`."""

from __future__ import annotations

import logging
import os
import select
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pyarrow as pa

from highwater_chaos.backends.local.recording import numbered
from highwater_chaos.backends.local.recording import time_of as time_of_event
from highwater_chaos.run.recorder.follow import LateLineError, Merge
from highwater_chaos.run.recorder.messages import (
    DECODE,
    ENCODE,
    Answer,
    Begin,
    Done,
    Finish,
    Follow,
    LoadEnded,
    Progress,
)
from highwater_chaos.workload.history_files import renumbered
from highwater_chaos.workload.history_files import time_of as time_of_operation
from highwater_pipeline.partitions.recording import RunWriter
from highwater_pipeline.tables.files import LinesReader
from highwater_pipeline.tables.recordings import NODE_EVENTS_FILE, OPERATIONS_FILE, REPLICA_LOG_FILE
from highwater_pipeline.tables.rows import NODE_EVENT_ROWS, OPERATION_ROWS
from highwater_pipeline.tables.run_tables import about_run

_log = logging.getLogger(__name__)

_IDLE: Final = 0.5
"""Seconds between two looks at files that have nothing new."""
_NICE: Final = 10
"""Under load the run has priority; converting may be late."""


class Conversion:
    """Converts a run's files. It starts again from the beginning if a line came late.

    Args:
        begin: the run, and the directory for its tables.
        clock: CLOCK_MONOTONIC.
    """

    def __init__(self, begin: Begin, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._begin: Final = begin
        self._clock: Final = clock
        self._patience = begin.patience_ns
        self._files: list[tuple[Path, ...]] = [(), ()]
        self.begun_anew = 0
        self._start(ended=False)

    def follow(self, message: Follow) -> None:
        for at, (merge, paths) in enumerate(zip(self._merges, (message.history, message.events), strict=True)):
            for path in map(Path, paths):
                self._files[at] += (path,)
                merge.add(path)

    def go_on(self) -> bool:
        """Convert some more; returns whether there is more right now. Raises ``BadTableError``, ``OSError``."""
        settled = self._clock() - self._patience  # before the files are read
        try:
            return self._convert((settled - self._begin.start_ns, settled))
        except LateLineError as late:
            self._patience *= 2
            self._begin_anew(late)
            return True

    def finish(self, message: Finish, progress: Callable[[], None]) -> Done:
        """Convert all the rest, and end the tables; ``progress`` is called after each part. Raises ``BadTableError``,
        ``OSError``."""
        before = sum(self.rows.values())
        try:
            while self._convert((None, None)):
                progress()
        except LateLineError as late:
            before = 0
            self._begin_anew(late, ended=True)
            while self._convert((None, None)):
                progress()
        left = sum(self.rows.values()) - before
        if message.replica_log is not None:
            for part in arrow_parts(Path(message.replica_log)):
                self._add(REPLICA_LOG_FILE, part)
                progress()
        run = about_run(Path(message.about), self._begin.run_id, message.settings)
        self._writer.close(run, message.checks, progress=progress)
        return Done(self.begun_anew, self.rows, left)

    def _begin_anew(self, late: LateLineError, *, ended: bool = False) -> None:
        _log.warning("beginning anew: %s", late)
        self.begun_anew += 1
        self._start(ended=ended)

    def _start(self, *, ended: bool) -> None:
        self.rows: dict[str, int] = {OPERATIONS_FILE: 0, NODE_EVENTS_FILE: 0, REPLICA_LOG_FILE: 0}
        self._writer = RunWriter(Path(self._begin.directory), units=self._begin.units)
        self._readers = (
            LinesReader(OPERATION_ROWS, self._begin.run_id, OPERATIONS_FILE),
            LinesReader(NODE_EVENT_ROWS, self._begin.run_id, NODE_EVENTS_FILE),
        )
        self._merges = (Merge(time_of_operation, ended=ended), Merge(time_of_event, ended=ended))
        for merge, paths in zip(self._merges, self._files, strict=True):
            for path in paths:
                merge.add(path)

    def _convert(self, settled: Sequence[int | None]) -> bool:
        history, events = self._merges
        taken, more = history.take(settled[0])
        first = self.rows[OPERATIONS_FILE]
        lines = [renumbered(line, index, number) for index, (_, number, line) in enumerate(taken, first)]
        self._add(OPERATIONS_FILE, self._readers[0].read(lines))
        taken, more_events = events.take(settled[1])
        first = self.rows[NODE_EVENTS_FILE]
        lines = [numbered(line, seq, self._begin.start_ns) for seq, (_, _, line) in enumerate(taken, first)]
        self._add(NODE_EVENTS_FILE, self._readers[1].read(lines))
        return more or more_events

    def _add(self, table: str, part: pa.Table) -> None:
        if part.num_rows:
            self.rows[table] += part.num_rows
            self._writer.add(table, part)


def arrow_parts(path: Path) -> Iterator[pa.Table]:
    """The parts of a table that was written as an Arrow stream."""
    with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as reader:
        for batch in reader:
            yield pa.Table.from_batches([batch])


def main(source: int = 0) -> int:
    """Convert what stdin names; the last line of stdout says what was written. Exit status 1: the harness has ended."""
    logging.basicConfig(format="%(message)s")
    conversion: Conversion | None = None
    partial, more, under_load = b"", False, True
    # A process without privileges cannot raise its priority again, but on Linux each thread has its own.
    behind_load = ThreadPoolExecutor(1, initializer=lambda: os.nice(_NICE))
    while True:
        ready, _, _ = select.select([source], [], [], 0 if more else _IDLE)
        if not ready:
            if conversion is not None:
                more = behind_load.submit(conversion.go_on).result() if under_load else conversion.go_on()
            continue
        data = os.read(source, 1 << 16)
        if not data:
            os._exit(1)  # or the tables would be closed, and look whole
        *lines, partial = (partial + data).split(b"\n")
        for message in map(DECODE, lines):
            match message:
                case Begin():
                    conversion = Conversion(message)
                case Follow() if conversion is not None:
                    conversion.follow(message)
                case LoadEnded():
                    under_load = False
                case Finish() if conversion is not None:
                    _answer(conversion.finish(message, lambda: _answer(Progress())))
                    return 0


def _answer(answer: Answer) -> None:
    sys.stdout.buffer.write(ENCODE(answer) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
