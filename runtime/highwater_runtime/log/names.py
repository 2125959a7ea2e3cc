"""Names of files and directories, as Kafka lays them out.

``orders-0/00000000000000000100.log`` (``.index``, ``.timeindex``, ``.snapshot``): a segment is named after its base
offset, a producer snapshot after the offset up to which (exclusive) it holds the state.
"""

from __future__ import annotations

from typing import Final, NamedTuple

LOG: Final = ".log"
OFFSET_INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
SNAPSHOT: Final = ".snapshot"
DELETED: Final = ".deleted"
TEMPORARY: Final = ".tmp"
SEGMENT_SUFFIXES: Final = (LOG, OFFSET_INDEX, TIME_INDEX)

DELETE_DIR: Final = "-delete"
STRAY_DIR: Final = "-stray"
METADATA_LOG_DIR: Final = "__cluster_metadata-0"

_DIGITS: Final = 20


class TopicPartition(NamedTuple):
    """A partition by name; equal to the plain tuple."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def file_name(offset: int, suffix: str) -> str:
    """``00000000000000000100.log`` for (100, ".log")."""
    return f"{offset:0{_DIGITS}d}{suffix}"


def offset_of(name: str, suffix: str) -> int | None:
    """Inverse of :func:`file_name`; None for any other name."""
    stem = name.removesuffix(suffix)
    if stem == name or len(stem) != _DIGITS or not (stem.isascii() and stem.isdigit()):
        return None
    return int(stem)


def offsets_in(names: list[str], suffix: str) -> list[int]:
    """Offsets of all the files with this suffix, ascending."""
    return sorted(offset for name in names if (offset := offset_of(name, suffix)) is not None)


def parse_partition_dir(name: str) -> TopicPartition | None:
    """``orders-0`` as topic and partition; None where the name is not of that form."""
    topic, dash, partition = name.rpartition("-")
    if not dash or not topic or not (partition.isascii() and partition.isdigit()):
        return None
    return TopicPartition(topic, int(partition))


def join(directory: str, name: str) -> str:
    """A path below ``directory`` (``""``: the data directory itself)."""
    return f"{directory}/{name}" if directory else name


def parent(path: str) -> str:
    """The directory that ``path`` is in."""
    return path.rpartition("/")[0]
