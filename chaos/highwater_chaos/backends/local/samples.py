"""Metrics of living nodes, asked for without waiting: a paused node must not hold up the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from highwater_chaos.backends.local.control import ControlChannel
from highwater_chaos.backends.protocol import MetricRow


class Samples:
    """Asks every node for its series and hands over what has come in."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self._rows: list[MetricRow] = []
        self._asking: set[tuple[str, int]] = set()

    def ask(self, channels: Mapping[tuple[str, int], ControlChannel]) -> None:
        """Ask the nodes, by (name, incarnation), that have answered the last time."""
        self._asking &= set(channels)
        for (node, incarnation), channel in channels.items():
            if channel.is_open and (node, incarnation) not in self._asking:
                self._asking.add((node, incarnation))
                channel.ask("metrics", {}, partial(self._answered, node, incarnation))

    def take(self) -> Iterable[MetricRow]:
        """What has come in since the last time, with the time at which it came."""
        rows, self._rows = self._rows, []
        return rows

    def _answered(self, node: str, incarnation: int, samples: Any) -> None:
        self._asking.discard((node, incarnation))
        now = self._now_ns()
        self._rows += [
            MetricRow(now, node, incarnation, str(one["name"]), dict(one["labels"]), float(one["value"]))
            for one in samples
        ]
