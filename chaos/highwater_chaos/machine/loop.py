"""Loop devices: a block device over an image file. Found again by the file, never by a number that was written down.

Without automatic clearing, because a power loss unmounts and mounts again: a device that vanished at umount could be
somebody else's in between.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import time
from pathlib import Path
from typing import Final

from highwater_chaos.machine.errors import MachineError

_SET_FD: Final = 0x4C00
_CLR_FD: Final = 0x4C01
_CTL_GET_FREE: Final = 0x4C82
_GET_STATUS64: Final = 0x4C05
_STATUS_BYTES: Final = 232
_CONTROL: Final = "/dev/loop-control"
_MAJOR: Final = 7
_DETACHED_WITHIN: Final = 10.0


def attach(image: Path) -> str:
    """Attach an image to a free loop device; returns the device (``/dev/loop3``)."""
    with open(image, "r+b", buffering=0) as file:  # noqa: PTH123
        while True:
            device = _free_device()
            with open(device, "r+b", buffering=0) as loop:  # noqa: PTH123
                try:
                    fcntl.ioctl(loop, _SET_FD, file.fileno())
                except OSError as error:
                    if error.errno == errno.EBUSY:
                        continue  # somebody was faster
                    raise
            return device


def devices_of(image: Path) -> list[str]:
    """Loop devices over an image file, also over one that was deleted meanwhile.

    By path; and where the file exists also by what file it is, since the kernel knows no path any more when it was
    attached in the mount namespace of a container that is gone."""
    try:
        status = image.stat()
    except FileNotFoundError:
        same = None
    else:
        same = (status.st_dev, status.st_ino)
    place = image.resolve()
    return [
        device
        for device, backing in attached().items()
        if backing == place or (same is not None and _backing(device) == same)
    ]


def attached() -> dict[str, Path]:
    """Every loop device in use on this machine, and the file that it is over."""
    found = {}
    for entry in sorted(Path("/sys/block").glob("loop*")):
        try:
            backing = (entry / "loop" / "backing_file").read_text().rstrip("\n")
        except OSError:
            continue  # not in use
        found[f"/dev/{entry.name}"] = Path(backing.removesuffix(" (deleted)"))
    return found


def detach(image: Path) -> None:
    """Detach every loop device over the image; returns when they are free.

    Raises:
        MachineError: one is still in use (mounted in another mount namespace, held open by a program).
    """
    deadline = time.monotonic() + _DETACHED_WITHIN
    while devices := devices_of(image):
        for device in devices:
            try:
                with open(device, "rb", buffering=0) as loop:  # noqa: PTH123
                    fcntl.ioctl(loop, _CLR_FD)
            except OSError as error:
                if error.errno not in (errno.ENXIO, errno.EBUSY):
                    raise
        if time.monotonic() > deadline:
            raise MachineError(
                f"{', '.join(devices)} over {image} is still in use: is it mounted in another mount namespace?"
            )
        time.sleep(0.005)


def _backing(device: str) -> tuple[int, int] | None:
    """Device and inode of the file that a loop device is over; None: it is over none (any more)."""
    status = bytearray(_STATUS_BYTES)
    try:
        with open(device, "rb", buffering=0) as loop:  # noqa: PTH123
            fcntl.ioctl(loop, _GET_STATUS64, status)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ENOENT):
            return None
        raise
    encoded, inode = struct.unpack_from("=QQ", status)
    # The kernel's own encoding: 12 bits of major number between two parts of the minor.
    return os.makedev((encoded >> 8) & 0xFFF, (encoded & 0xFF) | ((encoded >> 12) & 0xFFF00)), inode


def _free_device() -> str:
    try:
        control = os.open(_CONTROL, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise MachineError(f"there is no {_CONTROL}: load the kernel module loop (modprobe loop)") from error
    try:
        number = fcntl.ioctl(control, _CTL_GET_FREE)
    finally:
        os.close(control)
    device = Path(f"/dev/loop{number}")
    if not device.exists():
        # In a container /dev is not devtmpfs and does not follow the kernel.
        os.mknod(device, 0o660 | 0o060000, os.makedev(_MAJOR, number))
    return str(device)
