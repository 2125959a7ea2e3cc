"""Ends sessions of brokers with the real ensemble, and sees whom they belong to.

The harness is a client of the ensemble itself (:class:`~highwater_chaos.backends.ensemble.sessions.SessionsClient`), on
the clients' thread and so in their network. A broker's key comes from its control socket, which only the harness can
open, or on Kubernetes the agent of its machine. Other software than our own has no such socket: the password of its
session follows from the session's id.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from highwater_chaos.backends.ensemble.sessions import CLIENT, SessionsClient, password_of
from highwater_chaos.backends.local.clients import LocalClients
from highwater_chaos.backends.protocol import BackendError
from highwater_chaos.experiment.nodes import node_id
from highwater_runtime.host.node import CoreFactory, HostedNode
from highwater_runtime.ports import Endpoint, NodeCore, Ports
from highwater_runtime.ports.coordination import SessionKey

_PREFERRED_ELECTION: Final = "/admin/preferred_replica_election"
"""What Apache Kafka's controllers watch, and remove once they have elected."""


class Sessions:
    """The sessions of one run's brokers.

    Args:
        servers: of the ensemble, for clients.
        key_of: asks a broker for the key of its session: ``id`` and ``password`` (hex); None if it has none. Raises
            ``BackendError`` if the broker does not run. None: no broker can be asked.
        elects_preferred: preferred replicas are elected by way of the ensemble.
    """

    def __init__(
        self,
        clients: LocalClients,
        servers: Sequence[Endpoint],
        key_of: Callable[[str], Mapping[str, Any] | None] | None,
        *,
        elects_preferred: bool = False,
    ) -> None:
        from highwater_runtime.host.zookeeper import KazooCoordination  # noqa: PLC0415 - needs kazoo, which is optional

        # It warns of each server that it does not reach: here they are killed on purpose.
        logging.getLogger("kazoo").setLevel(logging.CRITICAL)
        self._clients = clients
        self._key_of = key_of
        self.elects_preferred: Final = elects_preferred
        self._keys: dict[int, SessionKey] = {}
        self._core: SessionsClient

        def factory_for(node: HostedNode) -> CoreFactory:
            def make(ports: Ports) -> NodeCore:
                self._core = SessionsClient(ports, KazooCoordination(servers, node.loop, node.run, node.turn.will_send))
                return self._core

            return make

        clients.add_hosted(CLIENT, factory_for)

    def session(self, node: str) -> int:
        """The session by which a broker is registered; 0: none. Raises ``BackendError`` while that is not known."""
        owner = self._clients.call(lambda: self._core.owner(node_id(node)))
        if owner is None:
            raise BackendError(f"no ZooKeeper server has answered yet which session {node} is registered by")
        return owner

    def end(self, node: str, session: int) -> None:
        """Begin to end that session of a broker. Raises ``BackendError``: the broker does not give its key."""
        key = self._keys.get(session) or self._keys.setdefault(session, self._ask(node, session))
        self._clients.post(lambda: self._core.end(key))

    def elect_preferred(self, partitions: Sequence[tuple[str, int]], on_outcome: Callable[[str | None], None]) -> None:
        """Create the node by which the controller is asked to let preferred replicas lead. On the clients' thread."""
        named = [{"topic": topic, "partition": index} for topic, index in partitions]
        data = msgspec.json.encode({"version": 1, "partitions": named})
        self._core.create(_PREFERRED_ELECTION, data, on_outcome)

    def _ask(self, node: str, session: int) -> SessionKey:
        if self._key_of is None:
            return SessionKey(session, password_of(session))
        answer = self._key_of(node)
        if answer is None or answer["id"] != session:
            raise BackendError(f"{node} does not have the session {session:#x} any more by which it is registered")
        return SessionKey(session, bytes.fromhex(answer["password"]))

    def close(self) -> None:
        """Close the harness's own session, as soon as the ensemble answers."""
        self._clients.post(lambda: self._core.stop(lambda: None))
