"""What a volume may be asked to be: a file system of its own, written by the pods of one node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from highwater_chaos.machine.disk.volumes import FileSystem
from highwater_operator.agent.csi import csi_pb2 as csi
from highwater_operator.agent.refusals import RefusalError

_MODES: Final = csi.VolumeCapability.AccessMode
_FILE_SYSTEMS: Final[dict[str, FileSystem]] = {"": "ext4", "ext4": "ext4", "xfs": "xfs"}


def file_system_of(capabilities: Iterable[csi.VolumeCapability]) -> FileSystem:
    """Return the file system that all capabilities of one request ask for.

    Raises:
        RefusalError: 400, there is none, or one that a volume does not have.
    """
    found = {_file_system(one) for one in capabilities}
    if len(found) != 1:
        text = ", ".join(sorted(found)) or "none"
        raise RefusalError(400, "no capability of a volume", expected="one file system", found=text)
    return found.pop()


def _file_system(capability: csi.VolumeCapability) -> FileSystem:
    if not capability.HasField("mount"):
        found = "block" if capability.HasField("block") else "no access type"
        reason = "a power loss is one of a file system, so a volume is no block device (volumeMode: Filesystem)"
        raise RefusalError(400, reason, expected="mount", found=found)
    mode = capability.access_mode.mode
    if mode != _MODES.SINGLE_NODE_WRITER:
        raise RefusalError(
            400,
            "a volume lies on one node's disk, and no other node can have it (accessModes: [ReadWriteOnce])",
            expected="SINGLE_NODE_WRITER",
            found=_MODES.Mode.Name(mode) if mode in _MODES.Mode.values() else str(mode),
        )
    if capability.mount.mount_flags:
        raise RefusalError(
            400,
            "mount options cannot be chosen: noatime, nodev and nosuid are set",
            expected="no mount flags",
            found=", ".join(capability.mount.mount_flags)[:300],
        )
    kind = capability.mount.fs_type
    if kind not in _FILE_SYSTEMS:
        raise RefusalError(
            400, "no file system that can lose power (csi.storage.k8s.io/fstype)", expected="ext4 or xfs", found=kind
        )
    return _FILE_SYSTEMS[kind]
