"""Who a ZooKeeper server is, by the name of its pod."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

MYID: Final = "myid"
_POD: Final = re.compile(r".*-(zookeeper-([0-9]{1,3}))")


def zookeeper_id(index: int) -> int:
    """The number by which ZooKeeper knows the server of this index: its ``myid``, which begins at 1."""
    return index + 1


def server_of(pod: str) -> tuple[str, int]:
    """Name and index of the server in a pod: ``demo-zookeeper-0`` → ``zookeeper-0``, 0.

    Raises:
        ValueError: it is no such name.
    """
    found = _POD.fullmatch(pod)
    if found is None:
        raise ValueError(f"expected the name of a pod, such as demo-zookeeper-0; found {pod!r}")
    return found[1], int(found[2])


def write_identity(data_dir: Path, index: int) -> None:
    """Write ``myid`` where it is missing: on a new disk, or one that was wiped.

    Raises:
        OSError: the directory is another server's, or cannot be written to.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    path, wanted = data_dir / MYID, str(zookeeper_id(index))
    if path.exists() and (found := path.read_text().strip()):
        if found != wanted:
            raise OSError(f"{path}: expected {wanted}, found {found[:20]!r}: the data of another server")
        return
    whole = path.with_name(f".{MYID}.{os.getpid()}")
    with whole.open("w") as file:
        file.write(f"{wanted}\n")
        file.flush()
        os.fsync(file.fileno())
    whole.replace(path)
    directory = os.open(data_dir, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
