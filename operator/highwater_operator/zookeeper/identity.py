"""Who a ZooKeeper server is, by the name of its pod."""

from __future__ import annotations

import re
from typing import Final

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
