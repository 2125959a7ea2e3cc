"""Groups and committed offsets as records of ``__consumer_offsets``, byte for byte as Apache Kafka writes them.

The key of an offset's record is (group, topic, partition); the key of a group's record is the group. The last record of
a key is its value, and a record without a value (a tombstone) deletes it. So the state is the last record of each key,
and compaction may remove all others.

Which partition: Java's ``String.hashCode`` of the group id, without its sign, modulo the number of partitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from highwater_runtime.broker.groups.group import Group, Member, Protocol
from highwater_runtime.broker.groups.offsets import CommittedOffset, TopicPartition
from highwater_runtime.broker.groups.states import GroupState
from highwater_runtime.log.records import Record
from highwater_runtime.wire.messages.group_metadata_key import GroupMetadataKey
from highwater_runtime.wire.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from highwater_runtime.wire.messages.offset_commit_key import OffsetCommitKey
from highwater_runtime.wire.messages.offset_commit_value import OffsetCommitValue
from highwater_runtime.wire.versioned import encode_versioned

OFFSET_KEY_VERSION: Final = 1
GROUP_KEY_VERSION: Final = 2
OFFSET_VALUE_VERSION: Final = 3
EXPIRING_OFFSET_VALUE_VERSION: Final = 1
"""The only version that carries a time to live of its own; Kafka writes it for just that."""
GROUP_VALUE_VERSION: Final = 3


def partition_for(group_id: str, partitions: int) -> int:
    """The partition of ``__consumer_offsets``, of ``partitions``, that a group lives in."""
    return (java_hash(group_id) & 0x7FFFFFFF) % partitions


def java_hash(text: str) -> int:
    """Java's ``String.hashCode``: over UTF-16 code units, modulo 2^32 (here without the sign)."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value


def offset_record(group_id: str, partition: TopicPartition, committed: CommittedOffset | None) -> Record:
    """A commit; the tombstone of one where ``committed`` is None."""
    key = encode_versioned(OffsetCommitKey(group=group_id, topic=partition[0], partition=partition[1]), 1)
    return Record(key=key, value=None if committed is None else _offset_value(committed))


def _offset_value(committed: CommittedOffset) -> bytes:
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_ms,
    )
    if committed.expire_ms is None:
        return encode_versioned(value, OFFSET_VALUE_VERSION)
    value.expire_timestamp = committed.expire_ms
    return encode_versioned(value, EXPIRING_OFFSET_VALUE_VERSION)


def offset_of(value: OffsetCommitValue) -> CommittedOffset:
    """Inverse of what :func:`offset_record` puts into a record."""
    return CommittedOffset(
        offset=value.offset,
        leader_epoch=value.leader_epoch,
        metadata=value.metadata,
        commit_ms=value.commit_timestamp,
        expire_ms=None if value.expire_timestamp < 0 else value.expire_timestamp,
    )


def group_record(group: Group, assignment: Mapping[str, bytes]) -> Record:
    """The group's present generation, with ``assignment`` by member id."""
    members = [
        MemberMetadata(
            member_id=member.id,
            group_instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout=member.rebalance_timeout_ms,
            session_timeout=member.session_timeout_ms,
            subscription=member.metadata_for(group.protocol) if group.protocol is not None else b"",
            assignment=assignment[member.id],
        )
        for member in group.members.values()
    ]
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=group.protocol,
        leader=group.leader_id,
        current_state_timestamp=-1 if group.state_since_ms is None else group.state_since_ms,
        members=members,
    )
    return Record(key=_group_key(group.id), value=encode_versioned(value, GROUP_VALUE_VERSION))


def group_tombstone(group_id: str) -> Record:
    """Return the record that deletes a group."""
    return Record(key=_group_key(group_id), value=None)


def _group_key(group_id: str) -> bytes:
    return encode_versioned(GroupMetadataKey(group=group_id), GROUP_KEY_VERSION)


def group_of(group_id: str, value: GroupMetadataValue) -> Group:
    """Return the group in a record: Stable with its members, or Empty without any."""
    protocol = value.protocol
    group = Group(
        group_id,
        state=GroupState.STABLE if value.members else GroupState.EMPTY,
        generation=value.generation,
        protocol_type=value.protocol_type or None,
        protocol=protocol,
        state_since_ms=None if value.current_state_timestamp < 0 else value.current_state_timestamp,
    )
    for member in value.members:
        group.add(
            Member(
                id=member.member_id,
                instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout_ms=member.rebalance_timeout
                if member.rebalance_timeout >= 0
                else member.session_timeout,
                session_timeout_ms=member.session_timeout,
                protocols=(Protocol(protocol or "", member.subscription),),
                assignment=member.assignment,
            )
        )
    if value.leader in group.members:
        group.leader_id = value.leader
    return group
