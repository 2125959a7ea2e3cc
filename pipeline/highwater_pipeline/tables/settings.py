"""What the clients and topics of a run were set to, as far as a promise to clients depends on it.

A check may blame the log only for a promise that it broke, and what it promises depends on settings: with ``acks=1`` an
acknowledged record may be lost until it passes the high watermark, without idempotence a retry may write a second copy,
and retention deletes old records. ``docs/checks.md`` has the table.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

import msgspec

Acks = Literal["all", "1", "0"]


DEFAULT_PRODUCER_EXPIRATION_MS: Final = 86_400_000
MOST_KEYS: Final = 1_000_000
"""Keys that the records of a run may have."""


def is_tombstone(value: Any, tombstones: int) -> Any:
    """Whether the record with this value has no value, if so many of 1,000 have none; of an array: which of them."""
    return value % 1_000_003 * 7919 // 97 % 1000 < tombstones


class TopicPromise(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the experiment set for a topic, by its own properties or by those of the nodes; None: it set nothing.

    Of several values that may be in force it is the one that promises least. ``retention_ms`` and ``retention_bytes``:
    −1 for no limit. ``deletes``: whether ``cleanup.policy`` lets old segments be deleted at all. ``deletes_records``:
    whether a client may ask for DeleteRecords.
    """

    min_isr: int | None = None
    retention_ms: int | None = None
    retention_bytes: int | None = None
    deletes: bool | None = None
    deletes_records: bool | None = None


class Period(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was promised of each topic from ``since_ns`` of run time on (``*``: of topics that are not named)."""

    since_ns: int
    topics: dict[str, TopicPromise]


class PromisedSettings:
    """What was set for one topic in the course of a run."""

    def __init__(self, since_ns: Sequence[int], promises: Sequence[TopicPromise], error_ns: int) -> None:
        self._error_ns: Final = error_ns
        each: dict[int, TopicPromise] = {}
        for since, promise in zip(since_ns, promises, strict=True):
            if promise != next(reversed(each.values()), None):
                each[since] = promise
        self._since: Final = list(each)
        self._each: Final = list(each.values())

    def until(self, end_ns: int) -> PromisedSettings:
        """The same up to ``end_ns`` of run time, when the topic was deleted, and nothing from then on: brokers of
        ZooKeeper mode obey the defaults once its settings have gone, and their logs go a moment later."""
        kept = [one for one in zip(self._since, self._each, strict=True) if one[0] < end_ns]
        since, each = [one for one, _ in kept], [one for _, one in kept]
        return PromisedSettings([*since, end_ns], [*each, NOTHING_SET], self._error_ns)

    @property
    def largest_min_isr(self) -> int:
        """The highest ``min.insync.replicas`` that was set at any time; 0 if none was."""
        return max([0, *(one.min_isr or 0 for one in self._each)])

    def min_isr(self, time_ns: int, replicas: int | None) -> int | None:
        """Return the ``min.insync.replicas`` that a leader of so many replicas had to obey: no more than their number,
        as Apache Kafka does. None: it, or their number, is not known."""
        least = self.at(time_ns).min_isr
        return None if least is None or replicas is None else min(least, replicas)

    def at(self, time_ns: int) -> TopicPromise:
        """Return what was set at ``time_ns`` of run time; if that is near a change, what promises least."""
        if len(self._each) < 2:
            return self._each[0] if self._each else NOTHING_SET
        first = max(0, bisect_right(self._since, time_ns - self._error_ns) - 1)
        return looser(self._each[first : max(first + 1, bisect_right(self._since, time_ns + self._error_ns))])


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a run; None: not known, and then nothing is assumed.

    ``disks_kept``: no fault of the experiment takes from a disk what was on it, or was to be: a log that is missing was
    not lost with its disk, whatever its node says.
    ``promised``: what the experiment set for each topic, a period after the other. Nodes report which settings they
    obey, and a node that obeys others reports those: so what is reported counts only where it promises more. Empty: it
    is not known, and reports alone count.

    ``retention`` and ``compaction`` name the topics whose old records may be deleted, or whose records may be
    superseded by others of the same key. ``headers``: each record has a header that says what was sent, and clients and
    dumps compared it (``altered``). ``keys``: the key of a record is its value modulo this number; 0: records have
    no keys. ``tombstones``: how many of 1,000 records have no value (:func:`is_tombstone`);
    ``tombstone_retention_ms``: by topic, how long compaction keeps these at least (``*``: in topics that are not
    named). ``deletion`` names the topics that a client may delete as a whole.
    ``final_reads_cut_short``: something else than the cluster kept the final reads from every high watermark, so that a
    record may be unread though it is there. ``unclean`` names the topics that may get a leader from outside the ISR,
    but for those of ``never_unclean``, whose own configuration forbids it.
    ``exact_order``: the events of different nodes are recorded in the order in which they happened, as the simulator
    does; otherwise only the order within each node is known. ``lost_command_ms``: how long a command of the controller
    may wait behind one whose response was lost. ``unrecorded_sends``: clients whose sends the history does not have may
    have written to the topics. ``commit_retention_ms``: how long the committed offsets of a group without members are
    kept at least; 0: not even that is known, as clocks may be wrong. ``producer_expiration_ms``: how long a leader
    remembers an idempotent producer that sends nothing, at least (Kafka's default, if nobody says).
    ``drawn_clocks_off_ms``: how far a drawn fault may set a node's clock off, at most.
    ``resends_in_new_epochs``: whether idempotent producers send again, in a new epoch, what may have been written in an
    earlier one.
    ``clock_errors_ns``: by node, how far the run time of its events may be from the true one; ``*`` stands for nodes
    that are not named; None: all nodes have one clock.
    """

    acks: Acks | None = None
    idempotence: bool | None = None
    retention: tuple[str, ...] | None = None
    compaction: tuple[str, ...] | None = None
    keys: Annotated[int, msgspec.Meta(ge=0, le=MOST_KEYS)] | None = None
    tombstones: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    tombstone_retention_ms: dict[str, Annotated[int, msgspec.Meta(ge=0)]] = {}
    headers: bool = False
    deletion: tuple[str, ...] | None = None
    final_reads_cut_short: bool = False
    unclean: tuple[str, ...] | None = None
    never_unclean: tuple[str, ...] = ()
    exact_order: bool = False
    lost_command_ms: int = 0
    unrecorded_sends: bool = False
    commit_retention_ms: int | None = None
    producer_expiration_ms: int = DEFAULT_PRODUCER_EXPIRATION_MS
    clock_errors_ns: dict[str, Annotated[int, msgspec.Meta(ge=0)]] | None = None
    drawn_clocks_off_ms: int = 0
    resends_in_new_epochs: bool | None = None
    promised: tuple[Period, ...] = ()
    disks_kept: bool = False

    @property
    def has_clock_errors(self) -> bool:
        """Whether the recorded order of what different nodes did may be wrong."""
        return any((self.clock_errors_ns or {}).values())

    @property
    def orders_exactly(self) -> bool:
        """Whether events of different nodes are in the order in which they happened."""
        return self.exact_order and not self.has_clock_errors

    @property
    def largest_clock_error_ns(self) -> int:
        """How far the run time of any event may be from the true one."""
        return max((self.clock_errors_ns or {}).values(), default=0)

    def clock_error_ns(self, node: str) -> int:
        """Return how far the run time of a node's events may be from the true one."""
        errors = self.clock_errors_ns or {}
        return errors.get(node, errors.get(ANY_NODE, 0))

    def clock_error_between_ns(self, node: str, other: str) -> int:
        """Return how far the time between an event of each of two nodes may be from the true one."""
        return 0 if node == other else self.clock_error_ns(node) + self.clock_error_ns(other)

    def deletes(self, partition: str) -> bool | None:
        """Whether the settings let old records of a partition be deleted; None: not known."""
        return _names(self.retention, partition)

    def compacts(self, partition: str) -> bool | None:
        """Whether the settings let records of a partition be superseded; None: not known."""
        return _names(self.compaction, partition)

    def may_compact(self, partition: str) -> bool:
        """Whether the settings, as far as they are known, let a partition be compacted, as brokers' own topics are."""
        return partition.rpartition("-")[0] in INTERNAL_TOPICS or self.compacts(partition) is not False

    def keeps_tombstones_ms(self, partition: str) -> int:
        """Return how long compaction keeps a tombstone in a partition at least; 0 if that is not known."""
        given = self.tombstone_retention_ms
        return given.get(partition.rpartition("-")[0], given.get(EVERY_TOPIC, 0))

    def promises(self, partition: str) -> PromisedSettings:
        """Return what was set for the topic of a partition, as far as it is known."""
        topic = partition.rpartition("-")[0]
        since_ns = [period.since_ns for period in self.promised]
        found = [period.topics.get(topic, period.topics.get(EVERY_TOPIC, NOTHING_SET)) for period in self.promised]
        return PromisedSettings(since_ns, found, self.largest_clock_error_ns + (0 if self.exact_order else SLACK_NS))

    def deletes_topic(self, partition: str) -> bool | None:
        """Return whether the topic of a partition may be deleted; None if that is not known."""
        return _names(self.deletion, partition)

    def elects_uncleanly(self, partition: str) -> bool | None:
        """Return whether a replica outside the ISR may become leader by the settings; None if that is not known."""
        return False if _names(self.never_unclean, partition) else _names(self.unclean, partition)


NOTHING_SET: Final = TopicPromise()

NOTHING_PROMISED: Final = PromisedSettings([], [], 0)

UNKNOWN: Final = Settings()
"""Nothing is known, and so nothing promised."""

STRICTEST: Final = Settings(acks="all", idempotence=True, retention=(), compaction=())
"""The settings that promise most: an acknowledged record is there once, and stays."""

NO_LIMIT: Final = -1
EVERY_TOPIC: Final = "*"
ANY_NODE: Final = "*"

INTERNAL_TOPICS: Final = ("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata")
"""Topics of brokers and controllers, which write to them themselves."""

SLACK_NS: Final = 1_000_000_000
"""How far run times of two processes may be apart, where no clock is known to be wrong."""

ASSUMED_CLOCK_ERROR_NS: Final = 50_000_000
"""The error of a clock in a cluster of several machines, if nobody measured it. (The largest that was seen was 13 ms: a
process that did not run between the readings of two clocks.)"""


def looser(promises: Sequence[TopicPromise]) -> TopicPromise:
    """Return what promises least of several."""
    least = [one.min_isr for one in promises if one.min_isr is not None]
    return TopicPromise(
        min_isr=min(least) if len(least) == len(promises) else None,
        retention_ms=least_limit([one.retention_ms for one in promises]),
        retention_bytes=least_limit([one.retention_bytes for one in promises]),
        deletes=_any([one.deletes for one in promises]),
        deletes_records=_any([one.deletes_records for one in promises]),
    )


def stricter_limit(reported: int, promised: int | None) -> int:
    """Return the limit that keeps more, of one that a node reported and one that was set; −1: no limit."""
    if promised is None:
        return reported
    return NO_LIMIT if NO_LIMIT in (reported, promised) else max(reported, promised)


def least_limit(limits: Sequence[int | None]) -> int | None:
    """Return the limit that keeps least, as :data:`NO_LIMIT` or a number; None if one is not known."""
    if None in limits:
        return None
    return min((limit for limit in limits if limit is not None and limit != NO_LIMIT), default=NO_LIMIT)


def _any(allowed: Sequence[bool | None]) -> bool | None:
    return None if None in allowed else any(allowed)


def _names(topics: tuple[str, ...] | None, partition: str) -> bool | None:
    if topics is None:
        return None
    return EVERY_TOPIC in topics or partition.rpartition("-")[0] in topics
