"""Fsyncs off the loop: those that wait together go together, each file once, reports in order; a stall holds them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from processes import open_files

from highwater_runtime.host.files import posix_disk
from highwater_runtime.host.files.posix_disk import PosixDisk


class Thread:
    """Runs what it is given when the test says so, and counts fsyncs by file."""

    def __init__(self, directory, monkeypatch):
        self.jobs = []
        self.synced = []
        self.failing = set()
        self.disk = PosixDisk(directory, run_blocking=self.jobs.append, post=lambda task: task())
        self.real_fsync = os.fsync
        monkeypatch.setattr(posix_disk.os, "fsync", self.fsync)

    def fsync(self, fd):
        name = Path(f"/proc/self/fd/{fd}").readlink().name
        self.synced.append(name)
        if name in self.failing:
            raise OSError(5, "Input/output error")
        self.real_fsync(fd)

    def run(self):
        jobs, self.jobs[:] = list(self.jobs), []
        for job in jobs:
            job()


@pytest.fixture
def thread(tmp_path, monkeypatch):
    return Thread(tmp_path, monkeypatch)


def test_what_waits_together_is_synced_together(thread):
    a, b = (thread.disk.open(name, create=True) for name in "ab")
    done = []
    for number, file in enumerate((a, a, b, a, b)):
        file.fsync_later(lambda error, number=number: done.append((number, error)))
    assert len(thread.jobs) == 1
    thread.run()  # the first alone: the others came while it ran
    assert (thread.synced, done) == (["a"], [(0, None)])
    thread.run()
    assert thread.synced == ["a", "a", "b"]
    assert done == [(n, None) for n in range(5)]
    assert thread.jobs == []


def test_an_error_is_told_to_all_who_waited_for_that_file(thread):
    a, b = (thread.disk.open(name, create=True) for name in "ab")
    a.fsync_later(lambda error: None)
    thread.run()
    done = []
    thread.failing.add("a")
    b.fsync_later(lambda error: None)
    for name, file in (("a1", a), ("b", b), ("a2", a)):
        file.fsync_later(lambda error, name=name: done.append((name, error and error.errno)))
    thread.run()
    thread.run()
    assert done == [("a1", 5), ("b", None), ("a2", 5)]
    assert thread.synced.count("a") == 2, "a failed fsync is not repeated: it would succeed, and mean nothing"


def test_no_descriptor_is_left_behind(thread):
    file = thread.disk.open("left-behind", create=True)
    assert descriptors_of("left-behind") == 1
    for _ in range(20):
        file.fsync_later(lambda error: None)
    thread.run()
    thread.run()
    assert descriptors_of("left-behind") == 1


def descriptors_of(name):
    """How many descriptors of this process are of a file with this name."""
    return sum(target.name == name for target in open_files())


def test_a_closed_file_is_synced_all_the_same(thread):
    file = thread.disk.open("a", create=True)
    done = []
    file.fsync_later(done.append)
    file.close()
    thread.run()
    assert (thread.synced, done) == (["a"], [None])


def test_a_stall_holds_what_runs_and_what_comes_until_it_is_over(thread):
    file = thread.disk.open("a", create=True)
    done = []
    file.fsync_later(lambda error: done.append("before"))
    thread.disk.stall(True)
    thread.run()
    file.fsync_later(lambda error: done.append("during"))
    thread.run()
    assert (thread.disk.is_stalled, done) == (True, [])
    file.fsync()  # those that block are not held, as in the simulator
    thread.disk.stall(False)
    assert done == ["before"]
    thread.run()
    assert done == ["before", "during"]
