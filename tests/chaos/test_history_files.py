"""The histories of several processes as one."""

from __future__ import annotations

import tracemalloc

import msgspec
from table_files import parse_jsonl

from highwater_chaos.workload.history import HistoryRecorder, MicroOp, Operation
from highwater_chaos.workload.history_files import HistoryWriter, MergedHistory
from highwater_pipeline.tables.micro_operations import micro_operations
from highwater_pipeline.tables.rows import OPERATION_ROWS


def recorded(path, times, client):
    """A file of sends, each acknowledged one nanosecond after it began."""
    now = [0]
    writer = HistoryWriter(path)
    recorder = HistoryRecorder(lambda: now[0], writer.add)
    for value, time in enumerate(times):
        sent = (MicroOp("send", "orders-0", None, value),)
        now[0] = time
        process = recorder.invoke(client, "send", sent)
        now[0] = time + 1
        recorder.ok(client, process, sent)
        writer.flush()
    writer.close()
    return recorder


def test_they_are_one_by_time_and_processes_do_not_meet(tmp_path):
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    recorded(paths[0], [10, 30], "producer-0")
    recorded(paths[1], [10, 20], "producer-1")
    rows = [msgspec.json.decode(line, type=Operation) for line in MergedHistory(paths)]
    assert [(row.index, row.time, row.client, row.type, row.process) for row in rows] == [
        (0, 10, "producer-0", "invoke", 0),
        (1, 10, "producer-1", "invoke", 2),
        (2, 11, "producer-0", "ok", 0),
        (3, 11, "producer-1", "ok", 2),
        (4, 20, "producer-1", "invoke", 2),
        (5, 21, "producer-1", "ok", 2),
        (6, 30, "producer-0", "invoke", 0),
        (7, 31, "producer-0", "ok", 0),
    ]


def test_the_pipeline_reads_them(tmp_path):
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    recorded(paths[0], range(0, 100, 7), "producer-0")
    recorded(paths[1], range(0, 100, 9), "producer-1")
    data = b"".join(line + b"\n" for line in MergedHistory(paths))
    history = micro_operations(parse_jsonl(data, OPERATION_ROWS, "run", "operations"))
    assert history.acknowledged == history.operations == 15 + 12


def test_a_recorder_that_writes_keeps_nothing(tmp_path):
    recorder = recorded(tmp_path / "a.jsonl", range(0, 200, 2), "producer-0")
    assert (recorder.operations, recorder.offered, recorder.acknowledged) == ([], 100, 100)


def test_memory_of_merging_does_not_depend_on_how_much_there_is(tmp_path, monkeypatch):
    monkeypatch.setattr("highwater_chaos.base.lines._CHUNK", 4096)  # so small that few operations fill many parts

    def peak(count):
        paths = [tmp_path / f"{count}-{number}.jsonl" for number in range(3)]
        for number, path in enumerate(paths):
            recorded(path, range(number, 3 * count, 3), f"producer-{number}")
        tracemalloc.start()
        try:
            assert sum(1 for _ in MergedHistory(paths)) == 6 * count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few = peak(500)
    assert peak(2_000) < 1.1 * few
