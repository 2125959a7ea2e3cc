"""Work on many partitions: no event does more than a slice, the most urgent comes first, the clock runs between."""

from __future__ import annotations

from uuid import UUID

from highwater_runtime.broker.work_queue import SLICE, PartitionWorkQueue

KEYS = [(UUID(int=1), index) for index in range(3 * SLICE)]


def make(fake_clock, idle=lambda: None):
    done = []
    slices = PartitionWorkQueue(
        fake_clock, (lambda key: done.append(("urgent", key)), lambda key: done.append(("other", key))), idle
    )
    return slices, done


def test_a_small_change_is_done_at_once(fake_clock):
    ends = []
    slices, done = make(fake_clock, lambda: ends.append(len(done)))
    for key in (KEYS[1], KEYS[0], KEYS[1]):
        slices.add(1, key)
    slices.begin()
    assert done == [("other", KEYS[1]), ("other", KEYS[0])]
    assert ends == [2]


def test_a_large_one_leaves_room_for_what_is_due_and_for_what_is_urgent(fake_clock):
    slices, done = make(fake_clock)
    for key in KEYS:
        slices.add(1, key)
    slices.begin()
    assert len(done) == SLICE
    seen = []
    fake_clock.call_later(0, lambda: seen.append(len(done)))
    slices.add(0, KEYS[0])
    slices.begin()
    assert len(done) == SLICE, "it waits for its turn"
    fake_clock.advance(0)
    assert done[SLICE] == ("urgent", KEYS[0])
    assert SLICE < seen[0] < len(KEYS), "a timer that was due ran between two slices"
    assert len(done) == len(KEYS) + 1
    assert len(slices) == 0


def test_nothing_is_done_behind_the_end(fake_clock):
    slices, done = make(fake_clock)
    for key in KEYS:
        slices.add(1, key)
    slices.begin()
    slices.close()
    fake_clock.advance(0)
    assert len(done) == SLICE
