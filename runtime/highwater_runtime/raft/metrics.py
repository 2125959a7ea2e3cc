"""The quorum's gauges, under the names that Kafka's JMX exporter rules give them.

Rates and the average are over the last 30 to 60 seconds, as Kafka's sampled sensors are. They fall as time goes by even
if nothing happens: :meth:`RaftMetrics.refresh` brings them up to date before they are read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from highwater_runtime.ports import Metrics
from highwater_runtime.ports.clock import MS, SECOND
from highwater_runtime.raft.metadata_log import MetadataLog
from highwater_runtime.raft.quorum import Quorum
from highwater_runtime.raft.states import Leader

_PREFIX: Final = "kafka_server_raftmetrics_"
_WINDOW_NS: Final = 30 * SECOND
_MOST_WAITING: Final = 1000
"""Appends whose commit is waited for at once; of more, as on a leader without its quorum, the latest are not timed."""


class Windows:
    """What was recorded in this window of 30 s and in the one before it: a sum, and how many values it is of."""

    __slots__ = ("_before", "_begin_ns", "_now")

    def __init__(self, now_ns: int) -> None:
        self._begin_ns = now_ns
        self._now = (0, 0)
        self._before = (0, 0)

    def record(self, amount: int, now_ns: int) -> None:
        self._roll(now_ns)
        total, count = self._now
        self._now = (total + amount, count + 1)

    def rate(self, now_ns: int) -> float:
        """The sum per second, over the window before this one and what has passed of this one."""
        self._roll(now_ns)
        return (self._before[0] + self._now[0]) * SECOND / (_WINDOW_NS + now_ns - self._begin_ns)

    def average(self, now_ns: int) -> float:
        """The mean of the values; 0 if there are none."""
        self._roll(now_ns)
        count = self._before[1] + self._now[1]
        return (self._before[0] + self._now[0]) / count if count else 0.0

    def _roll(self, now_ns: int) -> None:
        passed = (now_ns - self._begin_ns) // _WINDOW_NS
        if passed > 0:
            self._before = self._now if passed == 1 else (0, 0)
            self._now = (0, 0)
            self._begin_ns += passed * _WINDOW_NS


class RaftMetrics:
    """Sets the gauges that have changed. ``current_state`` is a series of value 1 whose label names the state."""

    def __init__(self, metrics: Metrics, now_ns: Callable[[], int]) -> None:
        self._metrics = metrics
        self._now_ns = now_ns
        now = now_ns()
        self._appended, self._fetched, self._latency = Windows(now), Windows(now), Windows(now)
        self._uncommitted: deque[tuple[int, int]] = deque()
        """Ends of what this leader appended, and when; in order."""
        self._end: int | None = None
        self._state = ""
        self._set: dict[str, float] = {}
        self._reported: tuple[object, object, int, int] | None = None
        self.refresh()

    def report(self, quorum: Quorum, log: MetadataLog, high_watermark: int) -> None:
        """Bring the gauges up to date. Called after every event, and most change nothing."""
        reported = (quorum.state, quorum.saved, high_watermark, log.end_offset)
        if reported == self._reported:
            return
        self._reported = reported
        state = quorum.state.NAME
        if state != self._state:
            if self._state:
                self._metrics.forget(f"{_PREFIX}current_state", current_state=self._state)
            self._metrics.gauge(f"{_PREFIX}current_state", 1, current_state=state)
            self._state = state
        self._gauge("current_leader", -1 if quorum.leader_id is None else quorum.leader_id)
        self._gauge("current_vote", -1 if quorum.voted_id is None else quorum.voted_id)
        self._gauge("current_epoch", quorum.epoch)
        self._gauge("high_watermark", high_watermark)
        self._gauge("log_end_offset", log.end_offset)
        self._record(isinstance(quorum.state, Leader), log.end_offset, high_watermark)

    def refresh(self) -> None:
        """Bring what changes with time alone up to date."""
        now = self._now_ns()
        self._gauge("append_records_rate", self._appended.rate(now))
        self._gauge("fetch_records_rate", self._fetched.rate(now))
        self._gauge("commit_latency_avg", self._latency.average(now) / MS)

    def _record(self, leads: bool, end: int, high_watermark: int) -> None:
        new = 0 if self._end is None else end - self._end
        self._end = end
        if not leads:
            self._uncommitted.clear()
        if new > 0:
            now = self._now_ns()
            (self._appended if leads else self._fetched).record(new, now)
            if leads and len(self._uncommitted) < _MOST_WAITING:
                self._uncommitted.append((end, now))
        committed = False
        while self._uncommitted and self._uncommitted[0][0] <= high_watermark:
            now = self._now_ns()
            self._latency.record(now - self._uncommitted.popleft()[1], now)
            committed = True
        if new or committed:
            self.refresh()

    def _gauge(self, name: str, value: float) -> None:
        if self._set.get(name) != value:
            self._set[name] = value
            self._metrics.gauge(_PREFIX + name, value)
