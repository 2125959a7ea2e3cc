"""Formats a node's disk, as ``kafka-storage format`` does.

Kafka's nodes of KRaft mode refuse an empty directory: it must hold ``meta.properties`` (which cluster, which node,
which directory) and, for a new cluster's controllers, the records with which the metadata log begins. Until 4.3 those
are the file ``bootstrap.checkpoint``; from 4.4 on they are the first snapshot of the metadata log, which brokers get
from the controllers. They come from Kafka's own StorageTool; ``meta.properties`` is written here, so that no JVM has to
run for each disk.

A disk that was replaced is formatted again under the same cluster and node id, but it is another directory: it gets a
directory id of its own, as an administrator's ``kafka-storage format`` would give it.

Brokers of ZooKeeper mode format an empty directory themselves.
"""

from __future__ import annotations

import os
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Final
from uuid import uuid4

META: Final = "meta.properties"


def is_formatted(data: Path) -> bool:
    """Whether a node could start on this directory."""
    return (data / META).exists()


def format_disk(data: Path, cluster_id: str, node_id: int, files: Mapping[str, bytes], *, is_controller: bool) -> None:
    """Make an empty directory one that node ``node_id`` can start on, durably. ``files``: what a new cluster's
    controllers have, by path."""
    for name, content in files.items():
        in_metadata_log = len(PurePath(name).parts) > 1
        if is_controller or not in_metadata_log:
            (data / name).parent.mkdir(exist_ok=True)
            _write(data / name, content)
            _sync((data / name).parent)
    # Last: it is what says that the disk is formatted.
    _write(
        data / META,
        f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\ndirectory.id={new_directory_id()}\n".encode(),
    )
    _sync(data)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def new_directory_id() -> str:
    """A random uuid as Kafka writes it, 22 characters; none begins with a dash, which command lines take amiss."""
    while True:
        text = urlsafe_b64encode(uuid4().bytes).rstrip(b"=").decode("ascii")
        if not text.startswith("-"):
            return text


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
