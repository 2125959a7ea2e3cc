"""What the hosts of our nodes do to them for as long as a fault lasts: a clock that is wrong, flushes that do not end.

A host is the process of its node and ends with it; the fault does not. A machine keeps its clock and its disk while
processes come and go, so each incarnation is told as soon as it can be reached. A paused node is told by way of its
socket's buffer, as it runs on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from highwater_chaos.backends.local.control import ControlChannel, ControlError


class Skew(NamedTuple):
    """A clock that is ``offset_ns`` ahead at ``since_ns`` (monotonic) and runs at ``rate`` × true speed."""

    offset_ns: int
    rate: float
    since_ns: int

    def offset_now(self) -> int:
        """How far ahead it is now (ns). A wrong rate moves the offset while time goes by."""
        return self.offset_ns + round((time.monotonic_ns() - self.since_ns) * (self.rate - 1.0))


class HostFaults:
    """The clocks and flushes that are wrong now.

    Args:
        nodes: those that are ours; other software has no host that does such things.
        channel: the control socket of a node's present incarnation; None while it has none.
        answers: whether a node can be expected to answer now (it runs, and is not paused).
    """

    def __init__(
        self,
        nodes: Iterable[str],
        channel: Callable[[str], ControlChannel | None],
        answers: Callable[[str], bool],
    ) -> None:
        self._nodes = frozenset(nodes)
        self._channel = channel
        self._answers = answers
        self._skews: dict[str, Skew] = {}
        self._stalled: set[str] = set()

    def set_clock(self, node: str, offset_ns: int, rate: float) -> None:
        """Let its clock run at ``rate`` × true speed, ``offset_ns`` ahead. (0, 1.0): right again.

        Raises:
            ControlError: the node is not ours, or does not do it.
        """
        self._skews.pop(node, None)
        if (offset_ns, rate) != (0, 1.0):
            self._expect_ours(node)
            self._skews[node] = Skew(offset_ns, rate, time.monotonic_ns())
        self._tell(node, "clock", {"offsetNs": offset_ns, "rate": rate})

    def clock_error(self, node: str) -> tuple[int, float]:
        """Offset (ns) and rate as the node reads them beside the machine's clock; where it is down, as it will.

        Raises:
            ControlError: the node is paused.
        """
        channel = self._reached(node)
        if channel is None:
            skew = self._skews.get(node)
            return (0, 1.0) if skew is None else (skew.offset_now(), skew.rate)
        if not self._answers(node):
            raise ControlError(f"{node} cannot be asked for its clock")
        answer = channel.call("clockError")
        return int(answer["offsetNs"]), float(answer["rate"])

    def stall(self, node: str) -> None:
        """Let no flush of it end. Raises as :meth:`set_clock`."""
        self._expect_ours(node)
        self._stalled.add(node)
        self._tell(node, "diskStall", {"on": True})

    def end_stall(self, node: str) -> None:
        self._stalled.discard(node)
        self._tell(node, "diskStall", {"on": False})

    def is_stalled(self, node: str) -> bool:
        """Whether no flush of it is to end."""
        return node in self._stalled

    def opened(self, node: str) -> None:
        """A node can be reached: it gets what is in force."""
        channel = self._channel(node)
        assert channel is not None
        if (skew := self._skews.get(node)) is not None:
            channel.ask("clock", {"offsetNs": skew.offset_now(), "rate": skew.rate}, _done)
        if node in self._stalled:
            channel.ask("diskStall", {"on": True}, _done)

    def _expect_ours(self, node: str) -> None:
        if node not in self._nodes:
            raise ControlError(f"this happens inside a node of ours, and {node} is none")

    def _reached(self, node: str) -> ControlChannel | None:
        channel = self._channel(node)
        return channel if channel is not None and channel.is_open else None

    def _tell(self, node: str, method: str, params: Mapping[str, Any]) -> None:
        channel = self._reached(node)
        if channel is None:
            return  # it is told when it can be reached
        if not self._answers(node):
            channel.ask(method, params, _done)
            return
        try:
            channel.call(method, params)
        except ControlError:
            if not channel.closed:
                raise  # one that has gone is told when it comes back


def _done(_: Any) -> None:
    """The node has done it."""
