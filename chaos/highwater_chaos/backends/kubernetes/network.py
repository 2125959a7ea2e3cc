"""Cuts between pods: each is a fault at the destination's agent, which drops what comes from the source's address.

Asked for on other threads, since an agent looks for a while before it believes that nothing gets through; who wants to
know whether a link works waits for what is under way on it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import Future

from highwater_chaos.backends.kubernetes.faults import FaultDesk, InjectedFault, PodPlace

Link = tuple[str, str]


class Cuts:
    """The cuts of one run.

    Args:
        addresses: nodes' IP addresses: a pod keeps its own while its containers come and go.
    """

    def __init__(self, desk: FaultDesk, places: Mapping[str, PodPlace], addresses: Mapping[str, str]) -> None:
        self._desk = desk
        self._places = places
        self._addresses = addresses
        self._cuts: dict[Link, list[Future[InjectedFault]]] = defaultdict(list)
        self._healing: dict[Link, list[Future[None]]] = defaultdict(list)

    def cut(self, source: str, destination: str, lasts_ns: int | None) -> None:
        """Begin to cut; :meth:`reachable` tells when it is so."""
        cuts = [{"peer": self._addresses[source], "direction": "in"}]
        what = f"cut {source} from {destination}"
        future = self._desk.inject_soon(self._places[destination], "partition", what, lasts_ns, {"cuts": cuts})
        self._cuts[source, destination].append(future)

    def uncut(self, source: str, destination: str) -> None:
        """Begin to undo one cut. One that did not come about needs no undoing: its doubt is in the fault's evidence."""
        future = self._cuts[source, destination].pop()
        if future.exception() is None:
            self._healing[source, destination].append(self._desk.heal_soon(future.result()))

    def reachable(self, source: str, destination: str) -> bool:
        """Whether the link works: no confirmed cut is in force, and those that were are seen to be gone."""
        link = (source, destination)
        for healing in self._healing.pop(link, []):
            healing.result()
        return all(future.exception() is not None for future in self._cuts[link])
