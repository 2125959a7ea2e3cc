"""Small text files, in Kafka's formats, that are replaced atomically.

Written as: temporary file, fsync, rename, fsync of the directory. So a reader after any crash finds the old content
or the new one, and a returned write is durable. A running broker writes them in the background, many at once
(:mod:`.write_behind`). A checkpoint may still be *stale* with regard to the log, which is written without fsync: a
reader must compare it with the records that the log really holds.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Final
from uuid import UUID

import msgspec

from highwater_runtime.log.errors import CorruptCheckpointError, InconsistentMetaPropertiesError
from highwater_runtime.log.names import TEMPORARY, TopicPartition, join, parent
from highwater_runtime.ports.disk import Disk

HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
LOG_START_OFFSETS: Final = "log-start-offset-checkpoint"
LEADER_EPOCHS: Final = "leader-epoch-checkpoint"
PARTITION_METADATA: Final = "partition.metadata"
META_PROPERTIES: Final = "meta.properties"
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"


def write_atomically(disk: Disk, path: str, content: bytes) -> None:
    """Replace ``path`` by ``content``; durable when this returns."""
    temporary = path + TEMPORARY
    file = disk.open(temporary, create=True)
    try:
        file.truncate(0)
        file.append(content)
        file.fsync()
    finally:
        file.close()
    disk.rename(temporary, path)
    disk.fsync_dir(parent(path))


def write_temporary(disk: Disk, path: str, content: bytes) -> str:
    """Write what is to replace ``path``, in the page cache; returns the name of that file."""
    temporary = path + TEMPORARY
    file = disk.open(temporary, create=True)
    try:
        file.truncate(0)
        file.append(content)
    finally:
        file.close()
    return temporary


def read_whole(disk: Disk, path: str) -> bytes | None:
    """Content of a small file; None where it does not exist."""
    if not disk.exists(path):
        return None
    file = disk.open(path)
    try:
        return file.read(0, file.size())
    finally:
        file.close()


# --- "version, count, lines" --------------------------------------------------------------------------------------


def _text(lines: Iterable[str]) -> bytes:
    body = list(lines)
    return "\n".join(["0", str(len(body)), *body, ""]).encode()


def _read_lines(disk: Disk, path: str) -> list[list[str]] | None:
    content = read_whole(disk, path)
    if content is None:
        return None
    try:
        version, count, *lines = content.decode().splitlines()
        if version != "0" or int(count) != len(lines):
            raise CorruptCheckpointError(f"{path}: version {version}, {count} lines announced, {len(lines)} found")
        return [line.split() for line in lines]
    except ValueError as error:
        raise CorruptCheckpointError(f"{path}: {error}") from error


def encode_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    """An offset checkpoint: a line ``topic partition offset`` for each partition, sorted."""
    return _text(f"{topic} {index} {offset}" for (topic, index), offset in sorted(offsets.items()))


def write_offsets(disk: Disk, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Write an offset checkpoint; durable when this returns."""
    write_atomically(disk, path, encode_offsets(offsets))


def read_offsets(disk: Disk, path: str) -> dict[TopicPartition, int]:
    """An offset checkpoint's content; empty where there is no file.

    Raises:
        CorruptCheckpointError: it cannot be parsed.
    """
    try:
        return {TopicPartition(t, int(p)): int(offset) for t, p, offset in _read_lines(disk, path) or ()}
    except ValueError as error:
        raise CorruptCheckpointError(f"{path}: {error}") from error


def encode_epochs(entries: Iterable[tuple[int, int]]) -> bytes:
    """A leader-epoch checkpoint: a line ``epoch start_offset`` for each epoch."""
    return _text(f"{epoch} {start_offset}" for epoch, start_offset in entries)


def read_epochs(disk: Disk, path: str) -> list[tuple[int, int]] | None:
    """A leader-epoch checkpoint's entries; None where there is no file.

    Raises:
        CorruptCheckpointError: it cannot be parsed, or is not in ascending order.
    """
    lines = _read_lines(disk, path)
    if lines is None:
        return None
    try:
        entries = [(int(epoch), int(start_offset)) for epoch, start_offset in lines]
    except ValueError as error:
        raise CorruptCheckpointError(f"{path}: {error}") from error
    for (epoch, start), (next_epoch, next_start) in pairwise(entries):
        if epoch >= next_epoch or start >= next_start:
            raise CorruptCheckpointError(f"{path}: epoch {next_epoch} at {next_start} follows epoch {epoch} at {start}")
    return entries


# --- one partition, one node ----------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def encode_partition_metadata(topic_id: UUID) -> bytes:
    """To which topic id a partition's directory belongs (KIP-516)."""
    text = urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")
    return f"version: 0\ntopic_id: {text}".encode()


def write_partition_metadata(disk: Disk, directory: str, topic_id: UUID) -> None:
    """Write a partition's topic id; durable when this returns."""
    write_atomically(disk, join(directory, PARTITION_METADATA), encode_partition_metadata(topic_id))


def read_partition_metadata(disk: Disk, directory: str) -> UUID | None:
    """The topic id of a partition's directory; None where none was written.

    Raises:
        CorruptCheckpointError: it cannot be parsed.
    """
    path = join(directory, PARTITION_METADATA)
    content = read_whole(disk, path)
    if content is None:
        return None
    topic_id = _topic_id_in(content)
    if topic_id is None:
        raise CorruptCheckpointError(f"{path}: {content!r}")
    return topic_id


@lru_cache(maxsize=64)
def _topic_id_in(content: bytes) -> UUID | None:
    """All partitions of a topic have the same content."""
    found = re.fullmatch(rb"version: 0\ntopic_id: ([A-Za-z0-9_-]{22})\n?", content)
    return None if found is None else UUID(bytes=urlsafe_b64decode(found.group(1) + b"=="))


def ensure_meta_properties(disk: Disk, cluster_id: str, node_id: int) -> None:
    """Write ``meta.properties`` into a new data directory; refuse one that belongs to another node or cluster.

    Raises:
        InconsistentMetaPropertiesError: another cluster id or node id is written there.
    """
    content = read_whole(disk, META_PROPERTIES)
    wanted = {"version": "1", "cluster.id": cluster_id, "node.id": str(node_id)}
    if content is None:
        lines = [f"{name}={value}" for name, value in sorted(wanted.items())]
        write_atomically(disk, META_PROPERTIES, "\n".join(["#", *lines, ""]).encode())
        return
    lines = [line.strip() for line in content.decode(errors="replace").splitlines()]
    found = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    for name, value in wanted.items():
        if found.get(name) != value:
            raise InconsistentMetaPropertiesError(
                f"{META_PROPERTIES}: {name} is {found.get(name)!r}, this node's is {value!r}; "
                "the data directory belongs to another node or cluster"
            )


def encode_clean_shutdown(broker_epoch: int) -> bytes:
    """The marker of a clean shutdown; everything it vouches for must be durable before it is written."""
    return msgspec.json.encode({"version": 0, "brokerEpoch": broker_epoch})


def take_clean_shutdown(disk: Disk) -> int | None:
    """Remove the marker, durably, and say which broker epoch it was written in (−1: unknown); None: unclean.

    It must be gone before the first append: a marker that outlived its truth would switch recovery off.
    """
    content = read_whole(disk, CLEAN_SHUTDOWN)
    if content is None:
        return None
    disk.unlink(CLEAN_SHUTDOWN)
    disk.fsync_dir()
    try:
        epoch = msgspec.json.decode(content, type=dict[str, int]).get("brokerEpoch", -1)
    except msgspec.DecodeError:
        return -1  # Kafka before 3.7 left the file empty: its presence is the message
    return epoch
