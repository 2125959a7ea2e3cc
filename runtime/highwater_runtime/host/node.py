"""One incarnation of a broker, a controller or a client on an asyncio loop: the core, and the ports around it.

The loop belongs to the caller, and may host many nodes. Everything that happens to a core (a request, a response, a
timer, a disk completion, a call by the harness) is an *event*: it runs to its end before the next. An event that
raises has left the core half-changed, so the node never runs another one:

* an ``OSError`` of a disk (``EIO``, ``ENOSPC`` …, see :func:`.is_disk_failure`): the disk failed. The node has crashed,
  as a broker does whose only log directory is gone.
* ``NodeHaltError``: another node broke a promise, or ``InconsistentMetaPropertiesError``: the data directory belongs to
  another one. The node has halted.
* anything else: a bug. The node has crashed, and the log has the traceback.

A halt and a bug are also reported by a last event, ``node-crashed``, with the stack: a finding about the node. Whether
a failing disk is a finding depends on who made it fail, which the node does not know.

:attr:`HostedNode.end` holds how a node's life ended, as soon as it has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from time import monotonic_ns
from typing import Any, Final, TypeVar, cast

from highwater_runtime.crash import crash_of, is_disk_failure
from highwater_runtime.host.clock import HostClock
from highwater_runtime.host.event_log import EventLog
from highwater_runtime.host.files.posix_disk import PosixDisk
from highwater_runtime.host.files.trace import HostTrace, NoTrace, TraceSink
from highwater_runtime.host.limits import ServerLimits
from highwater_runtime.host.logs import NodeLog
from highwater_runtime.host.metrics import HostMetrics
from highwater_runtime.host.net.listeners import PLAINTEXT_OUTBOUND, Listener, OutboundSecurity
from highwater_runtime.host.net.outbound import HostNetwork
from highwater_runtime.host.net.server import Server
from highwater_runtime.host.turn import Turn, TurnWatch
from highwater_runtime.log.errors import InconsistentMetaPropertiesError
from highwater_runtime.ports import (
    Disk,
    Endpoint,
    InboundRequest,
    NodeCore,
    NodeHaltError,
    Ports,
    TakesRequestsTogether,
)
from highwater_runtime.ports.trace import NodeStarted
from highwater_runtime.seeds import derive_random

T = TypeVar("T")

CoreFactory = Callable[[Ports], NodeCore]

_SYNCING_TOGETHER: Final = 8
"""Fsyncs under way at once: ext4 commits them in groups, and more of them gain nothing."""


class Ending(Enum):
    """How a node's life ended."""

    STOPPED = "stopped"
    """Cleanly, by :meth:`HostedNode.stop`."""
    KILLED = "killed"
    """By :meth:`HostedNode.kill`: nothing was flushed or sent."""
    DISK_FAILED = "disk-failed"
    HALTED = "halted"
    CRASHED = "crashed"
    """A bug."""


@dataclass(frozen=True, slots=True)
class NodeEnd:
    """How a node's life ended; ``error`` is what its core raised, if that ended it."""

    ending: Ending
    error: BaseException | None = None


class HostedNode:
    """A core on the loop that runs when this is made.

    Args:
        name: the node's name, and the client id of everything that it sends.
        factory: makes the core; called by :meth:`start` once the listeners are bound (:attr:`bound` is known).
        data_dir: the data directory, which must exist; None for a node without disk.
        listeners: where to serve.
        trace: gets the node's events; None where nobody reads them.
        seed, incarnation: with the name, they determine the core's randomness.
        limits: bounds of its server.
        security: how it meets the server at an endpoint; by default all without protection.
        negotiates: whether it is a client of servers of any release, each of which it asks for its versions.
        partitions: what the core knows of partitions, for the log; see :class:`.event_log.EventLog`.
    """

    def __init__(
        self,
        name: str,
        factory: CoreFactory,
        *,
        data_dir: Path | None = None,
        listeners: Sequence[Listener] = (),
        trace: TraceSink | None = None,
        seed: int = 0,
        incarnation: int = 1,
        limits: ServerLimits | None = None,
        security: Callable[[Endpoint], OutboundSecurity] = lambda _: PLAINTEXT_OUTBOUND,
        negotiates: bool = False,
        partitions: Callable[[NodeCore | None], Iterable[tuple[str, int, int]]] = lambda _: (),
    ) -> None:
        self.name = name
        self.incarnation = incarnation
        self.loop = asyncio.get_running_loop()
        self.log = NodeLog(name)
        self.clock = HostClock(self.loop, self.run)
        self.metrics = HostMetrics()
        events = NoTrace() if trace is None else HostTrace(trace, name, incarnation, self.clock.wall_ns)
        self._event_log = EventLog(events, self.log, self.loop, lambda: partitions(self.core))
        self.turn = Turn(self.loop, self._event_log, self._failed)
        self._watch = TurnWatch(self.log)
        self._last_handler: Callable[[Any], object] | None = None
        self.network = HostNetwork(self, security, negotiates=negotiates)
        self.server = Server(self, listeners, limits or ServerLimits())
        self.core: NodeCore | None = None
        self._on_request: Callable[[InboundRequest], object] = _nobody
        self._settle: Callable[[], object] = _nothing
        self._has_taken = False
        """Whether requests were taken in this turn."""
        self.ended: asyncio.Future[NodeEnd] = self.loop.create_future()
        """Done as soon as the node's life is over."""
        self._alive = True
        self._factory = factory
        self._random = derive_random(seed, "node", name, incarnation)
        self._has_bound = False
        self._threads: tuple[ThreadPoolExecutor, ...] = ()
        self.disk: PosixDisk | None = None
        if data_dir is not None:
            # One thread for fsyncs, one for the steps of jobs; and those whose fsyncs go together.
            disk_thread = ThreadPoolExecutor(2, thread_name_prefix=f"{name}-disk")
            syncing = ThreadPoolExecutor(_SYNCING_TOGETHER, thread_name_prefix=f"{name}-sync")
            self._threads = (disk_thread, syncing)
            self.disk = PosixDisk(
                data_dir, run_blocking=disk_thread.submit, post=self._post_completion, sync_all=syncing.map
            )

    # --- life ---

    @property
    def is_alive(self) -> bool:
        """Whether events still reach the core."""
        return self._alive

    @property
    def end(self) -> NodeEnd | None:
        """How its life ended; None while it lasts."""
        return self.ended.result() if self.ended.done() else None

    @property
    def bound(self) -> Mapping[str, Endpoint]:
        """Where each listener, by its name, really listens; known from :meth:`bind` on."""
        return self.server.bound

    def bind(self) -> None:
        """Take the listeners' addresses; :meth:`start` does it if need be, and accepts. Raises ``OSError``."""
        if not self._has_bound:
            self._has_bound = True
            self.server.bind()

    async def start(self) -> None:
        """Make the core, start it, then accept connections. A core that fails ends the node: see :attr:`end`.

        Raises:
            OSError: an address cannot be listened on.
        """
        self.bind()
        self.run(self._boot)
        if self._alive:
            self.server.accept()

    def _boot(self) -> None:
        self.turn.trace.emit(NodeStarted())
        disk = cast(Disk, NoDisk(self.name) if self.disk is None else self.disk)
        ports = Ports(self.clock, self.network, disk, self._random, self.metrics, self.turn.trace)
        self.core = core = self._factory(ports)
        self._on_request = core.on_request
        if isinstance(core, TakesRequestsTogether):
            self._on_request, self._settle = core.take, core.settle
        core.start()

    async def stop(self) -> NodeEnd:
        """Let the core shut down cleanly, send what is to be sent, close; returns the end.

        Connections are accepted until the core has left, as by Kafka's brokers: in ZooKeeper mode the controller, which
        must be asked before one leaves, may be this very broker.
        """
        if self._alive and self.core is None:
            self._end(NodeEnd(Ending.STOPPED))
        elif self._alive:
            core = self.core
            assert core is not None
            self.run(lambda: core.stop(self._stopped))
        return await asyncio.shield(self.ended)

    def _stopped(self) -> None:
        """The core has shut down: it is over behind this event."""
        self.loop.call_soon(self._end, NodeEnd(Ending.STOPPED))

    def kill(self) -> None:
        """Be gone at once, as by SIGKILL. What was written stays written; nothing else happens. Idempotent."""
        self._end(NodeEnd(Ending.KILLED))

    def _failed(self, error: BaseException) -> None:
        if not self._alive:
            return
        match error:
            case OSError() if is_disk_failure(error):
                self.log.error("disk failed", exception=error)
                self._end(NodeEnd(Ending.DISK_FAILED, error))
            case NodeHaltError():
                self.log.error("halted", why=str(error))
                self.turn.trace.emit(crash_of(error))
                self._end(NodeEnd(Ending.HALTED, error))
            case InconsistentMetaPropertiesError():
                self.log.error("the data directory is not this node's", why=str(error))
                self.turn.trace.emit(crash_of(error))
                self._end(NodeEnd(Ending.HALTED, error))
            case _:
                self.log.error("crashed by a bug", exception=error)
                self.turn.trace.emit(crash_of(error))
                self._end(NodeEnd(Ending.CRASHED, error))

    def _end(self, end: NodeEnd) -> None:
        if not self._alive:
            return
        self._alive = False
        clean = end.ending is Ending.STOPPED
        if clean:
            self.turn.end()
        else:
            self.turn.abandon()
        self._event_log.close()
        self.clock.close()
        self.network.close()
        self.server.close(after_output=clean)
        if self.disk is not None:
            self.disk.abandon()
        for threads in self._threads:
            threads.shutdown(wait=False)
        self.ended.set_result(end)

    # --- events ---

    @property
    def longest_turn_ns(self) -> int:
        """How long the event loop was held up at most, in this node's life."""
        return self._watch.longest_ns

    def run(self, event: Callable[[], object]) -> None:
        """Run ``event`` as a turn of its own, unless the node is dead. For calls into the core from its loop."""
        if not self._alive:
            return
        begin = monotonic_ns()
        self.turn.is_open = True
        try:
            event()
        except Exception as error:
            self._failed(error)
            return
        self.turn.end()
        self._watch.took(monotonic_ns() - begin, event)

    def post(self, event: Callable[[], object]) -> None:
        """As :meth:`run`, from any thread, in a later turn of the loop."""
        self.loop.call_soon_threadsafe(self.run, event)

    def run_turn(self, deliver: Callable[[T], None], argument: T) -> None:
        """Run a callback that brings any number of events (each by :meth:`handle`), then send what they say."""
        if not self._alive:
            return
        begin = monotonic_ns()
        self.turn.is_open = True
        self._last_handler = None
        try:
            deliver(argument)
            if self._has_taken:
                self._has_taken = False
                if self._alive:
                    self._settle()
        except Exception as error:
            self._failed(error)
            return
        if self._alive:
            self.turn.end()
        self._watch.took(monotonic_ns() - begin, self._last_handler or deliver)

    def take(self, request: InboundRequest) -> None:
        """Let the core see a request within a turn, unless the node is dead."""
        if not self._alive:
            return
        self._has_taken = True
        self._last_handler = self._on_request
        try:
            self._on_request(request)
        except Exception as error:
            self._failed(error)

    def handle(self, handler: Callable[[Any], object], argument: Any) -> None:
        """Run one event within a turn, unless the node is dead."""
        if not self._alive:
            return
        self._last_handler = handler
        try:
            handler(argument)
        except Exception as error:
            self._failed(error)

    def _post_completion(self, completion: Callable[[], None]) -> None:
        """From the fsync thread; after the loop has closed there is nobody to tell."""
        if self._alive:
            self.loop.call_soon_threadsafe(self.run, completion)


def _nobody(request: InboundRequest) -> None:
    raise AssertionError(f"{request.body.NAME} before there is a core")


def _nothing() -> None:
    """Nothing follows from requests that were seen one by one."""


class NoDisk:
    """What a node without data directory gets: any use is a bug."""

    def __init__(self, node: str) -> None:
        self._node = node

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{self._node} has no disk, but its core called {name}()")
