"""What a node's log says of its events: one line for each thing that happened, however many partitions it happened to.

A core reports by events, one for each partition, and knows of no log. :class:`EventLog` stands before the trace. It
passes every event on, counts those that a person wants to hear of, and logs what it has counted half a second after the
first: how many, split by what matters (the new leader, say), and a few examples.

A node that leads the quorum logs what became of partitions and brokers at INFO; its standbys, which see the same
records, at DEBUG. Brokers log their own leaderships, ISRs and fencing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from highwater_runtime.host.files.trace import HostTrace, NoTrace
from highwater_runtime.host.logs import NodeLog
from highwater_runtime.ports.trace import (
    BecameFollower,
    BecameLeader,
    BrokerRegistered,
    BrokerRegistrationChanged,
    BrokerStateChanged,
    IsrProposalEnded,
    IsrProposed,
    LogCut,
    LogTruncated,
    NodeEvent,
    PartitionChanged,
    RaftSnapshot,
    RaftStateChanged,
    TransitionTaken,
)

WINDOW_S: Final = 0.5
MOST_EXAMPLES: Final = 3


class _Tally:
    """One line to be: how often, by what, and examples."""

    __slots__ = ("by", "count", "examples")

    def __init__(self) -> None:
        self.count = 0
        self.by: dict[str, int] = {}
        self.examples: list[str] = []

    def add(self, example: str, by: str | None = None) -> None:
        self.count += 1
        if by is not None:
            self.by[by] = self.by.get(by, 0) + 1
        if len(self.examples) < MOST_EXAMPLES:
            self.examples.append(example)


_REGISTRATION: Final = {
    "registration-refused": "the controller refuses it with an error; its log says why",
    "registration-refused-as-duplicate": "its previous session still lasts, or its id is in use",
    "registration-epoch-went-back": "the controller offers an older broker epoch; the controllers may have lost their"
    " log",
    "registration-unanswered": "no controller answers",
}
"""Why a broker is not registered, by the transition."""


class EventLog:
    """A trace before the trace, for :class:`.turn.Turn`.

    Args:
        partitions: name, leader and size of the ISR of each partition that the node's core knows: what a snapshot
            held.
    """

    def __init__(
        self,
        trace: HostTrace | NoTrace,
        log: NodeLog,
        loop: asyncio.AbstractEventLoop,
        partitions: Callable[[], Iterable[tuple[str, int, int]]],
    ) -> None:
        self._trace = trace
        self.follows_records = trace.follows_records
        self._log = log
        self._loop = loop
        self._known_partitions = partitions
        self._timer: asyncio.TimerHandle | None = None
        self._tallies: dict[tuple[str, str, str], _Tally] = {}
        """By level, line and what it is split by; in order of first mention."""
        self._leads: dict[str, None] = {}
        """Partitions that this broker leads."""
        self._proposed: dict[str, str] = {}
        """What it has proposed to do with the ISR of each, until that is over."""
        self._partitions: dict[str, tuple[int, int]] = {}
        """Of a controller: leader and size of the ISR of each partition."""
        self._loaded = False
        self._deleted = False
        self._is_active = False
        self._notes: Mapping[type[NodeEvent], Callable[[Any], None]] = {
            BecameLeader: self._became_leader,
            BecameFollower: self._became_follower,
            IsrProposed: self._isr_proposed,
            IsrProposalEnded: self._isr_proposal_ended,
            BrokerStateChanged: self._broker_state,
            LogCut: self._log_cut,
            LogTruncated: self._log_truncated,
            PartitionChanged: self._partition_changed,
            BrokerRegistered: self._broker_registered,
            BrokerRegistrationChanged: self._registration_changed,
            RaftStateChanged: self._raft_state,
            RaftSnapshot: self._snapshot,
            TransitionTaken: self._transition,
        }

    def emit(self, event: NodeEvent) -> None:
        self._trace.emit(event)
        note = self._notes.get(type(event))
        if note is not None:
            note(event)

    def flush(self) -> None:
        """Write the trace; the end of a turn."""
        if self._loaded:
            self._loaded = False
            self._learn_partitions()
        if self._deleted:
            self._deleted = False
            self._forget_deleted()
        self._trace.flush()

    def close(self) -> None:
        """Log what is left; the end of the node."""
        if self._timer is not None:
            self._timer.cancel()
            self._tell()

    # --- lines ----------------------------------------------------------------------------------------------------

    def _count(self, level: str, line: str, example: str, split: str = "", by: str | None = None) -> None:
        tally = self._tallies.get((level, line, split))
        if tally is None:
            tally = self._tallies[level, line, split] = _Tally()
            if self._timer is None:
                self._timer = self._loop.call_later(WINDOW_S, self._tell)
        tally.add(example, by)

    def _tell(self) -> None:
        self._timer = None
        tallies, self._tallies = self._tallies, {}
        for (level, line, split), tally in tallies.items():
            fields: dict[str, object] = {"count": tally.count}
            if tally.by:
                fields[split] = " ".join(f"{by}:{count}" for by, count in sorted(tally.by.items()))
            more = " …" if tally.count > len(tally.examples) else ""
            getattr(self._log, level)(line, **fields, examples=", ".join(tally.examples) + more)

    # --- a broker's own -------------------------------------------------------------------------------------------

    def _became_leader(self, event: BecameLeader) -> None:
        if event.partition not in self._leads:
            self._leads[event.partition] = None
            self._count("info", "leaderships gained", event.partition)

    def _became_follower(self, event: BecameFollower) -> None:
        if event.partition in self._leads:
            del self._leads[event.partition]
            self._count("info", "leaderships lost", event.partition)
        self._count("info", "following", event.partition, "leaders", _leader(event.leader))

    def _isr_proposed(self, event: IsrProposed) -> None:
        self._proposed[event.partition] = event.reason

    def _isr_proposal_ended(self, event: IsrProposalEnded) -> None:
        what = self._proposed.pop(event.partition, "change")
        if event.reason == "committed":
            self._count("info", "ISR changed", f"{event.partition} {event.isr}", "changes", what)
        else:
            self._count("info", "ISR proposals dropped", event.partition, "reasons", event.reason)

    def _broker_state(self, event: BrokerStateChanged) -> None:
        level = self._log.warning if event.reason == "fenced" else self._log.info
        level("broker state", state=event.reason, epoch=event.broker_epoch)

    def _transition(self, event: TransitionTaken) -> None:
        if event.reason == "heartbeats-late":
            self._log.warning("no heartbeat was answered for two thirds of the session time-out")
        elif event.reason in _REGISTRATION:
            self._log.warning("registration is tried again until it is granted", reason=_REGISTRATION[event.reason])
        elif event.reason == "leader-response-refused":
            self._count("warning", "responses of the quorum's leader refused", "the same is fetched again")
        elif event.reason == "stray-set-aside":
            self._count("warning", "logs that no replica has, renamed to -stray", event.partition)
        elif event.reason == "directory-deleted":
            self._deleted = True

    def _log_cut(self, event: LogCut) -> None:
        example = f"{event.partition} at {event.end_offset} ({event.offset} bytes)"
        self._count("warning", "bytes dropped by recovery", example, "reasons", event.reason)

    def _log_truncated(self, event: LogTruncated) -> None:
        example = f"{event.partition} from {event.end_offset} to {event.offset}"
        self._count("info", "logs truncated", example, "reasons", event.reason)

    # --- a controller's -------------------------------------------------------------------------------------------

    def _partition_changed(self, event: PartitionChanged) -> None:
        name = event.partition
        before = self._partitions.get(name)
        after = event.leader, len(event.isr)
        self._partitions[name] = after
        level = "info" if self._is_active else "debug"
        if event.reason == "deleted":
            del self._partitions[name]
            self._count(level, "partitions deleted", name)
        elif event.reason == "created":
            self._count(level, "partitions created", name)
        elif before is None:
            self._count(level, "partitions changed", name)
        else:
            if event.leader < 0 <= before[0]:
                self._count("warning" if self._is_active else "debug", "partitions left without a leader", name)
            elif event.leader != before[0]:
                self._count(level, "leaders elected", name, "leaders", _leader(event.leader))
            if after[1] != before[1]:
                what = "expand" if after[1] > before[1] else "shrink"
                self._count(level, "ISR changed", f"{name} {event.isr}", "changes", what)

    def _broker_registered(self, event: BrokerRegistered) -> None:
        level = "info" if self._is_active else "debug"
        self._count(level, "brokers registered", f"{event.broker} (epoch {event.broker_epoch})")

    def _registration_changed(self, event: BrokerRegistrationChanged) -> None:
        is_trouble = event.reason in ("fenced", "unregistered")
        level = "debug" if not self._is_active else "warning" if is_trouble else "info"
        self._count(level, f"brokers {event.reason}", f"{event.broker} (epoch {event.broker_epoch})")

    def _raft_state(self, event: RaftStateChanged) -> None:
        self._is_active = event.reason == "leader"
        leader = _leader(event.leader)
        self._log.info("quorum state", state=event.reason, epoch=event.epoch, leader=leader)

    def _snapshot(self, event: RaftSnapshot) -> None:
        self._log.info(f"metadata snapshot {event.reason}", offset=event.offset, epoch=event.epoch)
        if event.reason == "loaded":
            self._partitions.clear()
            self._loaded = True

    def _learn_partitions(self) -> None:
        """Look up all partitions after a snapshot, which reports none of them, so that later changes are known."""
        for name, leader, isr_size in self._known_partitions():
            self._partitions.setdefault(name, (leader, isr_size))

    def _forget_deleted(self) -> None:
        """Forget partitions that the core no longer has: a broker does not report that it has lost a partition."""
        known = {name for name, _, _ in self._known_partitions()}
        self._leads = {name: None for name in self._leads if name in known}
        self._proposed = {name: what for name, what in self._proposed.items() if name in known}


def _leader(leader: int) -> str:
    return "none" if leader < 0 else str(leader)
