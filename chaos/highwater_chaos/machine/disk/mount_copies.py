"""A volume's mount, copied into the mount namespace of another program: a container, which sees that one and no other.

A copy hears of no mount and umount elsewhere. It lasts as long as the namespace, which is as long as a process lives in
it, and the file system lives on in it after the original was unmounted. So the processes that have a copy
(:func:`holders`) are ended before a volume is taken down.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from highwater_chaos.machine.kernel import linux, proc
from highwater_chaos.machine.kernel.identity import Identity
from highwater_chaos.machine.kernel.safe_open import open_beneath, open_root
from highwater_chaos.machine.network.namespaces import in_thread


def attach(point: Path, process: Identity, target: str) -> None:
    """Mount what is mounted at ``point`` on the directory ``target`` in the mount namespace of ``process`` too.

    Raises:
        MachineError: there is a link on the way to the target.
        OSError: the process or the target is gone, or the kernel is too old (Linux 5.12).
    """

    def inside() -> None:
        root = open_root(process)
        try:
            namespace = os.open(f"/proc/{process.pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
            try:
                copy = linux.copy_mount(point)
                try:
                    linux.unshare(linux.CLONE_FS)  # of this thread alone
                    linux.setns(namespace, linux.CLONE_NEWNS)
                    directory = open_beneath(root, target, os.O_PATH | os.O_DIRECTORY)
                    try:
                        linux.move_mount(copy, directory)
                    finally:
                        os.close(directory)
                finally:
                    os.close(copy)
            finally:
                os.close(namespace)
        finally:
            os.close(root)

    in_thread(inside)


def device_at(process: Identity, target: str) -> str | None:
    """Number (``7:3``) of the device that is mounted at ``target`` for a process; None: no mount point is there."""
    found = [mount.device for mount in proc.mounts(process.pid) if mount.point == target]
    return found[-1] if found else None


def device_of(point: Path) -> str:
    """Number of the device that a directory lies on. Raises ``OSError``."""
    device = point.stat().st_dev
    return f"{os.major(device)}:{os.minor(device)}"


def holders(devices: Collection[str], *, staying: bool = True) -> list[Identity]:
    """Processes of other mount namespaces with copies of mounts of these devices (``7:3``) that outlive the others, or
    with any (``staying`` false)."""
    own = proc.namespace_of(os.getpid(), "mnt")
    looked: dict[str, bool] = {}
    found = []
    for pid in proc.pids() if devices else ():
        namespace = proc.namespace_of(pid, "mnt")
        if namespace in (None, own):
            continue
        if namespace not in looked:
            looked[namespace] = any(
                mount.device in devices and (mount.stays or not staying) for mount in proc.mounts(pid)
            )
        if looked[namespace] and (identity := Identity.of(pid)) is not None:
            found.append(identity)
    return found
