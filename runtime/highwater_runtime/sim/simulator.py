"""A whole cluster in one thread and in virtual time: one seed determines one run.

The simulator hosts cores (:class:`highwater_runtime.ports.NodeCore`) exactly as a real host would, and does to them
what reality does: kills, power losses, pauses, skewed clocks, a network that delays, cuts and resets, and disks that
forget.

A core that raises ends its node, as an exception ends a process: the page cache stays, and the node is not started
again by itself. A failing disk (``EIO``, ``ENOSPC``) and a deliberate halt always end the node. Any other exception is
a bug. In a node under test it is a finding, reported by the event ``node-crashed``, and the run goes on. In a client,
or in a test of a core, it ends the run with a :class:`SimulationError`. A node that never lets virtual time advance
(:class:`.LivelockError`) is treated as one that raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from highwater_runtime.crash import crash_of, is_disk_failure
from highwater_runtime.portable import PortableError
from highwater_runtime.ports import Disk, NodeHaltError, Ports, Timer
from highwater_runtime.ports.trace import NodeStarted, NodeStopped
from highwater_runtime.seeds import derive_random
from highwater_runtime.sim.clock import HostClock, SimClock
from highwater_runtime.sim.disk import DiskTiming, KeepChoice, PowerCutError, PowerLossEvidence, SimDisk
from highwater_runtime.sim.faults import NetworkFaults
from highwater_runtime.sim.loop import FOREVER, EventLoop
from highwater_runtime.sim.metrics import MetricSample
from highwater_runtime.sim.network import CodecMode, Fabric, NetworkTiming
from highwater_runtime.sim.network_port import SimNetwork
from highwater_runtime.sim.node import CoreFactory, NodeCrash, SimNode
from highwater_runtime.sim.process import Process, ProcessState
from highwater_runtime.sim.standstill import LivelockError, Standstill, event_name
from highwater_runtime.sim.trace import ProcessTrace, SimTrace


class SimulationError(PortableError):
    """A core raised: a bug. The cause (``__cause__``) is what it raised."""

    def __init__(self, node: str, incarnation: int, time_ns: int, event: str, error: BaseException) -> None:
        super().__init__(
            f"{node} (incarnation {incarnation}) raised {type(error).__name__} at {time_ns / 1e9:.9f} s,"
            f" in event {event!r}: {error}"
        )
        self.node = node
        self.incarnation = incarnation
        self.time_ns = time_ns
        self.event = event
        """What was going on: ``boot``, ``fire`` (a timer), ``request arrives``, ``response arrives`` …"""
        self.error = error


class Simulator:
    """The host of a simulated cluster.

    Args:
        seed: determines everything.
        network, disk: timings.
        codec: which messages are encoded and decoded on the way; ``some`` means ``codec_fraction`` of them.
        trace_messages: also trace every message sent, delivered and dropped.
        check_mutation: find handlers that change a message they sent or received (slow).
    """

    def __init__(
        self,
        seed: int,
        *,
        network: NetworkTiming | None = None,
        disk: DiskTiming | None = None,
        codec: CodecMode = "never",
        codec_fraction: float = 1 / 16,
        trace_messages: bool = False,
        check_mutation: bool = False,
    ) -> None:
        self.seed = seed
        self.loop = EventLoop(self._on_error, Standstill(self._on_livelock))
        self.trace = SimTrace(messages=trace_messages)
        self.nodes: dict[str, SimNode] = {}
        self.fabric = Fabric(
            self.loop,
            derive_random(seed, "network"),
            derive_random(seed, "codec"),
            self.trace,
            self.nodes,
            timing=network or NetworkTiming(),
            codec=codec,
            codec_fraction=codec_fraction,
            check_mutation=check_mutation,
        )
        self.faults = NetworkFaults(self.fabric)
        self.errors: list[SimulationError] = []
        self._disk_timing = disk or DiskTiming()

    # --- time ---

    @property
    def now_ns(self) -> int:
        return self.loop.now

    @property
    def after_event(self) -> list[Callable[[], None]]:
        """Callables that run after every event."""
        return self.loop.after_event

    def run_until(
        self,
        time_ns: int | None = None,
        *,
        predicate: Callable[[], bool] | None = None,
        max_events: int | None = None,
    ) -> bool:
        """Run until ``time_ns`` (included), until ``predicate`` holds, or for ``max_events``, whichever is first.

        Returns whether ``predicate`` held (checked before the first and after every event); without one, whether
        ``time_ns`` was reached.

        Raises:
            SimulationError: when a core raised.
            ValueError: when nothing would ever end the run.
        """
        if time_ns is None and predicate is None and max_events is None:
            raise ValueError("a run needs an end: a time, a predicate or a number of events")
        return self.loop.run(FOREVER if time_ns is None else time_ns, predicate, max_events)

    def run_for(self, duration_ns: int, *, predicate: Callable[[], bool] | None = None) -> bool:
        """:meth:`run_until` that long from now."""
        return self.run_until(self.loop.now + duration_ns, predicate=predicate)

    def call_at(self, time_ns: int, callback: Callable[[], None]) -> Timer:
        """Let the harness act at ``time_ns``, as an event of its own (now, if that has passed)."""
        return self.loop.call_at(time_ns, callback)

    def call_later(self, delay_ns: int, callback: Callable[[], None]) -> Timer:
        """Let the harness act ``delay_ns`` from now."""
        return self.loop.call_at(self.loop.now + delay_ns, callback)

    # --- nodes ---

    def add_node(
        self,
        name: str,
        port: int,
        factory: CoreFactory,
        *,
        disk: bool = True,
        exceptions_are_findings: bool = False,
    ) -> SimNode:
        """Add a machine, powered, with an empty disk (or none) and no process yet.

        ``exceptions_are_findings``: an exception of its core ends the node and not the run.
        """
        if name in self.nodes:
            raise ValueError(f"there is a node {name!r} already")
        node_disk = SimDisk(
            derive_random(self.seed, "disk", name),
            schedule=lambda delay, callback, argument: self.loop.push(self.loop.now + delay, callback, argument),
            now_ns=lambda: self.loop.now,
            timing=self._disk_timing,
        )
        node = SimNode(name, port, factory, HostClock(self.loop), node_disk, disk, exceptions_are_findings)
        self.nodes[name] = node
        return node

    def node(self, name: str) -> SimNode:
        """The node ``name``. Raises ValueError where there is none."""
        found = self.nodes.get(name)
        if found is None:
            raise ValueError(f"no node {name!r}; there are {', '.join(self.nodes)}")
        return found

    def start(self, name: str) -> None:
        """Switch the machine on where needed and start a new incarnation; it boots in an event of its own, now."""
        node = self.node(name)
        if node.is_alive:
            raise ValueError(f"{name} runs already")
        node.incarnation += 1
        random = derive_random(self.seed, "node", name, node.incarnation)
        process = Process(self.loop, name, node.incarnation, random, node)
        process.clock = SimClock(process, node.clock)
        process.trace = ProcessTrace(self.trace, process, node.clock)
        node.process = process
        node.disk.owner = process
        self.loop.push(self.loop.now, self._boot, process)
        if not node.powered:
            node.powered = True
            self.fabric.host_is_back(node)

    def kill(self, name: str) -> bool:
        """SIGKILL: the process is gone, the page cache stays. Returns whether there was a process."""
        return self._end_process(self.node(name), "kill")

    def power_loss(self, name: str, keep: KeepChoice = "by-seed", *, wipe: bool = False) -> PowerLossEvidence:
        """The machine loses power, with its page cache (see :class:`.SimDisk`); ``wipe``: it also gets a new disk.

        It stays off until :meth:`start`. Peers hear nothing.
        """
        node = self.node(name)
        evidence = node.disk.power_loss(keep, wipe=wipe)
        node.power_losses.append(evidence)
        node.powered = False
        if not self._end_process(node, "power-loss", evidence.bytes_lost) and node.process is not None:
            node.process.trace.emit(NodeStopped(reason="power-loss", offset=evidence.bytes_lost))
        return evidence

    def stop(self, name: str, on_stopped: Callable[[], None] | None = None) -> None:
        """Ask the core to shut down cleanly; when it says that it has, its process ends and ``on_stopped`` runs."""
        node = self.node(name)
        process = node.process
        if process is None or not node.is_alive:
            raise ValueError(f"{name} does not run")

        def exit_process() -> None:
            if process.state is not ProcessState.DEAD:
                self._end_process(node, "stop")
                if on_stopped is not None:
                    on_stopped()

        self.loop.push(self.loop.now, _stop, (process, lambda: self.loop.call_at(self.loop.now, exit_process)))

    def pause(self, name: str) -> bool:
        """SIGSTOP. Returns whether there was a process, and it was not paused."""
        process = self.node(name).process
        return process is not None and process.pause()

    def resume(self, name: str) -> bool:
        """SIGCONT: what waited becomes events of now, in order. Returns whether there was a paused process."""
        process = self.node(name).process
        return process is not None and process.resume()

    def wipe(self, name: str) -> int:
        """Replace the disk of a node that does not run by an empty one; returns the bytes that were on it."""
        node = self.node(name)
        if node.is_alive:
            raise ValueError(f"{name} runs: stop it before its disk is replaced")
        return node.disk.wipe()

    def set_clock(self, name: str, *, rate: float = 1.0, offset_ns: int = 0) -> None:
        """Let the node's clock run at ``rate`` × true speed, its wall clock ``offset_ns`` ahead."""
        self.node(name).clock.set(rate, offset_ns)

    # --- observation ---

    @property
    def crashes(self) -> list[NodeCrash]:
        """All processes that ended by what their cores raised, by node."""
        return [crash for node in self.nodes.values() for crash in node.crashes]

    def metric_samples(self) -> Iterator[MetricSample]:
        """All series of all living processes, now."""
        for node in self.nodes.values():
            if node.is_alive and node.process is not None:
                process = node.process
                # A core that is a RefreshesMetrics. To ask isinstance costs more than the rest of a sample.
                refresh_metrics = getattr(process.core, "refresh_metrics", None)
                if refresh_metrics is not None:
                    # Gauges of single partitions would be most of the samples, and half of a run's time.
                    refresh_metrics(of_records=False)
                yield from process.metrics.samples(self.loop.now, node.name, process.incarnation)

    def digest(self) -> str:
        """Equal for equal runs: covers the trace, and how far the run got in events, messages and randomness."""
        rest = (self.loop.now, self.loop.events_run, self.fabric.messages, self.fabric.random.getstate()[1][-1])
        return f"{self.trace.digest()}-{'-'.join(map(str, rest))}"

    # --- inside ---

    def _boot(self, process: Process) -> None:
        if process.state:
            process.park(self._boot, process)
            return
        self.loop.running = process
        node: SimNode = process.host
        process.trace.emit(NodeStarted())
        disk = cast(Disk, node.disk if node.has_disk else NoDisk(node.name))
        network = SimNetwork(self.fabric, process)
        ports = Ports(process.clock, network, disk, process.random, process.metrics, process.trace)
        process.core = node.factory(ports)
        process.core.start()

    def _end_process(self, node: SimNode, reason: str, bytes_lost: int = 0) -> bool:
        process = node.process
        if process is None or process.state is ProcessState.DEAD:
            return False
        for thread in (process, process.beside):
            if thread is not None:
                thread.state = ProcessState.DEAD
                thread.backlog.clear()
        node.disk.owner = None
        process.trace.emit(NodeStopped(reason=reason, offset=bytes_lost))
        for thread in (process, process.beside):
            if thread is not None:
                self.fabric.process_died(thread, resets=reason != "power-loss")
        return True

    def _crash(self, process: Process, error: Exception, reason: str, event: str = "") -> None:
        """End the process by ``error``; a failing disk is no crash of the node's own."""
        node: SimNode = process.host
        node.crashes.append(NodeCrash(self.loop.now, node.name, process.incarnation, error, reason))
        if reason != "disk-error":
            process.trace.emit(crash_of(error, event))
        self._end_process(node, "crash")

    def _bug(self, process: Process, error: Exception, event: str) -> None:
        node: SimNode = process.host
        bug = SimulationError(node.name, process.incarnation, self.loop.now, event, error)
        self.errors.append(bug)
        if not node.exceptions_are_findings:
            raise bug from error
        self._crash(process, error, "exception", event)

    def _on_livelock(self, process: Process | None, error: LivelockError) -> None:
        if process is None:
            raise error
        self._bug(process, error, "livelock")

    def _on_error(self, error: BaseException, function: Callable[[Any], None]) -> None:
        process = self.loop.running
        if process is None:
            raise error
        node: SimNode = process.host
        match error:
            case PowerCutError():
                self.power_loss(node.name, node.keep_at_power_cut)
            case OSError() if is_disk_failure(error):
                self._crash(process, error, "disk-error")
            case NodeHaltError():
                self._crash(process, error, "halt")
            case Exception():
                self._bug(process, error, event_name(function))
            case _:
                raise error


class NoDisk:
    """What a node without disk gets: any use is a bug."""

    def __init__(self, node: str) -> None:
        self._node = node

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{self._node} has no disk, but its core called {name}()")


def _stop(stopping: tuple[Process, Callable[[], None]]) -> None:
    process, on_stopped = stopping
    if process.state:
        process.park(_stop, stopping)
        return
    process.loop.running = process
    process.core.stop(on_stopped)
