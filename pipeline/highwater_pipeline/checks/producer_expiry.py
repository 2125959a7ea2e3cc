"""When a leader may have forgotten an idempotent producer, so that it accepts any sequence from it.

Example: ``producer.id.expiration.ms`` is 2000. A producer's batch with sequences 5 to 7 is appended, the response is
lost, and nothing of this producer reaches the partition for two seconds. The leader forgets it. The retry is appended a
second time. Apache Kafka does the same: since 2.5 (KIP-360) a leader without state of a producer accepts any sequence,
and since 3.4 (KIP-854) this setting says how long it keeps the state (before, ``transactional.id.expiration.ms``).

The trap: the silence is counted from the timestamp of the producer's last batch, and that is when its record was
created. So a batch that waited for two seconds at its producer may be forgotten as soon as it is appended.

The rule: a leader that appended a producer's record at one offset may have forgotten the producer's record before it in
this log, if that one was created so long before the later append. Dumps show which record that is, and the history when
its send began.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from highwater_pipeline.arrow.arrays import Bools, Ints, distinct, is_in
from highwater_pipeline.checks.columns import bools, ints, order_by
from highwater_pipeline.checks.promises import Appends, recorded
from highwater_pipeline.checks.version_order import NO, UNKNOWN, YES, Answers
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.tables.settings import DEFAULT_PRODUCER_EXPIRATION_MS

_NEVER: Final = np.iinfo(np.int64).max


def may_be_forgotten(unit: PartitionTables, first: Ints, second: Ints) -> Answers:
    """For pairs of offsets of one producer's records, ``first`` below ``second``: whether the leader that appended
    ``second`` may have forgotten what came before."""
    settings = unit.facts.settings
    answers = np.full(len(first), NO, np.int8)
    expiration_ns = settings.producer_expiration_ms * 1_000_000
    if not len(first) or (0 < unit.facts.last_event_ns < expiration_ns):
        return answers
    if not recorded(unit.facts, "log-appended"):
        if settings.producer_expiration_ms < DEFAULT_PRODUCER_EXPIRATION_MS:
            answers[:] = UNKNOWN
        return answers
    appends = Appends.of(unit)
    appended = appends.last_at(second)
    created = _created(unit, appends, _before(unit, first, second))
    answers[appended - created >= expiration_ns - 2 * settings.largest_clock_error_ns] = YES
    answers[appended < 0] = UNKNOWN
    return answers


def begins_within(unit: PartitionTables, offset: Ints, is_first: Bools) -> Bools:
    """Whether the record at each of some offsets is the first one of its producer in the logs, and no first sequence.

    Then its leader had none of the producer's records, so it took this one before those that were sent earlier. Where
    no log has the record any more, ``is_first`` counts: whether clients know of none of this producer below.
    """
    log = unit.replica_log.where(unit.replica_log.is_known("sequence"))
    at, producer, sequence = ints(log, "offset"), ints(log, "producer_id"), ints(log, "sequence")
    found = is_first.copy()
    for place, one in enumerate(offset.tolist()):
        here = (at == one) & (producer >= 0)
        if here.any():
            producers = distinct(producer[here & (sequence > 0)])
            found[place] = any(int(at[producer == number].min()) == one for number in producers.tolist())
    return found


def _before(unit: PartitionTables, first: Ints, second: Ints) -> Ints:
    """The offset of the last record before ``second`` that is of the same producer; ``first``, if no dump shows it."""
    log = unit.replica_log.where(~unit.replica_log.is_known("ended"))
    offset, producer = ints(log, "offset"), ints(log, "producer_id")
    order = order_by(offset)
    order = order[order_by(producer[order])]
    offset, producer = offset[order], producer[order]
    before = first.copy()
    by_offset = np.argsort(offset, kind="stable")
    place = np.searchsorted(offset[by_offset], second)
    for at in np.flatnonzero(place < len(offset)).tolist():
        row = by_offset[place[at]]
        if offset[row] != second[at] or producer[row] < 0:
            continue
        low = np.searchsorted(producer, producer[row])
        last = low + np.searchsorted(offset[low : row + 1], second[at]) - 1
        if last >= low:
            before[at] = max(first[at], offset[last])
    return before


def _created(unit: PartitionTables, appends: Appends, offset: Ints) -> Ints:
    """When the records at some offsets were created at the earliest (run time). Which records these are say the dumps,
    and clients of those that are removed by now."""
    created = appends.first_at(offset)
    parts = (unit.replica_log, unit.history)
    known = [one.find("offset", lambda some: is_in(some, offset), "offset", "value") for one in parts]
    known = [one.where(one.is_known("value")) for one in known]
    at, value = (np.concatenate([ints(one, name) for one in known]) for name in ("offset", "value"))
    sends = unit.history.find("value", lambda some: is_in(some, value), "value", "is_send", "invoke_time")
    sends = sends.where(bools(sends, "is_send"))
    sent, invoked = ints(sends, "value"), ints(sends, "invoke_time")
    by_value = np.lexsort((invoked, sent))
    sent, invoked = np.append(sent[by_value], _NEVER), np.append(invoked[by_value], _NEVER)
    place = np.searchsorted(sent, value)
    began = np.where(sent[place] == value, invoked[place], _NEVER)
    for one, time in zip(at.tolist(), began.tolist(), strict=True):
        created[offset == one] = np.minimum(created[offset == one], time)
    return created
