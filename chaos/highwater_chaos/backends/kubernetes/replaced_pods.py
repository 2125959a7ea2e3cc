"""Pods that are replaced while a run goes on, and machines that are drained: our own pods, and those of others.

A pod that is gone is made again by whoever made it (a StatefulSet, Strimzi), perhaps on another machine. The next pod
is the next incarnation of the same node. What agents did to the one before ended with it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from highwater_chaos.backends.kubernetes.agents import AgentError
from highwater_chaos.backends.kubernetes.faults import InjectedFault, PodPlace
from highwater_chaos.backends.kubernetes.pod_nodes import PodNode, PodNodes
from highwater_chaos.backends.protocol import BackendError
from highwater_chaos.kube.client import Kube, KubeError
from highwater_chaos.kube.kinds import POD, Json
from highwater_runtime.ports import Endpoint

_LOOK_EVERY: Final = 1.0


class ReplacedPods(PodNodes):
    """A part of a backend; see :class:`~highwater_chaos.backends.primitives.DrainsMachines`."""

    OUTLIVED: ClassVar[frozenset[str]] = frozenset()
    """What faults act on that stays when a pod is replaced."""

    _api: Kube
    _threads: ThreadPoolExecutor
    _endpoints: dict[str, Endpoint]

    def _begin_replacements(self) -> None:
        self._looking: Future[list[Json]] | None = None
        self._looked = 0.0
        self._there: set[str] = set()
        """Uids of the pods that were seen last."""
        self._cordons: dict[str, tuple[str, InjectedFault]] = {}

    if TYPE_CHECKING:  # the backend's

        def _listed(self) -> list[Json]: ...
        def _see(self, pods: Sequence[Json]) -> None: ...
        def _log_of(self, one: PodNode) -> str: ...

    def _pod_of(self, node: str) -> PodNode:
        return self._nodes[node]

    def _unique(self) -> Sequence[PodNode]:
        """Each node once, whatever names it has."""
        return [node for name, node in self._nodes.items() if node.name == name]

    # --- what is asked for ---

    def delete_pod(self, node: str) -> None:
        """Raises ``BackendError``: the API server refuses it."""
        one, place = self._touchable(node)
        try:
            self._api.delete(POD, place.namespace, place.name, uid=place.uid)
        except KubeError as error:
            raise BackendError(f"pod {place.name} of {node} is not deleted: {error}") from error
        one.sent_away = place.uid

    def evict_pod(self, node: str) -> str | None:
        one, place = self._touchable(node)
        try:
            refusal = self._api.evict(place.namespace, place.name, place.uid)
        except KubeError as error:
            raise BackendError(f"pod {place.name} of {node} is not evicted: {error}") from error
        if refusal is None:
            one.sent_away = place.uid
        return refusal

    def pod_of(self, node: str) -> str:
        one = self._pod_of(node)
        self._looking = None  # what an earlier question finds is older than what this one does
        try:
            self._look_through(self._listed())
        except KubeError as error:
            raise BackendError(f"the pod of {node} cannot be looked up: {error}") from error
        return one.place.uid if one.place.uid in self._there else ""

    def cordon(self, node: str, until_ns: int | None = None) -> str:
        """By the agent of the machine, which undoes it at the deadline."""
        place = self._present(node).place
        fault = self._client.inject(place, "cordon", f"cordon machine {place.machine}", self._lasts(until_ns))
        for name in self.beside(node):
            self._cordons[name] = place.machine, fault
        return place.machine

    def uncordon(self, node: str) -> None:
        if node in self._cordons:
            self._client.heal(self._cordons[node][1])

    def cordoned(self, node: str) -> str | None:
        if node not in self._cordons:
            return None
        machine, fault = self._cordons[node]
        if fault.healed:
            return None if self._client.seen_healed(fault) is None else machine
        return machine if self._client.look(fault).record["state"] == "inForce" else None

    def beside(self, node: str) -> Sequence[str]:
        machine = self._pod_of(node).place.machine
        return [one.name for one in self._unique() if one.place.machine == machine and one.place.uid in self._there]

    def _touchable(self, node: str) -> tuple[PodNode, PodPlace]:
        """The node, and its pod, which its agent would let be touched: that is asked before the API server is. Its log
        is kept. Raises ``BackendError``."""
        one = self._present(node)
        try:
            one.place.look("process_state", str)
        except AgentError as error:
            if error.status == 403:
                raise BackendError(f"{node}: {error}") from error
        one.keep_log(partial(self._log_of, one))
        return one, one.place

    def _present(self, node: str) -> PodNode:
        if not self.pod_of(node):
            name = self._pod_of(node).place.name
            raise BackendError(f"{node} has no pod that could be touched: pod {name} is gone, and there is no next one")
        return self._pod_of(node)

    # --- what is seen ---

    def _look_at_pods(self) -> None:
        """Now and then, on another thread."""
        if self._looking is not None and self._looking.done():
            looking, self._looking = self._looking, None
            with contextlib.suppress(KubeError):  # it is looked at again
                self._look_through(looking.result())
        if self._nodes and self._looking is None and time.monotonic() - self._looked > _LOOK_EVERY:
            self._looked = time.monotonic()
            self._looking = self._threads.submit(self._listed)

    def _look_through(self, pods: Sequence[Json]) -> None:
        self._there = {pod["metadata"]["uid"] for pod in pods}
        self._see(pods)

    def _end_with_pod(self, one: PodNode, names: Sequence[str]) -> None:
        """Note what was done to a pod that is gone: the run has not seen it end as it should. ``names``: of its
        node."""
        down, one.down = one.down, []
        lost = {kind: had for kind, had in one.faults.items() if kind.ACTS_ON not in self.OUTLIVED}
        ended = [
            *self._cuts.of(names),
            *(f"{kind.__name__.lower()} {one.name}" for kind, had in lost.items() if not had.healed),
            *(f"{one.name} being down" for _ in down[:1]),
            *(f"stop {one.name}" for _ in (one.stopping,) if one.stopping is not None),
        ]
        if ended:
            self._note_once(f"pod {one.place.name} was replaced, which ended what was done to it: {', '.join(ended)}")
        one.stopping = None
        for fault in down:
            self._client.heal_soon(fault)  # nothing of it is left with the pod
        for kind in lost:
            del one.faults[kind]

    def _follow(self, one: PodNode, names: Sequence[str], pod: Json) -> None:
        """Note the address of a pod. It has another one when its machine has started again, and is the same pod."""
        address = str((pod.get("status") or {}).get("podIP") or "")
        if address in ("", self._endpoints[one.name].host):
            return
        if ended := self._cuts.of(names):
            self._note_once(f"pod {one.place.name} has another address, which ended {', '.join(ended)}")
        for name in names:
            self._endpoints[name] = self._endpoints[name]._replace(host=address)

    def _note_once(self, reason: str) -> None:
        if reason not in self._inconclusive_reasons:
            self._inconclusive_reasons.append(reason)
