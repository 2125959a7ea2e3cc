"""What the clients and topics of a run were set to, as far as a promise to clients depends on it.

A check may blame the log only for a promise that it broke, and what it promises depends on settings: with ``acks=1`` an
acknowledged record may be lost until it passes the high watermark, without idempotence a retry may write a second copy,
and retention deletes old records. ``docs/checks.md`` has the table.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

Acks = Literal["all", "1", "0"]


DEFAULT_PRODUCER_EXPIRATION_MS: Final = 86_400_000
MOST_KEYS: Final = 1_000_000
"""Keys that the records of a run may have."""


def is_tombstone(value: Any, tombstones: int) -> Any:
    """Whether the record with this value has no value, if so many of 1,000 have none; of an array: which of them."""
    return value % 1_000_003 * 7919 // 97 % 1000 < tombstones


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a run; None: not known, and then nothing is assumed.

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
    resends_in_new_epochs: bool | None = None

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

    def keeps_tombstones_ms(self, partition: str) -> int:
        """Return how long compaction keeps a tombstone in a partition at least; 0 if that is not known."""
        given = self.tombstone_retention_ms
        return given.get(partition.rpartition("-")[0], given.get(EVERY_TOPIC, 0))

    def deletes_topic(self, partition: str) -> bool | None:
        """Return whether the topic of a partition may be deleted; None if that is not known."""
        return _names(self.deletion, partition)

    def elects_uncleanly(self, partition: str) -> bool | None:
        """Return whether a replica outside the ISR may become leader by the settings; None if that is not known."""
        return False if _names(self.never_unclean, partition) else _names(self.unclean, partition)


UNKNOWN: Final = Settings()
"""Nothing is known, and so nothing promised."""

STRICTEST: Final = Settings(acks="all", idempotence=True, retention=(), compaction=())
"""The settings that promise most: an acknowledged record is there once, and stays."""

EVERY_TOPIC: Final = "*"
ANY_NODE: Final = "*"

ASSUMED_CLOCK_ERROR_NS: Final = 50_000_000
"""The error of a clock in a cluster of several machines, if nobody measured it. (The largest that was seen was 13 ms: a
process that did not run between the readings of two clocks.)"""


def _names(topics: tuple[str, ...] | None, partition: str) -> bool | None:
    if topics is None:
        return None
    return EVERY_TOPIC in topics or partition.rpartition("-")[0] in topics
