"""Events of several files: every cause before its effect, nothing torn, nothing twice."""

from __future__ import annotations

import gc
import time
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_files import parse_jsonl

from highwater_chaos.backends.local import event_files
from highwater_chaos.backends.local.event_files import EventFiles, parse_line
from highwater_chaos.backends.local.program import Observed
from highwater_chaos.backends.local.recording import EventLog, line_of
from highwater_chaos.base import lines
from highwater_pipeline.tables.rows import NODE_EVENT_ROWS
from highwater_runtime.host.files.trace import FileSink, HostTrace
from highwater_runtime.ports.trace import (
    BrokerStateChanged,
    HighWatermarkAdvanced,
    LogAppended,
    NodeEvent,
    NodeStarted,
    NodeStopped,
)


def line(time_ns: int, node: str, incarnation: int = 1) -> bytes:
    return b'{"time_ns":%d,"node_time_ns":5,"node":"%b","incarnation":%d,"kind":"node-started"}\n' % (
        time_ns,
        node.encode(),
        incarnation,
    )


@pytest.fixture
def files(tmp_path: Path) -> tuple[EventFiles, dict[str, Path]]:
    paths = {name: tmp_path / f"{name}.jsonl" for name in ("broker-0", "broker-1")}
    return EventFiles(paths), paths


def test_lines_are_what_nodes_write(tmp_path: Path) -> None:
    trace = HostTrace(FileSink(tmp_path / "events.jsonl"), "broker-0", 3, time.time_ns)
    event = HighWatermarkAdvanced(partition="orders-0", leader_epoch=2, offset=17)
    trace.emit(event)
    trace.flush()
    seen = parse_line((tmp_path / "events.jsonl").read_bytes())
    assert (seen.node, seen.incarnation, seen.event) == ("broker-0", 3, event)
    assert abs(seen.time_ns - time.monotonic_ns()) < 60 * 10**9


def test_events_of_one_turn_have_one_time(tmp_path: Path) -> None:
    trace = HostTrace(FileSink(tmp_path / "events.jsonl"), "broker-0", 1, time.time_ns)
    for _ in range(2):
        trace.emit(NodeStarted())
        trace.emit(NodeStopped(reason="stop"))
        trace.flush()
    times = [parse_line(one).time_ns for one in (tmp_path / "events.jsonl").read_bytes().splitlines()]
    assert times[0] == times[1] < times[2] == times[3]


def test_files_come_up_later(files: tuple[EventFiles, dict[str, Path]]) -> None:
    events, paths = files
    assert events.poll() == []
    paths["broker-1"].write_bytes(line(1, "broker-1"))
    assert [event.node for event in events.poll()] == ["broker-1"]
    assert events.poll() == []


def test_what_happens_while_it_reads_waits_for_the_next_time(files: tuple[EventFiles, dict[str, Path]]) -> None:
    """The effect is in the second file; its cause may come into the first one after that was read."""
    events, paths = files
    later = time.monotonic_ns() + 200_000_000
    paths["broker-1"].write_bytes(line(later, "broker-1"))
    assert events.poll() == []
    paths["broker-0"].write_bytes(line(later - 1, "broker-0"))
    while time.monotonic_ns() <= later:
        time.sleep(0.01)
    assert [event.node for event in events.poll()] == ["broker-0", "broker-1"]


def test_half_a_line_waits_for_its_end(files: tuple[EventFiles, dict[str, Path]]) -> None:
    events, paths = files
    whole = line(1, "broker-0")
    paths["broker-0"].write_bytes(whole[:20])
    assert events.poll() == []
    with paths["broker-0"].open("ab") as file:
        file.write(whole[20:])
    assert len(events.poll()) == 1
    assert events.notes() == ()


def test_a_line_torn_by_the_end_of_its_writer_is_no_event(files: tuple[EventFiles, dict[str, Path]]) -> None:
    events, paths = files
    paths["broker-0"].write_bytes(line(1, "broker-0") + line(2, "broker-0")[:30])
    events.starting("broker-0", 2, 0)
    with paths["broker-0"].open("ab") as file:
        file.write(line(3, "broker-0", 2))
    assert [(event.time_ns, event.incarnation) for event in events.poll()] == [(1, 1), (3, 2)]
    assert events.notes() == ()


def test_a_line_that_is_none_is_told(files: tuple[EventFiles, dict[str, Path]]) -> None:
    events, paths = files
    paths["broker-0"].write_bytes(b'{"time_ns":1}\n')
    assert events.poll() == []
    assert len(events.notes()) == 1


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 50), st.sampled_from(["broker-0", "broker-1"])), max_size=30))
def test_the_recording_is_by_time_and_as_the_pipeline_wants_it(drawn: list[tuple[int, str]]) -> None:
    log = EventLog(start_ns=1000)
    event = BrokerStateChanged(broker=1, broker_epoch=2, reason="running")
    for time_ns, node in drawn:
        log.add([Observed(1000 + time_ns, 5, node, 1, event)])
    assert [timed.seq for timed in log.since(0)] == list(range(len(drawn)))
    lines = b"".join(one + b"\n" for one in log.lines())
    table = parse_jsonl(lines, NODE_EVENT_ROWS, "run", "events")
    assert table["time_ns"].to_pylist() == sorted(time_ns for time_ns, _ in drawn)
    assert [timed.time_ns for timed in log.by_time(parse_line, [b"broker-"])] == table["time_ns"].to_pylist()
    assert list(log.by_time(parse_line, [b"raft-"])) == []


def bulk(time_ns: int, node: str, event: NodeEvent) -> bytes:
    return line_of(Observed(time_ns, 5, node, 1, event)) + b"\n"


def appended(offset: int) -> NodeEvent:
    return LogAppended(partition="orders-0", leader_epoch=0, offset=offset, end_offset=offset + 1, reason="leader")


def high_watermark(partition: str, offset: int) -> NodeEvent:
    return HighWatermarkAdvanced(partition=partition, leader_epoch=0, offset=offset)


def test_of_kinds_that_come_with_every_record_the_last_is_handed_over(
    files: tuple[EventFiles, dict[str, Path]],
) -> None:
    events, paths = files
    written = [
        bulk(1, "broker-0", appended(0)),
        bulk(2, "broker-0", high_watermark("orders-0", 1)),
        bulk(3, "broker-0", high_watermark("orders-1", 7)),
        bulk(4, "broker-0", NodeStarted()),
        bulk(5, "broker-0", appended(1)),
        bulk(6, "broker-0", high_watermark("orders-0", 2)),
    ]
    paths["broker-0"].write_bytes(b"".join(written))
    assert [(one.time_ns, one.event) for one in events.poll()] == [
        (3, high_watermark("orders-1", 7)),
        (4, NodeStarted()),
        (5, appended(1)),
        (6, high_watermark("orders-0", 2)),
    ]
    log = EventLog()
    log.follow(events.records)
    assert [one for one in log.lines() if b'"log-appended"' in one] == [
        b'{"seq":%d%b' % (seq, written[seq][:-1].replace(b'{"time_ns"', b',"time_ns"')) for seq in (0, 4)
    ], "the recording has them all"


def test_a_log_that_records_what_it_is_shown_hands_over_the_last_too() -> None:
    log = EventLog()
    log.add([Observed(time, 5, "broker-0", 1, appended(time)) for time in range(100)])
    assert [timed.event for timed in log.since(0)] == [appended(99)]
    assert sum(1 for _ in log.lines()) == 100


def test_what_has_been_looked_at_is_forgotten() -> None:
    log = EventLog()
    log.add([Observed(time, 5, "broker-0", 1, NodeStarted()) for time in range(10)])
    assert [timed.seq for timed in log.since(4)] == [4, 5, 6, 7, 8, 9]
    log.add([Observed(10, 5, "broker-0", 1, NodeStarted())])
    assert [timed.seq for timed in log.since(0)] == [4, 5, 6, 7, 8, 9, 10]


def kept_and_peak(directory: Path, rounds: int) -> tuple[int, int]:
    """Bytes that are kept, and that are in use at most, where everything is read along and looked at, as a run does.
    Files are read in parts so small that few events fill many."""
    event_files._CHUNK = lines._CHUNK = 4096
    paths = {name: directory / f"{rounds}-{name}.jsonl" for name in ("broker-0", "broker-1", "broker-2")}
    events, seq, base = EventFiles(paths), 0, time.monotonic_ns()
    log = EventLog(base)
    log.follow(events.records)
    tracemalloc.start()
    try:
        for number in range(rounds):
            for name, path in paths.items():
                with path.open("ab") as file:
                    for event in (appended(number), high_watermark("orders-0", number + 1), NodeStarted()):
                        file.write(bulk(base + number, name, event) * 2)
            log.show(events.poll())
            for timed in log.since(seq):
                seq = timed.seq + 1
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0]
        assert sum(1 for _ in log.lines()) == rounds * 18
        return kept, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        events.close()


def test_memory_does_not_depend_on_how_much_nodes_say(tmp_path: Path) -> None:
    """A quarter of the events, and all of them, in a process of their own: threads of other tests allocate too."""
    # A client of librdkafka that another test left must not be destroyed in a process without its threads.
    with ProcessPoolExecutor(1, get_context("fork"), initializer=gc.freeze) as process:
        process.submit(kept_and_peak, tmp_path, 1).result()  # what is made once only
        few_kept, few_peak = process.submit(kept_and_peak, tmp_path, 100).result()
        kept, peak = process.submit(kept_and_peak, tmp_path, 400).result()
    assert kept < few_kept + 8 * 900, "less than a pointer for each turn of each node"
    assert peak < few_peak + 8 * 900
