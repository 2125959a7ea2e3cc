"""The watchdog of virtual time: a loop that keeps posting events for *now* would let a run go on for ever.

So would one that posts them a nanosecond later each. The loop counts the events of a short span of virtual time, which
costs a comparison an event. Past :data:`.MAX_EVENTS_AT_ONCE` the next :data:`_SAMPLED` are looked at closely, and the
process that ran most of them is blamed. An event that itself never returns is out of reach.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from highwater_runtime.ports import MS
from highwater_runtime.sim.loop import MAX_EVENTS_AT_ONCE, SPAN_NS
from highwater_runtime.sim.process import Process

_SAMPLED: Final = 1_000
_SHOWN: Final = 5


class LivelockError(Exception):
    """Virtual time hardly advances: events keep making new ones."""


class Standstill:
    """Finds out who keeps time from advancing; ``on_livelock`` gets the process (None: the harness) and the error."""

    __slots__ = ("_label", "_on_livelock", "_seen", "_span")

    def __init__(self, on_livelock: Callable[[Process | None, LivelockError], None]) -> None:
        self._on_livelock = on_livelock
        self._seen: Counter[tuple[Process | None, str]] = Counter()
        self._label = ""
        self._span = -1

    def before_event(
        self, running: Process | None, now: int, span: int, function: Callable[[Any], None], argument: Any
    ) -> bool:
        if span != self._span:
            self._span, self._label, self._seen = span, "", Counter()
        if self._label:
            self._seen[running, self._label] += 1
        self._label = event_name(function, argument)
        if self._seen.total() < _SAMPLED:
            return False
        seen, self._seen, self._label = self._seen, Counter(), ""
        by_process: Counter[Process | None] = Counter()
        for (process, _), count in seen.items():
            by_process[process] += count
        culprit, share = by_process.most_common(1)[0]
        who = "the harness" if culprit is None else culprit.name
        events = [f"{label} ({count})" for (process, label), count in seen.most_common() if process is culprit]
        self._on_livelock(
            culprit,
            LivelockError(
                f"livelock at {now / 1e9:.9f} s: more than {MAX_EVENTS_AT_ONCE} events within {SPAN_NS // MS} ms;"
                f" {who} ran {share} of the last {_SAMPLED}: {', '.join(events[:_SHOWN])}"
            ),
        )
        return True


def event_name(function: Callable[..., Any], argument: Any = None) -> str:
    """``request arrives``; of a timer or a completion also whose: ``fire PartitionFetcher._tick``."""
    name = getattr(function, "__name__", repr(function)).strip("_").replace("_", " ")
    callback = getattr(argument, "callback", None)
    if callback is None and isinstance(argument, tuple):
        callback = next((item for item in argument if callable(item)), None)
    inner = getattr(callback, "__qualname__", "")
    return f"{name} {inner}" if inner else name
