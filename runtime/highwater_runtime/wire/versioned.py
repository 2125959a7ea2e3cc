"""Messages that follow their own version: an int16, then the body.

So are the keys and values of ``__consumer_offsets`` (Kafka's ``CoordinatorRecordSerde``) and what consumers tell each
other through their group (``ConsumerProtocol``). In a key the version also says what it is a key of: 0 and 1 an offset,
2 a group.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, Final, TypeVar

from highwater_runtime.wire.codec import Buffer, DecodeError, UnsupportedVersionError
from highwater_runtime.wire.message import Message
from highwater_runtime.wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from highwater_runtime.wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from highwater_runtime.wire.messages.group_metadata_key import GroupMetadataKey
from highwater_runtime.wire.messages.offset_commit_key import OffsetCommitKey

M = TypeVar("M", bound=Message)

_version: Final = Struct(">h")

COORDINATOR_KEYS: Final[dict[int, type[OffsetCommitKey] | type[GroupMetadataKey]]] = {
    0: OffsetCommitKey,
    1: OffsetCommitKey,
    2: GroupMetadataKey,
}
"""Version of a key in ``__consumer_offsets`` -> its class."""


def encode_versioned(message: Message, version: int) -> bytes:
    """Return the bytes of ``version`` and ``message``. Raises SchemaError if the version cannot carry it."""
    return _version.pack(version) + message.encode(version)


def decode_versioned(message: type[M], data: Buffer) -> M:
    """Return the ``message`` in ``data``, which holds nothing else.

    Raises DecodeError if it is malformed or of a version that this build does not know.
    """
    version = _version_of(message.NAME, data)
    try:
        return message.decode(data[2:], version)
    except UnsupportedVersionError as fault:
        raise DecodeError(message.NAME, 0, str(fault)) from fault


def decode_coordinator_key(data: Buffer) -> OffsetCommitKey | GroupMetadataKey | None:
    """Return the key of a record of ``__consumer_offsets``; None if this build does not know its kind.

    A coordinator passes over records of unknown kinds, as Kafka's does: a newer one may have written them. Raises
    DecodeError if it is malformed.
    """
    version = _version_of("coordinator key", data)
    key = COORDINATOR_KEYS.get(version)
    return None if key is None else key.decode(data[2:], version)


def decode_consumer_protocol(
    message: type[ConsumerProtocolSubscription] | type[ConsumerProtocolAssignment], data: Buffer
) -> Any:
    """Return the part of a JoinGroup or SyncGroup that consumers exchange.

    A newer version is read as the newest one known and the rest passed over: that is how this format grows (KIP-429).
    Raises DecodeError if it is malformed.
    """
    version = _version_of(message.NAME, data)
    if version < message.MIN_VERSION:
        raise DecodeError(message.NAME, 0, f"version {version}")
    return message.decode_from(data, 2, min(version, message.MAX_VERSION))[0]


def _version_of(name: str, data: Buffer) -> int:
    if len(data) < _version.size:
        raise DecodeError(name, len(data), "too short for a version")
    return int(_version.unpack_from(data, 0)[0])
