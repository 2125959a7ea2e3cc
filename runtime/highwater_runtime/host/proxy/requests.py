"""A request that is passed on: of its frame only the header is read, and of Produce whether it will be answered."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol

from highwater_runtime.host.net.requests import HostRequest, RequestSource
from highwater_runtime.host.proxy.sources import Sources
from highwater_runtime.wire.api_keys import PRIVATE_KEYS_FROM, ApiKey
from highwater_runtime.wire.codec import WireError, skip_tagged, uvarint_at

_unpack_head: Final = struct.Struct(">hhih").unpack_from
_unpack_i16: Final = struct.Struct(">h").unpack_from
_HEAD_BYTES: Final = 10
_MOST_HEAD_BYTES: Final = 128 * 1024
"""Where acks is at the latest: before it are two strings, of 32,767 bytes at most."""
_PRODUCE: Final = int(ApiKey.PRODUCE)
_FLEXIBLE_PRODUCE: Final = 9
_TRANSACTIONAL_PRODUCE: Final = 3


class Api(NamedTuple):
    """What stands in the place of a decoded body."""

    NAME: str
    API_KEY: int


_APIS: Final[Mapping[int, Api]] = {
    int(key): Api(key.name.title().replace("_", "") + "Request", int(key)) for key in ApiKey if key < PRIVATE_KEYS_FROM
}
_OTHER: Final = Api("(other)", -1)
"""Of a request that no rule is about: of an API that has no name here, or of a client that is spared."""


class ForwardsRequests(RequestSource, Protocol):
    """The connection that a request came by, and goes on by."""

    sources: Sources
    address: str

    def forward(self, request: ProxiedRequest) -> bool:
        """Pass a request on to the node; False: the way there is gone."""

    def answered(self, request: ProxiedRequest, answer: list[bytes]) -> None:
        """The node has answered; an empty answer: it never will, and sends nothing."""


class ProxiedRequest(HostRequest):
    """A request, whose answer is the frame that the node sends. ``client_id`` is its source, as rules name it."""

    __slots__ = ("frame", "has_place", "is_answered", "is_twin", "waiting_bytes")

    connection: ForwardsRequests

    def __init__(self, connection: ForwardsRequests, frame: bytes) -> None:
        key = version = correlation_id = -1
        client_id = ""
        position = 0
        # What is too short for a header is passed on as it is: what to say to it is the node's business.
        if len(frame) >= _HEAD_BYTES:
            key, version, correlation_id, length = _unpack_head(frame, 0)
            position = _HEAD_BYTES + max(0, length)
            client_id = frame[_HEAD_BYTES:position].decode("utf-8", "replace")
        sources = connection.sources
        api = _OTHER if client_id in sources.spared else _APIS.get(key, _OTHER)
        super().__init__(
            connection, api, version, correlation_id, sources.of(connection.address, client_id), len(frame)
        )
        self.is_twin = False
        self.waiting_bytes = 0
        """Of its answer, while that is behind others."""
        self.has_place = False
        """Whether its answer has its place in line although the node has not got it yet."""
        self.frame: bytes = frame
        """Without its size; empty once it was passed on."""
        self.is_answered = not (key == _PRODUCE and _acks(frame[:_MOST_HEAD_BYTES], version, position) == 0)

    def twin(self) -> ProxiedRequest:
        twin = ProxiedRequest(self.connection, self.frame)
        twin.is_twin = True
        return twin


def _acks(frame: bytes, version: int, position: int) -> int | None:
    """``acks`` of a Produce request whose header ends at ``position``, but for its tagged fields; None: it cannot be
    read, and the node will not take it either."""
    try:
        if version >= _FLEXIBLE_PRODUCE:
            position = skip_tagged("RequestHeader", frame, position)
            length, position = uvarint_at(frame, position)
            position += max(0, length - 1)
        elif version >= _TRANSACTIONAL_PRODUCE:
            (length,) = _unpack_i16(frame, position)
            position += 2 + max(0, length)
        (acks,) = _unpack_i16(frame, position)
    except (struct.error, WireError, IndexError):
        return None
    return int(acks)
