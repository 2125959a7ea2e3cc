"""Keep every voter of the metadata quorum in reach, and say which are not.

A follower talks to the leader alone, so that nobody would notice that two followers cannot reach each other until the
leader goes: then they cannot elect one of themselves. Every node therefore asks every other voter for its API versions
once a second. A controller says who it is in that request, from which the others learn its address
(:mod:`~..net.peer_addresses`). Voters that are given by number are left out: their addresses do not change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from highwater_runtime.host.net.connection import ServerConnection
from highwater_runtime.host.net.peer_addresses import PeerAddresses, is_number
from highwater_runtime.host.node import HostedNode
from highwater_runtime.ports import SECOND, Endpoint, RpcFailure
from highwater_runtime.wire.messages.api_versions_request import ApiVersionsRequest

_EVERY_NS: Final = SECOND
_TIMEOUT_NS: Final = 2 * SECOND
_STALE_S: Final = 5.0
_CHANNEL: Final = "contact"
_VERSION: Final = 3
_CONTROLLER: Final = "highwater-controller"
_ID: Final = re.compile(r"[0-9]{1,10}")


class QuorumContact:
    """Of one node; ``is_controller``: it is itself a voter."""

    def __init__(self, node: HostedNode, node_id: int, voters: Mapping[int, Endpoint], *, is_controller: bool) -> None:
        self._node = node
        self._others = {
            voter: endpoint for voter, endpoint in voters.items() if voter != node_id and not is_number(endpoint.host)
        }
        name = _CONTROLLER if is_controller else "highwater-broker"
        self._question = ApiVersionsRequest(client_software_name=name, client_software_version=str(node_id))
        self._answered: dict[int, float] = {}
        self._why: dict[int, str] = dict.fromkeys(self._others, "not asked yet")
        node.network.addresses = PeerAddresses(node.log, self._others.values())
        if self._others and is_controller:
            node.server.on_introduction = self._introduced

    def start(self) -> None:
        """Begin to ask; goes on as long as the node lives."""
        for voter in self._others:
            self._node.run(partial(self._ask, voter))

    def out_of_reach(self) -> dict[int, str]:
        """Voter -> why it is not known to be in reach now."""
        now = self._node.loop.time()
        late = {voter: f"no answer for {now - at:.0f} s" for voter, at in self._answered.items() if now - at > _STALE_S}
        return dict(sorted({**late, **self._why}.items()))

    def _ask(self, voter: int) -> None:
        def on_response(response: Any) -> None:
            if isinstance(response, RpcFailure):
                self._why[voter] = response.value
            else:
                self._why.pop(voter, None)
                self._answered[voter] = self._node.loop.time()
            self._node.clock.call_later(_EVERY_NS, lambda: self._ask(voter))

        self._node.network.send(
            self._others[voter], self._question, _VERSION, on_response, timeout_ns=_TIMEOUT_NS, channel=_CHANNEL
        )

    def _introduced(self, connection: ServerConnection, body: ApiVersionsRequest) -> None:
        """A client of the node's says who it is. Where clients prove who they are, only a node is believed."""
        said = body.client_software_version
        if body.client_software_name != _CONTROLLER or _ID.fullmatch(said) is None or not connection.may_be_node:
            return
        peer = self._others.get(int(said))
        if peer is not None and not connection.is_disguised:
            self._node.network.addresses.heard(peer, connection.address)
