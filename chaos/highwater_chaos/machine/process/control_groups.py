"""Processes of a container, found by its control group: the kernel's own word for who belongs to it.

A container runtime puts every process of a container into a control group whose path names the pod and the container:
``…/kubepods-burstable-pod4be1d0c2_….slice/cri-containerd-<64 hex digits>.scope`` with systemd, ``…/pod4be1d0c2-…/<64
hex digits>`` without. Version 1 and 2 of control groups, containerd, CRI-O and docker differ in what stands around
these two, and a reader in a control group namespace of its own sees a path that begins with ``/../..``; so nothing is
looked at but the two. Systemd writes the dashes of a pod's uid as underscores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from highwater_chaos.machine.kernel.identity import Identity
from highwater_chaos.machine.kernel.proc import groups_of, pids

_CONTAINER: Final = re.compile(r"(?:^|[^0-9a-f])([0-9a-f]{64})(?:$|[^0-9a-f])")
_MONITOR: Final = "conmon"
"""CRI-O's watcher of a container lives beside it in a group that carries the container's id."""


def in_group(token: str) -> list[Identity]:
    """Living processes whose control group's path holds ``token`` (a pod's uid, a container's id), by pid."""
    assert token, "every process is in the group of no name"
    wanted = _plain(token)
    found = [
        identity for pid, path in group_paths() if wanted in _plain(path) and (identity := Identity.of(pid)) is not None
    ]
    return sorted(found, key=lambda identity: identity.pid)


def group_paths() -> Iterator[tuple[int, str]]:
    """Pid and control group of every process. Of version 1, where each controller has a tree of its own, the one that
    says most: a container runtime does not use all of them."""
    for pid in pids():
        path = max(groups_of(pid), key=_says, default="")
        if path and _MONITOR not in path:
            yield pid, path


def in_container(process: Identity) -> bool:
    """Whether a process is a container's."""
    return any(container_of(path) is not None for path in groups_of(process.pid))


def container_of(path: str) -> str | None:
    """The container's id in a control group's path; None: it is no container's."""
    found = _CONTAINER.findall(path)
    return str(found[-1]) if found else None


def _says(path: str) -> tuple[bool, int]:
    return container_of(path) is not None, len(path)


def _plain(path: str) -> str:
    return path.replace("_", "-")
