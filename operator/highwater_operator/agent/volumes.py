"""Crashable volumes: a file system of its own for each pod that wants one, which can lose power, fail and be full.

A volume belongs to the node and a pod's name, not to the agent or to one pod: a pod that is created again under its
name finds its data. So volumes are in no machine run, which would undo them with itself; a record of each (what it is,
and whether its file system has been made) is written before anything is done, and :meth:`Volumes.ensure` makes true
what the record says, after a crash and a reboot of the node too.

Volumes of a LogCluster are mounted in a folder of its own, ``<namespace>_<uid>``; one that was asked for by hand lies
beside them. A pod sees nothing of either: its own volume is copied into its container (:mod:`~.attachments`). The data
lie in ``data`` below the mount, owned by whom the pod runs as: what mkfs and faults put beside it is never taken for
the node's.

A volume of a PersistentVolumeClaim (:mod:`~.csi.claims`) has ``claim``: it goes only when its claim goes, and its data
directory belongs to whom the pod's containers gave it.
"""

from __future__ import annotations

import errno
import json
import os
import re
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final, Self

import msgspec

from highwater_chaos.kube.kinds import ABANDON_VOLUME
from highwater_chaos.machine.disk import loop
from highwater_chaos.machine.disk.shares import Place, Share
from highwater_chaos.machine.disk.volumes import SMALLEST, FileSystem, Volume, make_file_system, users_of
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel.tree import directories
from highwater_chaos.machine.process.control_groups import in_container
from highwater_operator.agent import metrics
from highwater_operator.agent.limits import Limits
from highwater_operator.agent.pods import Pod
from highwater_operator.agent.records import write_durably
from highwater_operator.agent.refusals import RefusalError
from highwater_operator.agent.requests import VolumeRequest

RETAIN: Final = "Retain"
DATA: Final = "data"
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?_[a-z0-9]([-.a-z0-9]{0,180}[a-z0-9])?")
"""To be matched as a whole: a name is a directory's and a file's."""
_CLUSTER: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9]{0,62}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class VolumeRecord:
    """One volume. ``made``: its file system is whole. ``cluster``: uid of the LogCluster whose data are on it; empty:
    the request did not say. ``retain``: the data are to be kept when that LogCluster is deleted. ``generation``: how
    many volumes of that pod were given up before. ``claim``: ``<namespace>/<name>`` of its PersistentVolumeClaim, or
    what stands for it; empty: it is for no claim. ``places``: where it is published to pods. ``user``, ``group`` and
    ``mode``: of the data directory, where it has to be made."""

    name: str
    size_bytes: int
    file_system: FileSystem
    user: int
    group: int
    made: bool = False
    cluster: str = ""
    retain: bool = False
    generation: int = 0
    claim: str = ""
    mode: int = 0o750
    places: tuple[Place, ...] = ()

    @property
    def namespace(self) -> str:
        """Return the namespace whose volume it is."""
        return self.claim.partition("/")[0] or self.name.partition("_")[0]

    @classmethod
    def of(cls, name: str, request: VolumeRequest) -> Self:
        return cls(name, request.size_bytes, request.file_system, request.user, request.group)


_RECORD: Final = msgspec.json.Decoder(VolumeRecord)


def ensure_name(name: str) -> None:
    """Raises ``RefusalError`` (400) for what is no ``<namespace>_<pod>``."""
    if not _NAME.fullmatch(name):
        raise RefusalError(400, "no name of a volume", expected="<namespace>_<pod>", found=name[:300])


class Volumes:
    """The volumes of this node. ``state``: where images and records lie; ``mounts``: where pods see them."""

    def __init__(self, state: Path, mounts: Path, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._records = state / "volumes"
        self._images = state / "images"
        self._mounts = mounts.resolve()
        self._locks: dict[str, threading.RLock] = {}
        self._guard = threading.Lock()
        self._counting = threading.Lock()
        for directory in (self._records, self._images):
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._mounts.mkdir(parents=True, exist_ok=True, mode=0o755)

    def busy(self, name: str) -> threading.RLock:
        """Held while a volume is unmounted or mounted, by faults too: a mount on top of a mount would hide it. Each has
        its own: one that takes long, or never ends, is in no other's way."""
        with self._guard:
            return self._locks.setdefault(name, threading.RLock())

    def all(self) -> list[VolumeRecord]:
        found = []
        for path in sorted(self._records.glob("*.json")):
            with suppress(MachineError, OSError):  # told by mount_all; one bad file hides no other
                found.append(self._read(path))
        return found

    def get(self, name: str) -> VolumeRecord | None:
        """None: there is none of that name. Raises ``MachineError`` for a file that is no record of it."""
        if not _NAME.fullmatch(name):
            return None
        path = self._records / f"{name}.json"
        return self._read(path) if path.exists() else None

    def own(self, name: str) -> VolumeRecord | None:
        """The same of a pod's own volume; None for a claim's, whatever the pod is called: those have a place."""
        record = self.get(name)
        return None if record is None or record.claim else record

    def data(self, name: str) -> Path:
        """Where the node's data lie, on a volume."""
        record = self.get(name)
        return (self._mounts / name if record is None else self._point(record)) / DATA

    def machine_volume(self, record: VolumeRecord, *, run: str = "", pod: Pod | None = None) -> Volume:
        """As :mod:`highwater_chaos.machine` breaks it; processes of ``pod`` are its own."""
        return Volume(
            name=record.name,
            run=run,
            image=str(self._image(record.name)),
            mount_point=str(self._point(record)),
            file_system=record.file_system,
            size=record.size_bytes,
            keep_image=True,
            group="" if pod is None else pod.uid,
            share=Share(DATA, record.user, record.group, record.mode, record.places) if record.claim else None,
        )

    def of_pod(self, pod: Pod) -> str:
        """Return the name of the volume that has a pod's data: its own, or that of its claim. Where it has neither, the
        name that its own would have.

        Raises:
            RefusalError: 422, which of its claims has the data is not known, or that one cannot be broken.
        """
        place = f"{pod.namespace}/{pod.name}"
        if (there := self.get(pod.volume)) is not None and not there.claim:  # a claim's volume may have such a name
            return pod.volume
        crashable = self._of_claims(pod)
        if pod.chosen_volume:
            claim = f"{pod.namespace}/{pod.claims.get(pod.chosen_volume)}"
            if (found := next((one for one in crashable if one.claim == claim), None)) is not None:
                return found.name
            raise RefusalError(
                422,
                f"volume {pod.chosen_volume[:80]} of pod {place} cannot be broken",
                expected="a claim of the class highwater-crashable",
                found=_named(pod, crashable),
            )
        if len(crashable) > 1 or (crashable and len(pod.claims) > 1):
            # A power loss that leaves the disk with the data alone would pass for one that lost nothing.
            raise RefusalError(
                422,
                f"pod {place} has several claims, and which of them has the data is not known",
                expected="the name of the volume with the data (spec.clusterRef.volume)",
                found=_named(pod, crashable),
            )
        if crashable:
            return crashable[0].name
        if there is not None:
            raise RefusalError(
                422,
                f"pod {place} is called like a volume of a claim",
                expected="a name of its own",
                found=pod.volume,
            )
        return pod.volume

    def all_of_pod(self, pod: Pod) -> list[str]:
        """Return the names of all its volumes that can be broken, the one with the data first: they lose power
        together. Raises as :meth:`of_pod` does."""
        first = self.of_pod(pod)
        return [first, *(one.name for one in self._of_claims(pod) if one.name != first)]

    def _of_claims(self, pod: Pod) -> list[VolumeRecord]:
        return [one for one in self.all() if any(place.group == pod.uid.lower() for place in one.places)]

    def ensure(self, wanted: VolumeRecord) -> VolumeRecord:
        """Have a volume, mounted, with its data directory. Idempotent.

        Raises:
            RefusalError: 400 for a name or a size that cannot be; 409 there is another one of that name.
            MachineError, OSError: the machine does not do it.
        """
        ensure_name(wanted.name)
        if wanted.cluster and not _CLUSTER.fullmatch(wanted.cluster):
            raise RefusalError(400, "no uid of a LogCluster", expected=_CLUSTER.pattern, found=wanted.cluster[:100])
        least = SMALLEST[wanted.file_system]
        if wanted.size_bytes < least:
            raise RefusalError(
                400, f"{wanted.file_system} needs more", expected=f"{least} bytes", found=str(wanted.size_bytes)
            )
        with self.busy(wanted.name):
            there = self.get(wanted.name)
            if there is not None and there.claim != wanted.claim:
                raise RefusalError(
                    409,
                    f"volume {wanted.name} is another's",
                    expected=wanted.claim or "a volume of no claim",
                    found=there.claim or "a volume of no claim",
                )
            if there is not None and there.cluster and wanted.cluster and there.cluster != wanted.cluster:
                if there.retain:
                    raise RefusalError(
                        409,
                        f"volume {wanted.name} is retained from another LogCluster; delete it first",
                        expected=f"LogCluster {wanted.cluster}",
                        found=f"LogCluster {there.cluster}",
                    )
                # A new cluster under an old one's name could not use what is there; its node would refuse it.
                self.remove(there.name)
                there = None
            if there is not None and wanted.cluster and there.generation != wanted.generation:
                self.remove(there.name)  # a person gave it up: it must not come back as if it were the latest
                there = None
            if there is not None and (there.size_bytes, there.file_system) != (wanted.size_bytes, wanted.file_system):
                raise RefusalError(
                    409,
                    f"there is another volume {wanted.name}; delete it first",
                    expected=f"{wanted.file_system} of {wanted.size_bytes} bytes",
                    found=f"{there.file_system} of {there.size_bytes} bytes",
                )
            record = wanted
            if there is not None:
                record = replace(
                    wanted,
                    made=there.made,
                    cluster=wanted.cluster or there.cluster,
                    retain=wanted.retain if wanted.cluster else there.retain,
                    generation=wanted.generation if wanted.cluster else there.generation,
                    places=there.places,
                )
            self._leave_other_points(record)
            with self._counting:  # of two that are made at once, the second is counted beside the first
                if not record.made:
                    others = [(one.namespace, one.size_bytes) for one in self.all() if one.name != record.name]
                    self._limits.check(record.name, record.namespace, record.size_bytes, others)
                if record != there:
                    self.write(record)
            try:
                if record.made:
                    self._limits.allocate(self._image(record.name), record.size_bytes)
                else:
                    record = self._make(record)
            except Exception:
                if there is None:
                    self._forget(record)
                raise
            self.mount(record)
            self._count()
            return record

    def ensure_is_there(self, wanted: VolumeRecord) -> None:
        """Raises ``RefusalError`` (409) where a volume that has been used is not here: a new one would be empty."""
        there = self.get(wanted.name)
        same = there is not None and there.cluster in ("", wanted.cluster) and there.generation == wanted.generation
        if there is None or not there.made or not same:
            raise RefusalError(
                409,
                f"volume {wanted.name} was used on this node and is gone; annotate the LogCluster with {ABANDON_VOLUME}"
                " to have a new, empty one",
                expected="the volume with its data",
                found="none" if there is None else f"generation {there.generation} of LogCluster {there.cluster}",
            )

    def mount(self, record: VolumeRecord) -> None:
        """Mount, where it is not, and have the data directory."""
        with self.busy(record.name):
            point = self._point(record)
            point.parent.mkdir(exist_ok=True, mode=0o755)
            point.mkdir(exist_ok=True, mode=0o755)
            volume = self.machine_volume(record)
            was_mounted = volume.mounted()
            volume.mount()
            try:
                if not record.claim:
                    self.ensure_data(record)
            except OSError as error:
                # Mounted and failing: a fault's doing, which undoes it and has the directory made then.
                if not was_mounted or error.errno != errno.EIO:
                    raise

    def ensure_data(self, record: VolumeRecord) -> None:
        """The data directory, owned by whom the pod runs as. Before the node's first write it may not have been
        durable; on a replaced disk it is not there."""
        if record.claim:
            Share(DATA, record.user, record.group, record.mode).give(self._point(record))
            return
        data = self._point(record) / DATA
        if not os.path.lexists(data):  # on a frozen file system mkdir waits, also for what is there
            data.mkdir(mode=0o750)
        # Opened as it is, not where it leads: the pod may have put a link there, and the agent is root.
        fd = os.open(data, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            status = os.fstat(fd)
            if (status.st_uid, status.st_gid) != (record.user, record.group):
                _give(fd, record.user, record.group)
        finally:
            os.close(fd)

    def note_owner(self, record: VolumeRecord) -> None:
        """Remember whose the data directory of a claim's volume is, before it is lost."""
        if not record.claim:
            return
        try:
            found = Share(DATA).as_is(self._point(record))
        except OSError as error:
            if error.errno not in (errno.EIO, errno.ENOENT):
                raise
            return  # it fails already: what was noted before is the best there is
        noted = replace(record, user=found.user, group=found.group, mode=found.mode)
        if noted != record:
            self.write(noted)

    def remove(self, name: str, *, claim: bool = False) -> bool:
        """Unmount and delete, with the data; whether there was one. ``claim``: its claim has been deleted.

        Raises:
            RefusalError: 400 for a name that cannot be; 409 it is a claim's.
            MachineError: it is in use.
        """
        ensure_name(name)
        with self.busy(name):
            record = self.get(name)
            if record is None:
                return False
            if record.claim and not claim:
                raise RefusalError(
                    409, f"volume {name} goes with its claim; delete that", expected="no claim", found=record.claim
                )
            volume = replace(self.machine_volume(record), keep_image=False)
            if users := [user for user in volume.holders() if in_container(user)]:
                who = ", ".join(f"pid {user.pid}" for user in users)
                raise MachineError(f"{name} cannot be removed: attached to a container, in use by {who}")
            volume.undo()
            (self._records / f"{name}.json").unlink()
            self._count()
            return True

    def mount_all(self) -> list[str]:
        """After a start of the agent, maybe of the node: everything as recorded; returns what does not work."""
        failures = []
        for path in sorted(self._records.glob("*.json")):
            try:
                record = self._read(path)
                self.ensure(record)
            except Exception as error:  # one bad disk must not keep the others down: count and report it
                metrics.VOLUME_FAILURES.inc()
                failures.append(f"volume {path.stem}: {error}")
        self._count()
        return failures

    def write(self, record: VolumeRecord) -> None:
        write_durably(self._records / f"{record.name}.json", json.dumps(asdict(record)))

    def leave_folder(self, record: VolumeRecord) -> None:
        """Remove the folder of a LogCluster that has been deleted, if its last volume is gone."""
        if record.cluster:
            with suppress(OSError):
                self._point(record).parent.rmdir()

    def _point(self, record: VolumeRecord) -> Path:
        if not record.cluster:
            return self._mounts / record.name
        return self._mounts / f"{record.name.partition('_')[0]}_{record.cluster}" / record.name

    def _leave_other_points(self, record: VolumeRecord) -> None:
        # Earlier versions mounted all volumes in one folder; so is one that was asked for before it was a cluster's.
        other = self._mounts / record.name
        if record.cluster and other.exists():
            if users := users_of(other):
                who = ", ".join(f"pid {user.pid}" for user in users)
                raise MachineError(f"it moves to its LogCluster's folder once it is free: in use by {who}")
            self.machine_volume(replace(record, cluster="")).undo()

    def _make(self, record: VolumeRecord) -> VolumeRecord:
        image = self._image(record.name)
        # What lies there is of a maker that was killed: nothing was ever written to it.
        loop.detach(image)
        image.unlink(missing_ok=True)
        self._limits.allocate(image, record.size_bytes)
        make_file_system(record.file_system, str(image), ())
        made = replace(record, made=True)
        self.write(made)
        return made

    def _forget(self, record: VolumeRecord) -> None:
        # Nothing was made: it must count for no quota, and not be tried at each start.
        self._image(record.name).unlink(missing_ok=True)
        (self._records / f"{record.name}.json").unlink(missing_ok=True)

    def _image(self, name: str) -> Path:
        return self._images / f"{name}.img"

    def _read(self, path: Path) -> VolumeRecord:
        try:
            record = _RECORD.decode(path.read_bytes())
        except (msgspec.DecodeError, RecursionError) as error:
            raise MachineError(f"{path} is no record of a volume: {error}") from error
        name = path.name.removesuffix(".json")
        if record.name != name or not _NAME.fullmatch(name):
            raise MachineError(f"{path} is no record of its volume: expected {name}, found {record.name!r:.120}")
        return record

    def _count(self) -> None:
        metrics.VOLUMES.set(len(list(self._records.glob("*.json"))))


def _give(directory: int, user: int, group: int) -> None:
    """All of a directory, which nobody else's links lead out of; itself last, so that one who was stopped begins
    again."""
    for inside in directories(directory):
        with os.scandir(inside) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    os.chown(entry.name, user, group, dir_fd=inside, follow_symlinks=False)
    os.fchown(directory, user, group)


def _named(pod: Pod, crashable: list[VolumeRecord]) -> str:
    claims = {one.claim for one in crashable}
    parts = (
        f"{volume} (claim {claim}, {'' if f'{pod.namespace}/{claim}' in claims else 'not '}of this class)"
        for volume, claim in sorted(pod.claims.items())
    )
    return ", ".join(parts) or ", ".join(sorted(claims)) or "none"
