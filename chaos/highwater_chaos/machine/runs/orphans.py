"""What belongs to a run of which no directory is left: found by name and mark, undone without a journal.

That happens only if a user deletes a run's directory by hand. Only what carries a place below this state
directory is looked at, so that runs of another one are safe.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from highwater_chaos.machine.disk.freezing import thaw
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel import linux
from highwater_chaos.machine.kernel.identity import Identity
from highwater_chaos.machine.kernel.proc import shown
from highwater_chaos.machine.network.namespaces import NETNS, Namespace, marked_for
from highwater_chaos.machine.process.processes import RUN_MARK, marks
from highwater_chaos.machine.runs.directory import INFO

_GONE_WITHIN: Final = 10.0


@dataclass(frozen=True, slots=True)
class Orphan:
    """One thing without a run: what it is, and how it goes."""

    what: str
    undo: Callable[[], None]


def orphans(root: Path) -> Iterator[Orphan]:
    """Everything without a run below a state directory, in the order in which it must go."""
    points = [point for point in linux.mount_points(root) if point != root and _without_run(point, root)]
    for identity, run in marks(RUN_MARK):
        if _without_run(Path(run), root):
            yield Orphan(f"process {identity.pid} of {shown(run)}", partial(_kill, identity, points))
    for point in reversed(points):
        yield Orphan(f"mount {point}", partial(_unmount, point))
    names = sorted(path.name for path in NETNS.glob("hw-*")) if NETNS.is_dir() else []
    for name in names:
        owner = marked_for(name)
        if owner is not None and _without_run(Path(owner), root):
            yield Orphan(f"network namespace {name}", Namespace(name, owner).undo)


def _without_run(path: Path, root: Path) -> bool:
    if not path.is_relative_to(root) or path == root:
        return False
    return not (root / path.relative_to(root).parts[0] / INFO).exists()


def _kill(identity: Identity, points: Sequence[Path]) -> None:
    for point in points:
        thaw(point)  # a process that waits for a frozen disk does not die
    identity.send(signal.SIGKILL)
    if not identity.wait_gone(_GONE_WITHIN):
        raise MachineError(f"process {identity.pid} does not die: it waits in the kernel")


def _unmount(point: Path) -> None:
    thaw(point)
    linux.umount(point)
    with suppress(OSError):  # something lies below it
        point.rmdir()  # copies of the mount in other mount namespaces go with it, see volumes.py
