"""``powerLoss``, ``diskWipe``, ``diskFull`` and ``diskError``: what happens to a pod's crashable volume.

The same primitives as on one machine, :mod:`highwater_chaos.machine`; what is added is that the data directory must
belong to whom the pod runs as when the disk is back.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from highwater_chaos.machine.disk_error import DiskError
from highwater_chaos.machine.disk_full import DiskFull
from highwater_chaos.machine.power_loss import PowerLoss, try_to_write
from highwater_chaos.machine.volumes import Volume
from highwater_chaos.machine.wipe import Wipe, is_empty
from highwater_operator.agent.containers import Container, node_container
from highwater_operator.agent.faults.base import Context, HealContext
from highwater_operator.agent.faults.processes import gone, kill, processes_of
from highwater_operator.agent.records import Evidence
from highwater_operator.agent.requests import DiskRequest, DiskWipeRequest, PowerLossRequest
from highwater_operator.agent.volumes import VolumeRecord


@dataclass(frozen=True, slots=True)
class PowerLossKind:
    """Confirmed by the file system having gone down and come up, by the bytes that are gone, and by processes that
    are."""

    request: PowerLossRequest

    def inject(self, context: Context) -> list[Evidence]:
        """Processes and what memory alone had are gone; the volume is mounted again when this returns. A node that is
        down loses power too: what it left unsynced."""
        record, volume = context.volume()
        container = node_container(context.pod)
        processes = () if container is None else (processes_of(container, context.pod, context.run.directory),)
        loss = context.make(PowerLoss(volume, processes, self.request.keep))
        evidence = [] if container is None else [gone(container)]
        evidence.append(
            Evidence(
                f"{loss.lost_bytes} bytes and {loss.lost_files} files were lost of {loss.bytes} bytes in {loss.files} "
                f"files (keep: {self.request.keep})",
                details={
                    "lostBytes": loss.lost_bytes,
                    "lostFiles": loss.lost_files,
                    "dirtyBytes": loss.dirty_bytes,
                    "bytes": loss.bytes,
                    "files": loss.files,
                    "keep": self.request.keep,
                },
            )
        )
        if self.request.wipe:
            return [*evidence, _wipe(context, record, volume)]
        context.volumes.ensure_data(record)
        return [*evidence, _works(volume, "inject")]

    def healed(self, context: HealContext) -> list[Evidence]:
        """The disk works."""
        return _volumes_work(context, PowerLoss)

    def observe(self, context: HealContext) -> list[Evidence]:
        """It is over as soon as it is there."""
        del context
        return []


@dataclass(frozen=True, slots=True)
class DiskWipeKind:
    """Confirmed by the disk holding nothing."""

    request: DiskWipeRequest

    def inject(self, context: Context) -> list[Evidence]:
        """The node is killed, and the disk replaced."""
        record, volume = context.volume()
        container: Container | None = node_container(context.pod)
        evidence = [] if container is None else [kill(context, container)]
        return [*evidence, _wipe(context, record, volume)]

    def healed(self, context: HealContext) -> list[Evidence]:
        """The disk works."""
        return _volumes_work(context, Wipe)

    def observe(self, context: HealContext) -> list[Evidence]:
        """It is over as soon as it is there."""
        del context
        return []


@dataclass(frozen=True, slots=True)
class DiskTroubleKind:
    """``diskFull``, ``diskError``: confirmed by the error that a probe's write meets."""

    request: DiskRequest

    def inject(self, context: Context) -> list[Evidence]:
        """Ballast, or a file system that is shut down."""
        _, volume = context.volume()
        if self.request.kind == "diskFull":
            return [_meets(context.make(DiskFull(volume)))]
        return [_meets(context.make(DiskError(volume)))]

    def healed(self, context: HealContext) -> list[Evidence]:
        """A write works again."""
        for resource in context.resources:
            if isinstance(resource, DiskError) and (record := context.volumes.get(resource.volume.name)) is not None:
                context.volumes.ensure_data(record)
        return _volumes_work(context, DiskFull, DiskError)

    def observe(self, context: HealContext) -> list[Evidence]:
        """What a probe meets now."""
        return [_meets(one) for one in context.resources if isinstance(one, DiskFull | DiskError)]


def _meets(trouble: DiskFull | DiskError) -> Evidence:
    wanted = "ENOSPC" if isinstance(trouble, DiskFull) else "EIO"
    met = trouble.probe()
    saw = f"a write to volume {trouble.volume.name} {'works' if met is None else f'fails with {met}'}"
    return Evidence(saw, met == wanted, details={"met": met or "ok", "expected": wanted})


def _works(volume: Volume, phase: str) -> Evidence:
    met = try_to_write(Path(volume.mount_point)) if volume.mounted() else "not mounted"
    saw = f"a write to volume {volume.name} {'works' if met is None else f'fails with {met}'}"
    return Evidence(saw, met is None, "inject" if phase == "inject" else "heal")


def _wipe(context: Context, record: VolumeRecord, volume: Volume) -> Evidence:
    context.make(Wipe(volume))
    empty = is_empty(volume)
    context.volumes.ensure_data(record)
    return Evidence(f"volume {volume.name} is {'empty' if empty else 'not empty'} after mkfs", empty)


def _volumes_work(
    context: HealContext, *kinds: type[PowerLoss] | type[Wipe] | type[DiskFull] | type[DiskError]
) -> list[Evidence]:
    found = {one.volume.name: one.volume for one in context.resources if isinstance(one, kinds)}
    return [_works(volume, "heal") for volume in found.values()]
