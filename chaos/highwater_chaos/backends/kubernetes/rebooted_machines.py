"""Machines that are reset while a run goes on: by their agents, which are gone until the machine is back.

The agent has the processes of LogClusters stand still before, and their events are durable by then. So what they did
until the end is known, and is read when the agent is back: its silence until then is no news.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final

from highwater_chaos.backends.kubernetes.agents import OVER, AgentError
from highwater_chaos.backends.kubernetes.cluster import ClusterError
from highwater_chaos.backends.kubernetes.faults import InjectedFault, PodPlace
from highwater_chaos.backends.kubernetes.pod_nodes import PodNode
from highwater_chaos.backends.kubernetes.replaced_pods import ReplacedPods
from highwater_chaos.backends.primitives import MachineBoot, Needs, RebootsMachines
from highwater_chaos.backends.protocol import BackendError, NodeState
from highwater_chaos.machine.kernel.proc import boot_id

_KIND: Final = "nodeReboot"


@dataclass(slots=True)
class _Reset:
    """One reset of one machine. ``nodes``: those that were on it."""

    machine: str
    fault: InjectedFault
    before: str
    nodes: list[PodNode]
    boot: MachineBoot | None = None
    looking: Future[InjectedFault] | None = None


class RebootedMachines(ReplacedPods):
    """A part of a backend; see :class:`~highwater_chaos.backends.primitives.RebootsMachines`."""

    def _begin_replacements(self) -> None:
        super()._begin_replacements()
        self._resets: dict[str, _Reset] = {}
        """The last one, by names of nodes."""

    def _away(self, one: PodNode, *, away: bool) -> None:
        """Hear that a node's machine boots, or that it is back."""

    def _ensure_resettable(self, needs: Needs) -> None:
        """Raises ``ClusterError`` if the run is to reset machines, and no machine of the cluster may be reset."""
        if needs is None or RebootsMachines not in needs:
            return
        refusals: dict[str, str] = {}
        for one in self._unique():
            if one.place.machine in refusals:
                continue
            try:
                refusals[one.place.machine] = one.place.look("reset_refused", str)
            except AgentError as error:
                refusals[one.place.machine] = str(error)
        if all(refusals.values()):
            raise ClusterError(f"no machine of the cluster may be reset: {'; '.join(refusals.values())}")

    def reboot_machine(self, node: str, within_ns: int) -> str:
        """By the agent of the machine. Raises ``BackendError`` also for the machine of the runner itself."""
        place = self._present(node).place
        self._ensure_others(place)
        nodes = [self._pod_of(name) for name in self.beside(node)]
        fault = self._client.inject(place, _KIND, f"reset machine {place.machine}", within_ns)
        before = str(fault.details("boot", "inject"))
        reset = _Reset(place.machine, fault, before, nodes)
        for one in nodes:
            self._resets[one.name] = reset
            one.sent_away = one.place.uid  # from a machine that is away for long, pods are taken
            self._away(one, away=True)
            self._ending(one, "power-loss")
            self._ended(one, "power-loss", fault)
        return place.machine

    def boot_of(self, node: str) -> MachineBoot | None:
        reset = self._resets[node]
        self._look_at(reset)
        return reset.boot

    def why_not_back(self, node: str) -> str | None:
        if (reset := self._resets.get(node)) is None:
            return None  # it was refused
        self._look_at(reset)
        fault = reset.fault
        if reset.boot is None:
            return f"machine {reset.machine} has not booted again since boot {reset.before}"
        if fault.record["state"] not in OVER:
            return f"node {reset.machine} is not Ready again in boot {reset.boot.now}"
        self._client.heal(fault)  # nothing is done: the end is written down
        return self._client.seen_healed(fault)

    def state(self, node: str) -> NodeState:
        """What was done to it last. A node whose machine boots is down."""
        reset = self._resets.get(node)
        return NodeState.DOWN if reset is not None and reset.boot is None else super().state(node)

    def _look_at_pods(self) -> None:
        """Now and then, on another thread; also at machines that nobody waits for any more: they may be late."""
        super()._look_at_pods()
        for reset in {id(one): one for one in self._resets.values()}.values():
            if reset.boot is None:
                self._look_at(reset)

    def _look_at(self, reset: _Reset) -> None:
        """Take what the agent has said of the reset, and ask again on another thread: it is away for long."""
        if reset.fault.healed or (reset.looking is not None and not reset.looking.done()):
            return
        reset.looking = self._client.look_soon(reset.fault)
        if reset.boot is not None:
            return
        record, now = reset.fault.record, str(reset.fault.details("boot", "inject"))
        if now != reset.before:
            reset.boot = MachineBoot(reset.before, now)
        elif record["state"] in OVER:
            why = record.get("error") or f"it is {record['state']}"
            reset.boot = MachineBoot(reset.before, "", f"machine {reset.machine} was not reset: {why}")
        if reset.boot is not None:
            for one in reset.nodes:
                self._away(one, away=False)

    def _ensure_others(self, place: PodPlace) -> None:
        """Raises ``BackendError`` for the machine on which this runner is."""
        try:
            boot = place.agent.clock().boot
        except AgentError as error:
            raise BackendError(f"which boot machine {place.machine} is in cannot be seen: {error}") from error
        if boot == boot_id():
            raise BackendError(
                f"machine {place.machine} is not reset: the experiment's runner is on it, or on a machine with the same"
                f" kernel (boot {boot}). Expected a target on another machine, or other nodes without the label"
                " highwater.dev/reboot, where runners of such experiments are put if there is room"
            )
