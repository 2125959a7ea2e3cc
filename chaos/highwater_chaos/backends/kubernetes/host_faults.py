"""Faults that act inside of a node's process, and belong to its machine: rules about messages, clocks, stalled flushes.

The process that has such a fault ends with its container, and the fault ends with it. A machine keeps its clock, its
disk and its network while processes come and go. So each new incarnation gets what is in force, as a fault of its own
at the agent. All other faults outlive a container by themselves: cuts are in the pod's network namespace, and full and
failing disks are in its volume.

A paused node cannot be asked. It gets the fault when it runs on.

If the present incarnation did not get a fault, and still runs when the fault ends, the run is inconclusive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from highwater_chaos.backends.kubernetes.faults import FaultClient, InjectedFault, PodPlace
from highwater_chaos.backends.protocol import BackendError, NodeState


class HostFault:
    """One fault of one node, in all of its incarnations.

    Args:
        parameters: of the request, at the time when an incarnation gets it.
        lasts_ns: how long it lasts from then on; None: as long as the agent permits.
        state: of the node.
    """

    def __init__(
        self,
        client: FaultClient,
        place: PodPlace,
        kind: str,
        what: str,
        parameters: Callable[[], Mapping[str, Any]],
        lasts_ns: Callable[[], int | None],
        state: Callable[[], NodeState],
    ) -> None:
        self._client = client
        self._place = place
        self._kind = kind
        self._what = what
        self._parameters = parameters
        self._lasts_ns = lasts_ns
        self._state = state
        self._in_force = True
        self._asked: list[Future[InjectedFault]] = []
        self._given: list[InjectedFault] = []
        self._missed: str | None = None
        """Why the incarnation that was asked last does not have it."""
        self.is_postponed = False
        """Whether it waits for a paused node to be resumed."""
        self.reason: str | None = None
        """Why the run is inconclusive."""

    def moved(self, place: PodPlace) -> None:
        """The node is in this pod now."""
        self._place = place

    def ask(self) -> None:
        """Begin to give it to the present incarnation."""
        if not self._in_force:
            return
        self._missed = None
        self.is_postponed = self._state() is NodeState.PAUSED
        if not self.is_postponed:
            parameters, lasts_ns = self._parameters(), self._lasts_ns()
            self._asked.append(self._client.inject_soon(self._place, self._kind, self._what, lasts_ns, parameters))

    def resumed(self) -> None:
        """The node is not paused any more."""
        self._settle(wait=False)
        if self.is_postponed or self._missed is not None:
            self.ask()

    def begin(self) -> None:
        """Give it to the present incarnation.

        Raises:
            BackendError: the node did not take it. It will not get it later either.
        """
        self.ask()
        self._settle(wait=True)
        if not self._given:
            self._in_force = False
            raise BackendError(f"{self._what}: {'the node is paused' if self.is_postponed else self._missed}")

    def missed(self) -> str | None:
        """Why the present incarnation does not have it, once it was asked."""
        self._settle(wait=True)
        return self._missed

    @property
    def given(self) -> list[InjectedFault]:
        """What incarnations have got so far, the latest at the end."""
        self._settle(wait=False)
        return self._given

    @property
    def healed(self) -> bool:
        """Whether it is out of force in all incarnations."""
        return not self._in_force and all(fault.healed for fault in self._given)

    def end(self) -> list[Future[None]]:
        """Begin to put it out of force in all incarnations."""
        self._settle(wait=True)
        if self._in_force and self._missed is not None and self._state() is NodeState.UP:
            self.reason = f"{self._what}: the node did not get it when it started again: {self._missed}"
        self._in_force = False
        return [self._client.heal_soon(fault) for fault in self._given]

    def heal(self) -> None:
        """Put it out of force in all incarnations. Idempotent."""
        for future in self.end():
            future.result()

    def left(self) -> str | None:
        """What agents saw of it after it was healed; None: nothing."""
        return next((left for fault in self._given if (left := self._client.seen_healed(fault)) is not None), None)

    def look(self) -> InjectedFault:
        """The latest one, with what its agent sees of it now."""
        self._settle(wait=True)
        return self._client.look(self._given[-1])

    def is_seen(self) -> bool:
        """Whether the latest one's agent sees it now."""
        evidence = [saw for saw in self.look().record["evidence"] if saw["phase"] == "inject"]
        return bool(evidence) and bool(evidence[-1]["confirmed"])

    def _settle(self, *, wait: bool) -> None:
        while self._asked and (wait or self._asked[0].done()):
            future = self._asked.pop(0)
            try:
                self._given.append(future.result())
            except BackendError as error:
                if not self._asked:
                    self._missed = str(error)


class HostFaults:
    """All of one run. ``state``: of a node."""

    def __init__(self, client: FaultClient, places: Mapping[str, PodPlace], state: Callable[[str], NodeState]) -> None:
        self._client = client
        self._places = places
        self._state = state
        self._faults: dict[str, list[HostFault]] = {}

    def make(
        self,
        node: str,
        kind: str,
        what: str,
        parameters: Callable[[], Mapping[str, Any]] = dict,
        lasts_ns: Callable[[], int | None] = lambda: None,
    ) -> HostFault:
        """A fault that no incarnation has been asked to take yet."""
        fault = HostFault(self._client, self._places[node], kind, what, parameters, lasts_ns, lambda: self._state(node))
        self._faults.setdefault(node, []).append(fault)
        return fault

    def started(self, node: str) -> None:
        """A node runs again, without what its last incarnation had."""
        for fault in self._faults.get(node, []):
            fault.moved(self._places[node])
            fault.ask()

    def resumed(self, node: str) -> None:
        """A node is not paused any more."""
        for fault in self._faults.get(node, []):
            fault.resumed()

    def inconclusive_reasons(self) -> list[str]:
        """Faults that an incarnation should have had, and did not have."""
        return [fault.reason for faults in self._faults.values() for fault in faults if fault.reason is not None]
