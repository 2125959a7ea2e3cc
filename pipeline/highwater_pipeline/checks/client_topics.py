"""Find the topic of a client's record, if a topic was deleted and another one created with its name.

A client fetches by topic id, so a record that was read has the id, if the client recorded it. A client sends by name.
The topic of a record that was sent follows from the first of these rules that applies:

1. An acknowledged send belongs to the topic whose leader appended at that offset while the send was open. A record
   that was read without an id belongs to the topic whose leader appended at that offset after the record's send had
   begun and before the read was over.
2. Another send belongs to the topic from which its value was read. The offset of the send's copy is then unknown.
3. What completed before the second topic was created belongs to the first.

Any other record may belong to any of the topics. No check misses it, because it may have been deleted with its topic.
In a history without ids all records of a name belong to one topic.

The trap is a value that was written twice: it is read from the topic, the topic is deleted and created again, and then
the producer, which had no response, gets one for its retry. The acknowledgement says nothing of the earlier read.

A consumer that does not know ids keeps its position in the next topic of the name. So its position in one topic is
unknown after it has read a record of another one, or one that may be of another one (:func:`_left`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from highwater_pipeline.arrow.arrays import Bools, Ints, ranked_values
from highwater_pipeline.arrow.view import View
from highwater_pipeline.checks.columns import bools, codes, ints, is_any
from highwater_pipeline.checks.generations import topic_of_events
from highwater_pipeline.checks.lineages import breaks, of_former_lineage
from highwater_pipeline.checks.promises import Appends, recorded
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.tables.micro_operations import OK

ANY_NUMBER: Final = 1 << 40
"""Of attempts: it is not known how many there were."""


@dataclass(frozen=True, slots=True)
class ClientTopic:
    """One topic of a partition's name: ``unit`` has its part of the history, of the events and of the dumps;
    ``exists``: it had not been deleted at the end. ``elsewhere``: values of sends that do not belong to it, and how
    many copies of each may have come here all the same: one for each attempt that is not known to have reached another
    topic."""

    unit: PartitionTables
    exists: bool
    elsewhere: tuple[Ints, Ints]


@dataclass(frozen=True, slots=True)
class ClientTopics:
    """The topics in the order in which they were created; ``unplaced``: micro-operations that may belong to any."""

    topics: list[ClientTopic]
    unplaced: View


def client_topics(unit: PartitionTables) -> ClientTopics:
    """The topics of one partition's name, with what clients did on each."""
    ids = topic_ids(unit)
    deleted = set(_deleted(unit))
    if len(ids) < 2:
        exists = not ids or ids[0] not in deleted
        none = unit.history.take(np.empty(0, np.int64))
        only = ClientTopic(unit, exists, _elsewhere(none, np.zeros(0, np.int64)))
        return ClientTopics([_of_last_lineage(only)], none)
    spoken_of = topic_of_events(unit.events, ids)
    topic, offset = _topics_of_history(unit, ids, spoken_of)
    history = unit.history.with_numbers("offset", offset)
    is_send, is_poll = bools(history, "is_send"), bools(history, "is_poll")
    assigned = ~is_send & ~is_poll
    # Controllers report every deletion. Without their events: a topic must have gone for another to come.
    gone = deleted if recorded(unit.facts, "partition-changed") else {*deleted, *ids[:-1]}
    unnamed = ~unit.replica_log.is_known("topic_id")
    topics = [
        _of_last_lineage(
            ClientTopic(
                replace(
                    unit,
                    history=_left(history, is_poll & (topic != number)).where((topic == number) | ~is_send),
                    events=unit.events.where(spoken_of == number),
                    replica_log=unit.replica_log.where(is_any(unit.replica_log, "topic_id", name) | unnamed),
                ),
                name not in gone,
                _elsewhere(history.where(is_send & (topic != number)), topic[is_send & (topic != number)]),
            )
        )
        for number, name in enumerate(ids)
    ]
    return ClientTopics(topics, history.where((topic < 0) & ~assigned))


def _of_last_lineage(topic: ClientTopic) -> ClientTopic:
    """The topic without what clients sent and read before the last break (:mod:`.lineages`)."""
    unit, history = topic.unit, topic.unit.history
    if not breaks(unit):
        return topic
    value, is_poll = ints(history, "value", 0), bools(history, "is_poll")
    is_send = bools(history, "is_send")
    former = of_former_lineage(unit, ints(history, "offset"), _first_sent(value, history)) & (is_send | is_poll)
    if not former.any():
        return topic
    sent = ints(history, "value")[former & is_send]
    values, copies = topic.elsewhere
    return ClientTopic(
        replace(unit, history=_left(history, former & is_poll).where(~(former & is_send))),
        topic.exists,
        (np.concatenate([values, sent]), np.concatenate([copies, np.full(len(sent), ANY_NUMBER)])),
    )


def _left(history: View, which: Bools) -> View:
    """The history with some polls' records as assignments by which their consumers' positions are lost."""
    lost = history.with_numbers("is_poll", bools(history, "is_poll") & ~which)
    lost = lost.with_numbers("offset", np.where(which, -1, ints(history, "offset")))
    # As if an assignment between had not listed the partition.
    return lost.with_numbers("assignment", ints(history, "assignment") + 2 * which)


def _elsewhere(sends: View, topic: Ints) -> tuple[Ints, Ints]:
    attempts = ints(sends, "attempts")
    reached_another = (topic >= 0) & (ints(sends, "outcome") == OK)
    return ints(sends, "value"), np.where(attempts < 0, ANY_NUMBER, attempts - reached_another)


def topic_ids(unit: PartitionTables) -> list[str]:
    """Topic ids by when each was first heard of."""
    first: dict[str, int] = {}
    tables = ((unit.events, "time_ns"), (unit.history, "end_time"))
    words = list(dict.fromkeys(word for table, _ in tables for word in table.words("topic_id")))
    if len(words) < 2:
        return words
    for table, time in tables:
        named, names = codes(table, "topic_id")
        times = ints(table, time)
        for number, name in enumerate(names):
            heard = int(times[named == number].min())
            first[name] = min(first.get(name, heard), heard)
    return sorted(first, key=lambda name: (first[name], name))


def _deleted(unit: PartitionTables) -> list[str]:
    if unit.facts.settings.deletes_topic(unit.partition) is False or not recorded(unit.facts, "partition-changed"):
        return []  # it was not asked for, or is not known
    gone = is_any(unit.events, "kind", "partition-changed") & is_any(unit.events, "reason", "deleted")
    _, deleted = codes(unit.events.where(gone), "topic_id")
    return deleted


def _topics_of_history(unit: PartitionTables, ids: list[str], spoken_of: Ints) -> tuple[Ints, Ints]:
    """For every micro-operation: its topic's place in ``ids`` (−1: not known), and its offset (−1: not known there)."""
    history = unit.history
    named, names = codes(history, "topic_id")
    place = np.array([*map(ids.index, names), -1], np.int64)
    topic = place[named]
    offset = ints(history, "offset").copy()
    value, is_send = ints(history, "value", 0), bools(history, "is_send")
    is_read = bools(history, "is_poll") & (topic < 0)
    if recorded(unit.facts, "log-appended"):
        records = np.flatnonzero((offset >= 0) & (is_read | (is_send & (ints(history, "outcome") == OK))))
        begin = np.where(is_send, ints(history, "invoke_time"), _first_sent(value, history))[records]
        matches = np.zeros(len(records), np.int64)
        for number in range(len(ids)):
            of_topic = replace(unit, events=unit.events.where(spoken_of == number))
            first, last = Appends.of(of_topic).between(history, records, begin)
            topic[records[last > first]] = number
            matches += last > first
        topic[records[matches != 1]] = -1
    early = (topic < 0) & (ints(history, "end_time") < _second_created(unit, spoken_of))
    topic[early] = 0
    topic[~is_send & ~bools(history, "is_poll")] = -1  # an assignment has no value
    placed_by_value = _by_value(value, topic)
    by_value = is_send & (topic < 0) & (placed_by_value >= 0)
    topic[by_value] = placed_by_value[by_value]
    # The copy that was read may be another attempt's than the one that was acknowledged.
    offset[by_value] = -1
    return topic, offset


def _first_sent(value: Ints, history: View) -> Ints:
    """For every micro-operation: when a send of its value began first; 0: no send of it is known."""
    is_send = bools(history, "is_send")
    values, inverse = ranked_values(value)
    never = np.iinfo(np.int64).max
    first = np.full(len(values), never)
    np.minimum.at(first, inverse[is_send], ints(history, "invoke_time")[is_send])
    sent: Ints = np.where(first == never, 0, first)[inverse]
    return sent


def _second_created(unit: PartitionTables, spoken_of: Ints) -> int:
    """When the second topic was created at the earliest; −1: not known."""
    if not recorded(unit.facts, "partition-changed"):
        return -1
    times = ints(unit.events, "time_ns")[spoken_of == 1]
    return int(times.min()) - unit.facts.settings.largest_clock_error_ns if len(times) else -1


def _by_value(value: Ints, topic: Ints) -> Ints:
    """For every micro-operation: the one topic in which others place its value; −1 where none does, or several do."""
    known: Bools = topic >= 0
    values, inverse = ranked_values(value)
    lowest = np.full(len(values), np.iinfo(np.int64).max)
    highest = np.full(len(values), -1, np.int64)
    np.minimum.at(lowest, inverse[known], topic[known])
    np.maximum.at(highest, inverse[known], topic[known])
    one: Ints = np.where(lowest == highest, highest, -1)
    return one[inverse]
