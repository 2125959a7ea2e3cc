"""Events of several files: every cause before its effect, nothing torn, nothing twice."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_chaos.backends.local.event_files import EventFiles, parse_line
from highwater_chaos.backends.local.program import Observed
from highwater_chaos.backends.local.recording import EventLog
from highwater_pipeline.files import parse_jsonl
from highwater_pipeline.rows import NODE_EVENT_ROWS
from highwater_runtime.host.trace import FileSink, HostTrace
from highwater_runtime.ports.trace import BrokerStateChanged, HighWatermarkAdvanced, NodeStarted, NodeStopped


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


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 50), st.sampled_from(["broker-0", "broker-1"])), max_size=30))
def test_the_recording_is_by_time_and_as_the_pipeline_wants_it(drawn: list[tuple[int, str]]) -> None:
    log = EventLog(start_ns=1000)
    event = BrokerStateChanged(broker=1, broker_epoch=2, reason="running")
    for time_ns, node in drawn:
        log.add([Observed(1000 + time_ns, 5, node, 1, event)])
    assert [timed.seq for timed in log.events] == list(range(len(drawn)))
    lines = b"".join(one + b"\n" for one in log.lines())
    table = parse_jsonl(lines, NODE_EVENT_ROWS, "run", "events")
    assert table["time_ns"].to_pylist() == sorted(time_ns for time_ns, _ in drawn)
    assert [timed.time_ns for timed in log.by_time()] == table["time_ns"].to_pylist()
