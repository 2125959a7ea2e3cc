"""Loop devices: a block device over an image file. Found again by the file, never by a number that was written down.

Without automatic clearing, because a power loss unmounts and mounts again: a device that vanished at umount could be
that of another process in between.

Another process can hold a device that we have no more use for: a process with a mount namespace of its own has copies
of our mounts, and its file systems live as long as it does. Such a device is *given back* by setting its automatic
clearing: the kernel detaches it when its last holder goes, and nothing here counts it as ours any more.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from highwater_chaos.machine import linux
from highwater_chaos.machine.errors import MachineError

_SET_FD: Final = 0x4C00
_CLR_FD: Final = 0x4C01
_CTL_GET_FREE: Final = 0x4C82
_GET_STATUS64: Final = 0x4C05
_STATUS_BYTES: Final = 232
_CONTROL: Final = "/dev/loop-control"
_MAJOR: Final = 7
_DETACHED_WITHIN: Final = 10.0
_IDLE_WITHIN: Final = 10.0
_SYSTEM: Final = Path("/sys/block")
_DELETED: Final = " (deleted)"


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
                        continue  # another process was faster
                    raise
            return device


def devices_of(image: Path) -> list[str]:
    """Loop devices over an image file, also over one that was deleted meanwhile; without those given back."""
    place, file = image.resolve(), _identity(image)
    return [device for device, backing in attached().items() if backing == place or _is_over(device, file)]


def numbers_of(image: Path) -> set[str]:
    """Numbers (``7:3``) of all loop devices over an image file, also of those given back."""
    return {one.number for one in _over(image)}


def attached() -> dict[str, Path]:
    """Every loop device in use on this machine, but for those given back, and the file that it is over."""
    mounted = linux.mounted_devices()
    return {
        one.device: Path(one.backing.removesuffix(_DELETED))
        for one in _in_use()
        if not one.clears or one.number in mounted
    }


def is_claimed(image: Path) -> bool:
    """Whether a file system lives on some loop device over the image, given back or not: mounted here, in another
    mount namespace, or nowhere any more but with files open."""
    return any(_is_claimed(one.device) for one in _over(image))


def detach(image: Path) -> None:
    """Detach every loop device over the image; returns when they are free or given back.

    Raises:
        MachineError: one is still mounted here.
    """
    deadline = time.monotonic() + _DETACHED_WITHIN
    while devices := devices_of(image):
        for device in devices:
            try:
                with open(device, "rb", buffering=0) as loop:  # noqa: PTH123
                    # As long as it is open no other process can get this number: look whose it is only now.
                    if device in devices_of(image):
                        fcntl.ioctl(loop, _CLR_FD)
            except OSError as error:
                if error.errno not in (errno.ENXIO, errno.EBUSY):
                    raise
        if time.monotonic() > deadline:
            raise MachineError(f"{', '.join(devices)} over {image} is still in use: is it mounted somewhere else?")
        time.sleep(0.005)


def wait_idle(image: Path) -> None:
    """Wait until no loop device over the image has a request under way.

    Raises:
        MachineError: one has after ten seconds.
    """
    deadline = time.monotonic() + _IDLE_WITHIN
    while busy := [one.device for one in _over(image) if one.in_flight]:
        if time.monotonic() > deadline:
            raise MachineError(f"{', '.join(busy)} over {image} does not finish its requests")
        time.sleep(0.001)


class _Loop(NamedTuple):
    """A loop device in use: its number (``7:3``), its file as the kernel writes it, whether it clears itself when its
    last holder goes, and whether it has requests under way."""

    device: str
    number: str
    backing: str
    clears: bool
    in_flight: bool


def _in_use() -> Iterator[_Loop]:
    for entry in sorted(_SYSTEM.glob("loop*")):
        try:
            backing = (entry / "loop" / "backing_file").read_text().rstrip("\n")
            clears = (entry / "loop" / "autoclear").read_text().strip() == "1"
            number = (entry / "dev").read_text().strip()
            in_flight = any(int(count) for count in (entry / "inflight").read_text().split())
        except OSError:
            continue  # not in use
        yield _Loop(f"/dev/{entry.name}", number, backing, clears, in_flight)


def _over(image: Path) -> Iterator[_Loop]:
    # Over the file that an image is now, given back or not; over none that was deleted.
    place, file = str(image.resolve()), _identity(image)
    return (one for one in _in_use() if one.backing == place or _is_over(one.device, file))


def _identity(image: Path) -> tuple[int, int] | None:
    """Device and inode; None: there is no such file.

    A file is known by them besides its path, because the kernel knows no path any more of what was attached in the
    mount namespace of a container that is gone."""
    try:
        status = image.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _is_over(device: str, file: tuple[int, int] | None) -> bool:
    return file is not None and _backing(device) == file


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


def _is_claimed(device: str) -> bool:
    # A file system opens its device exclusively; a second exclusive opener is refused.
    try:
        os.close(os.open(device, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
    except OSError as error:
        if error.errno == errno.EBUSY:
            return True
        if error.errno in (errno.ENXIO, errno.ENOENT):
            return False  # detached meanwhile
        raise
    return False


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
