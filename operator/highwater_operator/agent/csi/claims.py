"""Volumes of PersistentVolumeClaims on this node: what the CSI driver does, without gRPC.

All state is the volume's record on the node's disk (:class:`~highwater_operator.agent.volumes.VolumeRecord`), written
before anything is done. Every call looks at it anew, so an agent that comes back goes on where the last one ended.
Only one call at a time is about a volume; another one, and a fault that takes the volume down, refuses it with 423.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from highwater_chaos.machine.disk.shares import Place
from highwater_chaos.machine.disk.volumes import MIB, SMALLEST, FileSystem
from highwater_chaos.machine.disk.write_probe import probe_write
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel.linux import device_at
from highwater_operator.agent.limits import Limits
from highwater_operator.agent.refusals import RefusalError
from highwater_operator.agent.volumes import VolumeRecord, Volumes

_PREFIX: Final = "csi_"
_PLAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,98}[a-z0-9])?")
_HASHED: Final = "hash-"
_CLAIM: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?")
_UID: Final = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_LONGEST_NAME: Final = 128
"""Of a string in CSI."""
_LONGEST_PATH: Final = 4000
_DEFAULT_SIZE: Final = 1024 * MIB
_OTHER_MODE: Final = 0o755


@dataclass(frozen=True, slots=True)
class Wanted:
    """A volume that is asked for. ``least`` and ``most``: bytes, 0 where nothing is said. ``claim``: namespace and name
    of the PersistentVolumeClaim, empty where nothing is said."""

    name: str
    least: int = 0
    most: int = 0
    file_system: FileSystem = "ext4"
    claim: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Of a file system: bytes, or inodes."""

    total: int
    available: int
    used: int


class Claims:
    """See the module. Methods raise ``RefusalError``: 400 for what is no name, path or size, 404 for a volume that is
    not here or not at a target, 409 for another one of that name, 412 for one in use, 416 for a size that cannot be,
    422 and 507 where there is no room, 423 where something else is done to it, 503 while a fault of its disk is in
    force; and ``MachineError``, ``OSError`` where the machine does not do it."""

    def __init__(self, volumes: Volumes, limits: Limits, state: Path, kubelet: Path) -> None:
        self._volumes = volumes
        self._limits = limits
        self._state = state
        self._target = re.compile(
            rf"{re.escape(str(kubelet))}/pods/({_UID})/volumes/kubernetes\.io~csi/[^/]+(?:/[^/]+)?"
        )

    def create(self, wanted: Wanted) -> VolumeRecord:
        """Have a volume. Idempotent: one of that name that is as is asked for is taken as it is."""
        name = _PREFIX + handle_of(wanted.name)
        size = _size(wanted)
        with self._alone(name):
            there = self._volumes.get(name)
            if there is not None and there.made:
                fits = wanted.least <= there.size_bytes and (not wanted.most or there.size_bytes <= wanted.most)
                if not fits or there.file_system != wanted.file_system:
                    raise RefusalError(
                        409,
                        f"there is another volume {wanted.name!r:.200}",
                        expected=f"{wanted.file_system} of {wanted.least} to {wanted.most or 'any number of'} bytes",
                        found=f"{there.file_system} of {there.size_bytes} bytes",
                    )
                return self._volumes.ensure(there)
            claim = wanted.claim if _CLAIM.fullmatch(wanted.claim) else f"csi/{handle_of(wanted.name)}"
            record = VolumeRecord(name, size, wanted.file_system, 0, 0, claim=claim, mode=_OTHER_MODE)
            return self._volumes.ensure(record)

    @staticmethod
    def handle(record: VolumeRecord) -> str:
        """Return the handle by which callers know a volume."""
        return record.name.removeprefix(_PREFIX)

    def delete(self, handle: str) -> None:
        """Remove a volume with its data; nothing where there is none."""
        name = _PREFIX + handle
        with self._alone(name):
            record = self._find(handle)
            if record is None:
                return
            if places := [place.target for place in record.places if Path(place.target).exists()]:
                raise RefusalError(412, f"volume {handle} is published", expected="no target", found=", ".join(places))
            try:
                self._volumes.remove(name, claim=True)
            except MachineError as error:
                raise RefusalError(412, str(error), expected="a volume that no process uses", found="use") from error

    def get(self, handle: str) -> VolumeRecord:
        """Return the record of a volume that is here."""
        record = self._find(handle)
        if record is None or not record.made:
            raise RefusalError(404, f"there is no volume {handle!r:.200}", expected="a volume of this node", found="")
        return record

    def publish(self, handle: str, target: str, *, read_only: bool) -> None:
        """Mount a volume's data at a target of the kubelet's, whose parent is there. Idempotent."""
        place = Place(target, self._pod_of(target), read_only)
        with self._alone(_PREFIX + handle):
            record = self.get(handle)
            there = [one for one in record.places if one.target == target]
            if there and there != [place]:
                raise RefusalError(
                    409, f"volume {handle} is published at {target} in another way", expected="readonly as it is"
                )
            if not Path(target).parent.is_dir():
                raise RefusalError(400, "no target", expected="a directory in which to make it", found=target[:300])
            self._volumes.mount(record)
            self._ensure_works(record)
            # A pod that has gone without a call, at a forced deletion or with the node, leaves no place behind.
            others = [one for one in record.places if one.target != target and Path(one.target).parent.is_dir()]
            published = replace(record, places=(*others, place))
            if published != record:
                self._volumes.write(published)
            self._volumes.mount(published)

    def unpublish(self, handle: str, target: str) -> None:
        """Take it away there. Idempotent; also for a volume that is not here any more. What is mounted there and is not
        this volume's, as its record says, stays: 404."""
        place = Place(target, self._pod_of(target))
        with self._alone(_PREFIX + handle):
            record = self._find(handle)
            if record is None or all(one.target != target for one in record.places):
                if device_at(Path(target)) is None:
                    return
                what = f"volume {handle!r:.200} is not published at this target, and what is mounted there stays"
                raise RefusalError(404, what, expected="a target of the volume's", found=target[:300])
            place.remove()
            left = tuple(one for one in record.places if one.target != target)
            self._volumes.write(replace(record, places=left))

    def usage(self, handle: str, path: str) -> tuple[Usage, Usage]:
        """Return the bytes and inodes of a volume that is published at a path."""
        record = self.get(handle)
        if not any(one.target == path for one in record.places) or not os.path.ismount(path):
            raise RefusalError(404, f"volume {handle} is not at this path", expected="its target", found=path[:300])
        status = os.statvfs(path)
        block = status.f_frsize
        size = Usage(status.f_blocks * block, status.f_bavail * block, (status.f_blocks - status.f_bfree) * block)
        return size, Usage(status.f_files, status.f_favail, status.f_files - status.f_ffree)

    def room(self) -> int:
        """Return the bytes of the largest volume that can be made now, in a namespace that has none yet: whose it will
        be is not said to who asks."""
        return self._limits.room(self._state)

    def _find(self, handle: str) -> VolumeRecord | None:
        record = self._volumes.get(_PREFIX + handle)
        return record if record is not None and record.claim else None

    def _pod_of(self, target: str) -> str:
        found = self._target.fullmatch(target) if len(target) <= _LONGEST_PATH else None
        if found is None or os.path.normpath(target) != target:
            raise RefusalError(
                400,
                "no target of the kubelet's",
                expected="<kubelet>/pods/<uid>/volumes/kubernetes.io~csi/<name>/mount (HIGHWATER_KUBELET_DIR)",
                found=target[:300],
            )
        return found[1].lower()

    def _ensure_works(self, record: VolumeRecord) -> None:
        # What is published while its disk fails would go on failing when that has been undone.
        point = self._volumes.machine_volume(record).mount_point
        met = probe_write(Path(point), str(self._state))
        if met not in (None, "ENOSPC"):
            raise RefusalError(
                503, f"the disk of volume {record.name} fails", expected="a write that works", found=str(met)
            )

    @contextmanager
    def _alone(self, name: str) -> Iterator[None]:
        busy = self._volumes.busy(name)
        if not busy.acquire(blocking=False):
            raise RefusalError(423, "something else is done to this volume", expected="its turn", found="try again")
        try:
            yield
        finally:
            busy.release()


def handle_of(name: str) -> str:
    """Return the handle of the volume of this name: the name itself, if it can be part of a file's name."""
    if not name or len(name.encode(errors="replace")) > _LONGEST_NAME:
        raise RefusalError(400, "no name", expected=f"1 to {_LONGEST_NAME} bytes", found=name[:300])
    if _PLAIN.fullmatch(name) and not name.startswith(_HASHED):
        return name
    return _HASHED + hashlib.sha256(name.encode(errors="replace")).hexdigest()[:40]


def _size(wanted: Wanted) -> int:
    least = SMALLEST[wanted.file_system]
    if wanted.least < 0 or wanted.most < 0:
        raise RefusalError(400, "no size", expected="0 or more bytes", found=f"{wanted.least} to {wanted.most}")
    size = max(wanted.least or min(_DEFAULT_SIZE, wanted.most or _DEFAULT_SIZE), least)
    if wanted.most and size > wanted.most:
        raise RefusalError(
            416,
            f"no size of a volume with {wanted.file_system}",
            expected=f"{max(least, wanted.least)} bytes or more",
            found=f"at most {wanted.most}",
        )
    return size
