"""What of files survives a power loss, and what may not."""

from __future__ import annotations

import errno
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_runtime.ports import MS, SECOND
from highwater_runtime.seeds import derive_random
from highwater_runtime.sim import SimDisk
from highwater_runtime.sim.page_cache import PAGE, CachedFile, image_after_power_loss

keeps = st.sampled_from(["none", "prefix", "torn", "all", "by-seed"])
seeds = st.integers(0, 2**32)
operations = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 3 * PAGE)),
        st.tuples(st.just("pwrite"), st.integers(0, 3 * PAGE), st.integers(1, PAGE)),
        st.tuples(st.just("truncate"), st.integers(0, 4 * PAGE)),
        st.tuples(st.just("fsync")),
    ),
    max_size=12,
)


def content_of(disk, path):
    file = disk.open(path)
    return file.read(0, file.size())


def written(number, length):
    """Bytes that no other write has."""
    return bytes([number + 1]) * length


def perform(disk, path, steps):
    """Carry out ``steps`` on a new, durably named file.

    Returns its content after each, the last durable one's index, and every content that a cut within a write could
    leave: the write up to a page boundary.
    """
    file = disk.open(path, create=True)
    disk.fsync_dir()
    states, durable, halfway = [b""], 0, []
    for number, (kind, *numbers) in enumerate(steps):
        before = states[-1]
        match kind:
            case "append" | "pwrite":
                position = len(before) if kind == "append" else min(numbers[0], len(before))
                data = written(number, numbers[-1])
                if kind == "append":
                    assert file.append(data) == position
                else:
                    file.pwrite(position, data)
                halfway += [
                    before[:position] + data[: boundary - position] + before[boundary:]
                    for boundary in range(0, position + len(data), PAGE)
                    if boundary > position
                ]
            case "truncate":
                file.truncate(numbers[0])
            case "fsync":
                file.fsync()
                durable, halfway = len(states), []
        states.append(file.read(0, file.size()))
    return states, durable, halfway


@settings(max_examples=60)
@given(operations, seeds)
def test_none_keeps_exactly_what_was_fsynced(steps, seed):
    disk = SimDisk(seed)
    states, durable, _ = perform(disk, "f", steps)
    disk.power_loss("none")
    assert content_of(disk, "f") == states[durable]


@settings(max_examples=60)
@given(operations, seeds)
def test_all_keeps_everything(steps, seed):
    disk = SimDisk(seed)
    states, _, _ = perform(disk, "f", steps)
    evidence = disk.power_loss("all")
    assert content_of(disk, "f") == states[-1]
    assert evidence.bytes_lost == 0


@settings(max_examples=100)
@given(operations, seeds)
def test_prefix_keeps_a_state_of_since_the_last_fsync_and_perhaps_whole_pages_of_the_next_write(steps, seed):
    disk = SimDisk(seed)
    states, durable, halfway = perform(disk, "f", steps)
    disk.power_loss("prefix")
    assert content_of(disk, "f") in [*states[durable:], *halfway]


@settings(max_examples=100)
@given(operations, seeds)
def test_torn_keeps_for_each_page_the_old_or_the_new_one(steps, seed):
    disk = SimDisk(seed)
    states, durable, _ = perform(disk, "f", steps)
    disk.power_loss("torn")
    found, old, new = content_of(disk, "f"), states[durable], states[-1]
    shorter, longer = sorted((len(old), len(new)))
    assert len(found) in (shorter, longer) or (shorter < len(found) < longer and len(found) % PAGE == 0)
    for start in range(0, len(found), PAGE):
        page = found[start : start + PAGE]
        as_before = old[start : start + PAGE].ljust(len(page), b"\0")[: len(page)]
        fresh = new[start : start + PAGE][: len(page)]
        assert page in (as_before, fresh + as_before[len(fresh) :])


def test_torn_reaches_what_prefix_cannot():
    """A hole of zeros before bytes that are there: recovery must look at every batch, not at the last one."""

    def torn(seed):
        disk = SimDisk(seed)
        file = disk.open("f", create=True)
        disk.fsync_dir()
        file.append(b"1" * PAGE)
        file.append(b"2" * PAGE)
        disk.power_loss("torn")
        return content_of(disk, "f")

    assert bytes(PAGE) + b"2" * PAGE in {torn(seed) for seed in range(100)}


@settings(max_examples=60)
@given(st.lists(st.integers(1, 3000), min_size=1, max_size=20), st.integers(0, 20), seeds, keeps)
def test_fsynced_bytes_of_an_append_only_file_always_survive(sizes, synced, seed, keep):
    disk = SimDisk(seed)
    file = disk.open("f", create=True)
    disk.fsync_dir()
    content = b""
    durable = b""
    for number, size in enumerate(sizes):
        file.append(written(number, size))
        content += written(number, size)
        if number == synced:
            file.fsync()
            durable = content
    evidence = disk.power_loss(keep)
    found = content_of(disk, "f")
    assert found.startswith(durable)
    assert evidence.unsynced_bytes == len(content) - len(durable)
    assert evidence.bytes_lost == sum(a != b for a, b in zip(content, found.ljust(len(content), b"\xff"), strict=True))


@settings(max_examples=60)
@given(operations, seeds, keeps)
def test_a_second_power_loss_takes_nothing_more(steps, seed, keep):
    disk = SimDisk(seed)
    perform(disk, "f", steps)
    disk.power_loss(keep)
    after_first = content_of(disk, "f")
    evidence = disk.power_loss("none")
    assert content_of(disk, "f") == after_first
    assert (evidence.unsynced_bytes, evidence.bytes_lost, evidence.files_lost) == (0, 0, ())


def test_longer_prefixes_of_appends_contain_shorter_ones():
    file = CachedFile()
    for number in range(20):
        file.write(len(file.cache), written(number, 700))
    images = [
        bytes(image_after_power_loss(file.durable, file.operations, "prefix", derive_random(seed, "prefix")))
        for seed in range(200)
    ]
    images.sort(key=len)
    assert all(longer.startswith(shorter) for shorter, longer in pairwise(images))
    assert len({len(image) for image in images}) > 10


# --- fsync that ends later, fails or hangs ---


def test_fsync_later_covers_what_was_written_before_it():
    disk = SimDisk()
    file = disk.open("f", create=True)
    disk.fsync_dir()
    done = []
    file.append(b"before")
    file.fsync_later(done.append)
    file.append(b"after")
    assert done == []
    assert disk.complete_fsyncs() == 1
    assert done == [None]
    disk.power_loss("none")
    assert content_of(disk, "f") == b"before"


def test_fsync_later_that_ends_after_another_fsync_covers_no_more(toys):
    disk = SimDisk()
    file = disk.open("f", create=True)
    disk.fsync_dir()
    file.append(b"first")
    file.fsync_later(lambda _: None)
    file.fsync()
    file.append(b"second")
    disk.complete_fsyncs()
    disk.power_loss("none")
    assert content_of(disk, "f") == b"first"


def test_healing_does_not_forget_what_was_under_way():
    disk = SimDisk()
    file = disk.open("f", create=True)
    done = []
    file.fsync_later(done.append)
    disk.heal()
    assert disk.complete_fsyncs() == 1
    assert done == [None]


def test_fsync_later_that_power_overtakes_never_ends():
    disk = SimDisk()
    file = disk.open("f", create=True)
    disk.fsync_dir()
    done = []
    file.append(b"before")
    file.fsync_later(done.append)
    disk.power_loss("none")
    assert disk.complete_fsyncs() == 0
    assert done == []
    assert content_of(disk, "f") == b""


def test_a_failed_fsync_leaves_pages_clean_but_not_durable():
    for blocking in (True, False):
        disk = SimDisk()
        file = disk.open("f", create=True)
        disk.fsync_dir()
        file.append(b"lost")
        disk.set_errors("fsync")
        done = []
        if blocking:
            with pytest.raises(OSError, match="Input/output") as caught:
                file.fsync()
            done.append(caught.value)
        else:
            file.fsync_later(done.append)
            disk.complete_fsyncs()
        assert [error.errno for error in done] == [errno.EIO]
        disk.heal()
        file.append(b"kept")
        file.fsync()
        assert content_of(disk, "f") == b"lostkept"
        disk.power_loss("all")
        assert content_of(disk, "f") == b"\0\0\0\0kept"


def test_errors_hit_what_they_name():
    disk = SimDisk()
    file = disk.open("f", create=True)
    file.append(b"12")
    disk.set_errors("writes")
    assert file.read(0, 9) == b"12"
    for call in (
        lambda: file.append(b"3"),
        lambda: file.pwrite(0, b"3"),
        lambda: file.truncate(0),
        file.fsync,
        lambda: disk.open("new", create=True),
        lambda: disk.rename("f", "g"),
        lambda: disk.unlink("f"),
        lambda: disk.mkdir("d"),
        disk.fsync_dir,
    ):
        with pytest.raises(OSError, match="Input/output"):
            call()
    assert disk.fault_hits == 9
    disk.set_errors("all")
    for call in (lambda: file.read(0, 1), lambda: disk.open("f"), disk.list):
        with pytest.raises(OSError, match="Input/output"):
            call()
    disk.heal()
    assert (disk.list(), content_of(disk, "f")) == (["f"], b"12")


@settings(max_examples=40)
@given(st.lists(st.integers(1, 500), min_size=1, max_size=12), st.integers(0, 1500), seeds)
def test_a_full_disk_takes_no_more_than_its_quota(sizes, quota, seed):
    disk = SimDisk(seed)
    disk.set_quota(quota)
    file = disk.open("f", create=True)
    expected = b""
    for number, size in enumerate(sizes):
        if len(expected) + size <= quota:
            file.append(written(number, size))
            expected += written(number, size)
            continue
        with pytest.raises(OSError, match="No space left"):
            file.append(written(number, size))
        partial = file.read(len(expected), size)
        assert partial == written(number, len(partial))
        expected += partial
    assert file.read(0, 99999) == expected
    assert disk.used_bytes() <= quota
    if expected:
        file.pwrite(0, b"!")
    disk.set_quota(None)
    file.append(bytes(2000))


def test_a_stalled_disk_ends_its_fsyncs_when_the_stall_ends(toys):
    simulator, cores = toys.cluster("a")
    disk = simulator.node("a").disk
    file = cores["a"].ports.disk.open("f", create=True)
    done = []

    def fsync(name):
        file.append(name)
        file.fsync_later(lambda error: done.append((name, error, simulator.now_ns)))

    fsync(b"before the stall")
    disk.set_stalled(True)
    fsync(b"during the stall")
    simulator.run_until(5 * SECOND)
    assert done == []
    assert disk.fault_hits == 2
    disk.set_stalled(False)
    simulator.run_for(SECOND)
    assert [(name, error) for name, error, _ in done] == [(b"before the stall", None), (b"during the stall", None)]
    assert all(5 * SECOND < time < 5 * SECOND + 50 * MS for _, _, time in done)


def test_fsyncs_of_one_file_end_in_order_and_in_time(toys):
    simulator, cores = toys.cluster("a", seed=3)
    file = cores["a"].ports.disk.open("f", create=True)
    done = []
    for index in range(200):
        started = simulator.now_ns
        file.append(b"x")
        file.fsync_later(lambda _, index=index, started=started: done.append((index, simulator.now_ns - started)))
        simulator.run_for(MS // 4)
    simulator.run_for(SECOND)
    assert [index for index, _ in done] == list(range(200))
    assert all(0 < took < 20 * MS for _, took in done)


def test_an_fsync_of_a_dead_process_still_reaches_the_disk_but_nobody_hears_of_it(toys):
    simulator, cores = toys.cluster("a")
    disk = cores["a"].ports.disk
    file = disk.open("f", create=True)
    disk.fsync_dir()
    file.append(b"x")
    done = []
    file.fsync_later(done.append)
    simulator.kill("a")
    simulator.start("a")
    simulator.run_for(SECOND)
    assert done == []
    simulator.power_loss("a", "none")
    assert content_of(simulator.node("a").disk, "f") == b"x"


@given(steps=operations, keep=keeps, seed=seeds, length=st.integers(0, 4 * PAGE))
def test_what_is_durable_survives_every_power_loss(steps, keep, seed, length) -> None:
    disk = SimDisk(seed)
    states, _, _ = perform(disk, "f", steps)
    if disk.is_durable("f", length):
        disk.power_loss(keep)
        assert content_of(disk, "f")[:length] == states[-1][:length]
        assert len(states[-1]) >= length


@given(steps=operations, length=st.integers(0, 4 * PAGE))
def test_what_was_flushed_is_durable(steps, length) -> None:
    disk = SimDisk()
    states, _, _ = perform(disk, "f", [*steps, ("fsync",)])
    assert disk.is_durable("f", length) == (length <= len(states[-1]))


def test_a_file_whose_name_is_not_durable_is_not_either() -> None:
    disk = SimDisk()
    disk.mkdir("d")
    file = disk.open("d/f", create=True)
    file.append(b"1")
    file.fsync()
    disk.fsync_dir("d")
    assert not disk.is_durable("d/f", 1), "the directory's own name is not"
    disk.fsync_dir()
    assert disk.is_durable("d/f", 1)
    disk.rename("d/f", "d/g")
    assert not disk.is_durable("d/g", 1)


def test_of_a_file_whose_flush_failed_nobody_knows() -> None:
    disk = SimDisk()
    file = disk.open("f", create=True)
    disk.fsync_dir()
    file.append(b"1")
    disk.set_errors("fsync")
    with pytest.raises(OSError, match="Input/output"):
        file.fsync()
    disk.heal()
    assert disk.is_durable("f", 1)
    disk.power_loss("none")
    assert content_of(disk, "f") == b""
    assert not disk.is_durable("f", 1)


def test_what_was_written_again_since_the_flush_is_not_durable() -> None:
    disk = SimDisk()
    perform(disk, "f", [("append", 10), ("fsync",), ("pwrite", 4, 1)])
    assert disk.is_durable("f", 4)
    assert not disk.is_durable("f", 5)
    perform(disk, "g", [("append", 10), ("fsync",), ("truncate", 4), ("append", 6)])
    assert disk.is_durable("g", 4)
    assert not disk.is_durable("g", 5)
