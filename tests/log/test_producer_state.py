"""Idempotent producers: duplicates, order, fencing, and what a restart remembers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highwater_runtime.log import BatchView, build_batch
from highwater_runtime.log.errors import (
    CorruptCheckpointError,
    InvalidProducerEpochError,
    LogError,
    OutOfOrderSequenceError,
)
from highwater_runtime.log.producer_state import ProducerStates

MAX = 2**31 - 1


def batch(producer, epoch, sequence, count=1, offset=0, timestamp=1):
    values = [b"x"] * count
    return BatchView(
        build_batch(
            values,
            base_offset=offset,
            producer_id=producer,
            producer_epoch=epoch,
            base_sequence=sequence,
            timestamp_ms=timestamp,
        )
    )


def naive_decision(history, producer, epoch, first, count):
    """``history``: every batch ever written, as (producer, epoch, first sequence, count, offset)."""
    own = [h for h in history if h[0] == producer]
    if not own:
        return "append"
    latest = own[-1][1]
    if epoch < latest:
        return InvalidProducerEpochError
    if epoch > latest:
        return "append" if first == 0 else OutOfOrderSequenceError
    current = []
    for h in own:
        current = [*current, h] if h[1] == latest and (not current or current[-1][1] == latest) else [h]
    for _, _, seq, n, offset in current[-5:]:
        if (seq, n) == (first, count):
            return offset
    _, _, seq, n, _ = current[-1]
    return "append" if first == (seq + n) % 2**31 else OutOfOrderSequenceError


@given(
    st.lists(
        st.tuples(
            st.integers(1, 2),
            st.integers(0, 2),
            st.sampled_from([None, None, None, 0, 1, 2, MAX, MAX - 1]),
            st.integers(1, 3),
            st.integers(0, 6),
            st.booleans(),
        ),
        max_size=40,
    )
)
def test_against_a_list_of_all_that_was_written(attempts):
    """A sequence of None goes on where the producer is, or repeats one of its latest batches."""
    states, history, offset = ProducerStates(), [], 0
    for attempt in attempts:
        producer, epoch, first, count, back, reload = attempt
        own = [h for h in history if h[0] == producer]
        if first is None and back and len(own) >= back:
            _, epoch, first, count, _ = own[-back]
        elif first is None and own:
            epoch, first = own[-1][1], (own[-1][2] + own[-1][3]) % 2**31
        elif first is None:
            first = MAX - 2
        expected = naive_decision(history, producer, epoch, first, count)
        view = batch(producer, epoch, first, count, offset)
        try:
            found = states.check(view)
            outcome = "append" if found is None else found.base_offset
        except LogError as error:
            outcome = type(error)
        assert outcome == expected
        if outcome == "append":
            states.update(view)
            history.append((producer, epoch, first, count, offset))
            offset += count
        if reload:
            states = ProducerStates.decode(states.encode())


def test_the_last_five_batches_are_recognised_and_no_more():
    states = ProducerStates()
    for i in range(7):
        states.update(batch(1, 0, i, offset=100 + i))
    assert [states.check(batch(1, 0, i)).base_offset for i in range(2, 7)] == [102, 103, 104, 105, 106]
    with pytest.raises(OutOfOrderSequenceError, match="sequence 1, expected 7"):
        states.check(batch(1, 0, 1))


def test_half_a_duplicate_is_none():
    states = ProducerStates()
    states.update(batch(1, 0, 0, count=4))
    with pytest.raises(OutOfOrderSequenceError):
        states.check(batch(1, 0, 0, count=2))


def test_a_new_epoch_fences_the_old_one_and_begins_at_zero():
    states = ProducerStates()
    states.update(batch(1, 3, 10))
    with pytest.raises(OutOfOrderSequenceError, match="begins epoch 4 with sequence 11"):
        states.check(batch(1, 4, 11))
    assert states.check(batch(1, 4, 0)) is None
    states.update(batch(1, 4, 0))
    with pytest.raises(InvalidProducerEpochError, match="epoch 4 has written"):
        states.check(batch(1, 3, 11))


def test_followers_take_what_the_leader_took():
    """A follower never judges: after a gap (deleted records) it goes on from what it was given."""
    states = ProducerStates()
    states.update(batch(1, 0, 5, offset=50))
    states.update(batch(1, 0, 90, offset=60))
    assert states.check(batch(1, 0, 91)) is None
    assert states.check(batch(1, 0, 5)).base_offset == 50


def test_silent_producers_are_forgotten():
    states = ProducerStates()
    states.update(batch(1, 0, 0, timestamp=100))
    states.update(batch(2, 0, 0, timestamp=200))
    assert states.remove_expired(150, 60) == 0
    assert states.remove_expired(160, 60) == 1
    assert states.get(1) is None
    assert states.get(2) is not None
    assert states.check(batch(1, 0, 77)) is None, "unknown again, so any sequence will do"


def test_a_batch_without_producer_or_without_sequence():
    states = ProducerStates()
    states.update(batch(-1, -1, -1))
    assert len(states) == 0
    states.update(batch(1, 6, -1))
    states = ProducerStates.decode(states.encode())
    with pytest.raises(InvalidProducerEpochError):
        states.check(batch(1, 5, 0))
    assert states.check(batch(1, 6, 0)) is None


def test_a_snapshot_is_kafkas_version_1():
    states = ProducerStates()
    states.update(batch(9, 2, MAX, count=2, offset=40, timestamp=7))
    data = states.encode()
    assert data[:2] == b"\x00\x01"
    assert data[6:10] == b"\x00\x00\x00\x01"
    row = data[10:]
    assert row == bytes.fromhex(
        "0000000000000009 0002 00000000 0000000000000029 00000001 0000000000000007 ffffffff ffffffffffffffff"
    )
    again = ProducerStates.decode(data).get(9)
    assert again.batches == [(MAX, 0, 40, 41, 7)]


@given(st.data())
def test_a_damaged_snapshot_is_never_believed(data):
    states = ProducerStates()
    for i in range(3):
        states.update(batch(i, 0, i))
    good = states.encode()
    bad = bytearray(good)
    bad[data.draw(st.integers(0, len(bad) - 1))] ^= data.draw(st.integers(1, 255))
    for content in (bytes(bad), good[: data.draw(st.integers(0, len(good) - 1))], good + b"\x00"):
        with pytest.raises(CorruptCheckpointError):
            ProducerStates.decode(content)
