"""What is converted while a run goes on is, to the byte, what its finished files would be converted to."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from highwater_chaos.backends.local.program import Observed
from highwater_chaos.backends.local.recording import EventLog, line_of
from highwater_chaos.records.dump import Dumped, DumpedBatch, Mark, Replica
from highwater_chaos.run.recorder import Recorder, dump
from highwater_chaos.run.recorder import process as recorder_process
from highwater_chaos.run.recorder.dump import DumpFile
from highwater_chaos.run.recorder.messages import ENCODE, Begin, Done, Finish, Follow, LoadEnded
from highwater_chaos.run.recorder.process import Conversion
from highwater_chaos.workload.history import HistoryRecorder, MicroOp
from highwater_chaos.workload.history_files import HistoryWriter, MergedHistory
from highwater_pipeline.in_process import check_run, check_stored
from highwater_pipeline.partitions.recording import LARGE_TABLES, RunWriter, recorded_units
from highwater_pipeline.tables.files import BadTableError, lines_in_parts
from highwater_pipeline.tables.run_tables import about_run, open_run
from highwater_pipeline.tables.settings import STRICTEST
from highwater_runtime.ports.trace import HighWatermarkAdvanced, NodeStarted

RUN = "a run"
START_NS = 1_000
DUMP: list[Dumped] = [
    one
    for broker in range(2)
    for index in range(2)
    for replica in [Replica(broker, f"orders-{index}", "0" * 32)]
    for one in [
        DumpedBatch(replica, 0, 3, 0, -1, -1, -1, 1, [index, 10 + index, 20 + index]),
        DumpedBatch(replica, 3, 5, 0, 7, 2, 2**31 - 1, 2, None),  # compressed; the sequence wraps
        DumpedBatch(replica, 5, 9, 1, 7, 2, 4, 3, [50 + index, 80 + index], [5, 8]),  # compacted
        Mark(replica, 9, "gap", "a \u00e4 % b"),
        Mark(replica, 10, "end", start_offset=0),
    ]
]
ROWS = [line for one in DUMP for line in one.lines()]


class Files:
    """The files of a run with two processes of clients and two nodes, written as time goes on."""

    def __init__(self, folder: Path) -> None:
        self.now = 0
        self.history = [folder / "clients-0.jsonl", folder / "clients-1.jsonl"]
        self.log = EventLog(START_NS, lambda: self.now + START_NS, folder)
        self.events = [folder / f"events-{number}.jsonl" for number in range(3)]
        self.log.follow(self.events)
        self._writers = [HistoryWriter(path) for path in self.history]
        self._recorders = [HistoryRecorder(lambda: self.now, writer.add) for writer in self._writers]
        self._next = 0
        for number in range(2):
            self.event(number, NodeStarted())

    def event(self, number: int, event: Any, at: int | None = None) -> None:
        one = Observed((self.now if at is None else at) + START_NS, 0, f"broker-{number}", 1, event)
        with self.events[number].open("ab") as file:
            file.write(line_of(one) + b"\n")

    def live(self, steps: int, draw: random.Random) -> None:
        """Some records are sent and read, and nodes speak of them. The second process and node are often silent."""
        for _ in range(steps):
            self.now += draw.randrange(3)
            number = draw.choice([0, 0, 0, 1])
            recorder, writer, client = self._recorders[number], self._writers[number], f"client-{number}"
            value, partition = self._next, draw.randrange(2)
            self._next += 1
            sent = (MicroOp("send", f"orders-{partition}", None, value),)
            process = recorder.invoke(client, "send", sent)
            writer.flush()
            self.now += draw.randrange(2)
            known = (MicroOp("send", f"orders-{partition}", value // 2, value),)
            if draw.random() < 0.1:
                recorder.info(client, process, sent, "REQUEST_TIMED_OUT")
            else:
                recorder.ok(client, process, known)
            if draw.random() < 0.5:
                poll = recorder.invoke(client, "poll")
                recorder.ok(client, poll, [MicroOp("poll", f"orders-{partition}", value // 2, value)])
            writer.flush()
            hw = HighWatermarkAdvanced(partition=f"orders-{partition}", offset=value, leader_epoch=0)
            self.event(number, hw)

    def about(self, folder: Path) -> Path:
        """The rest of a run directory."""
        folder.mkdir()
        (folder / "run.json").write_bytes(msgspec.json.encode({"settings": STRICTEST}))
        (folder / "faults.jsonl").write_bytes(b"")
        return folder

    def dump(self, folder: Path) -> DumpFile:
        file = DumpFile(folder / "replica_log.arrow", RUN)
        file.write(iter(DUMP))
        return file

    def at_the_end(self, folder: Path) -> Path:
        """What the finished files come to in one go."""
        directory = self.about(folder)
        writer = RunWriter(directory)
        lines = (MergedHistory(self.history), self.log.lines(), ROWS)
        for (name, kind), table in zip(LARGE_TABLES.items(), lines, strict=True):
            for part in lines_in_parts(table, kind, RUN, name):
                writer.add(name, part)
        writer.close(about_run(directory, RUN, STRICTEST), None)
        return directory


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Files]:
    (tmp_path / "spool").mkdir()
    made = Files(tmp_path / "spool")
    yield made
    made.log.close()


def digests(directory: Path) -> dict[str, str]:
    return {
        path.relative_to(directory).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*.parquet"))
    }


def begin(directory: Path) -> Begin:
    return Begin(directory=str(directory), run_id=RUN, start_ns=START_NS, units=True, patience_ns=5)


def finish(files: Files, tmp_path: Path) -> Finish:
    dump = files.dump(tmp_path / "spool")
    about = files.about(tmp_path / "about")
    return Finish(replica_log=str(dump.path), about=str(about), settings=STRICTEST, checks=())


def follow(files: Files, new: slice) -> Follow:
    return Follow(tuple(map(str, files.history[new])), tuple(map(str, files.events[new])))


@pytest.mark.parametrize("late", [False, True])
def test_it_is_the_same_to_the_byte(files: Files, tmp_path: Path, *, late: bool) -> None:
    """Looked at in the middle, again and again; further files are named later; a node is silent, and at last late."""
    draw = random.Random(3)
    conversion = Conversion(begin(tmp_path / "now"), lambda: files.now + START_NS)
    conversion.follow(follow(files, slice(0, 1)))
    conversion.follow(follow(files, slice(1, 3)))
    converted = []
    for _ in range(20):
        files.live(20, draw)
        while conversion.go_on():
            pass
        converted.append(sum(conversion.rows.values()))
    assert all(first < second for first, second in pairwise(converted)), converted
    if late:
        files.event(2, NodeStarted(), at=files.now - 100)
        files.live(20, draw)
        while conversion.go_on():
            pass
        # It waits twice as long now.
        files.event(2, NodeStarted(), at=files.now - 8)
        while conversion.go_on():
            pass
    reports: list[None] = []
    done = conversion.finish(finish(files, tmp_path), lambda: reports.append(None))
    assert len(reports) >= 3, "the dump, and each of two partitions"
    assert done.begun_anew == int(late)
    assert late or done.left < sum(done.rows.values()) / 4, "the end of the run leaves little to be done"
    assert digests(tmp_path / "now") == digests(files.at_the_end(tmp_path / "then"))
    finished = (MergedHistory(files.history), files.log.lines(), ROWS)
    assert sum(done.rows.values()) == sum(len(list(rows)) for rows in finished)


def recorded(files: Files, tmp_path: Path, **options: Any) -> Recorder:
    recorder = Recorder(tmp_path / "spool", RUN, START_NS, units=True, **{"from_bytes": 0, **options})
    recorder.look(files.history, files.events)
    return recorder


def test_the_process_leaves_what_is_judged_as_json_lines(files: Files, tmp_path: Path) -> None:
    recorder = recorded(files, tmp_path)
    files.live(200, random.Random(5))
    directory = files.about(tmp_path / "run")
    (directory / "history").mkdir()
    try:
        # The last event comes late, and to a file that the recorder has not heard of.
        for time in (files.now, files.now - 50):
            files.log.add([Observed(time + START_NS, 0, "broker-2", 1, NodeStarted())])
        assert len(files.log.paths()) == len(files.events) + 2
        dump = files.dump(tmp_path / "spool").path
        assert recorder.finish(directory, files.history, files.log.paths(), dump, STRICTEST, ("all",))
    finally:
        recorder.close()
    then = files.at_the_end(tmp_path / "then")
    assert digests(directory) == digests(then)
    stored = recorded_units(directory, None)
    assert stored is not None
    judged = check_stored(stored)
    expected = check_run(open_run(then))
    assert msgspec.structs.replace(judged, run_id=expected.run_id) == expected
    assert judged.verdict == "fail", "half of what was sent stands at one offset with another value"


def test_little_is_not_converted(files: Files, tmp_path: Path) -> None:
    files.live(5, random.Random(5))
    size = sum(path.stat().st_size for path in (*files.history, *files.events[:2]))
    recorder = recorded(files, tmp_path, from_bytes=size + 1)
    assert not recorder.has_begun
    files.live(1, random.Random(6))
    try:
        recorder.look(files.history, files.events)
        assert recorder.has_begun
    finally:
        recorder.close()


def test_a_recorder_that_was_killed_leaves_nothing_in_the_run(files: Files, tmp_path: Path) -> None:
    """The lines are there as ever, so that nothing is lost."""
    recorder = recorded(files, tmp_path)
    assert recorder._process is not None
    os.kill(recorder._process.pid, signal.SIGKILL)
    directory = files.about(tmp_path / "run")
    assert not recorder.finish(directory, files.history, files.log.paths(), None, STRICTEST, ())
    assert sorted(path.name for path in directory.iterdir()) == ["faults.jsonl", "logs", "run.json"]
    assert "ended with status -9: JSON Lines are kept" in (directory / "logs" / "recorder.log").read_text()


def test_a_recorder_that_hangs_is_ended(files: Files, tmp_path: Path) -> None:
    recorder = recorded(files, tmp_path, silent_s=0.05)
    process = recorder._process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    directory = files.about(tmp_path / "run")
    assert not recorder.finish(directory, files.history, files.log.paths(), None, STRICTEST, ())
    assert process.returncode == -signal.SIGKILL
    assert sorted(path.name for path in directory.iterdir()) == ["faults.jsonl", "logs", "run.json"]
    (complaint,) = (directory / "logs" / "recorder.log").read_text().splitlines()
    assert complaint.startswith(f"the recorder (process {process.pid}, {tmp_path / 'spool'}): expected a report that")
    assert "found none for 0.05 s" in complaint
    assert "--tables jsonl" in complaint


def test_a_recorder_that_does_not_read_is_ended(files: Files, tmp_path: Path) -> None:
    """A pipe takes 64 KiB."""
    recorder = recorded(files, tmp_path, silent_s=0.05)
    process = recorder._process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    paths = [*files.history, *(tmp_path / f"{number:0200d}" for number in range(1000))]
    recorder.look(paths, files.events)
    assert process.returncode == -signal.SIGKILL
    recorder.look([*paths, tmp_path], files.events)
    directory = files.about(tmp_path / "run")
    assert not recorder.finish(directory, paths, files.log.paths(), None, STRICTEST, ())
    assert "expected a recorder that reads its messages, found none" in (directory / "logs/recorder.log").read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="a thread has a priority of its own on Linux alone")
def test_only_under_load_is_the_priority_low(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, harness = os.pipe()
    priorities: list[int] = []
    last = Finish(replica_log=None, about="", settings=STRICTEST, checks=())
    to_come = [LoadEnded(), last]

    class Observer:
        def __init__(self, message: Begin) -> None:
            pass

        def go_on(self) -> bool:
            priorities.append(os.getpriority(os.PRIO_PROCESS, 0))
            os.write(harness, ENCODE(to_come.pop(0)) + b"\n")
            return True

        def finish(self, message: Finish, progress: Callable[[], None]) -> Done:
            priorities.append(os.getpriority(os.PRIO_PROCESS, 0))
            return Done(0, {}, 0)

    monkeypatch.setattr(recorder_process, "Conversion", Observer)
    monkeypatch.setattr(recorder_process, "_IDLE", 0)
    os.write(harness, ENCODE(begin(tmp_path)) + b"\n")
    assert recorder_process.main(source) == 0
    os.close(source)
    os.close(harness)
    normal = os.getpriority(os.PRIO_PROCESS, 0)
    assert priorities == [min(normal + 10, 19), normal, normal]


def test_the_recorder_ends_with_its_harness(files: Files, tmp_path: Path) -> None:
    """What a harness that was killed leaves is no run."""
    recorder = recorded(files, tmp_path)
    process = recorder._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(60) == 1
    process.stdout.close()  # type: ignore[union-attr]
    with pytest.raises((BadTableError, FileNotFoundError)):
        list(open_run(tmp_path / "spool" / "tables").operations)


def test_a_dump_has_the_lines_of_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump, "_ROWS", 7)
    file = DumpFile(tmp_path / "dump.arrow", RUN)
    file.write(iter(DUMP))
    for _ in range(2):
        assert list(map(known, file)) == list(map(known, ROWS))


def known(line: bytes) -> dict[str, Any]:
    """A row without nulls: Arrow does not keep which ones were written."""
    return {name: value for name, value in msgspec.json.decode(line).items() if value is not None}
