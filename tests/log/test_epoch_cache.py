"""The epoch cache against a naive model, and the answers of KIP-101 and KIP-279."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highwater_runtime.log.checkpoints import LEADER_EPOCHS, write_atomically
from highwater_runtime.log.epoch_cache import UNDEFINED, EpochCache
from highwater_runtime.log.write_behind import do_now

steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 2), st.integers(1, 4)),
        st.tuples(st.just("assign"), st.integers(0, 2)),
        st.tuples(st.just("cut-end"), st.integers(0, 30)),
        st.tuples(st.just("cut-start"), st.integers(0, 30)),
        st.tuples(st.just("reload")),
    ),
    max_size=25,
)


@given(steps)
def test_against_a_list_of_the_epoch_of_every_offset(make_world, steps):
    """The model writes an epoch beside every offset. An epoch without records is known only while it is the last."""
    disk = make_world().disk
    disk.mkdir("log")
    cache = EpochCache(disk, "log")
    assert not cache.load()
    start, epochs = 0, []  # epochs[i]: epoch of offset start + i
    pending = None  # an epoch that was assigned at the end, without records yet
    latest = 0
    for kind, *numbers in steps:
        end = start + len(epochs)
        match kind:
            case "append":
                latest += numbers[0]
                cache.assign(latest, end)
                epochs += [latest] * numbers[1]
                pending = None
            case "assign":
                latest += numbers[0]
                cache.assign(latest, end)
                pending = latest if not epochs or epochs[-1] != latest else None
            case "cut-end":
                target = max(start, min(end, numbers[0]))
                del epochs[target - start :]
                cache.truncate_from_end(target)
                pending = None
                latest = max(latest, epochs[-1] if epochs else 0)
            case "cut-start":
                target = max(start, min(end, numbers[0]))
                del epochs[: target - start]
                cache.truncate_from_start(target)
                start = target
            case "reload":
                save(disk, cache)
                cache = EpochCache(disk, "log")
                cache.load()
        end = start + len(epochs)
        known = {}
        for offset, epoch in enumerate(epochs, start):
            known.setdefault(epoch, offset)
        if pending is not None:
            known[pending] = end
        entries = dict(cache.entries)
        if not epochs and pending is None and entries:
            # all records were deleted from the start: the epoch in force at the end stays known
            assert list(entries.values()) == [start]
            continue
        assert entries == known
        for epoch in range(latest + 2):
            answer = cache.end_offset_for(epoch, end)
            if not known or epoch > max(known):
                assert answer == UNDEFINED
            elif epoch == max(known):
                assert answer == (epoch, end)
            else:
                end_of_epoch = min(first for e, first in known.items() if e > epoch)
                below = [e for e in known if e <= epoch]
                assert answer == (max(below, default=epoch), end_of_epoch)
        for offset, epoch in enumerate(epochs, start):
            assert cache.epoch_of(offset) == epoch


@pytest.fixture
def cache(world):
    world.disk.mkdir("log")
    cache = EpochCache(world.disk, "log")
    for epoch, start in ((2, 5), (4, 10), (7, 20)):
        cache.assign(epoch, start)
    return cache


def save(disk, cache):
    task = cache.save_later(lambda error: None)
    do_now(disk, task)
    task.done(None)


@pytest.mark.parametrize(
    ("asked", "answer", "why"),
    [
        (7, (7, 30), "the latest ends at the log's end"),
        (8, (-1, -1), "newer than all: unknown"),
        (-1, (-1, -1), "nothing asked"),
        (4, (4, 20), "ends where the next begins"),
        (5, (4, 20), "KIP-279: the largest epoch below, with its end"),
        (3, (2, 10), "the same, one earlier"),
        (1, (1, 5), "older than all: nothing of it is here"),
    ],
)
def test_end_of_epoch(cache, asked, answer, why):
    assert cache.end_offset_for(asked, 30) == answer, why


def test_an_epoch_in_which_nothing_was_written_leaves_no_trace(cache):
    cache.assign(8, 30)
    assert cache.end_offset_for(7, 30) == (7, 30)
    cache.assign(9, 30)
    assert cache.entries == [(2, 5), (4, 10), (7, 20), (9, 30)]


def test_an_entry_that_contradicts_later_ones_removes_them(cache):
    cache.assign(6, 12)
    assert cache.entries == [(2, 5), (4, 10), (6, 12)]


def test_the_same_epoch_again_changes_nothing_unless_it_began_earlier(cache):
    cache.assign(7, 25)
    assert cache.entries[-1] == (7, 20)
    cache.assign(7, 15)
    assert cache.entries[-1] == (7, 15)


def test_the_checkpoint_is_kafkas_text(world, cache):
    assert cache.is_stale
    task = cache.save_later(lambda error: None)
    do_now(world.disk, task)
    cache.assign(8, 30)
    task.done(None)
    assert cache.is_stale, "it was written without the latest epoch"
    cache.truncate_from_end(30)
    save(world.disk, cache)
    assert not cache.is_stale
    assert world.content(f"log/{LEADER_EPOCHS}") == b"0\n3\n2 5\n4 10\n7 20\n"
    world.disk.fsync_dir()
    world.lose_power("none")
    again = EpochCache(world.disk, "log")
    assert again.load()
    assert again.entries == cache.entries


@pytest.mark.parametrize(
    "content",
    [b"", b"0\n", b"1\n0\n", b"0\n2\n1 5\n", b"0\n1\n1 x\n", b"0\n2\n5 1\n4 3\n", b"0\n2\n1 5\n2 5\n", b"\x00" * 30],
)
def test_a_checkpoint_that_makes_no_sense_is_as_good_as_none(world, content):
    world.disk.mkdir("log")
    write_atomically(world.disk, f"log/{LEADER_EPOCHS}", content)
    cache = EpochCache(world.disk, "log")
    assert not cache.load()
    assert cache.entries == []
