"""``powerLoss`` and ``diskWipe``: what happens at once to a pod's crashable volume.

The same as on one machine, :mod:`highwater_chaos.machine`; what is added is that the data directory must belong to
whom the pod runs as when the disk is back. All containers that have the volume end: one that went on would have the
dead file system for ever.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from highwater_chaos.machine.disk.power_loss import PowerLoss as Loss
from highwater_chaos.machine.disk.volumes import Volume
from highwater_chaos.machine.disk.wipe import Wipe, is_empty
from highwater_chaos.machine.faults.node_fault import met_by_write
from highwater_operator.agent.faults.base import Context, DownFault, HealContext
from highwater_operator.agent.faults.processes import gone, kill
from highwater_operator.agent.records import Evidence
from highwater_operator.agent.volumes import VolumeRecord


class _DiskDown(DownFault):
    ON_DISK: ClassVar[bool] = True

    def healed(self, context: HealContext) -> list[Evidence]:
        """Return what probes saw that wrote to the disk."""
        volumes = {one.volume.name: one.volume for one in context.resources if isinstance(one, Loss | Wipe)}
        return [_works(volume, "heal") for volume in volumes.values()]


class PowerLoss(_DiskDown):
    """Processes and page cache of a crashable volume are lost. Confirmed by the file system having gone down and come
    up, by the bytes that are gone, and by processes that are."""

    kind: Literal["powerLoss"]
    keep: Literal["none", "prefix", "torn"] = "none"
    wipe: bool = False

    def inject(self, context: Context) -> list[Evidence]:
        """All its volumes are mounted again when this returns. A node that is down loses power too: what it left
        unsynced. A wipe is of the disk with the data."""
        data, *others = context.volume_records()
        evidence = [one for record in (*others, data) for one in self._lose(context, record)]
        if self.wipe:
            evidence.append(_wipe(context, context.volume()))
        for record in context.volume_records():  # with the owners that have been noted
            context.volumes.ensure_data(record)
            evidence.append(_works(context.machine_volume(record), "inject"))
        return evidence

    def _lose(self, context: Context, record: VolumeRecord) -> list[Evidence]:
        context.volumes.note_owner(record)
        containers = context.on_volume(record)
        processes = tuple(context.processes_of(one) for one in containers)
        loss = context.make(Loss(context.machine_volume(record), processes, self.keep))
        return [
            *(gone(one) for one in containers),
            Evidence(
                f"{loss.lost_bytes} bytes and {loss.lost_files} files were lost of {loss.bytes} bytes in {loss.files} "
                f"files (keep: {self.keep})",
                details={
                    "lostBytes": loss.lost_bytes,
                    "lostFiles": loss.lost_files,
                    "dirtyBytes": loss.dirty_bytes,
                    "bytes": loss.bytes,
                    "files": loss.files,
                    "keep": self.keep,
                },
            ),
        ]


class DiskWipe(_DiskDown):
    """SIGKILL, and an empty file system. Confirmed by the disk holding nothing."""

    kind: Literal["diskWipe"]

    def inject(self, context: Context) -> list[Evidence]:
        context.volumes.note_owner(context.volume_record())
        volume = context.volume()
        evidence = [kill(context, one) for one in context.on_volume(context.volume_record())]
        return [*evidence, _wipe(context, volume)]


def _works(volume: Volume, phase: Literal["inject", "heal"]) -> Evidence:
    met = met_by_write(volume)
    return Evidence(
        f"a write to volume {volume.name} {'works' if met is None else f'fails with {met}'}", met is None, phase
    )


def _wipe(context: Context, volume: Volume) -> Evidence:
    context.make(Wipe(volume))
    empty = is_empty(volume)
    context.volumes.ensure_data(context.volume_record())
    return Evidence(f"volume {volume.name} is {'empty' if empty else 'not empty'} after mkfs", empty)
