"""What a pod's node leaves on disk and says about itself: events, replicas, metrics.

Files of an emptyDir are read where the kubelet keeps it, also while the node is down; others through the container's
own file system, as long as it lives. Pods are not trusted: a link is never followed.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from highwater_chaos.backends.dump import dump_replicas
from highwater_operator.agent.containers import network_of, node_container, running_node
from highwater_operator.agent.pods import Pod
from highwater_operator.agent.probes import fetch
from highwater_operator.agent.refusals import Refusal
from highwater_operator.agent.volumes import Volumes
from highwater_operator.objects.config_map import DATA_PATH, EVENTS_PATH
from highwater_operator.objects.naming import ADMIN_PORT
from highwater_runtime.host.posix_disk import PosixDisk

MOST_BYTES: Final = 8 << 20
_EVENTS: Final = "events.jsonl"
_BROKER: Final = re.compile(r"-broker-([0-9]+)$")
_METRICS_WITHIN: Final = 5.0


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of a file from ``offset``. ``file``: another one where it is not the one that was read before; ``size``: of
    the whole file now."""

    data: bytes
    offset: int
    size: int
    file: str


def events(pod: Pod, kubelet: Path, offset: int) -> Piece:
    """The node's events from a byte on, at most :data:`MOST_BYTES`; none beyond the end.

    Raises:
        Refusal: 404 where the node has written none, or is down and its file out of reach.
    """
    places = [kubelet / "pods" / pod.uid / "volumes" / "kubernetes.io~empty-dir" / "events"]
    if (container := node_container(pod)) is not None:
        places.append(Path(f"{container.root}{EVENTS_PATH}"))
    for place in places:
        try:
            fd = os.open(place / _EVENTS, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            continue
        try:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                raise Refusal(422, "the events are no file", expected="a regular file", found=oct(status.st_mode))
            data = os.pread(fd, MOST_BYTES, offset)
        finally:
            os.close(fd)
        return Piece(data, offset, status.st_size, f"{status.st_dev:x}-{status.st_ino:x}")
    raise Refusal(
        404,
        f"no events of pod {pod.namespace}/{pod.name} are here",
        expected=" or ".join(str(place / _EVENTS) for place in places),
        found="no file",
    )


def replica_rows(pod: Pod, volumes: Volumes) -> bytes:
    """Every record of every replica on the broker's disk, a JSON object a line: rows of the ``replica_log`` table
    without ``run_id``.

    Raises:
        Refusal: 422 for a pod that is no broker; 409 where its data are out of reach.
    """
    broker = _BROKER.search(pod.name)
    if broker is None:
        raise Refusal(422, f"pod {pod.name} keeps no replicas", expected="a broker's pod", found=pod.name)
    if volumes.get(pod.volume) is not None:
        data = volumes.data(pod.volume)
    else:
        data = Path(f"{running_node(pod).root}{DATA_PATH}")
    if not data.is_dir() or data.is_symlink():
        raise Refusal(409, "the broker has no data directory", expected=str(data), found="no directory")
    disk = PosixDisk(data, run_blocking=_run_here, post=_run_here)
    return b"".join(json.dumps(row).encode() + b"\n" for row in dump_replicas(int(broker[1]), disk))


def node_metrics(pod: Pod) -> tuple[int, bytes]:
    """What the node's admin server says at ``/metrics``, asked from inside the pod: a partition does not matter."""
    return fetch(network_of(pod), ADMIN_PORT, "/metrics", _METRICS_WITHIN)


def _run_here(task: Callable[[], None]) -> None:
    task()
