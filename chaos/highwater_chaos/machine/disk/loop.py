"""Loop devices: a block device over an image file.

A device is known by the file that it is over, by the file's device and inode, and never by a path or a number that was
written down. Machines that share a kernel (the nodes of kind) have the same paths, and see each other's devices: in
``/sys/block``, but not in ``/dev``, where each has its own nodes. What is over another file is another's.

Each device clears itself: the kernel detaches it when its last holder goes, which is the file system on it. So nothing
is left of a machine that dies, and a device that another process's copy of a mount holds (:mod:`~.volumes`) is nobody's
any more when that process ends.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from highwater_chaos.machine.errors import MachineError

_CLR_FD: Final = 0x4C01
_GET_STATUS64: Final = 0x4C05
_CONFIGURE: Final = 0x4C0A
_CTL_GET_FREE: Final = 0x4C82
_AUTOCLEAR: Final = 4
_STATUS_BYTES: Final = 232
_STATUS: Final = struct.Struct("=52xI64s112x")
"""Of ``loop_info64``: the flags and the name."""
_CONTROL: Final = "/dev/loop-control"
_MAJOR: Final = 7
_DETACHED_WITHIN: Final = 10.0
_IDLE_WITHIN: Final = 10.0
_PASSES_WITHIN: Final = 1.0
_SYSTEM: Final = Path("/sys/block")
_TRIES: Final = 100


@contextmanager
def attached(image: Path) -> Iterator[str]:
    """Attach an image to a free loop device; yields the device (``/dev/loop3``), to be mounted. It is detached when
    nothing is mounted from it any more, at the end of this at the earliest."""
    with open(image, "r+b", buffering=0) as file:  # noqa: PTH123
        for _ in range(_TRIES):
            number = _free_number()
            with _opened(number, os.O_RDWR) as loop:
                if _configure(loop, file.fileno()):
                    yield _device(number)
                    return
    raise MachineError(f"no free loop device for {image}: other processes were faster {_TRIES} times")


def devices_of(image: Path) -> list[str]:
    """Loop devices over an image file, whoever holds them."""
    return [_device(one.number) for one in _over(image)]


def numbers_of(image: Path) -> set[str]:
    """Return the device numbers of loop devices (``7:3``)."""
    return {f"{_MAJOR}:{one.number}" for one in _over(image)}


def is_claimed(image: Path) -> bool:
    """Whether a file system lives on some loop device over the image: mounted here, in another mount namespace, or
    nowhere any more but with files open."""
    return any(_is_claimed(one.number) for one in _over(image))


def detach(image: Path) -> None:
    """Detach every loop device over the image; returns when they are free, or held by a file system alone, which did
    not go within a second. For an image that is not mounted here.

    Raises:
        MachineError: one does not go.
    """
    # A process that ends, and had a copy of the mount, lets go of it some milliseconds after its copy is gone.
    passing = time.monotonic() + _PASSES_WITHIN
    pause = 0.005
    while is_claimed(image) and time.monotonic() < passing:
        time.sleep(pause)
        pause = min(2 * pause, 0.04)
    deadline = time.monotonic() + _DETACHED_WITHIN
    file = _identity(image)
    while left := [one for one in _over(image) if not _is_claimed(one.number)]:
        for one in left:
            try:
                with _opened(one.number, os.O_RDONLY) as loop:
                    # As long as it is open no other process can get this number: look whose it is only now.
                    if _backing(loop) == file:
                        fcntl.ioctl(loop, _CLR_FD)
            except OSError as error:
                if error.errno not in (errno.ENXIO, errno.EBUSY):
                    raise
        if time.monotonic() > deadline:
            names = ", ".join(_device(one.number) for one in left)
            raise MachineError(f"{names} over {image} is still in use")
        time.sleep(0.005)


def wait_idle(image: Path) -> None:
    """Wait until no loop device over the image has a request under way.

    Raises:
        MachineError: one has after ten seconds.
    """
    deadline = time.monotonic() + _IDLE_WITHIN
    while busy := [_device(one.number) for one in _over(image) if one.in_flight]:
        if time.monotonic() > deadline:
            raise MachineError(f"{', '.join(busy)} over {image} does not finish its requests")
        time.sleep(0.001)


class _Loop(NamedTuple):
    """A loop device in use, and whether it has requests under way."""

    number: int
    in_flight: bool


def _over(image: Path) -> Iterator[_Loop]:
    # Over the file that an image is now; over none that was deleted, or that another machine has at that path.
    file = _identity(image)
    if file is None:
        return
    for number in _in_use():
        try:
            with _opened(number, os.O_RDONLY) as loop:
                if _backing(loop) != file:
                    continue
            in_flight = any(int(count) for count in (_SYSTEM / f"loop{number}" / "inflight").read_bytes().split())
        except OSError as error:
            if error.errno in (errno.ENXIO, errno.ENOENT, errno.ENODEV):
                continue  # detached meanwhile
            raise
        yield _Loop(number, in_flight)


def _in_use() -> list[int]:
    """Numbers of the loop devices that are over some file. Asked often, and a machine may have hundreds of devices: no
    paths are made of those that are not in use."""
    found = []
    with os.scandir(_SYSTEM) as entries:
        for entry in entries:
            number = entry.name.removeprefix("loop")
            if number.isdigit() and os.access(f"{entry.path}/loop", os.F_OK):
                found.append(int(number))
    return sorted(found)


def _identity(image: Path) -> tuple[int, int] | None:
    """Device and inode; None: there is no such file."""
    try:
        status = image.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _backing(loop: int) -> tuple[int, int] | None:
    """Device and inode of the file that a loop device is over; None: it is over none (any more)."""
    status = bytearray(_STATUS_BYTES)
    try:
        fcntl.ioctl(loop, _GET_STATUS64, status)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return None
        raise
    encoded, inode = struct.unpack_from("=QQ", status)
    # The kernel's own encoding: 12 bits of major number between two parts of the minor.
    return os.makedev((encoded >> 8) & 0xFFF, (encoded & 0xFF) | ((encoded >> 12) & 0xFFF00)), inode


def _configure(loop: int, file: int) -> bool:
    # File and automatic clearing in one step (since Linux 5.8): there is no moment in which it would stay.
    status = _STATUS.pack(_AUTOCLEAR, b"highwater")
    try:
        fcntl.ioctl(loop, _CONFIGURE, struct.pack("=II", file, 0) + status + bytes(64))
    except OSError as error:
        if error.errno == errno.EBUSY:
            return False  # another process was faster
        raise
    return True


def _is_claimed(number: int) -> bool:
    # A file system opens its device exclusively; a second exclusive opener is refused.
    try:
        with _opened(number, os.O_RDONLY | os.O_EXCL):
            return False
    except OSError as error:
        if error.errno == errno.EBUSY:
            return True
        if error.errno in (errno.ENXIO, errno.ENOENT):
            return False  # detached meanwhile
        raise


def _free_number() -> int:
    try:
        control = os.open(_CONTROL, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise MachineError(f"there is no {_CONTROL}: load the kernel module loop (modprobe loop)") from error
    try:
        return fcntl.ioctl(control, _CTL_GET_FREE)
    finally:
        os.close(control)


def _device(number: int) -> str:
    return f"/dev/loop{number}"


@contextmanager
def _opened(number: int, flags: int) -> Iterator[int]:
    """Open a loop device by its number. In a container ``/dev`` is not devtmpfs and does not follow the kernel: the
    node is made where it lacks, and one of another device is not used."""
    device, wanted = _device(number), os.makedev(_MAJOR, number)
    try:
        fd = os.open(device, flags | os.O_CLOEXEC)
    except FileNotFoundError:
        with suppress(FileExistsError):  # another thread was faster
            os.mknod(device, 0o660 | stat.S_IFBLK, wanted)
        fd = os.open(device, flags | os.O_CLOEXEC)
    try:
        found = os.fstat(fd)
        if not stat.S_ISBLK(found.st_mode) or found.st_rdev != wanted:
            raise MachineError(f"{device} is another device: expected {_MAJOR}:{number}; remove it")
        yield fd
    finally:
        os.close(fd)
