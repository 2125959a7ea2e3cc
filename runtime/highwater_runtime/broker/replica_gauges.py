"""The gauges of a broker's replicas, kept up by what has changed.

Each replica has a *share* of the broker's aggregates: whether it leads, is under-replicated, and so on. A change of one
replica costs one share, however many replicas there are. Beside that each replica has series of its own, for as long as
the broker has at most ``metrics.partition.limit`` replicas. With more it has none, all or nothing: a part of them would
be mistaken for all. ``highwater_partition_series_left_out`` says so.

Offsets and sizes move with every record: :meth:`ReplicaGauges.report_positions` is called before a scrape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from highwater_runtime.broker import metrics as names
from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.ports.metrics import SERIES_LEFT_OUT, Metrics


class _Share(NamedTuple):
    """What one replica adds to the aggregates, each 0 or 1. All but ``offline`` are 0 where it does not lead."""

    leads: int
    under_replicated: int
    under_min_isr: int
    at_min_isr: int
    offline: int

    @classmethod
    def of(cls, replica: Partition) -> _Share:
        """The share of a replica as it is now."""
        offline = int(replica.log.failure is not None)
        if not replica.is_leader:
            return cls(0, 0, 0, 0, offline) if offline else _NOTHING
        isr, least = len(replica.isr.committed), replica.min_isr
        return cls(1, int(isr < len(replica.replicas)), int(isr < least), int(isr == least), offline)


_NOTHING: Final = _Share(0, 0, 0, 0, 0)
_AGGREGATES: Final = (
    names.LEADER_COUNT,
    names.UNDER_REPLICATED,
    names.UNDER_MIN_ISR,
    names.AT_MIN_ISR,
    names.OFFLINE_REPLICAS,
)
"""In the order of :class:`_Share`."""
_REPORTED: Final = (*_AGGREGATES, names.PARTITION_COUNT, SERIES_LEFT_OUT, names.FAILED_PARTITIONS)

_OWN: Final = (
    names.PARTITION_UNDER_REPLICATED,
    names.PARTITION_UNDER_MIN_ISR,
    names.PARTITION_AT_MIN_ISR,
    names.LOG_SIZE,
)
"""Series of one replica that :meth:`ReplicaGauges.report` sets. :meth:`ReplicaGauges.report_positions` sets the others.
"""


def _shift(total: int, new: int, old: int) -> int:
    return total + new - old


class ReplicaGauges:
    """Gauges of ``replicas``, which belongs to the caller, who marks each key whose replica has come, gone or changed.

    ``limit``: with how many replicas at most each has series of its own.
    """

    def __init__(self, metrics: Metrics, replicas: Mapping[PartitionKey, Partition], limit: int) -> None:
        self._metrics = metrics
        self._replicas = replicas
        self._limit = limit
        self._stale: dict[PartitionKey, None] = {}
        self._known: dict[PartitionKey, tuple[_Share, str, str]] = {}
        """Share, topic and index of each replica, as reported last."""
        self._sums = _NOTHING
        self._reported: tuple[int, ...] = ()
        """Values of :data:`_REPORTED`, as reported last."""
        self._has_series = True
        self._has_positions = False
        """Whether :meth:`report_positions` has set any series."""
        self.is_stale = False
        """Whether :meth:`report` has anything to do."""

    def mark(self, key: PartitionKey) -> None:
        """This replica's share may be another now."""
        self._stale[key] = None
        self.is_stale = True

    def mark_failures(self) -> None:
        """How many replicas are fetched no more may be another now."""
        self.is_stale = True

    def mark_sizes(self) -> None:
        """The logs may have grown: look at every replica that has series of its own."""
        if self._has_series:
            self._stale.update(dict.fromkeys(self._replicas))
            self.is_stale = True

    def report(self, *, failed: int) -> None:
        """Set the gauges of what has changed. ``failed``: replicas that are fetched no more in their leader epoch."""
        self.is_stale = False
        stale, self._stale = self._stale, {}
        had_series, self._has_series = self._has_series, len(self._replicas) <= self._limit
        if had_series and not self._has_series:
            for _, topic, index in self._known.values():
                self._forget(topic, index)
        elif self._has_series and not had_series:
            stale = dict.fromkeys([*self._known, *stale])
        for key in stale:
            self._update(key)
        known = len(self._known)
        values = (*self._sums, known, 0 if self._has_series else known, failed)
        if values != self._reported:
            self._reported = values
            for name, value in zip(_REPORTED, values, strict=True):
                self._metrics.gauge(name, value)

    def _update(self, key: PartitionKey) -> None:
        replica = self._replicas.get(key)
        before, topic, index = self._known.get(key, (_NOTHING, "", ""))
        if replica is None:
            if self._known.pop(key, None) is not None and self._has_series:
                self._forget(topic, index)
            share = _NOTHING
        else:
            share = _Share.of(replica)
            if not topic:
                topic, index = replica.topic, str(replica.index)
            self._known[key] = share, topic, index
            if self._has_series:
                self._report_own(replica, share, topic, index)
        if share != before:
            self._sums = _Share._make(map(_shift, self._sums, share, before))

    def _report_own(self, replica: Partition, share: _Share, topic: str, index: str) -> None:
        gauge = self._metrics.gauge
        gauge(names.PARTITION_UNDER_REPLICATED, share.under_replicated, topic=topic, partition=index)
        gauge(names.PARTITION_UNDER_MIN_ISR, share.under_min_isr, topic=topic, partition=index)
        gauge(names.PARTITION_AT_MIN_ISR, share.at_min_isr, topic=topic, partition=index)
        gauge(names.LOG_SIZE, replica.log.size_in_bytes, topic=topic, partition=index)

    def _forget(self, topic: str, index: str) -> None:
        for name in names.PARTITION_GAUGES if self._has_positions else _OWN:
            self._metrics.forget(name, topic=topic, partition=index)

    def report_positions(self) -> None:
        """Set the gauges of where each replica stands, if replicas have series of their own.

        One that does not lead says 0 for what only the leader knows.
        """
        if not self._has_series:
            return
        self._has_positions = True
        gauge = self._metrics.gauge
        for key, (share, topic, index) in self._known.items():
            replica = self._replicas[key]
            values = (
                (names.PARTITION_LEADS, share.leads),
                (names.PARTITION_ISR, len(replica.isr.committed) if share.leads else 0),
                (names.PARTITION_REPLICAS, len(replica.replicas) if share.leads else 0),
                (names.LEADER_EPOCH, replica.leader_epoch),
                (names.HIGH_WATERMARK, replica.high_watermark),
                (names.LOG_SIZE, replica.log.size_in_bytes),
                (names.LOG_START_OFFSET, replica.log.log_start_offset),
                (names.LOG_END_OFFSET, replica.log.log_end_offset),
            )
            for name, value in values:
                gauge(name, value, topic=topic, partition=index)
