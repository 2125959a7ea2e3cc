"""In which of many small partitions a check may find something, seen by one pass over the rows of all of them.

Each function here belongs to one check and returns, for each partition, whether the check has to look at it. It may be
true of a partition in which the check finds nothing: less is looked at here, and excuses are left out. It must be true
of every partition in which the check finds something, or is undecided. What a check finds, the check alone says.

All of it is about partitions with one topic: :func:`has_topics` finds the others, and every check looks at those.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import repeat
from typing import Any, Final

import numpy as np

from highwater_pipeline.arrow.arrays import Bools, Ints, distinct
from highwater_pipeline.checks.columns import broker_of
from highwater_pipeline.checks.divergence import NO_VALUE
from highwater_pipeline.checks.sequence_gap import SEQUENCES
from highwater_pipeline.checks.stale_join import registrations_in
from highwater_pipeline.partitions.partition_tables import RunFacts
from highwater_pipeline.partitions.small_partitions import (
    Grouped,
    Partitions,
    highest_so_far,
    latest,
    occur,
    ranked,
    repeated,
)
from highwater_pipeline.tables.micro_operations import OK
from highwater_runtime.model.decisions import Decided, is_led_from_outside
from highwater_runtime.model.in_sync import UNKNOWN, joins_stale

_SETS_LOG_END: Final = ("log-loaded", "log-appended", "log-truncated", "log-cut")


def has_topics(partitions: Partitions) -> Bools:
    """Whether a partition may belong to several topics of one name, or to one that was deleted."""
    tables = (partitions.events, partitions.replica_log, partitions.history)
    words = dict.fromkeys(word for table in tables for word in table.view.words("topic_id"))
    numbers = {word: number for number, word in enumerate(words)}
    number = np.concatenate([table.number for table in tables])
    topic = np.concatenate([table.view.numbers("topic_id", numbers) for table in tables])
    number, topic = number[topic >= 0], topic[topic >= 0]
    order, fresh = ranked(number, topic)
    found: Bools = np.bincount(number[order[fresh]], minlength=len(partitions.names)) > 1

    changed = partitions.events.of_kind("partition-changed")
    deleted = changed.view.is_any("reason", ("deleted",))
    created = changed.where(changed.view.is_any("reason", ("created",)))
    order, fresh = ranked(created.number, *created.ints("metadata_offset"))
    creations = np.bincount(created.number[order[fresh]], minlength=len(partitions.names))
    of_zookeeper = _node_is(changed, lambda node: node.startswith("zookeeper-"))
    zookeeper = partitions.those(changed.number[of_zookeeper])
    found |= partitions.those(changed.number[deleted]) | (creations > 1) | (zookeeper & (creations != 1))
    return found


def committed_loss(partitions: Partitions) -> Bools:
    """Batches overlap, end behind the log of a later leader, or are not whole in the dump of the last leader."""
    committed = partitions.events.of_kind("batch-committed")
    leaders = partitions.events.of_kind("became-leader")
    start, end, epoch, crc, committed_in = committed.ints("offset", "end_offset", "epoch", "crc", "leader_epoch")
    leader_epoch, log_end = leaders.ints("leader_epoch", "end_offset")

    moved = partitions.events.of_kind("high-watermark")  # without batches, offsets are judged
    found = partitions.those(moved.number[moved.ints("offset")[0] > 0]) & ~partitions.those(committed.number)
    order, fresh = ranked(committed.number, start, end, epoch, crc)
    kept = order[fresh]
    number, start_of, end_of, epoch_of, crc_of = (one[kept] for one in (committed.number, start, end, epoch, crc))
    overlap = (number[1:] == number[:-1]) & (start_of[1:] < end_of[:-1])
    found |= partitions.those(number[1:][overlap]) | partitions.those(number[end_of <= start_of])

    # By leader epoch, leaders first: a leader must have all that leaders of lower epochs committed.
    is_batch = np.repeat([0, 1], [len(log_end), len(end)])
    numbers = np.concatenate([leaders.number, committed.number])
    ends = np.concatenate([log_end, end])
    by_epoch, _ = ranked(numbers, np.concatenate([leader_epoch, committed_in]), is_batch)
    numbers, ends, is_batch = numbers[by_epoch], ends[by_epoch], is_batch[by_epoch]
    reached = highest_so_far(numbers, np.where(is_batch, ends, np.iinfo(np.int64).min))
    found |= partitions.those(numbers[(is_batch == 0) & (ends < reached)])

    last = _last(leaders, leader_epoch)
    leader_of = np.full(len(partitions.names), -2)
    leader_of[leaders.number[last]] = _brokers(leaders)[last]
    dump = _records(partitions)
    dump = dump.where(dump.ints("broker")[0] == leader_of[dump.number])
    offset, of_epoch, of_crc = dump.ints("offset", "leader_epoch", "crc")
    found |= partitions.those(dump.number[repeated(dump.number, offset)])
    batch = _batch_of(number, start_of, dump.number, offset)
    within = batch >= 0
    within[within] = offset[within] < end_of[batch[within]]
    within[within] &= of_epoch[within] == epoch_of[batch[within]]
    within[within] &= of_crc[within] == crc_of[batch[within]]
    held = np.bincount(batch[within], minlength=len(number))
    return found | partitions.those(number[(held != end_of - start_of) & partitions.those(dump.number)[number]])


def _batch_of(number: Ints, start: Ints, of_record: Ints, offset: Ints) -> Ints:
    """For each record, by partition and offset, the last batch that begins at or before it; −1: there is none."""
    numbers = np.concatenate([number, of_record])
    is_record = np.repeat([0, 1], [len(number), len(offset)])
    order, _ = ranked(numbers, np.concatenate([start, offset]), is_record)
    at = latest(numbers[order], is_record[order] == 0)
    batch = np.empty(len(order), np.int64)
    batch[order] = np.where(at >= 0, order[at], -1)
    return batch[len(number) :]


def divergence(partitions: Partitions) -> Bools:
    """Records at one offset differ, or some replica lacks a record within its log."""
    records = _records(partitions)
    found = _not_whole(partitions, records)
    order, fresh = ranked(records.number, *records.ints("offset"))
    differ = np.zeros(len(order), np.bool_)
    for column in records.ints("leader_epoch", "value", "crc", missing=NO_VALUE):
        differ[1:] |= column[order][1:] != column[order][:-1]
    return found | partitions.those(records.number[order[~fresh & differ]])


def _not_whole(partitions: Partitions, records: Grouped) -> Bools:
    """Partitions of which some replica has fewer records than offsets, by its records and marks."""
    marks = partitions.replica_log.where(partitions.replica_log.view.is_any("ended", ("end",)))
    broker, end, start = marks.ints("broker", "offset", "start_offset")
    of_record, offset = records.ints("broker", "offset")
    number = np.concatenate([records.number, marks.number])
    one = np.concatenate([of_record, broker])
    order, fresh = ranked(number, one)
    replica = np.empty(len(order), np.int64)
    replica[order] = np.cumsum(fresh) - 1
    count = int(fresh.sum())
    low, high = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
    np.minimum.at(low, replica, np.concatenate([offset, np.where(start >= 0, start, end)]))
    np.maximum.at(high, replica, np.concatenate([offset + 1, end]))
    distinct_order, is_new = ranked(records.number, of_record, offset)
    held = np.bincount(replica[: len(offset)][distinct_order[is_new]], minlength=count)
    return partitions.those(number[order[fresh]][held != high - low])


def isr_incomplete(partitions: Partitions) -> Bools:
    """The log of a member of the ISR ended below the high watermark at some time. Cluster events only excuse."""
    events = partitions.events
    number, view = events.number, events.view
    offset, end_offset, metadata_offset = events.ints("offset", "end_offset", "metadata_offset")
    high_watermark = highest_so_far(number, np.where(view.is_any("kind", ("high-watermark",)), offset, 0))
    log_end = np.where(view.is_any("kind", ("log-truncated",)), offset, end_offset)
    sets_log_end = view.is_any("kind", _SETS_LOG_END)
    changes = np.flatnonzero(view.is_any("kind", ("partition-changed",)) & (metadata_offset >= 0))
    order, fresh = ranked(number[changes], metadata_offset[changes])
    states = changes[order[fresh]]
    is_state = np.zeros(len(number), np.bool_)
    is_state[states] = True
    state = latest(number, is_state)
    member, parent = view.take(states).lists("isr")
    broker = _brokers(events)
    found = np.zeros(len(partitions.names), np.bool_)
    for one in distinct(member).tolist():
        inside = np.zeros(len(number), np.bool_)
        inside[states[parent[member == one]]] = True
        at = latest(number, sets_log_end & (broker == one))
        lacks = (at >= 0) & (log_end[at] < high_watermark) & (state >= 0) & inside[state]
        found |= partitions.those(number[lacks])
    return found


def stale_isr_join(partitions: Partitions) -> Bools:
    """The controller accepted a member under an epoch that is unknown, or not the one in force."""
    handled = partitions.events.of_kind("alter-partition-handled")
    handled = handled.where(handled.view.is_any("reason", ("NONE",)))
    registered = partitions.of_cluster.where(partitions.of_cluster.is_any("kind", ("broker-registered",)))
    registrations = registrations_in(registered.to_pylist("broker", "broker_epoch", "metadata_offset"))
    stale = [
        not len(isr) == len(sent) == len(in_force)
        or UNKNOWN in sent
        or any(map(partial(joins_stale, registered_since=False), sent, in_force))
        or any(registrations.in_force(*of) not in (None, epoch) for *of, epoch in zip(isr, repeat(at), sent))
        for isr, sent, in_force, at in map(
            _epochs_known, handled.view.rows("isr", "isr_epochs", "registered_epochs", "metadata_offset")
        )
    ]
    return partitions.those(handled.number[np.array(stale, np.bool_)])


def _epochs_known(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row with no list missing."""
    return tuple(() if one is None else one for one in row)


def two_leaders(partitions: Partitions) -> Bools:
    """Several nodes or incarnations appended as leader in one epoch."""
    appended = partitions.events.of_kind("log-appended")
    appended = appended.where(appended.view.is_any("reason", ("leader",)))
    epoch, incarnation = appended.ints("leader_epoch", "incarnation")
    order, fresh = ranked(appended.number, epoch, appended.view.codes("node")[0], incarnation)
    one = order[fresh]
    return partitions.those(appended.number[one[repeated(appended.number[one], epoch[one])]])


def leader_not_in_isr(partitions: Partitions) -> Bools:
    """Some state has a leader that is not in its ISR."""
    changed = partitions.events.of_kind("partition-changed")
    outside = [is_led_from_outside(Decided(*row)) for row in changed.view.rows(*Decided._fields)]
    return partitions.those(changed.number[np.array(outside, np.bool_)])


def hw_regression(partitions: Partitions) -> Bools:
    """Some reported high watermark is lower than the one before."""
    moved = partitions.events.of_kind("high-watermark")
    (offset,) = moved.ints("offset")
    back = (moved.number[1:] == moved.number[:-1]) & (offset[1:] < offset[:-1])
    return partitions.those(moved.number[1:][back])


def min_isr(facts: RunFacts, partitions: Partitions) -> Bools:
    """The least ISR of all is smaller than what some acknowledgement asks for, or the experiment; or one names a state
    that nobody reported, or no acknowledgement was reported."""
    events = partitions.events.of_kind("write-acknowledged", "partition-changed")
    _, parent = events.view.lists("isr")
    size = np.bincount(parent, minlength=len(events.number))
    least = -partitions.highest(events, -size, -(1 << 40))
    asked = partitions.highest(events, events.ints("min_isr")[0], -1)
    promised = [facts.settings.promises(name).largest_min_isr for name in partitions.names]
    reports, states = (partitions.events.of_kind(kind) for kind in ("write-acknowledged", "partition-changed"))
    epochs = ("leader_epoch", "partition_epoch")
    known = occur((reports.number, *reports.ints(*epochs)), (states.number, *states.ints(*epochs)))
    sends = partitions.history.where(partitions.history.view.bools("is_send"))
    acknowledged = partitions.those(sends.number[sends.view.ints("outcome", -1) == OK])
    silent = acknowledged & ~partitions.those(reports.number)
    too_small = least < np.maximum(asked, np.array(promised, np.int64))
    return too_small | silent | partitions.those(reports.number[~known])


def replica_incomplete(partitions: Partitions) -> Bools:
    """Some log ends below the high watermark, begins late or is damaged, or that of an ISR member was not dumped."""
    moved = partitions.events.of_kind("high-watermark")
    high_watermark = partitions.highest(moved, moved.ints("offset")[0], 0)
    # Whatever clients read or had acknowledged may count instead.
    history = partitions.history.where(partitions.history.view.ints("outcome", -1) == OK)
    high_watermark = np.maximum(high_watermark, partitions.highest(history, history.ints("offset")[0] + 1, 0))
    marks = partitions.replica_log.where(partitions.replica_log.view.is_known("ended"))
    broker, offset, start = marks.ints("broker", "offset", "start_offset")
    bad = ~marks.view.is_any("ended", ("end",)) | (offset < high_watermark[marks.number]) | (start != 0)
    states = _last_states(_reported_first(partitions.events.of_kind("partition-changed")))
    member, parent = states.view.lists("isr")
    not_dumped = ~occur((states.number[parent], member), (marks.number, broker))
    return partitions.those(marks.number[bad]) | partitions.those(states.number[parent[not_dumped]])


def sequence_gap(partitions: Partitions) -> Bools:
    """A producer's record does not follow the one before in a log, wherever that log starts."""
    records = _records(partitions)
    broker, offset, producer, epoch, sequence = records.ints(
        *("broker", "offset", "producer_id", "producer_epoch", "sequence")
    )
    found = partitions.those(records.number[repeated(records.number, broker, offset)])
    counts = (producer >= 0) & (epoch >= 0) & (sequence >= 0)
    order, _ = ranked(*(one[counts] for one in (records.number, broker, producer, offset)))
    number, broker, producer, epoch, sequence = (
        one[counts][order] for one in (records.number, broker, producer, epoch, sequence)
    )
    follows = (number[1:] == number[:-1]) & (broker[1:] == broker[:-1]) & (producer[1:] == producer[:-1])
    expected = np.where(epoch[1:] == epoch[:-1], (sequence[:-1] + 1) % SEQUENCES, 0)
    wrong = ((sequence[1:] - expected) % SEQUENCES != 0) | (epoch[1:] < epoch[:-1])
    return found | partitions.those(number[1:][follows & wrong])


def retention_too_greedy(partitions: Partitions) -> Bools:
    """A log start moved, or a log began elsewhere than at 0."""
    moves = partitions.events.of_kind("log-start-moved", "log-loaded", "log-truncated")
    loaded = moves.view.is_any("kind", ("log-loaded",)) & (moves.ints("offset")[0] <= 0)
    truncated = moves.view.is_any("kind", ("log-truncated",)) & ~moves.view.is_any("reason", ("restart-at",))
    return partitions.those(moves.number[~loaded & ~truncated])


def stray_partition(partitions: Partitions) -> Bools:
    """A broker ever had a log, or its disk has one, and is no replica in the last state."""
    loaded = partitions.events.of_kind("log-loaded")
    states = _last_states(partitions.events.of_kind("partition-changed"))
    replica, parent = states.view.lists("replicas")
    dumped = partitions.replica_log.where(partitions.replica_log.view.is_known("ended"))
    number = np.concatenate([loaded.number, dumped.number])
    broker = np.concatenate([_brokers(loaded), dumped.ints("broker")[0]])
    assigned = occur((number, broker), (states.number[parent], replica))
    return partitions.those(number[~assigned])


def live_partition_deleted(partitions: Partitions) -> Bools:
    """Some log was removed."""
    return partitions.those(partitions.events.of_kind("log-removed").number)


def deleted_topic_records(partitions: Partitions) -> Bools:
    """Nothing: a partition with one topic has none of a deleted one."""
    return np.zeros(len(partitions.names), np.bool_)


def _records(partitions: Partitions) -> Grouped:
    """The records of all dumps, without marks."""
    return partitions.replica_log.where(~partitions.replica_log.view.is_known("ended"))


def _last_states(changed: Grouped) -> Grouped:
    """The state of each partition with the highest metadata offset, as it was reported last."""
    last = _last(changed, *changed.ints("metadata_offset"))
    return Grouped(changed.view.take(last), changed.number[last])


def _reported_first(changed: Grouped) -> Grouped:
    """The first report of each state. Controllers whose metadata differ report different states of one offset."""
    order, fresh = ranked(changed.number, *changed.ints("metadata_offset"))
    return Grouped(changed.view.take(order[fresh]), changed.number[order[fresh]])


def _last(rows: Grouped, key: Ints) -> Ints:
    """Of each partition, by number: the position of the last of the rows with the highest ``key``."""
    order, _ = ranked(rows.number, key)
    is_last = np.ones(len(order), np.bool_)
    is_last[:-1] = rows.number[order][1:] != rows.number[order][:-1]
    return order[is_last]


def _brokers(events: Grouped) -> Ints:
    """The broker that reports each event; −1: another node."""
    return events.view.numbers("node", {name: broker_of(name) for name in events.view.words("node")})


def _node_is(events: Grouped, is_it: Callable[[str], bool]) -> Bools:
    of_such: Bools = events.view.numbers("node", {name: 0 for name in events.view.words("node") if is_it(name)}) == 0
    return of_such
