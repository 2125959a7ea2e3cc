"""What the kernel tells in ``/proc`` of processes and mounts. No other module reads it.

Whoever owns a process chooses much of what stands there: its name, its environment, the paths of its files, control
groups and mounts. So it is read as bytes and only so far, and what cannot be read of one process is left out and stops
nobody. A lack of our own (of descriptors, of memory) is an error: it must not look like a process that is gone.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

_LACKS: Final = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
_MOST: Final = 1 << 16
"""Bytes of a file that the kernel keeps short: a path has at most 4,096."""
_MOST_ENVIRONMENT: Final = 8 << 20
"""Bytes: more than a program can be started with."""
_MOST_LINE: Final = 1 << 16
_OCTAL: Final = re.compile(rb"\\([0-3][0-7]{2})")
_UNWRITTEN: Final = (b"Dirty:", b"Writeback:")
_PROPAGATED: Final = (b"master:", b"shared:")


@cache
def boot_id() -> str:
    """Random id of this boot; a journal of another boot speaks of mounts and processes that are long gone."""
    with open("/proc/sys/kernel/random/boot_id", "rb") as file:  # noqa: PTH123
        return file.read(_MOST).decode("ascii").strip()


def unwritten_bytes() -> int:
    """What the page cache has that is not on a disk, in bytes, rounded to the kernel's kibibytes."""
    lines = _read("/proc/meminfo").splitlines()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(_UNWRITTEN))


class Stat(NamedTuple):
    """Of ``/proc/PID/stat``: the state of the first thread, how many threads there are, and when the first started."""

    state: str
    threads: int
    started: int

    @property
    def is_over(self) -> bool:
        """Whether all its threads have ended. The first may be a zombie long before the others (a JVM that exits):
        until they have ended too, they hold files open, and their exit status cannot be read."""
        return self.state in "ZX" and self.threads <= 1


def pids() -> Iterator[int]:
    """Every process that this one may see."""
    with os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdigit():
                yield int(entry.name)


def user_of(pid: int) -> int | None:
    """The effective user of a process (root for one that may not be looked at); None: it is gone."""
    try:
        return os.stat(f"/proc/{pid}").st_uid  # noqa: PTH116 - thousands of times
    except OSError as error:
        _raise_lack(error)
        return None


def stat_of(pid: int, thread: int | None = None) -> Stat | None:
    """Of a process, or of one of its threads; None: it is gone."""
    place = f"/proc/{pid}/stat" if thread is None else f"/proc/{pid}/task/{thread}/stat"
    try:
        with open(place, "rb") as file:  # noqa: PTH123
            data = file.read(_MOST)
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name stands in parentheses and may hold any byte, a parenthesis too; after it come numbers.
    fields = data[data.rindex(b")") + 2 :].split()
    return Stat(fields[0].decode("ascii"), int(fields[17]), int(fields[19]))


def threads_of(pid: int) -> list[int]:
    """Threads of a process; none: it is gone."""
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]  # noqa: PTH208
    except (FileNotFoundError, ProcessLookupError):
        return []


class ProcessorTime(NamedTuple):
    """What the present threads of a process have had of processors, in nanoseconds: they ``ran``, or they could have
    run and ``waited`` for one."""

    ran: int
    waited: int


def processor_time_of(pid: int) -> ProcessorTime | None:
    """None: the process is gone, or the kernel does not count (``CONFIG_SCHED_INFO``)."""
    of_threads = [_read(f"/proc/{pid}/task/{thread}/schedstat").split() for thread in threads_of(pid)]
    counted = [[int(field) for field in fields[:2]] for fields in of_threads if len(fields) > 1]
    return ProcessorTime(*map(sum, zip(*counted, strict=True))) if counted else None


def command_of(pid: int) -> list[bytes]:
    """What a process was started with, the beginning of it; empty: it is gone, or of the kernel."""
    return _read(f"/proc/{pid}/cmdline").split(b"\0")[:-1]


def groups_of(pid: int) -> list[str]:
    """Paths of the control groups of a process; none: it is gone. A byte that is not UTF-8 is a lone surrogate."""
    lines = (line.split(b":", 2) for line in _read(f"/proc/{pid}/cgroup").split(b"\n"))
    return [os.fsdecode(fields[2]) for fields in lines if len(fields) > 2]


def variable_of(pid: int, name: str) -> str | None:
    """An environment variable that a process was started with; None: it has none of that name, is gone, or is
    another's. A byte that is not UTF-8 is a lone surrogate."""
    wanted = name.encode() + b"="
    for variable in _read(f"/proc/{pid}/environ", _MOST_ENVIRONMENT).split(b"\0"):
        if variable.startswith(wanted):
            return os.fsdecode(variable[len(wanted) :])
    return None


def namespace_of(pid: int, kind: str) -> str | None:
    """What the kernel calls a namespace (``net``, ``mnt``) of a process, ``net:[4026532758]``; None: it is gone."""
    return _link(f"/proc/{pid}/ns/{kind}")


def uses(pid: int, top: bytes, device: int) -> bool:
    """Whether a process has a file open, its directories or a mapping below the mount point ``top``, on ``device``."""
    place = f"/proc/{pid}"
    try:
        if any(_leads_below(f"{place}/{link}", top, device) for link in ("cwd", "root")):
            return True
        with os.scandir(f"{place}/fd") as descriptors:
            if any(_leads_below(one.path, top, device) for one in descriptors):
                return True
    except OSError as error:
        _raise_lack(error)
        return False  # it went away, or is another's
    number = b" %02x:%02x " % (os.major(device), os.minor(device))
    # 65,000 mappings of a file with a long path are 250 MB of text.
    return any(b" " + top + b"/" in line and number in line for line in _lines(f"{place}/maps"))


class Mount(NamedTuple):
    """One mount: number of its device (``7:3``), mount point, source, and whether it stays when the original of which
    it is a copy goes."""

    device: str
    point: str
    source: str
    stays: bool


def mounts(pid: int | None = None) -> Iterator[Mount]:
    """What a process has mounted (None: this one), in that order; none: it is gone. A byte that is not UTF-8 is a lone
    surrogate, as in Python's own paths."""
    for line in _lines("/proc/self/mountinfo" if pid is None else f"/proc/{pid}/mountinfo", ours=pid is None):
        before, _, after = line.partition(b" - ")
        fields, source = before.split(b" "), after.split(b" ")[1:2]
        if len(fields) > 4:
            stays = not any(one.startswith(_PROPAGATED) for one in fields[6:])
            yield Mount(fields[2].decode("ascii"), _unescape(fields[4]), _unescape(b"".join(source)), stays)


def freezers() -> Iterator[str]:
    """Where control groups that can be frozen are mounted: in this process, and in the machine's first, by whose root
    its files are reached. Version 2, and the freezer of version 1."""
    for place, root in (("/proc/self/mountinfo", ""), ("/proc/1/mountinfo", "/proc/1/root")):
        for line in _lines(place):
            before, _, after = line.partition(b" - ")
            system, point = after.split(b" "), before.split(b" ")[4:5]
            if system[0] == b"cgroup2" or (system[0] == b"cgroup" and b"freezer" in system[-1].split(b",")):
                yield root + _unescape(b"".join(point))


def shown(text: str, most: int = 200) -> str:
    """What another chose, to be printed: one line of characters that a terminal shows, not too long."""
    line = repr(text[:most])[1:-1]
    return line if len(text) <= most else f"{line}…"


def _unescape(field: bytes) -> str:
    # The kernel writes space, tab, newline and backslash in octal, byte by byte.
    return os.fsdecode(_OCTAL.sub(lambda found: bytes([int(found[1], 8)]), field))


def _lines(place: str, *, ours: bool = False) -> Iterator[bytes]:
    # Of each line so much as is short enough; none where the process is gone or is another's.
    try:
        with open(place, "rb") as file:  # noqa: PTH123
            while line := file.readline(_MOST_LINE):
                rest = line
                while rest and not rest.endswith(b"\n"):
                    rest = file.readline(_MOST_LINE)
                yield line.removesuffix(b"\n")
    except OSError as error:
        if ours:
            raise
        _raise_lack(error)


def _read(place: str, most: int = _MOST) -> bytes:
    try:
        with open(place, "rb") as file:  # noqa: PTH123
            return file.read(most)
    except OSError as error:
        _raise_lack(error)
        return b""


def _link(place: str) -> str | None:
    try:
        return os.readlink(place)  # noqa: PTH115
    except OSError as error:
        _raise_lack(error)
        return None


def _leads_below(link: str, top: bytes, device: int) -> bool:
    target = os.readlink(os.fsencode(link))  # noqa: PTH115 - bytes
    if target != top and not target.startswith(top + b"/"):
        return False
    try:
        return os.stat(link).st_dev == device  # noqa: PTH116
    except OSError as error:
        return error.errno == errno.EIO  # a file system that was shut down: by its path alone


def _raise_lack(error: OSError) -> None:
    if error.errno in _LACKS:
        raise error
