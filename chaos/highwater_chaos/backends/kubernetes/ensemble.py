"""The ZooKeeper ensemble of a cluster in pods: what it commits, and the sessions of its brokers.

The runner joins the ensemble as an observer and as a client, under the names of its pods. Both need nothing of the
pods' machines; only the key of a session of our own brokers comes from the agent there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from highwater_chaos.backends.ensemble.kafka_nodes import as_our_nodes
from highwater_chaos.backends.ensemble.observer import EnsembleObserver, as_they_are
from highwater_chaos.backends.ensemble.servers import silence_s
from highwater_chaos.backends.kubernetes.agents import AgentError
from highwater_chaos.backends.kubernetes.cluster import ClusterError, Place
from highwater_chaos.backends.kubernetes.faults import PodPlace
from highwater_chaos.backends.local.clients import LocalClients
from highwater_chaos.backends.local.program import Observed
from highwater_chaos.backends.local.sessions import Sessions
from highwater_chaos.backends.protocol import BackendError
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.nodes import zookeeper_names
from highwater_chaos.experiment.software import elects_by_znode
from highwater_chaos.experiment.timeouts import timeouts
from highwater_runtime.ports import Endpoint

_CATCH_UP_WITHIN: Final = 60.0


class PodEnsemble:
    """The ensemble of one run; of a cluster in KRaft mode there is none, and nothing comes of it.

    It is observed from the making of this on: before its servers run, or, on a LogCluster that is borrowed, from what
    its transactions have come to by then (:meth:`catch_up`).

    Args:
        at: where an address of the pods' network is reached from here.
    """

    def __init__(self, place: Place, cluster: Cluster, at: Callable[[Endpoint], Endpoint]) -> None:
        names = zookeeper_names(cluster)
        self._clients_at = [at(place.endpoint(name)) for name in names]
        self._sessions: Sessions | None = None
        quorum = {name: at(place.quorum_endpoint(name)) for name in names}
        self._cluster = cluster
        silence = silence_s(timeouts(cluster).zookeeper_session_timeout_ms)
        read = as_they_are if cluster.kafka is None else as_our_nodes
        self._observer = EnsembleObserver(quorum, silence_s=silence, read=read) if names else None

    def catch_up(self) -> None:
        """Wait until all that was committed before is known: who is registered, who leads, who the controller is.

        Raises:
            ClusterError: no server says so in time.
        """
        if self._observer is not None and not self._observer.wait_caught_up(_CATCH_UP_WITHIN):
            notes = "".join(f"; {note}" for note in self._observer.notes())
            raise ClusterError(
                f"what the ZooKeeper ensemble has committed could not be read in {_CATCH_UP_WITHIN:g} s: no leader"
                f" answers on its quorum port{notes}"
            )

    def begin_sessions(self, clients: LocalClients, places: Mapping[str, PodPlace]) -> Sessions | None:
        """Become a client of the ensemble, once it runs; None: there is none."""

        def key_of(node: str) -> Mapping[str, Any] | None:
            place = places[node]
            try:
                found: Mapping[str, Any] | None = place.look("session", dict[str, int | str] | None)
            except AgentError as error:
                raise BackendError(f"the key of the session of {node} cannot be had: {error}") from error
            return found

        if self._clients_at:
            cluster = self._cluster
            ask = key_of if cluster.kafka is None else None
            self._sessions = Sessions(clients, self._clients_at, ask, elects_preferred=elects_by_znode(cluster))
        return self._sessions

    def take(self, incarnation: Callable[[str], int]) -> list[Observed]:
        """What was committed since the last time, in order. ``incarnation``: that of a server."""
        if self._observer is None:
            return []
        return [
            Observed(one.time_ns, one.wall_ns, one.node, incarnation(one.node), one.event)
            for one in self._observer.take()
        ]

    def notes(self) -> Sequence[str]:
        """What was not seen of the ensemble."""
        return () if self._observer is None else self._observer.notes()

    def close(self) -> None:
        if self._sessions is not None:
            self._sessions.close()
        if self._observer is not None:
            self._observer.close()
