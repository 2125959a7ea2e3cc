"""What a producer has under way: records, in batches, in the order of their partition."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from highwater_chaos.workload.metadata import PartitionKey


class SentRecord(NamedTuple):
    """One operation of the history: a value, and the process that sends it."""

    value: int
    process: int


class SentBatch:
    """Records of one partition on their way: they are sent, repeated, acknowledged and given up together."""

    __slots__ = (
        "attempts",
        "deadline_ns",
        "done",
        "epoch",
        "in_flight",
        "key",
        "may_be_appended",
        "records",
        "sequence",
    )

    def __init__(self, key: PartitionKey, deadline_ns: int) -> None:
        self.key = key
        self.records: list[SentRecord] = []
        self.deadline_ns = deadline_ns
        self.attempts = 0
        self.in_flight = False
        self.may_be_appended = False
        self.sequence = -1
        """That of the first record; −1 before the first attempt."""
        self.epoch = -1
        self.done = False

    @property
    def takes_more(self) -> bool:
        """Whether it has not been sent: a repetition must be recognised by its records."""
        return self.attempts == 0 and self.sequence < 0 and not self.done


class SentPartition:
    """Batches of one partition in order: those waiting, how many are in flight, the next sequence number."""

    __slots__ = ("backoff_until_ns", "in_flight", "next_sequence", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[SentBatch] = deque()
        self.in_flight: list[SentBatch] = []
        self.next_sequence = 0
        self.backoff_until_ns = 0
