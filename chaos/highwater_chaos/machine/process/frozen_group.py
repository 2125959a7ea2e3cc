"""A control group whose processes stand still: nothing that another program puts into it begins.

For nodes that know of no hold file (:mod:`~.start_barrier`): a pod of other software. Its processes are killed, then
the group of the whole pod is frozen, so that what the kubelet starts in their place waits in the kernel until it is
thawed. Version 2 has ``cgroup.freeze`` in each group, version 1 a tree of its own (``freezer``), where what is frozen
does not even die: so what is to be dead is killed first.

A group is found by the name that the container runtime gave its directory, because a reader in a control group
namespace of its own sees other paths in ``/proc/PID/cgroup``. The trees are those of this process, and those of the
machine's first process, whose root a container with the machine's processes may enter.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Self

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel.proc import freezers

_FROZEN_WITHIN: Final = 2.0
"""Seconds: it is frozen with the run's lock held."""
_DEPTH: Final = 8
_MOST_GROUPS: Final = 20_000


@dataclass(frozen=True, slots=True)
class FrozenGroup:
    """``group``: the directory of the control group, which nobody but root can make."""

    KIND: ClassVar[str] = "frozen group"
    ALONE: ClassVar[bool] = True
    group: str

    @classmethod
    def of(cls, token: str) -> Self:
        """The group whose directory is called after ``token`` (a pod's uid), that has processes and can be frozen.

        Raises:
            MachineError: there is none.
        """
        wanted = token.lower()
        for tree in freezers():
            for directory in _groups(tree):
                named = wanted in Path(directory).name.replace("_", "-")
                if named and _control(directory) is not None and _has_processes(directory):
                    return cls(directory)
        raise MachineError(
            f"no control group of {token} can be frozen: expected version 2 of control groups, or the freezer of"
            " version 1, below /sys/fs/cgroup of the machine"
        )

    def make(self, _held: Sequence[int]) -> Self:
        """Freeze it; returns when the kernel reports that all of it stands still."""
        deadline = time.monotonic() + _FROZEN_WITHIN
        self._write(frozen=True)
        while not self._stands_still():
            if time.monotonic() > deadline:
                raise MachineError(f"control group {self.group} does not freeze: a process waits in the kernel")
            time.sleep(0.005)
            self._write(frozen=True)  # version 1 may have stopped trying
        return self

    def undo(self) -> None:
        """Thaw it; it may be gone with its pod."""
        with suppress(FileNotFoundError):
            self._write(frozen=False)

    def left(self) -> str | None:
        try:
            return f"control group {self.group} frozen" if self._is_frozen() else None
        except OSError:  # gone, also while it was looked at
            return None

    def describe(self) -> str:
        return f"frozen control group {Path(self.group).name}"

    def _write(self, *, frozen: bool) -> None:
        control = _control(self.group)
        if control is None:
            raise FileNotFoundError(self.group)
        thawed_or_frozen = (b"THAWED", b"FROZEN") if control.endswith(_V1) else (b"0", b"1")
        fd = os.open(control, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, thawed_or_frozen[frozen])
        finally:
            os.close(fd)

    def _is_frozen(self) -> bool:
        # That it was asked for: in a group without processes nothing can stand still.
        control = _control(self.group)
        if control is None:
            return False
        if control.endswith(_V1):
            return Path(self.group, "freezer.self_freezing").read_bytes().strip() == b"1"
        return Path(control).read_bytes().strip() == b"1"

    def _stands_still(self) -> bool:
        control = _control(self.group)
        if control is None:
            raise FileNotFoundError(self.group)
        if control.endswith(_V1):
            return Path(control).read_bytes().strip() == b"FROZEN"
        return b"frozen 1" in Path(self.group, "cgroup.events").read_bytes().split(b"\n")


_V1: Final = "/freezer.state"
_V2: Final = "/cgroup.freeze"


def _control(directory: str) -> str | None:
    """The file that freezes a group; None: it has none, or is gone."""
    return next((directory + one for one in (_V2, _V1) if os.path.exists(directory + one)), None)  # noqa: PTH110


def _has_processes(directory: str) -> bool:
    """Whether a group holds any: trees of several versions may have directories of one name."""
    return any(
        Path(one, "cgroup.procs").read_bytes().strip() for one in (directory, *_groups(directory)) if _is_group(one)
    )


def _is_group(directory: str) -> bool:
    return os.path.exists(f"{directory}/cgroup.procs")  # noqa: PTH110


def _groups(tree: str) -> Iterator[str]:
    """Directories of a tree, those nearer to its root first; a bounded number of them."""
    level, found = [tree], 0
    for _ in range(_DEPTH):
        below: list[str] = []
        for directory in level:
            with suppress(OSError), os.scandir(directory) as entries:
                below += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        for directory in below:
            found += 1
            if found > _MOST_GROUPS:
                return
            yield directory
        level = below
