"""Cuts between pods: each is a fault at the destination's agent, which drops what comes from the source's address.

Asked for on other threads, since an agent looks for a while before it believes that nothing gets through. Whether a
link works is asked of the source's agent: it makes a real connection from inside the source's pod to the destination's
listener. A connection needs both ways, so a link works only when its way back does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from highwater_chaos.backends.kubernetes.agents import AgentError
from highwater_chaos.backends.kubernetes.faults import FaultClient, InjectedFault, PodPlace
from highwater_chaos.backends.protocol import BackendError
from highwater_runtime.ports import Endpoint

Link = tuple[str, str]


@dataclass(slots=True)
class _Cut:
    link: Link
    injected: Future[InjectedFault]
    healed: Future[None] | None = None


class Cuts:
    """The cuts of one run.

    Args:
        endpoints: nodes' listeners under IP addresses: a pod keeps its own while its containers come and go.
    """

    def __init__(self, client: FaultClient, places: Mapping[str, PodPlace], endpoints: Mapping[str, Endpoint]) -> None:
        self._client = client
        self._places = places
        self._endpoints = endpoints
        self._cuts: dict[str, _Cut] = {}

    def cut(self, cut: str, source: str, destination: str, lasts_ns: int | None) -> None:
        """Begin to cut. :meth:`reachable` reports when the cut is in force."""
        peer = self._endpoints[source]
        what = f"cut {source} from {destination}"
        place = self._places[destination]
        future = self._client.inject_soon(
            place, "partition", what, lasts_ns, {"peer": peer.host, "probePort": peer.port}
        )
        self._cuts[cut] = _Cut((source, destination), future)

    def uncut(self, cut: str) -> None:
        """Begin to undo one cut. Idempotent. One that did not come about has been undone by the client."""
        made = self._cuts.get(cut)
        if made is not None and made.healed is None and made.injected.exception() is None:
            made.healed = self._client.heal_soon(made.injected.result())

    def of(self, nodes: Sequence[str]) -> list[str]:
        """What is cut from or to one of these nodes now."""
        going_on = [one.link for one in self._cuts.values() if one.healed is None]
        return [f"cut {one} from {other}" for one, other in going_on if one in nodes or other in nodes]

    def reachable(self, source: str, destination: str) -> bool:
        """Whether the destination answers a connection from inside the source's pod, once what is under way on the link
        is done.

        Raises:
            BackendError: a cut of this link failed, or the agent does not answer.
        """
        for name, one in list(self._cuts.items()):
            if one.link == (source, destination):
                if one.injected.exception() is not None:
                    del self._cuts[name]  # raised once; from then on the link is as the probe finds it
                one.injected.result()
                if one.healed is not None:
                    one.healed.result()
        place, peer = self._places[source], self._endpoints[destination]
        try:
            return bool(place.look("reaches", bool, {"peer": peer.host, "port": peer.port}))
        except AgentError as error:
            raise BackendError(f"whether {source} reaches {destination} cannot be seen: {error}") from error
