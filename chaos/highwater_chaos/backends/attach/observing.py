"""The observer of one run on a cluster of others: its cores on a thread of their own, and what they have reported."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from highwater_chaos.backends.attach.discovery import Found
from highwater_chaos.backends.attach.session import Access
from highwater_chaos.backends.attach.watcher import Watcher
from highwater_chaos.backends.local.apache_kafka.high_watermarks import HighWatermarks
from highwater_chaos.backends.local.apache_kafka.tails import wall_of
from highwater_chaos.backends.local.client_loop import ClientLoop
from highwater_chaos.backends.local.program import Observed
from highwater_runtime.host import HostedNode
from highwater_runtime.host.node import CoreFactory
from highwater_runtime.ports import Ports
from highwater_runtime.ports.trace import (
    BrokerRegistered,
    BrokerRegistrationChanged,
    BrokerStateChanged,
    NodeEvent,
    NodeStarted,
)

OBSERVER: Final = "metadata-observer"
_MOST_NOTES: Final = 20


class AttachObserver:
    """Begins to observe at once. Close it. ``incarnation``: of a node, now."""

    def __init__(
        self,
        found: Found,
        access: Access,
        topics: Callable[[], Sequence[str]],
        seed: int,
        incarnation: Callable[[str], int] = lambda _: 1,
    ) -> None:
        self._found = found
        self._incarnation = incarnation
        self._events: deque[Observed] = deque()
        self._notes: dict[str, None] = {}
        self._lock = threading.Lock()
        self._begin(has_quorum=bool(found.voters))
        self._loop = ClientLoop(lambda: None)
        security = access.config().security
        self.watcher: Watcher

        def watch(ports: Ports) -> Watcher:
            self.watcher = Watcher(
                found.cluster_id,
                found.brokers,
                has_quorum=bool(found.voters),
                topics=topics,
                report=self._report,
                complain=self._complain,
                ports=ports,
            )
            return self.watcher

        def high_watermarks(ports: Ports) -> HighWatermarks:
            return HighWatermarks(found.brokers, self.watcher.led, self._report_all, ports)

        async def host(name: str, factory: CoreFactory) -> HostedNode:
            node = HostedNode(name, factory, seed=seed, negotiates=True, security=security)
            await node.start()
            return node

        self._nodes = [self._loop.wait(host(OBSERVER, watch)), self._loop.wait(host(OBSERVER, high_watermarks))]

    def _begin(self, *, has_quorum: bool) -> None:
        """Each node was there, and each broker in the cluster, when the run began."""
        for broker in self._found.brokers:
            name = f"broker-{broker}"
            self._report(name, NodeStarted())
            registered = BrokerRegistered(broker=broker, broker_epoch=0, metadata_offset=0, reason="")
            self._report(name, BrokerStateChanged(broker=broker, broker_epoch=0, reason="running"))
            self._report(name, registered)
            if has_quorum:
                self._report(
                    name,
                    BrokerRegistrationChanged(broker=broker, broker_epoch=0, metadata_offset=1, reason="unfenced"),
                )
        for voter in self._found.voters:
            self._report(f"controller-{voter}", NodeStarted())

    def take(self) -> list[Observed]:
        """What has come up since the last call."""
        return [self._events.popleft() for _ in range(len(self._events))]

    def report(self, node: str, event: NodeEvent) -> None:
        """Add what the backend itself knows of a node, in order of time."""
        self._report(node, event)

    def restarted(self, broker: int) -> None:
        """Wait until a broker that has started again is in the cluster, and report that."""
        self._loop.post(lambda: self.watcher.restarted(broker))

    def notes(self) -> list[str]:
        """What makes the run impossible to judge."""
        ended = [f"the observer has ended: {node.end.error!r}" for node in self._nodes if node.end is not None]
        return [*self._notes, *self._loop.failures(), *ended]

    def close(self) -> None:
        """End the cores and their thread."""
        for node in self._nodes:
            self._loop.call(node.kill)
        self._loop.close()

    def _report(self, node: str, event: NodeEvent) -> None:
        with self._lock:
            now = time.monotonic_ns()
            self._events.append(Observed(now, wall_of(now), node, self._incarnation(node), event))

    def _report_all(self, node_id: int, /, *events: NodeEvent) -> None:
        for event in events:
            self._report(f"broker-{node_id}", event)

    def _complain(self, what: str) -> None:
        if len(self._notes) < _MOST_NOTES:
            self._notes[what] = None
