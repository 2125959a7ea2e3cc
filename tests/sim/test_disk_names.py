"""Which names of files and directories survive a power loss, and in which order changes of them do."""

from __future__ import annotations

import pytest

from highwater_runtime.sim import PowerCutError, SimDisk


def content_of(disk, path):
    file = disk.open(path)
    return file.read(0, file.size())


def survives(setup, keep, seed=0):
    disk = SimDisk(seed)
    setup(disk)
    disk.power_loss(keep)
    return disk


def fsynced_file_without_a_name(disk):
    file = disk.open("f", create=True)
    file.append(b"x")
    file.fsync()


def test_fsync_of_a_file_does_not_make_its_name_durable():
    assert survives(fsynced_file_without_a_name, "none").list() == []
    assert content_of(survives(fsynced_file_without_a_name, "all"), "f") == b"x"
    for keep in ("prefix", "torn"):
        outcomes = {survives(fsynced_file_without_a_name, keep, seed).exists("f") for seed in range(20)}
        assert outcomes == {True, False}


def test_a_durable_name_needs_every_directory_above_it():
    disk = SimDisk()
    disk.mkdir("topic")
    disk.open("topic/f", create=True)
    disk.fsync_dir("topic")
    disk.power_loss("none")
    assert disk.list() == []
    disk.mkdir("topic")
    disk.fsync_dir()
    disk.open("topic/f", create=True)
    disk.fsync_dir("topic")
    disk.power_loss("none")
    assert disk.list("topic") == ["f"]


def test_a_removed_file_comes_back_with_its_content_unless_the_removal_is_durable():
    def removed(disk):
        file = disk.open("f", create=True)
        file.append(b"kept")
        file.fsync()
        disk.fsync_dir()
        disk.unlink("f")

    assert content_of(survives(removed, "none"), "f") == b"kept"
    assert survives(removed, "all").list() == []
    assert survives(lambda disk: (removed(disk), disk.fsync_dir()), "none").list() == []


def test_a_removed_tree_is_gone_for_good_after_the_fsync_of_its_parent():
    disk = SimDisk()
    disk.mkdir("d/e")
    disk.open("d/e/f", create=True)
    for directory in ("", "d", "d/e"):
        disk.fsync_dir(directory)
    disk.remove_tree("d")
    assert disk.list() == []
    disk.fsync_dir()
    disk.power_loss("none")
    assert disk.list() == []


@pytest.mark.parametrize("synced", ["from", "to"])
def test_a_rename_across_directories_is_one_step(synced):
    disk = SimDisk()
    disk.mkdir("from")
    disk.mkdir("to")
    disk.fsync_dir()
    disk.open("from/f", create=True)
    disk.rename("from/f", "to/g")
    disk.fsync_dir(synced)
    disk.power_loss("none")
    assert (disk.list("from"), disk.list("to")) == ([], ["g"])


@pytest.mark.parametrize("synced", ["from", "to"])
def test_what_a_rename_depends_on_is_not_repeated_after_it(synced):
    disk = SimDisk()
    disk.mkdir("from")
    disk.mkdir("to")
    disk.open("from/f", create=True)
    disk.rename("from/f", "to/g")
    disk.fsync_dir(synced)
    disk.power_loss("all")
    assert (disk.list("from"), disk.list("to")) == ([], ["g"])


def test_operations_that_an_fsync_leaves_out_keep_their_order():
    disk = SimDisk()
    disk.mkdir("d")
    disk.open("f", create=True)
    disk.unlink("f")
    disk.fsync_dir("d")
    disk.power_loss("all")
    assert disk.list() == ["d"]


def test_a_file_that_comes_back_was_not_lost():
    disk = SimDisk()
    file = disk.open("f", create=True)
    disk.fsync_dir()
    file.append(b"unsynced")
    disk.unlink("f")
    assert disk.power_loss("none").bytes_lost == 0
    assert content_of(disk, "f") == b""


def test_written_buffers_may_be_reused():
    for write in (lambda file, data: file.append(data), lambda file, data: file.pwrite(0, data)):
        disk = SimDisk()
        file = disk.open("f", create=True)
        buffer = bytearray(b"old")
        write(file, buffer)
        buffer[:] = b"new"
        assert file.read(0, 9) == b"old"
        disk.power_loss("all")
        assert content_of(disk, "f") == b"old"


def test_a_renamed_directory_keeps_its_entries():
    disk = SimDisk()
    disk.mkdir("orders-0")
    disk.fsync_dir()
    disk.open("orders-0/f", create=True)
    disk.fsync_dir("orders-0")
    disk.rename("orders-0", "orders-0.deleted")
    disk.power_loss("none")
    assert disk.list("orders-0") == ["f"]
    disk.rename("orders-0", "orders-0.deleted")
    disk.fsync_dir()
    disk.power_loss("none")
    assert (disk.list(), disk.list("orders-0.deleted")) == (["orders-0.deleted"], ["f"])


def test_a_path_leads_through_the_directories_that_are_there_now():
    disk = SimDisk()
    disk.mkdir("a/b")
    disk.open("a/b/f", create=True)
    disk.rename("a", "c")
    assert (disk.exists("a/b/f"), disk.exists("c/b/f")) == (False, True)
    with pytest.raises(FileNotFoundError):
        disk.open("a/b/g", create=True)
    disk.mkdir("a/b")
    assert (disk.list("a/b"), disk.list("c/b")) == ([], ["f"])
    disk.remove_tree("c")
    with pytest.raises(FileNotFoundError):
        disk.list("c/b")
    assert disk.list("a/b") == []
    disk.power_loss("none")
    with pytest.raises(FileNotFoundError):
        disk.list("a/b")
    assert not disk.exists("a/b")


def replace(disk, content, *, sync_file=True, sync_directory=True):
    """What a checkpoint does."""
    disk_file = disk.open("state.tmp", create=True)
    disk_file.truncate(0)
    disk_file.append(content)
    if sync_file:
        disk_file.fsync()
    disk_file.close()
    disk.rename("state.tmp", "state")
    if sync_directory:
        disk.fsync_dir()


def outcomes_of_replacing(**options):
    """The contents of ``state`` after a power cut at every operation, keeping anything."""
    found = set()
    for cut in range(1, 10):
        for keep in ("none", "prefix", "torn", "all"):
            for seed in range(10):
                disk = SimDisk(seed)
                replace(disk, b"old" * 2000)
                disk.cut_power_at(cut)
                done = True
                try:
                    replace(disk, b"new" * 2000, **options)
                except PowerCutError:
                    done = False
                disk.power_loss(keep)
                content = content_of(disk, "state")
                found.add((done, {b"old" * 2000: "old", b"new" * 2000: "new"}.get(content, "broken")))
    return found


def test_write_fsync_rename_fsync_is_atomic_and_durable_at_every_crash_point():
    assert outcomes_of_replacing() == {(False, "old"), (False, "new"), (True, "new")}


def test_without_the_fsync_of_the_file_the_new_name_may_have_broken_content():
    assert (True, "broken") in outcomes_of_replacing(sync_file=False)


def test_without_the_fsync_of_the_directory_the_old_content_may_come_back():
    assert (True, "old") in outcomes_of_replacing(sync_directory=False)


def test_a_power_cut_comes_instead_of_the_nth_operation():
    for nth in range(1, 5):
        disk = SimDisk()
        file = disk.open("f", create=True)
        disk.cut_power_at(nth)
        for _ in range(nth - 1):
            file.append(b"x")
        with pytest.raises(PowerCutError):
            file.append(b"never")
        assert file.read(0, 99) == b"x" * (nth - 1)
        file.append(b"y")
    assert not issubclass(PowerCutError, Exception)
