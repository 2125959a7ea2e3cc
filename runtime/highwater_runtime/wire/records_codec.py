"""Framing of metadata-log records: frame version, record key and record version as unsigned varints, then the body.

That is what the value of each record in Kafka's ``__cluster_metadata`` log holds (``MetadataRecordSerde``, KIP-631).
Control records (leader change, snapshot header and footer) are not framed like this.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from highwater_runtime.wire.codec import Buffer, DecodeError, UnsupportedVersionError, uvarint, uvarint_at
from highwater_runtime.wire.message import Message
from highwater_runtime.wire.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from highwater_runtime.wire.messages.config_record import ConfigRecord
from highwater_runtime.wire.messages.feature_level_record import FeatureLevelRecord
from highwater_runtime.wire.messages.no_op_record import NoOpRecord
from highwater_runtime.wire.messages.partition_change_record import PartitionChangeRecord
from highwater_runtime.wire.messages.partition_record import PartitionRecord
from highwater_runtime.wire.messages.producer_ids_record import ProducerIdsRecord
from highwater_runtime.wire.messages.register_broker_record import RegisterBrokerRecord
from highwater_runtime.wire.messages.remove_topic_record import RemoveTopicRecord
from highwater_runtime.wire.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from highwater_runtime.wire.messages.topic_record import TopicRecord
from highwater_runtime.wire.messages.unregister_broker_record import UnregisterBrokerRecord
from highwater_runtime.wire.messages.user_scram_credential_record import UserScramCredentialRecord

FRAME_VERSION: Final = 1
_KEPT: Final = 2048
"""Records that were decoded last. In the simulator every node decodes each record, one soon after the other."""


_CLASSES: Final[tuple[type[Message], ...]] = (
    UnregisterBrokerRecord,
    TopicRecord,
    PartitionRecord,
    ConfigRecord,
    PartitionChangeRecord,
    RemoveTopicRecord,
    UserScramCredentialRecord,
    FeatureLevelRecord,
    ProducerIdsRecord,
    BrokerRegistrationChangeRecord,
    NoOpRecord,
    RemoveUserScramCredentialRecord,
    RegisterBrokerRecord,
)
METADATA_RECORDS: Final[dict[int, type[Message]]] = {record.API_KEY: record for record in _CLASSES}
"""Record key -> class."""


def encode_metadata_record(record: Message, version: int) -> bytes:
    """Return the framed bytes of ``record``. Raises SchemaError if ``version`` cannot carry it."""
    return b"".join((uvarint(FRAME_VERSION), uvarint(record.API_KEY), uvarint(version), record.encode(version)))


@lru_cache(maxsize=_KEPT)
def decode_committed_record(data: bytes) -> Any:
    """As :func:`decode_metadata_record`, for a record that nobody changes: nodes of one process share it."""
    return decode_metadata_record(data)


def decode_metadata_record(data: Buffer) -> Any:
    """Return the record in ``data``, which holds one frame and nothing else.

    Raises DecodeError if it is malformed, or of a kind or version that this build does not know: a node must not
    pass over metadata that it does not understand.
    """
    try:
        frame, position = uvarint_at(data, 0)
        key, position = uvarint_at(data, position)
        version, position = uvarint_at(data, position)
    except IndexError as fault:
        raise DecodeError("metadata record", len(data), "truncated in its frame") from fault
    if frame != FRAME_VERSION:
        raise DecodeError("metadata record", 0, f"frame version {frame}, expected {FRAME_VERSION}")
    record_class = METADATA_RECORDS.get(key)
    if record_class is None:
        raise DecodeError("metadata record", 0, f"unknown record key {key}")
    try:
        record, end = record_class.decode_from(data, position, version)
    except UnsupportedVersionError as fault:
        raise DecodeError(record_class.NAME, 0, str(fault)) from fault
    if end != len(data):
        raise DecodeError(record_class.NAME, end, f"{len(data) - end} bytes left over")
    return record
