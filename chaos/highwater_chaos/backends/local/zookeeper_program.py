"""Apache ZooKeeper's servers as nodes: one JVM each, with its transaction log on the node's disk.

They report nothing themselves. What they commit is seen by an observer of the ensemble
(:mod:`~highwater_chaos.backends.ensemble.observer`), and the harness knows when it starts and ends them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from highwater_chaos.backends.ensemble.observer import EnsembleObserver, as_they_are
from highwater_chaos.backends.ensemble.servers import (
    MYID,
    Member,
    available,
    command,
    server_config,
    silence_s,
)
from highwater_chaos.backends.local.program import ClusterPlan, Launch, NodePlace, Observed, Observer, Site
from highwater_chaos.backends.primitives import Primitive
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.timeouts import timeouts
from highwater_runtime.host.clock_pairs import how_far_ahead
from highwater_runtime.ports import Endpoint
from highwater_runtime.ports.trace import NodeStarted
from highwater_runtime.zookeeper.tree import Change

_CONFIG: Final = "zoo.cfg"


class ZooKeeperProgram:
    """See :class:`~highwater_chaos.backends.local.program.NodeProgram`."""

    name = "zookeeper"
    stopped_status = 143
    """A JVM that SIGTERM has ended says so, however cleanly it went."""
    memory_mib = 150
    says_why_it_ends = False
    done_by_nodes = frozenset[Primitive]()

    def __init__(self, *, is_observed: bool = True) -> None:
        """``is_observed``: whether what the ensemble commits is observed here, not by the brokers' program."""
        self._is_observed = is_observed

    def problems(self, cluster: Cluster) -> list[str]:
        """Packages that are not installed."""
        del cluster
        problem = available()
        return [] if problem is None else [problem]

    def why_no_rules(self, cluster: Cluster) -> str | None:
        """Return why no message fault is possible: ZooKeeper speaks another protocol."""
        del cluster
        return "ZooKeeper's servers do not speak Kafka's protocol"

    def launch(self, plan: ClusterPlan, place: NodePlace, incarnation: int) -> Launch:
        """Write ``zoo.cfg``, and the server's number on a disk that is empty."""
        del incarnation
        places = plan.of_role("zookeeper")
        members = {_number(one): Member(one.advertised.host, one.advertised.port, *one.peer_ports) for one in places}
        config = place.files / _CONFIG
        timeout_ms = _session_timeout_ms(plan.cluster)
        text = server_config(
            members, _number(place), data=place.data, session_timeout_ms=timeout_ms, bind=place.bind.host
        )
        config.write_text(text, encoding="utf-8")
        _number_disk(place.data / MYID, _number(place))
        return Launch(argv=command(config), paths={f"config/{place.name}.cfg": config})

    def observer(self, site: Site) -> Observer:
        """Joins the ensemble as an observer."""
        return ZooKeeperObserver(site, observe_ensemble(site) if self._is_observed else None)


class ZooKeeperObserver:
    """An :class:`~highwater_chaos.backends.local.program.Observer` of the servers of one run. ``ensemble``: what
    observes their transactions; None if others do."""

    def __init__(self, site: Site, ensemble: EnsembleObserver | None) -> None:
        self.records: Sequence[Path] = ()
        self._site = site
        self._started: list[Observed] = []
        self._ensemble = ensemble

    def starting(self, node: str, incarnation: int, time_ns: int) -> None:
        """Add the event ``NodeStarted``, since ZooKeeper's servers do not report their start."""
        wall_ns = time_ns + how_far_ahead(time.time_ns, of=time.monotonic_ns).by_ns
        self._started.append(Observed(time_ns, wall_ns, node, incarnation, NodeStarted()))

    def poll(self) -> Sequence[Observed]:
        """Starts, then what was committed, in order."""
        started, self._started = self._started, []
        return [*started, *(() if self._ensemble is None else committed(self._site, self._ensemble))]

    def notes(self) -> Sequence[str]:
        """What was not seen of the ensemble."""
        return () if self._ensemble is None else self._ensemble.notes()

    def close(self) -> None:
        if self._ensemble is not None:
            self._ensemble.close()


def observe_ensemble(site: Site, read: Callable[[list[Change]], list[Change]] = as_they_are) -> EnsembleObserver:
    """Begin to observe what the servers of a run commit; ``read`` is as for :class:`.EnsembleObserver`."""
    servers = {
        place.name: Endpoint(place.advertised.host, place.peer_ports[0]) for place in site.plan.of_role("zookeeper")
    }
    silence = silence_s(_session_timeout_ms(site.plan.cluster))
    return EnsembleObserver(servers, silence_s=silence, enter=site.enter_network, read=read)


def committed(site: Site, ensemble: EnsembleObserver) -> list[Observed]:
    """What the ensemble has committed since the last call."""
    return [
        Observed(one.time_ns, one.wall_ns, one.node, site.incarnation(one.node), one.event) for one in ensemble.take()
    ]


def _number(place: NodePlace) -> int:
    """``myid``: 1 and up."""
    return int(place.name.rpartition("-")[2]) + 1


def _number_disk(path: Path, number: int) -> None:
    if path.exists() and path.read_text(encoding="ascii") == f"{number}\n":
        return
    with path.open("w", encoding="ascii") as file:
        file.write(f"{number}\n")
        file.flush()
        os.fsync(file.fileno())
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _session_timeout_ms(cluster: Cluster) -> int:
    return timeouts(cluster).zookeeper_session_timeout_ms
