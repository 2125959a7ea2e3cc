"""The events of an Apache Kafka cluster, put together from what can be seen of it from outside.

There are three sources. The harness knows when a process was started. The metadata log holds what the cluster has
agreed upon (:mod:`.metadata_observer`, on a thread of its own in the clients' network). The nodes' logs show which
process is registered and which controller leads (:mod:`.node_log`). No event says when a record was appended or passed
the high watermark on a node: checks that judge by that are not available.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from highwater_chaos.backends.local.apache_kafka.metadata_observer import MetadataObserver, ObserverOptions
from highwater_chaos.backends.local.apache_kafka.node_log import LogTail, NodeLog
from highwater_chaos.backends.local.client_loop import ClientLoop, ClientLoopError
from highwater_chaos.backends.local.program import NodePlace, Observed, Site
from highwater_runtime.host.clock_pairs import how_far_ahead
from highwater_runtime.host.node import HostedNode
from highwater_runtime.ports.trace import NodeEvent, NodeStarted

_MAX_NOTES: Final = 20


class ClusterObserver:
    """An :class:`~highwater_chaos.backends.local.program.Observer` of one run.

    ``log_file`` says where an incarnation of a node logs.
    """

    def __init__(self, site: Site, log_file: Callable[[NodePlace, int], Path]) -> None:
        self.records: Sequence[Path] = ()
        self._site = site
        self._log_file = log_file
        self._names = {place.node_id: place.name for place in site.plan.places}
        self._metadata: deque[Observed] = deque()
        self._started: list[Observed] = []
        self._tails: dict[str, _Incarnation] = {}
        self._notes: list[str] = []
        self._closed = False
        self._scratch = Path(tempfile.mkdtemp(prefix="highwater-observer-"))
        options = ObserverOptions(
            cluster_id=site.plan.cluster_id,
            voters={place.node_id: place.advertised for place in site.plan.of_role("controller")},
            brokers={place.node_id: place.advertised for place in site.plan.of_role("broker")},
            report=self._report,
            complain=self._complain,
        )
        self._loop = ClientLoop(site.enter_network)
        self._node = self._loop.wait(_host(options, self._scratch, site.plan.seed))

    # --- Observer ---

    def starting(self, node: str, incarnation: int, time_ns: int) -> None:
        """Add the event ``NodeStarted``, since Kafka's nodes do not report their start, and begin to read the log."""
        self._started.append(Observed(time_ns, _wall_of(time_ns), node, incarnation, NodeStarted()))
        place = self._site.plan.place(node)
        if (before := self._tails.get(node)) is not None:
            self._started += before.read()
            before.close()
        self._tails[node] = _Incarnation(place, incarnation, time_ns, LogTail(self._log_file(place, incarnation)))

    def poll(self) -> Sequence[Observed]:
        """What has come up since, by time."""
        events, self._started = self._started, []
        while self._metadata:
            events.append(self._metadata.popleft())
        for tail in self._tails.values():
            events += tail.read()
        events.sort(key=lambda event: event.time_ns)
        return events

    def notes(self) -> Sequence[str]:
        """Records that could not be understood, and an observer that ended before the run."""
        notes = [*self._notes, *self._loop.failures()]
        if not self._closed and (end := self._node.end) is not None:
            notes.append(f"the observer of Apache Kafka's metadata log has ended ({end.ending.value}): {end.error}")
        return notes

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            self._loop.call(self._node.kill)
        except ClientLoopError as error:
            self._complain(f"the observer of Apache Kafka's metadata log did not end: {error}")
        self._loop.close()
        for tail in self._tails.values():
            tail.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    # --- from the observer's thread ---

    def _report(self, node_id: int, event: NodeEvent) -> None:
        name, now = self._names[node_id], time.monotonic_ns()
        self._metadata.append(Observed(now, _wall_of(now), name, self._site.incarnation(name), event))

    def _complain(self, what: str) -> None:
        if len(self._notes) < _MAX_NOTES:
            self._notes.append(what)


class _Incarnation:
    """The log of one incarnation of a node, read along."""

    def __init__(self, place: NodePlace, number: int, started_ns: int, tail: LogTail) -> None:
        self._place = place
        self._number = number
        self._last_ns = started_ns
        self._tail = tail
        self._log = NodeLog(place.node_id, is_controller=place.role == "controller")

    def read(self) -> list[Observed]:
        events: list[Observed] = []
        now = time.monotonic_ns()
        ahead = how_far_ahead(time.time_ns, of=time.monotonic_ns).by_ns
        for line in self._tail.lines():
            found = self._log.event_of(line)
            if found is not None:
                # The log's milliseconds must not put an event before the start of its process, or after now; and
                # however the wall clock is set meanwhile, its order is that of the log.
                self._last_ns = min(max(found.wall_ns - ahead, self._last_ns), now)
                events.append(Observed(self._last_ns, found.wall_ns, self._place.name, self._number, found.event))
        return events

    def close(self) -> None:
        self._tail.close()


async def _host(options: ObserverOptions, scratch: Path, seed: int) -> HostedNode:
    node = HostedNode("metadata-observer", lambda ports: MetadataObserver(options, ports), data_dir=scratch, seed=seed)
    await node.start()
    return node


def _wall_of(time_ns: int) -> int:
    return time_ns + how_far_ahead(time.time_ns, of=time.monotonic_ns).by_ns
