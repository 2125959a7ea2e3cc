"""What a pod's node leaves on disk and says about itself: events, replicas, metrics.

Files of an emptyDir are read where the kubelet keeps it, also while the node is down; others through the container's
own file system, as long as it lives. Pods are not trusted: a link is never followed.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from highwater_operator.agent.containers import network_of, node_container, running_node
from highwater_operator.agent.places import ADMIN_PORT, DATA_PATH, EVENTS_PATH, EVENTS_VOLUME, volume_directory
from highwater_operator.agent.pods import Pod
from highwater_operator.agent.probes import fetch
from highwater_operator.agent.refusals import Refusal
from highwater_operator.agent.volumes import Volumes

MOST_BYTES: Final = 8 << 20
"""Of one answer. It is never in memory as a whole: the allocator would keep as much for every thread that had it."""
_AT_A_TIME: Final = 256 << 10
_EVENTS: Final = "events.jsonl"
_BROKER: Final = re.compile(r"-broker-([0-9]+)$")
_METRICS_WITHIN: Final = 5.0
_ROWS: Final = 5000


@dataclass(frozen=True, slots=True)
class Piece:
    """``length`` bytes of a file from ``offset``. ``file``: another one where it is not the one that was read before;
    ``size``: of the whole file now. The caller closes it."""

    source: BinaryIO
    offset: int
    length: int
    size: int
    file: str

    def read(self, done: int) -> bytes:
        """The next bytes after ``done`` of them; none: that is all, or the file has been cut short meanwhile."""
        wanted = min(_AT_A_TIME, self.length - done)
        return os.pread(self.source.fileno(), wanted, self.offset + done)

    def close(self) -> None:
        """Close the file."""
        self.source.close()


def events(pod: Pod, kubelet: Path, offset: int) -> Piece:
    """The node's events from a byte on, at most :data:`MOST_BYTES`; none beyond the end.

    Raises:
        Refusal: 404 where the node has written none, or is down and its file out of reach.
    """
    places = [volume_directory(kubelet, pod.uid, EVENTS_VOLUME)]
    if (container := node_container(pod)) is not None:
        places.append(Path(f"{container.root}{EVENTS_PATH}"))
    for place in places:
        try:
            fd = os.open(place / _EVENTS, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            continue
        with ExitStack() as opened:
            opened.callback(os.close, fd)
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                raise Refusal(422, "the events are no file", expected="a regular file", found=oct(status.st_mode))
            length = max(0, min(MOST_BYTES, status.st_size - offset))
            source = os.fdopen(fd, "rb", buffering=0)
            opened.pop_all()
            return Piece(source, offset, length, status.st_size, f"{status.st_dev:x}-{status.st_ino:x}")
    raise Refusal(
        404,
        f"no events of pod {pod.namespace}/{pod.name} are here",
        expected=" or ".join(str(place / _EVENTS) for place in places),
        found="no file",
    )


def replica_rows(pod: Pod, volumes: Volumes) -> Iterator[bytes]:
    """Every record of every replica on the broker's disk, a JSON object a line: rows of the ``replica_log`` table
    without ``run_id``; in pieces of many lines.

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
    return _pieces(int(broker[1]), data)


def _pieces(broker: int, data: Path) -> Iterator[bytes]:
    # Imported where needed: the harness comes with it, and an agent that comes back has faults to heal first.
    from highwater_chaos.backends.dump import dump_replicas  # noqa: PLC0415
    from highwater_runtime.host.posix_disk import PosixDisk  # noqa: PLC0415

    rows = dump_replicas(broker, PosixDisk(data, run_blocking=_run_here, post=_run_here))
    while lines := [json.dumps(row).encode() + b"\n" for row in islice(rows, _ROWS)]:
        yield b"".join(lines)


def node_metrics(pod: Pod) -> tuple[int, bytes]:
    """What the node's admin server says at ``/metrics``, asked from inside the pod: a partition does not matter."""
    return fetch(network_of(pod), ADMIN_PORT, "/metrics", _METRICS_WITHIN)


def _run_here(task: Callable[[], None]) -> None:
    task()
