"""Where peers are really reached when their names tell an old address.

A pod that is replaced keeps its name and gets another address; resolvers answer with the old one until it expires. A
peer that has moved speaks first: the address it asks from is the one to try where the name leads nowhere. Only an
address, never a port or a name: TLS checks the peer's certificate for the name all the same.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from highwater_runtime.host.logs import NodeLog
from highwater_runtime.ports import Endpoint


class PeerAddresses:
    """Of the peers at ``endpoints`` that are given by name; an address given as a number does not get old."""

    def __init__(self, log: NodeLog, endpoints: Iterable[Endpoint] = ()) -> None:
        self._log = log
        self._named = frozenset(one for one in endpoints if not is_number(one.host))
        self._heard_from: dict[Endpoint, str] = {}
        self._misled: set[Endpoint] = set()
        """Peers whose name led nowhere the last time."""

    def heard(self, peer: Endpoint, address: str) -> None:
        """The peer has sent a request from ``address``."""
        if peer in self._named and self._heard_from.get(peer) != address:
            if peer in self._heard_from:
                self._log.info("peer has another address", server=peer, address=address)
            self._heard_from[peer] = address

    def instead_of_name(self, peer: Endpoint) -> str | None:
        """The address to connect to; None: go by the name."""
        return self._heard_from.get(peer) if peer in self._misled else None

    def failed(self, peer: Endpoint, address: str | None) -> None:
        """No connection could be opened, to ``address`` or (None) by the name."""
        if peer not in self._named:
            return
        if address is None:
            self._misled.add(peer)
        elif self._heard_from.get(peer) == address:
            del self._heard_from[peer]

    def reached(self, peer: Endpoint, address: str | None) -> None:
        """A connection is open, to ``address`` or (None) by the name."""
        if address is None:
            self._misled.discard(peer)


def is_number(host: str) -> bool:
    """Whether a host is an IP address rather than a name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
