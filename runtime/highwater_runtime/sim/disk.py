"""The disk that forgets: a data directory with an exact page cache.

It implements :class:`highwater_runtime.ports.Disk` and keeps, for each file, the durable image and the ordered
unsynced operations (:mod:`.page_cache`), and for the names a journal of directory operations (:mod:`.directories`).
A SIGKILL changes nothing here; :meth:`SimDisk.power_loss` keeps, by seed, none of what was unsynced, a prefix, any
subset of pages, or everything. That difference is the heart of KIP-903's first seed (KAFKA-14139).

Faults: a quota (``ENOSPC``), errors (``EIO`` on everything, on writes, or on fsync), stalls (fsyncs that do not end,
and on demand writes that do not return), and :meth:`SimDisk.cut_power_at`, which ends the world at the n-th operation,
for testing every crash point of a write–fsync–rename–fsync sequence. After a failed fsync the pages are clean but not
durable, as on Linux.

A disk works without a simulator too: then fsyncs and jobs that were begun end when :meth:`SimDisk.complete_fsyncs` is
called.
"""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from highwater_runtime.ports import MS, DiskJob, path_components
from highwater_runtime.seeds import derive_random
from highwater_runtime.sim.directories import Directory, DirectoryTree, Node, kind_of, os_error
from highwater_runtime.sim.open_file import Fsync, Job, Owner, SimFile
from highwater_runtime.sim.page_cache import KEEPS, CachedFile, Keep

KeepChoice = Keep | Literal["by-seed"]
DiskErrors = Literal["all", "writes", "fsync"]
"""Which calls fail with ``EIO``: all of them, everything that changes something, or fsync alone."""


class PowerCutError(BaseException):
    """Raised by the operation at which :meth:`SimDisk.cut_power_at` cuts. No ``Exception``: no core may catch it."""


@dataclass(frozen=True, slots=True)
class PowerLossEvidence:
    """What a power loss did: ``keep`` as drawn, bytes unsynced before, readable bytes gone, names gone (sorted)."""

    keep: Keep
    unsynced_bytes: int
    bytes_lost: int
    files_lost: tuple[str, ...]
    wiped: bool = False


@dataclass(frozen=True, slots=True)
class DiskTiming:
    """How long an fsync takes: mostly ``typical_ns`` × 0.5–1.5, sometimes (``slow_fraction``) up to ``slow_ns``."""

    typical_ns: int = MS // 2
    slow_ns: int = 8 * MS
    slow_fraction: float = 0.02


class SimDisk:
    """A :class:`highwater_runtime.ports.Disk` in memory that can lose power.

    Args:
        random: draws fsync times and what a power loss keeps; an int seeds one.
        schedule: runs ``callback(argument)`` after so many nanoseconds; None: see :meth:`complete_fsyncs`.
        now_ns: current time, for the order of fsyncs of one file; needed with ``schedule``.
        timing: how long fsyncs take.
    """

    def __init__(
        self,
        random: Random | int = 0,
        *,
        schedule: Callable[[int, Callable[[Any], None], Any], None] | None = None,
        now_ns: Callable[[], int] = lambda: 0,
        timing: DiskTiming | None = None,
    ) -> None:
        self._random = random if isinstance(random, Random) else derive_random(random, "disk")
        self._schedule = schedule
        self._now_ns = now_ns
        self._timing = timing or DiskTiming()
        self._tree = DirectoryTree()
        self._waiting: list[Fsync] = []
        self._jobs: deque[Job] = deque()
        self._step_is_due = False
        self._quota: int | None = None
        self._errors: DiskErrors | None = None
        self._stalled = False
        self._blocks = False
        self._cut_at: int | None = None
        self.owner: Owner | None = None
        self.wipes = 0
        """How often the disk was replaced."""
        self.operations = 0
        """Operations that change something, so far."""
        self.fault_hits = 0
        """Calls that a fault made fail, or that a stall held up: evidence that the fault took effect."""
        self.on_failed: Callable[[str], None] = lambda _path: None
        """Hears the path of each call that a fault makes fail."""
        self.armed = False
        """Whether calls have to be checked for faults at all."""

    def open(self, path: str, *, create: bool = False) -> SimFile:
        if self.armed:
            self.admit_read(path)
        parent, name = self._tree.parent(path)
        node = parent.entries.get(name)
        if isinstance(node, Directory):
            raise os_error(errno.EISDIR, path)
        if node is None:
            if not create:
                raise os_error(errno.ENOENT, path)
            self.begin(path)
            node = CachedFile()
            self._tree.edit((parent, name, node))
        return SimFile(self, node, path)

    def open_unnamed(self) -> SimFile:
        """Open a new file that has no name, like ``O_TMPFILE``: nothing of it is ever left."""
        self.begin("")
        return SimFile(self, CachedFile(), "a file without name")

    def exists(self, path: str) -> bool:
        return self._tree.find(path) is not None

    def list(self, path: str = "") -> list[str]:
        if self.armed:
            self.admit_read(path)
        return sorted(self._tree.directory(path).entries)

    def is_dir(self, path: str) -> bool:
        return isinstance(self._tree.find(path), Directory)

    def mkdir(self, path: str) -> None:
        directory = self._tree.root
        parts = path_components(path)
        for index, part in enumerate(parts):
            node = directory.entries.get(part)
            if isinstance(node, CachedFile):
                last = index == len(parts) - 1
                raise os_error(errno.EEXIST if last else errno.ENOTDIR, path)
            if node is None:
                self.begin(path)
                node = Directory()
                self._tree.edit((directory, part, node))
            directory = node

    def rename(self, source: str, target: str) -> None:
        if not source or not target:
            raise os_error(errno.EBUSY, "")
        from_directory, from_name = self._tree.parent(source)
        to_directory, to_name = self._tree.parent(target)
        node = from_directory.entries.get(from_name)
        if node is None:
            raise os_error(errno.ENOENT, source)
        there = to_directory.entries.get(to_name)
        if there is node:
            return
        if source.startswith(f"{target}/"):
            raise os_error(errno.ENOTEMPTY, target)
        if isinstance(node, Directory) and f"{target}/".startswith(f"{source}/"):
            raise os_error(errno.EINVAL, target)
        match kind_of(node), kind_of(there):
            case "file", "directory":
                raise os_error(errno.EISDIR, target)
            case "directory", "file":
                raise os_error(errno.ENOTDIR, target)
        if isinstance(there, Directory) and there.entries:
            raise os_error(errno.ENOTEMPTY, target)
        self.begin(source)
        self._tree.edit((from_directory, from_name, None), (to_directory, to_name, node))

    def unlink(self, path: str) -> None:
        parent, name = self._tree.parent(path)
        node = parent.entries.get(name)
        if node is None:
            raise os_error(errno.ENOENT, path)
        if isinstance(node, Directory):
            raise os_error(errno.EISDIR, path)
        self.begin(path)
        self._tree.edit((parent, name, None))

    def remove_tree(self, path: str) -> None:
        node = self._tree.find(path)
        if node is None:
            return
        parent, name = self._tree.parent(path)
        if not isinstance(node, Directory):
            raise os_error(errno.ENOTDIR, path)
        for child in sorted(node.entries):
            child_path = f"{path}/{child}"
            if isinstance(node.entries[child], Directory):
                self.remove_tree(child_path)
            else:
                self.unlink(child_path)
        self.begin(path)
        self._tree.edit((parent, name, None))

    def fsync_dir(self, path: str = "") -> None:
        self.begin(path)
        directory = self._tree.directory(path)
        if self._errors == "fsync":
            raise self._failed(errno.EIO, path)
        self._tree.fsync(directory)

    def fsync_all(self, paths: Iterable[str]) -> dict[str, OSError]:
        failures: dict[str, OSError] = {}
        for path in dict.fromkeys(paths):
            try:
                file = self._tree.find(path)
                if isinstance(file, CachedFile) and not self.armed:
                    SimFile(self, file, path).fsync()
                elif isinstance(file, Directory):
                    self.fsync_dir(path)
                else:
                    self.open(path).fsync()
            except OSError as error:
                failures[path] = error
        return failures

    def run_later(self, job: DiskJob, on_done: Callable[[OSError | None], None]) -> None:
        """See :class:`highwater_runtime.ports.Disk`. Each step takes as long as an fsync."""
        self._drop_jobs_of_the_dead()
        self._jobs.append(Job(self.owner, job, on_done))
        self._schedule_step()

    # --- faults ---

    def power_loss(self, keep: KeepChoice = "by-seed", *, wipe: bool = False) -> PowerLossEvidence:
        """Lose the page cache; with ``wipe`` the disk as well. Open files and fsyncs under way are gone."""
        drawn: Keep = self._random.choice(KEEPS) if keep == "by-seed" else keep
        before = self._tree.files()
        unsynced = sum(file.unsynced_bytes() for _, file in before)
        if wipe:
            held = self.wipe()
            return PowerLossEvidence(drawn, unsynced, held, tuple(path for path, _ in before), wiped=True)
        self._waiting.clear()
        self._drop_jobs()
        self._tree.lose_power(drawn, self._random)
        after = self._tree.files()
        readable = {id(file) for _, file in before}
        survivors: set[int] = set()
        lost = 0
        for _, file in after:
            # Torn directory operations can leave one inode under two names: it loses power once.
            if id(file) not in survivors:
                survivors.add(id(file))
                gone = file.lose_power(drawn, self._random)
                lost += gone if id(file) in readable else 0
        lost += sum(len(file.cache) for _, file in before if id(file) not in survivors)
        names = {path for path, _ in after}
        files_lost = tuple(path for path, _ in before if path not in names)
        return PowerLossEvidence(drawn, unsynced, lost, files_lost)

    def wipe(self) -> int:
        """Replace the disk by an empty one; returns the bytes that were on it."""
        held = self.used_bytes()
        self.wipes += 1
        self._waiting.clear()
        self._drop_jobs()
        self._tree = DirectoryTree()
        return held

    def cut_power_at(self, operation: int | None) -> None:
        """Raise :class:`PowerCutError` instead of the ``operation``-th changing operation from now (1: the next
        one)."""
        self._cut_at = None if operation is None else self.operations + operation
        self._arm()

    def set_quota(self, quota_bytes: int | None) -> None:
        """Let writes fail with ``ENOSPC`` that would make the files' total size exceed ``quota_bytes``."""
        self._quota = quota_bytes
        self._arm()

    def set_errors(self, errors: DiskErrors | None) -> None:
        """Let calls fail with ``EIO``."""
        self._errors = errors
        self._arm()

    def set_stalled(self, stalled: bool, *, writes: bool = False) -> None:
        """Keep fsyncs and jobs that were begun from ending until the stall is over.

        With ``writes`` calls that change something, and blocking fsyncs, do not return until then: the first one is
        done, and its process held. Without it they are not held up.
        """
        was_blocked, self._blocks = self._blocks, stalled and writes
        self._arm()
        if was_blocked and not self._blocks and self.owner is not None:
            self.owner.release()
        self._stalled = stalled
        if not stalled:
            self._schedule_step()
        if not stalled and self._schedule is not None:
            waiting, self._waiting = self._waiting, []
            for job in sorted(waiting, key=lambda job: job.number):
                self._schedule(self._fsync_delay(job.file), self._end_fsync, job)

    def heal(self) -> None:
        """End quota, errors, stall and the planned power cut."""
        self._quota = self._errors = self._cut_at = None
        self.set_stalled(False)
        self._arm()

    def used_bytes(self) -> int:
        """Total size of all files."""
        return sum(len(file.cache) for _, file in self._tree.files())

    def unsynced_bytes(self) -> int:
        """Bytes that a power loss could take."""
        return sum(file.unsynced_bytes() for _, file in self._tree.files())

    def durable_names(self, path: str = "") -> Mapping[str, Node]:
        """What every power loss leaves of the names in a directory, and of each file its ``durable`` content. A view
        of what is there now, not to be changed."""
        directory = self._tree.find_durable(path)
        return directory.durable if isinstance(directory, Directory) else {}

    def is_durable(self, path: str, length: int) -> bool:
        """Whether every power loss leaves the first ``length`` bytes of a file as they are, under its name.

        True as well if an fsync of the file has failed: it reports success from then on, and nobody can know.
        """
        node = self._tree.find(path)
        if not isinstance(node, CachedFile) or self._tree.find_durable(path) is not node:
            return False
        settled = len(node.durable) >= length and all(position >= length for position, _ in node.operations)
        return settled or node.lost_pages

    def complete_fsyncs(self) -> int:
        """Without a scheduler: end all fsyncs under way now, in order, then all jobs; returns how many."""
        waiting, self._waiting = self._waiting, []
        for fsync in waiting:
            self._end_fsync(fsync)
        count = len(waiting)
        self._drop_jobs_of_the_dead()
        while self._jobs:
            job = self._jobs[0]
            count += 1
            while self._jobs and self._jobs[0] is job:
                self._run_step(job)
        return count

    def forget_fsyncs(self) -> int:
        """Without a scheduler: no fsync under way ends, as if its process were gone; returns how many there were."""
        count = len(self._waiting)
        self._waiting.clear()
        return count

    def run_one_job(self) -> None:
        """Without a scheduler: end the first job under way, and none behind it."""
        job = self._jobs[0]
        while self._jobs and self._jobs[0] is job:
            self._run_step(job)

    # --- for SimFile ---

    def begin(self, path: str) -> None:
        """An operation that changes something begins."""
        self.operations += 1
        if self.armed:
            self.check_power()
            if self._errors in ("all", "writes"):
                raise self._failed(errno.EIO, path)
            self.block()

    def check_power(self) -> None:
        """Raise if this is the operation that the power does not live to see."""
        if self._cut_at is not None and self.operations >= self._cut_at:
            self._cut_at = None
            self._arm()
            raise PowerCutError

    def block(self) -> None:
        """Hold the owner if the disk takes no writes now."""
        if self._blocks:
            self.fault_hits += 1
            if self.owner is not None:
                self.owner.hold()

    def admit_read(self, path: str) -> None:
        """Raise if reads fail now."""
        if self._errors == "all":
            raise self._failed(errno.EIO, path)

    def admit_write(self, file: CachedFile, path: str, position: int, data: bytes) -> None:
        """Raise if this write fails now; of one that runs into the quota a prefix may be written."""
        self.check_power()
        if self._errors in ("all", "writes"):
            raise self._failed(errno.EIO, path)
        if self._quota is not None:
            growth = max(0, position + len(data) - len(file.cache))
            room = max(0, self._quota - self.used_bytes())
            if growth > room:
                prefix = data[: self._random.randint(0, max(0, len(data) - (growth - room)))]
                if prefix:
                    file.write(position, prefix)
                raise self._failed(errno.ENOSPC, path)
        self.block()

    def begin_fsync(self, job: Fsync) -> None:
        """Let ``job`` end some time later."""
        if self._stalled:
            self.fault_hits += 1
        if self._schedule is None or self._stalled:
            self._waiting.append(job)
        else:
            self._schedule(self._fsync_delay(job.file), self._end_fsync, job)

    def finish_fsync(self, file: CachedFile, end: int, path: str) -> None:
        """Make ``file`` durable up to ``end``, or fail as Linux does."""
        if self._errors is not None:
            file.lose(end)
            raise self._failed(errno.EIO, path)
        file.settle(end)

    def hold_if_stalled(self, job: Fsync) -> bool:
        """A stall that began after the fsync holds it up too."""
        if self._stalled and self._schedule is not None:
            self.fault_hits += 1
            self._waiting.append(job)
            return True
        return False

    def _schedule_step(self) -> None:
        if self._step_is_due or not self._jobs or self._schedule is None:
            return
        if self._stalled:
            self.fault_hits += 1
        else:
            self._step_is_due = True
            self._schedule(self._delay(), self._run_step, self._jobs[0])

    def _drop_jobs(self) -> None:
        self._jobs.clear()
        self._step_is_due = False

    def _drop_jobs_of_the_dead(self) -> None:
        if self._jobs and self._jobs[0].owner is not self.owner:
            self._drop_jobs()

    def step(self, job: Job) -> None:
        """Run the next step of ``job``, in an event of its owner."""
        if not self._jobs or self._jobs[0] is not job:
            return  # the node has died since
        self._step_is_due = False
        if self._stalled and self._schedule is not None:
            self.fault_hits += 1
            return
        failure: OSError | None = None
        try:
            next(job.steps)
        except StopIteration:
            pass
        except OSError as error:
            failure = error
        else:
            self._schedule_step()
            return
        self._jobs.popleft()
        self._schedule_step()
        job.on_done(failure)

    def _delay(self) -> int:
        timing, draw = self._timing, self._random.random()
        if draw < timing.slow_fraction:
            return timing.typical_ns + int(timing.slow_ns * draw / timing.slow_fraction)
        return timing.typical_ns // 2 + int(timing.typical_ns * draw)

    def _fsync_delay(self, file: CachedFile) -> int:
        now = self._now_ns()
        file.fsync_at = max(file.fsync_at, now + self._delay())
        return file.fsync_at - now

    def _failed(self, code: int, path: str) -> OSError:
        self.fault_hits += 1
        self.on_failed(path)
        return os_error(code, path)

    def _arm(self) -> None:
        self.armed = self._quota is not None or self._errors is not None or self._cut_at is not None or self._blocks

    def _run_step(self, job: Job) -> None:
        if job.owner is None:
            self.step(job)
        else:
            job.owner.deliver(self.step, job)

    def _end_fsync(self, fsync: Fsync) -> None:
        if self.hold_if_stalled(fsync):
            return
        failure: OSError | None = None
        try:
            self.finish_fsync(fsync.file, fsync.end, fsync.path)
        except OSError as error:
            failure = error
        if fsync.owner is None:
            fsync.on_done(failure)
        else:
            fsync.owner.deliver(fsync.on_done, failure)
