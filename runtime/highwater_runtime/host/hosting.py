"""What a node's connections ask of the node: its loop, and to run what they bring as events of its core."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from highwater_runtime.host.clock import HostClock
from highwater_runtime.host.logs import NodeLog
from highwater_runtime.host.turn import Turn
from highwater_runtime.ports import InboundRequest, NodeCore

T = TypeVar("T")


class Hosting(Protocol):
    """One node on its loop (:class:`.node.HostedNode`)."""

    name: str
    loop: asyncio.AbstractEventLoop
    log: NodeLog
    clock: HostClock
    turn: Turn
    core: NodeCore | None

    @property
    def longest_turn_ns(self) -> int:
        """How long the event loop was held up at most, in this node's life."""

    def run(self, event: Callable[[], object]) -> None:
        """Run ``event`` as a turn of its own, unless the node is dead."""

    def run_turn(self, deliver: Callable[[T], None], argument: T) -> None:
        """Run a callback that brings any number of events (each by :meth:`handle`), then send what they say."""

    def take(self, request: InboundRequest) -> None:
        """Let the core see a request within a turn, unless the node is dead."""

    def handle(self, handler: Callable[[Any], object], argument: Any) -> None:
        """Run one event within a turn, unless the node is dead."""
