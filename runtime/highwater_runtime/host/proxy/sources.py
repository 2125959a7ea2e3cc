"""Who sent a message: the node at the peer's address; where addresses do not tell, the client id.

Apache Kafka's nodes use these client ids (ids of nodes are numbers, controllers' too):

===================================  ==================================================================================
``broker-1-fetcher-0``               replica fetchers
``broker-1-txn-marker-sender``       and others of the form ``broker-N-…``
``raft-client-1000``                 the quorum: Vote, BeginQuorumEpoch, Fetch, FetchSnapshot of voters and observers
``1``                                a broker to its controller (AlterPartition, BrokerHeartbeat, BrokerRegistration,
                                     forwarded requests), and a controller of ZooKeeper mode to brokers
===================================  ==================================================================================
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple, Self

_NODE: Final = re.compile(r"(?:raft-client-)?(\d{1,9})|broker-(\d{1,9})-.{1,100}", re.ASCII)


class Peer(NamedTuple):
    """A node of the cluster, as others see it."""

    name: str
    number: int
    host: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """From ``broker-0=0@10.77.1.1``. Raises ``ValueError``."""
        name, _, rest = text.partition("=")
        number, _, host = rest.partition("@")
        if not name or not host or not number.isdecimal():
            raise ValueError(f"expected NAME=ID@HOST, found {text!r}")
        return cls(name, int(number), host)


class Sources:
    """Args:

    spared: client ids of which no message is ever touched (the harness's own observers).
    """

    def __init__(self, peers: Iterable[Peer] = (), spared: Iterable[str] = ()) -> None:
        peers = tuple(peers)
        shared = Counter(peer.host for peer in peers)
        self._by_host = {peer.host: peer.name for peer in peers if shared[peer.host] == 1}
        self._by_number = {peer.number: peer.name for peer in peers}
        self.spared = frozenset(spared)

    def of(self, host: str, client_id: str) -> str:
        """The node's name, or the client id of a client that is no node."""
        return self._by_host.get(host) or self._node_of(client_id) or client_id

    def _node_of(self, client_id: str) -> str | None:
        found = _NODE.fullmatch(client_id)
        return None if found is None else self._by_number.get(int(found[1] or found[2]))
