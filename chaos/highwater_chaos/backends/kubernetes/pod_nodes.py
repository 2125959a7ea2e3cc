"""What is done to nodes that are pods, by the agents of their machines: our own pods, and those of others.

A node that is down stays so: its agent keeps what the kubelet starts in its place from beginning, until it is started.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, get_type_hints

from highwater_chaos.backends.kubernetes.agents import AgentError
from highwater_chaos.backends.kubernetes.faults import FaultClient, InjectedFault, PodPlace
from highwater_chaos.backends.kubernetes.network import Cuts
from highwater_chaos.backends.on_machines import with_machine_methods
from highwater_chaos.backends.primitives import KeepMode, PowerLossReport
from highwater_chaos.backends.protocol import BackendError, HeldUp, NodeState
from highwater_chaos.base.quantities import format_duration
from highwater_chaos.machine.faults.node_fault import NodeFault
from highwater_chaos.machine.faults.pauses import Pause
from highwater_chaos.machine.primitives import Begins, Probes
from highwater_runtime.ports import SECOND

_GRACE_NS: Final = 15 * SECOND
_MOST_LIVES: Final = 3


@dataclass(slots=True, kw_only=True)
class PodNode:
    """A node. ``place`` is where its pod is."""

    name: str
    place: PodPlace
    down: list[InjectedFault] = field(default_factory=list)
    """Faults that keep it down."""
    stopping: Future[InjectedFault] | None = None
    faults: dict[type[NodeFault], InjectedFault] = field(default_factory=dict)
    """The last of each kind, also after its heal."""
    trouble: type[NodeFault] | None = None
    """The last fault that was done to its volume; None: there was none."""
    wiped: bool = False
    wiped_empty: bool = False
    troubled: bool = False
    sent_away: str = ""
    """Uid of the pod that a fault of the run has deleted or evicted last."""
    earlier_logs: dict[str, str] = field(default_factory=dict)
    """By uids of pods that it had."""

    def keep_log(self, text: Callable[[], str]) -> None:
        """Keep what its pod has logged, which goes with the pod; asked for once a pod, and of the last few."""
        if self.place.uid not in self.earlier_logs:
            self.earlier_logs[self.place.uid] = text()
        while len(self.earlier_logs) > _MOST_LIVES:
            del self.earlier_logs[next(iter(self.earlier_logs))]

    def logs(self, present: str) -> str:
        """What its pods have logged, one after the other. ``present``: the one that it has now."""
        return "".join([*(text for uid, text in self.earlier_logs.items() if uid != self.place.uid), present])


@with_machine_methods("processes", "network")
class PodNodes:
    """A part of a backend. Its attributes are there once it is built."""

    _client: FaultClient
    _cuts: Cuts
    _nodes: Mapping[str, PodNode]
    _inconclusive_reasons: list[str]

    if TYPE_CHECKING:  # the backend's

        def now_ns(self) -> int: ...
        def held_up(self, node: str) -> HeldUp | None: ...

    def _resumed(self, one: PodNode) -> None:
        """Hear that a node runs on after its last pause."""

    def _ending(self, one: PodNode, reason: str | None) -> None:
        """Hear that a node is about to be ended; None: that it was not."""

    def _ended(self, one: PodNode, reason: str, fault: InjectedFault) -> None:
        """Hear that a node has been ended."""
        raise NotImplementedError

    def state(self, node: str) -> NodeState:
        """What was done to it last, as the agent confirmed it."""
        one = self._nodes[node]
        if one.stopping is not None:
            if not one.stopping.done():
                return NodeState.STOPPING
            self._has_stopped(one, one.stopping)
        if one.down:
            return NodeState.DOWN
        paused = one.faults.get(Pause)
        return NodeState.UP if paused is None or paused.healed else NodeState.PAUSED

    def start(self, node: str) -> None:
        """Heal what keeps it down: the container that waits runs on."""
        one = self._nodes[node]
        down, one.down = one.down, []
        for fault in reversed(down):
            self._client.heal(fault)

    def kill(self, node: str) -> None:
        """SIGKILL to the container; its successor is held."""
        self._bring_down(self._nodes[node], "kill", "kill")

    def stop(self, node: str) -> None:
        """SIGTERM; its successor is held."""
        one = self._nodes[node]
        if one.down or one.stopping is not None:
            return
        self._ending(one, "stop")
        one.stopping = self._client.inject_soon(one.place, "stop", f"stop {node}", None, self._held())

    def begin_fault(self, node: str, begins: Begins, parameters: Mapping[str, Any], until_ns: int | None) -> None:
        one, what = self._nodes[node], f"{begins.kind} {node}"
        one.troubled |= begins.fault.MAY_END_NODES
        one.faults[begins.fault] = self._client.inject(one.place, begins.kind, what, self._lasts(until_ns), parameters)
        if begins.fault.ACTS_ON == "volume":
            one.trouble = begins.fault

    def end_faults(self, node: str, *faults: type[NodeFault]) -> None:
        one, state = self._nodes[node], self.state(node)
        for fault in faults:
            if fault in one.faults:
                self._client.heal(one.faults[fault])
        if state is NodeState.PAUSED and self.state(node) is NodeState.UP:
            self._resumed(one)

    def probe_node(self, node: str, declared: Callable[..., Any], probe: Probes, parameters: Mapping[str, Any]) -> Any:
        del probe  # the agent's
        name, result = declared.__name__, get_type_hints(declared)["return"]
        try:
            return self._nodes[node].place.look(name, result, parameters)
        except AgentError as error:
            raise BackendError(f"{name} of {node} cannot be seen: {error}") from error

    def cut(self, cut: str, source: str, destination: str, until_ns: int | None = None) -> None:
        """A rule in the destination's pod."""
        self._cuts.cut(cut, source, destination, self._lasts(until_ns))

    def uncut(self, cut: str) -> None:
        self._cuts.uncut(cut)

    def reachable(self, source: str, destination: str) -> bool:
        """By a connection from inside the source's pod; waits for what is under way on the link."""
        return self._cuts.reachable(source, destination)

    def _bring_down(self, one: PodNode, kind: str, reason: str, **parameters: Any) -> InjectedFault:
        self._ending(one, reason)
        what = f"{kind} {one.name}"
        try:
            fault = self._client.inject(one.place, kind, what, None, {**self._held(), **parameters})
        except BackendError as error:
            held = self.held_up(one.name)
            if held is None:
                raise
            raise BackendError(f"{error} ({held.why})") from error
        one.down.append(fault)
        one.faults = {kind: had for kind, had in one.faults.items() if kind.ACTS_ON != "processes"}
        self._ended(one, reason, fault)
        return fault

    def _has_stopped(self, one: PodNode, stopping: Future[InjectedFault]) -> None:
        one.stopping = None
        try:
            fault = stopping.result()
        except BackendError as error:
            self._ending(one, None)
            self._inconclusive_reasons.append(str(error))
            return
        one.down.append(fault)
        self._ended(one, "stop", fault)

    def _held(self) -> dict[str, str]:
        return {"restartAfter": format_duration(self._client.longest_ns)}

    def _lasts(self, until_ns: int | None) -> int | None:
        """The agent ends a fault later than the engine would, which may be busy looking for evidence."""
        return None if until_ns is None else until_ns - self.now_ns() + _GRACE_NS


class PodDisks(PodNodes):
    """The same, of nodes whose volumes are of their agents' making, and can lose power."""

    def power_loss(self, node: str, keep: KeepMode, *, wipe: bool = False) -> PowerLossReport:
        """Processes and page cache of the pod's volume; its successor is held. A wipe is part of it: by itself it would
        kill what the kubelet has started meanwhile, and the kubelet waits longer each time."""
        one = self._nodes[node]
        one.wiped_empty = False
        fault = self._bring_down(one, "powerLoss", "power-loss", keep=keep, **({"wipe": True} if wipe else {}))
        one.wiped_empty, one.wiped = wipe, one.wiped or wipe
        return PowerLossReport(int(fault.details("lostBytes") or 0))

    def kill_and_wipe(self, node: str) -> None:
        """One fault of the agent's, as for :meth:`power_loss`."""
        one = self._nodes[node]
        one.wiped_empty = False
        self._bring_down(one, "diskWipe", "kill")
        one.wiped_empty = one.wiped = True

    def disk_is_empty(self, node: str) -> bool:
        """Return what the agent saw after it had replaced the disk."""
        return self._nodes[node].wiped_empty
