"""Formats a node's disk, as ``kafka-storage format`` does.

Kafka's nodes refuse an empty directory: it must hold ``meta.properties`` (which cluster, which node, which directory)
and, for a new cluster's controllers, ``bootstrap.checkpoint`` (the records with which the metadata log begins). The
latter comes from Kafka's own StorageTool; the former is written here, so that no JVM has to run for each disk.

A disk that was replaced is formatted again under the same cluster and node id, but it is another directory: it gets a
directory id of its own, as an administrator's ``kafka-storage format`` would give it.
"""

from __future__ import annotations

import os
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Final
from uuid import uuid4

META: Final = "meta.properties"
BOOTSTRAP: Final = "bootstrap.checkpoint"


def is_formatted(data: Path) -> bool:
    """Whether a node could start on this directory."""
    return (data / META).exists()


def format_disk(data: Path, cluster_id: str, node_id: int, bootstrap: bytes) -> None:
    """Make an empty directory one that node ``node_id`` can start on, durably."""
    _write(data / BOOTSTRAP, bootstrap)
    # Last: it is what says that the disk is formatted.
    _write(
        data / META,
        f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\ndirectory.id={new_directory_id()}\n".encode(),
    )
    directory = os.open(data, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


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
