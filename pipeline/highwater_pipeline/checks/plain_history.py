"""Histories in which all went well. No check of clients can find anything in one, whatever was promised.

A run with thousands of partitions has a few records in each, and nothing happened to most of them. One pass over the
rows of many partitions proves that. The checks need a hundred passes over arrays for each partition, and such a pass
costs the same for ten rows as for ten thousand.
"""

from __future__ import annotations

import numpy as np

from highwater_pipeline.arrow.arrays import Bools, Ints
from highwater_pipeline.partitions.small_partitions import Grouped, Partitions, occur, ranked, repeated
from highwater_pipeline.tables.micro_operations import OK


def not_plain(partitions: Partitions) -> Bools:
    """Return for each partition whether its history, of one topic, is not plain. In a plain history

    * every value was sent once, by an operation of its own, and acknowledged, each at an offset of its own;
    * a client's sends are at offsets in the order in which they began, and its processes are its alone;
    * every poll completed and read what was sent to its offset, which follows the one that its process read before, or
      is the one that it was put at;
    * every value was read.
    """
    is_send, is_poll = (partitions.history.view.bools(name) for name in ("is_send", "is_poll"))
    sends, reads = partitions.history.where(is_send), partitions.history.where(~is_send)
    polls = partitions.history.where(is_poll & ~is_send)
    wrong = [
        *(rows.number[_is_incomplete(rows)] for rows in (sends, polls)),
        *_sent_twice(sends),
        _out_of_order(sends),
        _jumps(reads),
        *_not_as_sent(sends, polls),
    ]
    return partitions.those(np.concatenate(wrong))


def _is_incomplete(rows: Grouped) -> Bools:
    """Which sends or polls did not complete ok, or have no offset or value."""
    outcome, offset = rows.ints("outcome", "offset")
    incomplete: Bools = (outcome != OK) | (offset < 0) | ~rows.view.is_known("value")
    return incomplete


def _sent_twice(sends: Grouped) -> list[Ints]:
    """Partitions in which two sends have one value, one offset or one operation, or a process has two clients."""
    number, sender, process = sends.number, _senders(sends), sends.ints("process")[0]
    found = [number[repeated(number, column)] for column in sends.ints("value", "offset", "row")]
    order, fresh = ranked(number, process, *sender)
    one = order[fresh]
    return [*found, number[one[repeated(number[one], process[one])]]]


def _senders(sends: Grouped) -> tuple[Ints, Ints]:
    """Who sent each record: a client, or a process without a client's name."""
    client, (process,) = sends.view.codes("client")[0], sends.ints("process")
    return client, np.where(client < 0, process, -1)


def _out_of_order(sends: Grouped) -> Ints:
    """Partitions in which a client's later send is at a lower offset."""
    sender, (began, offset) = _senders(sends), sends.ints("invoke_row", "offset")
    order, _ = ranked(sends.number, *sender, began, offset)
    same = np.ones(max(len(order) - 1, 0), np.bool_)
    for key in (sends.number, *sender):
        same &= key[order][1:] == key[order][:-1]
    return sends.number[order[1:][same & (offset[order][1:] <= offset[order][:-1])]]


def _jumps(reads: Grouped) -> Ints:
    """Partitions in which a process reads elsewhere than where it was; ``reads``: polls and assignments."""
    outcome, offset = reads.ints("outcome", "offset")
    reads = reads.where(reads.view.bools("is_poll") | ((outcome == OK) & (offset >= 0)))
    process, offset = reads.ints("process", "offset")
    is_poll = reads.view.bools("is_poll")
    order, fresh = ranked(reads.number, process)
    goes_on = np.zeros(len(order), np.bool_)
    following = (offset + is_poll)[order]
    goes_on[1:] = ~fresh[1:] & (offset[order][1:] == following[:-1])
    return reads.number[order[is_poll[order] & ~goes_on]]


def _not_as_sent(sends: Grouped, polls: Grouped) -> list[Ints]:
    """Partitions in which a record was read that was not sent, or not read that was, or both by one operation."""
    sent, read = ((rows.number, *rows.ints("value", "offset")) for rows in (sends, polls))
    (row_of_send,), (row_of_poll,) = sends.ints("row"), polls.ints("row")
    both = occur((sends.number, row_of_send), (polls.number, row_of_poll))
    return [sends.number[~occur(sent, read)], polls.number[~occur(read, sent)], sends.number[both]]
