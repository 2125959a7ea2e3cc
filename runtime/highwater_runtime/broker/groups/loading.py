"""Load the groups of a partition of ``__consumer_offsets`` when this broker becomes its leader.

The loader reads up to the LEO at the start of the leadership, because the followers will get the leader's log. It reads
a slice at a time, with other events in between, so that a large partition does not block the broker. The last record of
each key counts (:mod:`.records`). Unknown kinds of keys are ignored, as in Kafka.
"""

from __future__ import annotations

from typing import Final

from highwater_runtime.broker.groups.group import Group
from highwater_runtime.broker.groups.offsets import CommittedOffset, TopicPartition
from highwater_runtime.broker.groups.records import group_of, offset_of
from highwater_runtime.log.log import Log
from highwater_runtime.log.records import Record, iter_batches
from highwater_runtime.wire.codec import DecodeError
from highwater_runtime.wire.messages.group_metadata_key import GroupMetadataKey
from highwater_runtime.wire.messages.group_metadata_value import GroupMetadataValue
from highwater_runtime.wire.messages.offset_commit_key import OffsetCommitKey
from highwater_runtime.wire.messages.offset_commit_value import OffsetCommitValue
from highwater_runtime.wire.versioned import decode_coordinator_key, decode_versioned

SLICE_BYTES: Final = 64 * 1024
"""How much of a log is read in one event: a few milliseconds of work."""


class Loader:
    """Reads ``log`` from its beginning to where it ends now."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._next = log.log_start_offset
        self._end = log.log_end_offset
        self._offsets: dict[str, dict[TopicPartition, tuple[CommittedOffset, int]]] = {}
        self._groups: dict[str, GroupMetadataValue] = {}
        self.skipped = 0
        """Records that could not be understood."""

    @property
    def done(self) -> bool:
        """Whether everything has been read."""
        return self._next >= self._end

    def read_slice(self) -> None:
        """Read on. Raises ``LogError`` where the log cannot be read."""
        data = self._log.read(self._next, SLICE_BYTES, max_offset=self._end)
        for batch in iter_batches(data):
            if not batch.is_control:
                for record in batch.records():
                    self.replay(record)
            self._next = batch.end_offset
        if not data:  # what is left was truncated meanwhile, so this leadership is over
            self._next = self._end

    def replay(self, record: Record) -> None:
        try:
            match decode_coordinator_key(record.key or b""):
                case OffsetCommitKey() as key:
                    self._replay_offset(key, record)
                case GroupMetadataKey() as key:
                    if record.value is None:
                        self._groups.pop(key.group, None)
                    else:
                        self._groups[key.group] = decode_versioned(GroupMetadataValue, record.value)
                case None:
                    self.skipped += 1
        except DecodeError:
            self.skipped += 1

    def _replay_offset(self, key: OffsetCommitKey, record: Record) -> None:
        partition = (key.topic, key.partition)
        if record.value is not None:
            committed = offset_of(decode_versioned(OffsetCommitValue, record.value))
            self._offsets.setdefault(key.group, {})[partition] = (committed, record.offset)
            return
        offsets = self._offsets.get(key.group)
        if offsets is not None:
            offsets.pop(partition, None)
            if not offsets:
                del self._offsets[key.group]

    def groups(self) -> dict[str, Group]:
        """What was read, by group id: those with a generation, then those that have nothing but offsets."""
        groups = {group_id: group_of(group_id, value) for group_id, value in self._groups.items()}
        for group_id, offsets in self._offsets.items():
            group = groups.get(group_id)
            if group is None:
                group = groups[group_id] = Group(group_id)
            for partition, (committed, record_offset) in offsets.items():
                group.offsets.store(partition, committed, record_offset)
        return groups
