"""What a pod's node leaves on disk and says about itself: events, replicas, metrics.

Files of an emptyDir are read where the kubelet keeps it, also while the node is down; others through the container's
own file system, as long as it lives. Pods are not trusted: the kernel resolves each path inside the pod's own directory
and follows no link in it (:mod:`highwater_chaos.machine.kernel.safe_open`), and what is no regular file is not read.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel.linux import punch_hole
from highwater_chaos.machine.kernel.safe_open import open_file, open_root
from highwater_operator.agent.containers import Container, network_of, node_container, running_node
from highwater_operator.agent.places import ADMIN_PORT, DATA_PATH, EVENTS_PATH, EVENTS_VOLUME, volume_directory
from highwater_operator.agent.pod_directory import PodDirectory
from highwater_operator.agent.pods import Pod
from highwater_operator.agent.probes import fetch
from highwater_operator.agent.refusals import RefusalError
from highwater_operator.agent.volumes import DATA, Volumes

MOST_BYTES: Final = 8 << 20
"""Of one answer. It is never in memory as a whole: the allocator would keep as much for every thread that had it."""
_AT_A_TIME: Final = 256 << 10
KEPT_EVENTS: Final = 1 << 30
_BLOCK: Final = 1 << 20
_EVENTS: Final = "events.jsonl"
_BROKER: Final = re.compile(r".*-broker-([0-9]{1,9})")
_METRICS_WITHIN: Final = 5.0
_BATCHES: Final = 500
"""Batches in one piece of a dump."""
_DUMPED_WITHIN: Final = 1800.0


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
        self.source.close()


def events(pod: Pod, kubelet: Path, offset: int) -> Piece:
    """The node's events from a byte on, at most :data:`MOST_BYTES`; none beyond the end.

    Raises:
        RefusalError: 404 where the node has written none, or is down and its file out of reach; 410 where what was
            there has been given up (:func:`bound_events`).
    """
    places = [str(volume_directory(kubelet, pod.uid, EVENTS_VOLUME))]
    if (container := node_container(pod)) is not None:
        places.append(f"{container.root}{EVENTS_PATH}")
    for place in places:
        try:
            fd = _open_events(place, container if place != places[0] else None)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except MachineError as error:
            raise RefusalError(422, str(error), expected="a regular file", found="something else") from error
        return piece_of(fd, pod, offset)
    raise RefusalError(
        404,
        f"no events of pod {pod.namespace}/{pod.name} are here",
        expected=" or ".join(f"{place}/{_EVENTS}" for place in places),
        found="no file",
    )


def piece_of(fd: int, pod: Pod, offset: int) -> Piece:
    """A piece of the pod's events. ``fd``: their file, which is the piece's from then on. Raises ``RefusalError``."""
    status = os.fstat(fd)
    if (first := _first_byte(fd, offset)) > offset:
        os.close(fd)
        raise RefusalError(
            410,
            f"of the events of pod {pod.namespace}/{pod.name} the last {KEPT_EVENTS >> 20} MiB are kept, these are"
            " gone: delete the pod, so that the next one begins with an empty file",
            expected=f"byte {first} or later",
            found=str(offset),
        )
    length = max(0, min(MOST_BYTES, status.st_size - offset))
    source = os.fdopen(fd, "rb", buffering=0)
    return Piece(source, offset, length, status.st_size, f"{status.st_dev:x}-{status.st_ino:x}")


def open_kept_events(pod: Pod, kubelet: Path) -> int:
    """Open the file that the kubelet keeps of a pod's events. Raises ``OSError``, ``MachineError``."""
    return _open_events(str(volume_directory(kubelet, pod.uid, EVENTS_VOLUME)), None)


def bound_events(pod: Pod, kubelet: Path, kept: int = KEPT_EVENTS) -> None:
    """Give up the oldest events of a node that has written many, in the file where it is: nobody else ends it, and a
    LogCluster may run for months. Raises ``MachineError``, ``OSError``; nothing where there is no file."""
    directory = volume_directory(kubelet, pod.uid, EVENTS_VOLUME)
    try:
        fd = open_file(directory, _EVENTS, os.O_RDWR)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        status = os.fstat(fd)
        if status.st_blocks * 512 > kept + kept // 16:
            punch_hole(fd, (status.st_size - kept) // _BLOCK * _BLOCK)
    finally:
        os.close(fd)


def _first_byte(fd: int, offset: int) -> int:
    """From which byte on, at or after ``offset``, there is something."""
    try:
        return os.lseek(fd, offset, os.SEEK_DATA)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return offset  # the end


def replica_rows(pod: Pod, volumes: Volumes) -> Iterator[bytes]:
    """Every record of every replica on the broker's disk, batch by batch: a JSON array a line, which the harness reads
    by :data:`highwater_chaos.records.dump.DUMPED`; in pieces of many lines.

    Raises:
        RefusalError: 422 for a pod that is no broker; 409 where its data are out of reach.
    """
    broker = _BROKER.fullmatch(pod.name)
    if broker is None:
        raise RefusalError(422, f"pod {pod.name} keeps no replicas", expected="a broker's pod", found=pod.name)
    try:
        if volumes.own(pod.volume) is not None:
            # The mount's root is nobody's but ours; the data directory in it is the pod's to replace.
            mount = os.open(volumes.data(pod.volume).parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            data = PodDirectory.below(mount, DATA)
        else:
            data = PodDirectory.below(open_root(running_node(pod).processes[0]), DATA_PATH)
    except (OSError, MachineError) as error:
        raise RefusalError(409, "the broker has no data directory", expected=DATA_PATH, found=str(error)) from error
    return _pieces(int(broker[1]), data)


def _pieces(broker: int, data: PodDirectory) -> Iterator[bytes]:
    # Imported where needed: the harness comes with it, and an agent that comes back has faults to heal first.
    from highwater_chaos.records.dump import dump_replicas  # noqa: PLC0415

    until = time.monotonic() + _DUMPED_WITHIN
    encode = msgspec.json.Encoder().encode_lines
    with closing(data):
        dumped = dump_replicas(broker, data)
        while some := list(islice(dumped, _BATCHES)):
            yield encode(some)
            if time.monotonic() > until:
                raise MachineError(f"the replicas are not dumped within {_DUMPED_WITHIN:g} s")


def _open_events(place: str, container: Container | None) -> int:
    if container is None:
        return open_file(Path(place), _EVENTS)
    root = open_root(container.processes[0])
    try:
        return open_file(root, f"{EVENTS_PATH}/{_EVENTS}")
    finally:
        os.close(root)


def node_metrics(pod: Pod) -> tuple[int, bytes]:
    """What the node's admin server says at ``/metrics``, asked from inside the pod: a partition does not matter."""
    return fetch(network_of(pod), ADMIN_PORT, "/metrics", _METRICS_WITHIN)
