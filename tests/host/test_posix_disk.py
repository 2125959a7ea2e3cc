"""Short of a crash, the simulated disk and a real directory are the same: every result, every errno."""

from __future__ import annotations

import errno
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from processes import open_files

from highwater_runtime.host.files import posix_disk
from highwater_runtime.host.files.file_system import find_syncfs, kind_of
from highwater_runtime.host.files.posix_disk import MANY_PATHS, PosixDisk
from highwater_runtime.sim import SimDisk

PATHS = ["", "a", "b", "d", "d/a", "d/e", "d/e/a", "a/x", "missing/x", "d/e/f/g"]
paths = st.sampled_from(PATHS)


def now(task):
    task()


def result_of(call):
    """What a call returns or raises, comparably."""
    try:
        return "returned", call()
    except OSError as error:
        return "errno", errno.errorcode.get(error.errno or 0)
    except ValueError:
        return ("ValueError",)


class BothDisks(RuleBasedStateMachine):
    @initialize()
    def begin(self):
        self.directory = tempfile.TemporaryDirectory()
        self.sim = SimDisk()
        self.posix = PosixDisk(Path(self.directory.name), run_blocking=now, post=now)
        self.handles = []  # (sim file, posix file)

    def teardown(self):
        if hasattr(self, "directory"):
            for _, file in self.handles:
                file.close()
            self.directory.cleanup()

    def same(self, call):
        simulated, real = result_of(lambda: call(self.sim)), result_of(lambda: call(self.posix))
        assert simulated == real
        return simulated

    @rule(path=paths, create=st.booleans())
    def open(self, path, create):
        opened = []
        self.same(lambda disk: opened.append(disk.open(path, create=create)))
        if len(opened) == 2:
            self.handles.append((opened[0], opened[1]))

    def on_handle(self, index, call):
        if self.handles:
            sim_file, posix_file = self.handles[index % len(self.handles)]
            assert result_of(lambda: call(sim_file)) == result_of(lambda: call(posix_file))

    @rule(index=st.integers(0, 9), data=st.binary(max_size=30), kind=st.sampled_from([bytes, bytearray, memoryview]))
    def append(self, index, data, kind):
        self.on_handle(index, lambda file: file.append(kind(data)))

    @rule(index=st.integers(0, 9), position=st.integers(-1, 60), data=st.binary(max_size=30))
    def pwrite(self, index, position, data):
        self.on_handle(index, lambda file: file.pwrite(position, data))

    @rule(index=st.integers(0, 9), position=st.integers(-1, 60), length=st.integers(-1, 60))
    def read(self, index, position, length):
        self.on_handle(index, lambda file: file.read(position, length))

    @rule(index=st.integers(0, 9), length=st.integers(-1, 60))
    def truncate(self, index, length):
        self.on_handle(index, lambda file: file.truncate(length))

    @rule(index=st.integers(0, 9))
    def size(self, index):
        self.on_handle(index, lambda file: file.size())

    @rule(index=st.integers(0, 9))
    def close(self, index):
        self.on_handle(index, lambda file: file.close())

    @rule(index=st.integers(0, 9))
    def fsync(self, index):
        self.on_handle(index, lambda file: file.fsync())

    @rule(path=paths)
    def mkdir(self, path):
        self.same(lambda disk: disk.mkdir(path))

    @rule(source=paths, new_path=paths)
    def rename(self, source, new_path):
        self.same(lambda disk: disk.rename(source, new_path))

    @rule(path=paths)
    def unlink(self, path):
        self.same(lambda disk: disk.unlink(path))

    @rule(path=paths)
    def remove_tree(self, path):
        self.same(lambda disk: disk.remove_tree(path))

    @rule(path=paths)
    def fsync_dir(self, path):
        self.same(lambda disk: disk.fsync_dir(path))

    @invariant()
    def the_trees_are_the_same(self):
        for path in PATHS:
            self.same(lambda disk, path=path: (disk.exists(path), disk.is_dir(path)))
            self.same(lambda disk, path=path: disk.list(path))


TestBothDisks = BothDisks.TestCase
TestBothDisks.settings = settings(max_examples=60, stateful_step_count=40)


@pytest.fixture
def disk(tmp_path):
    return PosixDisk(tmp_path, run_blocking=now, post=now)


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/"])
def test_paths_stay_within_the_data_directory(disk, path):
    for call in (disk.open, disk.exists, disk.list, disk.is_dir, disk.mkdir, disk.unlink, disk.remove_tree):
        with pytest.raises(ValueError, match="must be relative"):
            call(path)
        with pytest.raises(ValueError, match="must be relative"):
            getattr(SimDisk(), call.__name__)(path)


def test_both_refuse_to_read_behind_the_last_position_that_there_is(disk):
    files = [one.open("a", create=True) for one in (SimDisk(), disk)]
    simulated, real = (
        [
            result_of(lambda file=file, below=below, length=length: file.read(2**63 - 1 - below, length))
            for below in (0, 1, 99, 100)
            for length in (0, 1, 100)
        ]
        for file in files
    )
    assert simulated == real
    assert set(real) == {("returned", b""), ("errno", "EINVAL")}


def test_a_longer_write_than_the_kernel_takes_at_once_is_completed(disk, monkeypatch):
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, position: real(fd, memoryview(data)[:3], position))
    file = disk.open("f", create=True)
    assert file.append(b"0123456789") == 0
    file.pwrite(2, memoryview(b"abcdefg"))
    assert file.read(0, 99) == b"01abcdefg9"


def test_a_short_read_is_completed(disk, monkeypatch):
    file = disk.open("f", create=True)
    file.append(b"0123456789")
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, length, position: real(fd, min(length, 4), position))
    assert file.read(1, 9) == b"123456789"
    assert file.read(8, 9) == b"89"


def test_a_big_write_and_read(disk):
    file = disk.open("f", create=True)
    data = bytes(range(256)) * 40_000
    file.append(data)
    assert file.size() == len(data)
    assert file.read(0, len(data)) == data


def test_fsync_later_runs_off_the_loop_and_reports_on_it(tmp_path):
    loop = Queue()
    with ThreadPoolExecutor(1) as threads:
        disk = PosixDisk(tmp_path, run_blocking=threads.submit, post=loop.put)
        file = disk.open("f", create=True)
        done = []
        file.append(b"x")
        file.fsync_later(done.append)
        file.close()
        task = loop.get(timeout=60)
        assert done == []
        task()
    assert done == [None]


def test_fsync_later_reports_failure_and_leaks_no_descriptor(disk, monkeypatch):
    file = disk.open("leaked-file", create=True)

    def failing(fd):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", failing)
    done = []
    for _ in range(5):
        file.fsync_later(done.append)
    assert [error.errno for error in done] == [errno.EIO] * 5
    assert descriptors_of("leaked-file") == 1


def test_a_forgotten_file_is_closed(disk):
    file = disk.open("forgotten-file", create=True)
    assert descriptors_of("forgotten-file") == 1
    del file
    assert descriptors_of("forgotten-file") == 0


def descriptors_of(name):
    """How many descriptors of this process are of a file with this name."""
    return sum(target.name == name for target in open_files())


def test_many_files_are_synced_by_one_call_and_few_by_their_own(tmp_path, monkeypatch):
    synced, system = [], []
    monkeypatch.setattr(posix_disk, "kind_of", lambda _: "ext4")
    disk = PosixDisk(tmp_path, run_blocking=now, post=now, syncfs=lambda fd: system.append(os.fstat(fd).st_ino))
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_ino))
    names = [f"f{i}" for i in range(MANY_PATHS)]
    for name in names:
        disk.open(name, create=True)
    assert disk.fsync_all(names[1:]) == {}
    assert synced == [(tmp_path / name).stat().st_ino for name in names[1:]]
    assert system == []
    synced.clear()
    assert disk.fsync_all(names) == {}
    assert system == [tmp_path.stat().st_ino]
    assert synced == []
    failures = disk.fsync_all([*names, "missing"])
    assert {path: error.errno for path, error in failures.items()} == {"missing": errno.ENOENT}


def test_when_a_file_system_cannot_be_synced_each_file_tells_whether_it_is_durable(tmp_path, monkeypatch):
    def failing(fd):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(posix_disk, "kind_of", lambda _: "ext4")
    disk = PosixDisk(tmp_path, run_blocking=now, post=now, syncfs=failing)
    names = [f"f{i}" for i in range(MANY_PATHS)]
    for name in names:
        disk.open(name, create=True)
    bad = (tmp_path / names[3]).stat().st_ino
    monkeypatch.setattr(os, "fsync", lambda fd: failing(fd) if os.fstat(fd).st_ino == bad else None)
    assert {path: error.errno for path, error in disk.fsync_all(names).items()} == {names[3]: errno.EIO}


def test_an_error_that_one_sync_reported_is_not_forgotten_by_the_next(tmp_path, monkeypatch):
    """A descriptor hears of an error once; the file that it is about says so to its own fsync."""
    errors, descriptors = [OSError(errno.EIO, os.strerror(errno.EIO))], []

    def system(fd):
        descriptors.append(fd)
        if errors:
            raise errors.pop()

    monkeypatch.setattr(posix_disk, "kind_of", lambda _: "ext4")
    disk = PosixDisk(tmp_path, run_blocking=now, post=now, syncfs=system)
    names = [f"f{i}" for i in range(2 * MANY_PATHS)]
    for name in names:
        disk.open(name, create=True)
    bad = (tmp_path / names[-1]).stat().st_ino

    def fsync(fd):
        if os.fstat(fd).st_ino == bad:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fsync)
    assert disk.fsync_all(names[:MANY_PATHS]) == {}, "the error is about another file"
    assert list(disk.fsync_all(names[MANY_PATHS:])) == [names[-1]]
    assert len(descriptors) == 1


def test_a_descriptor_is_open_from_the_start_and_only_where_errors_come_through(tmp_path, monkeypatch):
    monkeypatch.setattr(posix_disk, "kind_of", lambda _: "overlay")
    opened = []
    monkeypatch.setattr(os, "open", lambda path, *args: opened.append(path))
    PosixDisk(tmp_path, run_blocking=now, post=now, syncfs=lambda fd: None)
    assert opened == []


def test_the_kind_of_a_file_system():
    assert kind_of("/proc") == "proc"


def test_the_file_system_of_this_machine_can_be_synced(tmp_path):
    syncfs = find_syncfs()
    if syncfs is None:
        pytest.skip("needs Linux 5.8")
    fd = os.open(tmp_path, os.O_RDONLY)
    syncfs(fd)
    os.close(fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        syncfs(fd)
