"""Two clocks are read as if at once, though the process may stop running between two readings."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from highwater_chaos.backends.local.event_files import parse_line
from highwater_runtime.host.clock_pairs import how_far_ahead
from highwater_runtime.host.trace import FileSink, HostTrace
from highwater_runtime.ports.trace import NodeStarted

MS = 1_000_000


class Machine:
    """Time that passes only while clocks are read: ``stops`` are ns for which the process does not run, reading after
    reading, then none."""

    def __init__(self, *stops: int, ahead: int = 0) -> None:
        self.now = 0
        self._stops = [*stops]
        self._ahead = ahead

    def _pass(self) -> None:
        self.now += 50 + (self._stops.pop(0) if self._stops else 0)

    def monotonic_ns(self) -> int:
        self._pass()
        return self.now

    def wall_ns(self) -> int:
        self._pass()
        return self.now + self._ahead


@given(st.lists(st.integers(0, 20 * MS), max_size=12), st.integers(-(10**18), 10**18))
def test_the_true_difference_is_within_the_error(stops: list[int], ahead: int) -> None:
    machine = Machine(*stops, ahead=ahead)
    found = how_far_ahead(machine.wall_ns, of=machine.monotonic_ns)
    assert abs(found.by_ns - ahead) <= found.error_ns
    if len(stops) < 12:
        assert found.error_ns <= 20_000


def test_a_clock_that_always_takes_long_is_read_some_times_and_no_more() -> None:
    machine = Machine(*[15 * MS] * 100)
    found = how_far_ahead(machine.wall_ns, of=machine.monotonic_ns)
    assert found.error_ns >= 15 * MS
    assert machine.now < 30 * 20 * MS


def planted(first: int) -> Callable[[], int]:
    """The wall clock, which is read only after 15 ms, the first few times."""
    left = [first]

    def wall_ns() -> int:
        if left[0]:
            left[0] -= 1
            time.sleep(0.015)
        return time.time_ns()

    return wall_ns


def test_an_event_has_the_times_of_one_moment(tmp_path: Path) -> None:
    ahead = how_far_ahead(time.time_ns, of=time.monotonic_ns).by_ns
    trace = HostTrace(FileSink(tmp_path / "events.jsonl"), "broker-0", 1, planted(3))
    before = time.monotonic_ns()
    trace.emit(NodeStarted())
    trace.flush()
    one = parse_line((tmp_path / "events.jsonl").read_bytes())
    assert abs(one.node_time_ns - one.time_ns - ahead) < 3 * MS
    assert one.time_ns - before < 10 * MS, "an event happens before its times are looked up again"
