"""How connections with many requests share the time of an event loop: one slice for all of them, then the line."""

from __future__ import annotations

from highwater_runtime.host.net import fairness
from highwater_runtime.host.net.fairness import SLICE_NS, TurnLine


class Loop:
    def __init__(self):
        self.soon = []

    def call_soon(self, callback):
        self.soon.append(callback)


def test_a_slice_lasts_over_several_reads_and_a_pass_is_due_only_when_it_is_used_up(monkeypatch):
    now = 0
    monkeypatch.setattr(fairness, "perf_counter_ns", lambda: now)
    line = TurnLine(loop := Loop())

    def read(takes_ns):
        """Returns how long the connection may handle requests."""
        nonlocal now
        line.begin()
        allowed = line.until_ns - now
        now += takes_ns
        line.end()
        return allowed

    quarter = SLICE_NS // 4
    assert [read(quarter) for _ in range(3)] == [SLICE_NS, 3 * quarter, 2 * quarter]
    assert loop.soon == [], "a read costs no callback of the loop"
    assert read(quarter) == quarter
    assert read(quarter) == 0, "one request, until the next pass"
    (next_pass,) = loop.soon
    next_pass()
    assert read(quarter) == SLICE_NS
    assert len(loop.soon) == 1
    read(2 * quarter)
    now += quarter
    assert read(quarter) == 2 * quarter, "the loop did something else meanwhile"
