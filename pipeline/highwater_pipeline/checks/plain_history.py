"""A short history in which all went well. No check of clients can find anything in it, whatever was promised.

A run with thousands of partitions has a few records in each, and nothing happened to most of them. To prove that takes
one pass over the rows. The checks need a hundred passes over arrays, each of which costs the same for ten rows as for
ten thousand.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from highwater_pipeline.micro_operations import OK
from highwater_pipeline.view import View

SHORT: Final = 256
"""Rows of a history that is short."""

_COLUMNS: Final = ("is_send", "is_poll", "outcome", "offset", "value", "process", "client", "row", "invoke_row")


def is_plain(history: View) -> bool:
    """Return whether the history of one topic is short, and

    * every value was sent once, by an operation of its own, and acknowledged, each at an offset of its own;
    * a client's sends are at offsets in the order in which they began, and its processes are its alone;
    * every poll completed and read what was sent to its offset, which follows the one that its process read before, or
      is the one that it was put at;
    * every value was read.
    """
    if history.num_rows > SHORT:
        return False
    sent: dict[int, int] = {}
    read: dict[int, int] = {}
    sends: list[tuple[str, int, int]] = []
    sender_of: dict[int, str] = {}
    """Of each process."""
    sending: set[int] = set()
    polling: set[int] = set()
    """Operations, by their rows."""
    next_offset: dict[int, int] = {}
    """Of each process."""
    for is_send, is_poll, outcome, offset, value, process, client, row, began in history.rows(*_COLUMNS):
        if is_send:
            sender = f"process {process}" if client is None else client
            if outcome != OK or value in sent or row in sending:
                return False
            if sender_of.setdefault(process, sender) != sender:
                return False
            sent[value] = offset
            sending.add(row)
            sends.append((sender, began, offset))
        elif is_poll:
            if outcome != OK or next_offset.get(process) != offset or read.setdefault(value, offset) != offset:
                return False
            next_offset[process] = offset + 1
            polling.add(row)
        elif outcome == OK and offset >= 0:
            next_offset[process] = offset
    if read != sent or len(set(sent.values())) < len(sent) or not sending.isdisjoint(polling):
        return False
    sends.sort()
    return all(one[0] != other[0] or one[2] < other[2] for one, other in pairwise(sends))
