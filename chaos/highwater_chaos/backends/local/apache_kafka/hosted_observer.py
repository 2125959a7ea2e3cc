"""A core of the harness's that observes a cluster, hosted on a thread of its own in the clients' network."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

from highwater_chaos.apache_kafka.node_logging import OBSERVER
from highwater_chaos.backends.local.apache_kafka.high_watermarks import Report
from highwater_chaos.backends.local.apache_kafka.tails import wall_of
from highwater_chaos.backends.local.client_loop import ClientLoop, ClientLoopError
from highwater_chaos.backends.local.program import Observed, Site
from highwater_runtime.host.net.listeners import PLAINTEXT_OUTBOUND, OutboundSecurity
from highwater_runtime.host.node import CoreFactory, HostedNode
from highwater_runtime.ports import Endpoint
from highwater_runtime.ports.trace import NodeEvent

_MAX_NOTES: Final = 20


class HostedObserver:
    """Args:

    what: what is observed, for messages.
    factory_for: gets what the core reports to and complains to, and makes the core.
    security: how nodes are met.
    """

    def __init__(
        self,
        site: Site,
        what: str,
        factory_for: Callable[[Report, Callable[[str], None]], CoreFactory],
        security: Callable[[Endpoint], OutboundSecurity] = lambda _: PLAINTEXT_OUTBOUND,
    ) -> None:
        self._security = security
        self._site = site
        self._what = what
        self._names = {place.node_id: place.name for place in site.plan.places}
        self._events: deque[Observed] = deque()
        self._notes: list[str] = []
        self._closed = False
        self._scratch = Path(tempfile.mkdtemp(prefix="highwater-observer-"))
        self._loop = ClientLoop(site.enter_network)
        self._node = self._loop.wait(self._host(factory_for(self._report, self._complain)))

    async def _host(self, factory: CoreFactory) -> HostedNode:
        seed = self._site.plan.seed
        node = HostedNode(
            OBSERVER, factory, data_dir=self._scratch, seed=seed, negotiates=True, security=self._security
        )
        await node.start()
        return node

    def take(self) -> list[Observed]:
        """What the core has reported since the last call."""
        return [self._events.popleft() for _ in range(len(self._events))]

    def notes(self) -> list[str]:
        """What the core complained of, and that it ended before the run."""
        notes = [*self._notes, *self._loop.failures()]
        if not self._closed and (end := self._node.end) is not None:
            notes.append(f"the observer of {self._what} has ended ({end.ending.value}): {end.error}")
        return notes

    def close(self) -> None:
        """End the core and its thread. Idempotent."""
        if self._closed:
            return
        self._closed = True
        try:
            self._loop.call(self._node.kill)
        except ClientLoopError as error:
            self._complain(f"the observer of {self._what} did not end: {error}")
        self._loop.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    # --- from the core's thread ---

    def _report(self, node_id: int, *events: NodeEvent) -> None:
        name, now = self._names[node_id], time.monotonic_ns()
        wall, incarnation = wall_of(now), self._site.incarnation(name)
        self._events += [Observed(now, wall, name, incarnation, event) for event in events]

    def _complain(self, what: str) -> None:
        if len(self._notes) < _MAX_NOTES:
            self._notes.append(what)
