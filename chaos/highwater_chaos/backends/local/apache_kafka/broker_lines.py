"""What a broker of Apache Kafka says of its replicas, line by line, as node events.

Each pattern is that of one message in Kafka's source; tests read lines of real brokers of each release. What follows
from a line alone is an event. What it rests on besides is kept for each replica: its role, its log end offset, its high
watermark.

*The trap:* several threads move the high watermark of one partition, and each logs its move after it, so two lines may
swap. And a thread may log a move beyond a record before the thread that appended it logs that. A move says from where
and to where, and moves of one leader join up. So a move waits until the log reaches it and the move before it is there.
If that does not come, what waits is reported as it came: a high watermark that went back shows so.

*Another trap:* a broker that starts again goes through the metadata that it has on its disk, and logs that it leads
what its process before had led. The controller has not heard of this process yet, or has decided anew since it
registered. Nobody can reach such a leader. So a leadership that was decided before the registration of this process
counts only if something is appended in it.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from highwater_chaos.backends.local.apache_kafka import log_start_lines
from highwater_chaos.backends.local.apache_kafka.event_lines import Line
from highwater_runtime.ports.trace import (
    BecameFollower,
    BecameLeader,
    HighWatermarkAdvanced,
    IsrProposalEnded,
    IsrProposed,
    IsrTaken,
    LogAppended,
    LogCut,
    LogLoaded,
    LogRemoved,
    LogTruncated,
    NodeEvent,
)

_QUORUM: Final = "__cluster_metadata-0"
"""The log of the quorum, which is no replica of a partition."""
_MOST_WAITING: Final = 256
_OFFSET: Final = r"\(?(?:offset=)?(\d+)"
_HIGH_WATERMARK: Final = re.compile(
    r"\[Partition (\S+) broker=\d+\] High watermark updated from " + _OFFSET + r".*? to " + _OFFSET
)
_PROPOSED: Final = re.compile(
    r"\[Partition (\S+) broker=\d+\] Submitting ISR state change Pending(Expand|Shrink)Isr\(.*?"
    r"sentLeaderAndIsr=LeaderAndIsr\(leader=\d+, leaderEpoch=(\d+), "
    r"(?:isr=List\(([\d, ]*)\)|isrWithBrokerEpoch=(?:List\(|\[)(.*?)(?:\)|\]), leaderRecovery).*?partitionEpoch=(\d+)\)"
)
_BROKER_STATE: Final = re.compile(r"brokerId=(\d+), brokerEpoch=(-?\d+)")
_ISR: Final = re.compile(
    r"\[Partition (\S+) broker=\d+\] ISR updated to ([\d,]*) *(?:\(under-min-isr\) *)?and version updated to (\d+)"
)
_REJECTED: Final = re.compile(
    r"\[Partition (\S+) broker=\d+\] Failed to alter partition to Pending.*? since the controller rejected the request"
    r" with (\w+)\. Partition state has been reset to the latest committed state \w+[(\[]isr=\w*[(\[]([\d, ]*)"
)
_APPENDED: Final = re.compile(
    r"\[(?:Unified)?Log partition=(\S+), dir=.*?\] Appended message set with last offset: \d+, "
    r"first offset: (?:Some\(|Optional\[)?" + _OFFSET + r".*?, next offset: (\d+),"
)
_TRUNCATED: Final = re.compile(r"\[(?:Unified)?Log partition=(\S+), dir=.*?\] Truncating to offset (\d+)")
_RESTARTED: Final = re.compile(r"\[(?:Unified)?Log partition=(\S+), dir=.*?\] Truncate and start at offset (\d+)")
_DAMAGED: Final = re.compile(
    r"\[LogLoader partition=(\S+), dir=.*?\] Corruption found in segment \d+.*?, truncating to offset (\d+)"
)
_TRUNCATES: Final = re.compile(
    r"Truncating partition (\S+) with TruncationState\(offset=\d+, (?:truncationC|c)ompleted=\w+\) due to"
    r" (local high watermark|leader epoch)"
)
_CREATED: Final = re.compile(r"Created log for partition (\S+) in ")
_LOADED: Final = re.compile(
    r"Completed load of Log\(dir=(?:.*/)?([^/,]+), topicId=(?:Some\()?(\S+?)\)?, topic=\S+, partition=\d+,.*?"
    r"logStartOffset=(\d+), logEndOffset=(\d+)\)"
)
_REMOVED: Final = re.compile(r"Log for partition (\S+) is renamed to .*-(delete|stray) and is scheduled for deletion")
_SKIPS_RECOVERY: Final = re.compile(r"Skipping recovery (?:of|for)")
_TOPIC_ID: Final = re.compile(
    r"\[Broker id=\d+\] (?:Creating new|Expected) partition (\S+) with topic id (\S+?)(?:\.$| to exist, but it)"
)
"""The second: of a replica of a topic that the broker knew already."""
_LEADER: Final = re.compile(
    r"\[Broker id=\d+\] Leader (\S+) with topic id (?:Some\()?(\S+?)\)? starts at leader epoch (\d+) from offset (\d+)"
    r" with partition epoch (\d+), high watermark (\d+), ISR \[([\d,]*)\]"
)
_FOLLOWER: Final = re.compile(
    r"\[Broker id=\d+\] Follower (\S+) starts at leader epoch (\d+) from offset (\d+) with partition epoch (\d+) and"
    r" high watermark (\d+)\. Current leader is (-?\d+)\."
)
_STAYS_LEADER: Final = re.compile(
    r"\[Broker id=\d+\] Skipped the become-leader state change for (\S+) with topic id \S+(?: and|,) partition"
    r" (?:state|registration) .*?\bisr=\[([\d, ]*)\].*?\bpartitionEpoch=(\d+)"
)
_BEGINS_ROLES: Final = re.compile(r"\[Broker id=\d+\] Transitioning \d+ partition\(s\) to local ")
_REGISTERED: Final = re.compile(r"Successfully registered broker \d+ with broker epoch (\d+)")


class Found(NamedTuple):
    """An event, when it happened (CLOCK_MONOTONIC), and the node's wall clock then, in ns."""

    ns: int
    wall_ns: int
    event: NodeEvent


class Known(NamedTuple):
    """By ``ns`` the broker knew the committed state of ``partition_epoch``. ``partition`` None: that it is registered
    under that broker epoch."""

    ns: int
    partition: str | None
    topic_id: str
    epoch: int


class _Move(NamedTuple):
    line: Line
    before: int
    after: int


_OF_BEFORE: Final = "leader of before"
"""The role of a broker that leads by a decision on the process before."""


@dataclass(slots=True)
class _Replica:
    topic_id: str = ""
    role: str = ""
    leader_epoch: int = -1
    partition_epoch: int = -1
    end: int = 0
    high_watermark: int = 0
    is_to_high_watermark: bool = False
    open: IsrProposed | None = None
    waiting: list[_Move] = field(default_factory=list)
    led: Found | None = None


class BrokerLines:
    """Reads the lines of one incarnation of a broker.

    ``decided_at``: the metadata offset of a partition's committed state, by the ids of partition and topic and its
    partition epoch; None: it has not been seen yet.
    ``lost``: why some of its lines could not be understood; None: all could. ``known`` has what the broker knew by
    when; the caller takes it away.
    """

    def __init__(self, broker: int, decided_at: Callable[[str, str, int], int | None]) -> None:
        self.lost: str | None = None
        self.known: list[Known] = []
        self._broker = broker
        self._decided_at = decided_at
        self._registered_at: int | None = None
        self._replicas: dict[str, _Replica] = {}
        self._topic_ids: dict[str, str] = {}
        self._role_begins: dict[str, int] = {}
        """By thread: when it began to give partitions roles; a role is in force before its line."""
        self._is_clean = False
        self._starts = log_start_lines.LogStartLines()

    def events_of(self, line: Line) -> Iterator[Found]:
        """The events that follow once this line has come."""
        yield from _all(self._starts.over(line))
        for pattern, read in _READERS.get(line.logger, ()):
            if (match := pattern.search(line.text)) is not None:
                if not match.re.groups or match[1] != _QUORUM:
                    yield from read(self, line, match)
                return

    def _of(self, partition: str) -> _Replica:
        return self._replicas.setdefault(partition, _Replica(self._topic_ids.get(partition, "")))

    def _know(self, line: Line, partition: str, replica: _Replica, epoch: int) -> None:
        since = self._role_begins.get(line.thread, line.ns) if line.logger == _STATE_CHANGES else line.ns
        self.known.append(Known(since, partition, replica.topic_id, epoch))
        replica.partition_epoch = max(epoch, replica.partition_epoch)

    # --- the log ---

    def _recovery_skipped(self, _line: Line, _match: re.Match[str]) -> Iterator[Found]:
        self._is_clean = True
        yield from ()

    def _log_created(self, line: Line, match: re.Match[str]) -> Iterator[Found]:
        yield from self._begin(line, match[1], self._topic_ids.get(match[1], ""), 0, 0, "created")

    def _log_loaded(self, line: Line, match: re.Match[str]) -> Iterator[Found]:
        name, topic_id = match[1], _uuid(match[2])
        if "." in name and name.rpartition("-")[2] in ("delete", "stray", "future"):
            return  # a log that was taken away, or is not yet there
        self._topic_ids[name] = topic_id
        reason = "clean" if self._is_clean else "recovered"
        yield from self._begin(line, name, topic_id, int(match[3]), int(match[4]), reason)

    def _begin(self, line: Line, partition: str, topic_id: str, start: int, end: int, reason: str) -> Iterator[Found]:
        self._replicas[partition] = _Replica(topic_id, end=end)
        self._starts.begin(partition, topic_id, start)
        yield _at(line, LogLoaded(partition=partition, topic_id=topic_id, offset=start, end_offset=end, reason=reason))

    def _log_damaged(self, line: Line, match: re.Match[str]) -> Iterator[Found]:
        yield _at(line, LogCut(partition=match[1], offset=-1, end_offset=int(match[2]), reason="bad-crc"))

    def _log_removed(self, line: Line, match: re.Match[str]) -> Iterator[Found]:
        partition, topic_id = match[1], self._topic_ids.get(match[1], "")
        yield from _all(self._starts.settle(partition))
        yield from self._give_up(partition)
        self._replicas.pop(partition, None)
        reason = "deleted" if match[2] == "delete" else "stray"
        yield _at(line, LogRemoved(partition=partition, topic_id=topic_id, reason=reason))

    def _appended(self, line: Line, match: re.Match[str]) -> Iterator[Found]:
        partition, first, end = match[1], int(match[2]), int(match[3])
        replica = self._of(partition)
        if not replica.role:
            self.lost = self.lost or f"{partition} was appended to, and no line says as leader or follower"
            return
        replica.end = end
        if replica.role == _OF_BEFORE and replica.led is not None:
            replica.role = "leader"
            yield replica.led
        yield _at(
            line,
            LogAppended(
                partition=partition,
                leader_epoch=replica.leader_epoch,
                offset=first,
                end_offset=end,
                reason=replica.role,
            ),
        )
        yield from self._settle(partition, replica)

    def _truncates(self, _line: Line, match: re.Match[str]) -> Iterator[Found]:
        self._of(match[1]).is_to_high_watermark = match[2] == "local high watermark"
        yield from ()

    def _truncated(self, line: Line, match: re.Match[str]) -> Iterator[Found]:
        reason = "high-watermark" if self._of(match[1]).is_to_high_watermark else "diverging-epoch"
        return self._cut(line, match[1], int(match[2]), reason)

    def _restarted(self, line: Line, match: re.Match[str]) -> Iterator[Found]:
        return self._cut(line, match[1], int(match[2]), "restart-at")

    def _cut(self, line: Line, partition: str, to: int, reason: str) -> Iterator[Found]:
        replica = self._of(partition)
        before, replica.end = replica.end, to
        yield from _all(self._starts.settle(partition))
        self._starts.cut(partition, to, is_emptied=reason == "restart-at")
        yield _at(
            line,
            LogTruncated(
                partition=partition, leader_epoch=replica.leader_epoch, offset=to, end_offset=before, reason=reason
            ),
        )

    def _start_moved(self, line: Line, match: re.Match[str]) -> Iterator[Found]:
        return _all(self._starts.incremented(line, match))

    def _segment_deleted(self, line: Line, match: re.Match[str]) -> Iterator[Found]:
        return _all(self._starts.deleted(line, match))

    # --- roles ---

    def _roles_begin(self, line: Line, _match: re.Match[str]) -> Iterator[Found]:
        self._role_begins[line.thread] = line.ns
        yield from ()

    def _topic_id_told(self, _line: Line, match: re.Match[str]) -> Iterator[Found]:
        self._topic_ids[match[1]] = _uuid(match[2])
        yield from ()

    def _led(self, line: Line, match: re.Match[str]) -> Iterator[Found]:
        partition, topic_id = match[1], _uuid(match[2])
        epoch, end, partition_epoch, high_watermark = (int(match[number]) for number in (3, 4, 5, 6))
        self._topic_ids[partition] = topic_id
        yield from self._take_role(line, partition, "leader", (epoch, partition_epoch, end, high_watermark))
        led = _at(
            line,
            BecameLeader(
                partition=partition,
                topic_id=topic_id,
                leader_epoch=epoch,
                partition_epoch=partition_epoch,
                offset=high_watermark,
                end_offset=end,
                isr=_numbers(match[7]),
                replicas=[],
            ),
        )
        if self._is_of_before(partition, topic_id, partition_epoch):
            replica = self._of(partition)
            replica.role, replica.led = _OF_BEFORE, led
        else:
            yield led

    def _is_of_before(self, partition: str, topic_id: str, partition_epoch: int) -> bool:
        """Whether a state was decided before this process was registered. (A broker epoch is the metadata offset of its
        registration.)"""
        if self._registered_at is None:
            return True
        decided_at = self._decided_at(partition, topic_id, partition_epoch)
        return decided_at is not None and decided_at < self._registered_at

    def _followed(self, line: Line, match: re.Match[str]) -> Iterator[Found]:
        partition = match[1]
        epoch, end, partition_epoch, high_watermark, leader = (int(match[number]) for number in (2, 3, 4, 5, 6))
        yield from self._take_role(line, partition, "follower", (epoch, partition_epoch, end, high_watermark))
        yield _at(
            line,
            BecameFollower(
                partition=partition,
                topic_id=self._of(partition).topic_id,
                leader=leader,
                leader_epoch=epoch,
                offset=high_watermark,
                end_offset=end,
            ),
        )

    def _take_role(self, line: Line, partition: str, role: str, state: tuple[int, int, int, int]) -> Iterator[Found]:
        yield from self._give_up(partition)
        replica = self._of(partition)
        replica.topic_id = self._topic_ids.get(partition, "")
        replica.role, replica.is_to_high_watermark, replica.open = role, False, None
        replica.leader_epoch, partition_epoch, replica.end, replica.high_watermark = state
        replica.partition_epoch = -1
        self._know(line, partition, replica, partition_epoch)

    def _stays_leader(self, line: Line, match: re.Match[str]) -> Iterator[Found]:
        replica, epoch = self._of(match[1]), int(match[3])
        is_new = epoch > replica.partition_epoch
        self._know(line, match[1], replica, epoch)
        if is_new and replica.role == "leader":
            yield from self._new_isr(line, match[1], replica, _numbers(match[2]))

    # --- leading ---

    def _new_isr(self, line: Line, partition: str, replica: _Replica, isr: list[int]) -> Iterator[Found]:
        if replica.open is not None:
            replica.open = None
            yield self._proposal_ended(line, partition, replica.partition_epoch, isr, "superseded")
            return
        epochs = {"leader_epoch": replica.leader_epoch, "partition_epoch": replica.partition_epoch}
        yield _at(line, IsrTaken(partition=partition, isr=isr, **epochs))

    def _high_watermark_moved(self, line: Line, match: re.Match[str]) -> Iterator[Found]:
        replica = self._of(match[1])
        if replica.role == _OF_BEFORE or match[2] == match[3]:  # only to a newer segment
            return
        replica.waiting.append(_Move(line, int(match[2]), int(match[3])))
        yield from self._settle(match[1], replica)

    def _settle(self, partition: str, replica: _Replica) -> Iterator[Found]:
        """Report moves of the high watermark that join up and that the log reaches."""
        while replica.waiting:
            number = next(
                (
                    number
                    for number, move in enumerate(replica.waiting)
                    if move.before == replica.high_watermark and move.after <= replica.end
                ),
                None,
            )
            if number is None:
                break
            yield self._moved(partition, replica, replica.waiting.pop(number))
        if len(replica.waiting) > _MOST_WAITING:
            yield from self._give_up(partition)

    def _give_up(self, partition: str) -> Iterator[Found]:
        """Report what waits as it came."""
        replica = self._of(partition)
        waiting, replica.waiting = replica.waiting, []
        for move in waiting:
            yield self._moved(partition, replica, move)

    def _moved(self, partition: str, replica: _Replica, move: _Move) -> Found:
        replica.high_watermark = move.after
        return _at(
            move.line,
            HighWatermarkAdvanced(partition=partition, leader_epoch=replica.leader_epoch, offset=move.after),
        )

    def _proposed(self, line: Line, match: re.Match[str]) -> Iterator[Found]:
        partition, leader_epoch, partition_epoch = match[1], int(match[3]), int(match[6])
        members = [(int(broker), int(epoch)) for broker, epoch in _BROKER_STATE.findall(match[5] or "")]
        members = members or [(broker, -1) for broker in _numbers(match[4] or "")]
        replica = self._of(partition)
        proposed = IsrProposed(
            partition=partition,
            leader_epoch=leader_epoch,
            partition_epoch=partition_epoch,
            isr=[broker for broker, _ in members],
            isr_epochs=[epoch for _, epoch in members],
            reason=match[2].lower(),
        )
        if replica.open != proposed:  # else it is sent again, since the controller could not judge it
            replica.open = proposed
            yield _at(line, proposed)

    def _proposal_rejected(self, line: Line, match: re.Match[str]) -> Iterator[Found]:
        replica = self._of(match[1])
        replica.open = None
        yield self._proposal_ended(line, match[1], replica.partition_epoch, _numbers(match[3]), match[2])

    def _isr_updated(self, line: Line, match: re.Match[str]) -> Iterator[Found]:
        replica, epoch = self._of(match[1]), int(match[3])
        self._know(line, match[1], replica, epoch)
        replica.open = None
        yield self._proposal_ended(line, match[1], epoch, _numbers(match[2]), "committed")

    def _proposal_ended(self, line: Line, partition: str, epoch: int, isr: list[int], reason: str) -> Found:
        leader_epoch = self._of(partition).leader_epoch
        ended = IsrProposalEnded(
            partition=partition, leader_epoch=leader_epoch, partition_epoch=epoch, isr=isr, reason=reason
        )
        return _at(line, ended)

    def _registered(self, line: Line, match: re.Match[str]) -> Iterator[Found]:
        self._registered_at = int(match[1])
        self.known.append(Known(line.ns, None, "", self._registered_at))
        yield from ()

    def close(self) -> Iterator[Found]:
        """What still waits when the process has gone."""
        yield from _all(self._starts.close())
        for partition in list(self._replicas):
            yield from self._give_up(partition)


_Reads = Callable[[BrokerLines, Line, re.Match[str]], Iterator[Found]]
_STATE_CHANGES: Final = "state.change.logger"
_OF_LOG: Final[tuple[tuple[re.Pattern[str], _Reads], ...]] = (
    (_APPENDED, BrokerLines._appended),
    (_TRUNCATED, BrokerLines._truncated),
    (_RESTARTED, BrokerLines._restarted),
    (_DAMAGED, BrokerLines._log_damaged),
    (log_start_lines.INCREMENTED, BrokerLines._start_moved),
    (log_start_lines.DELETED, BrokerLines._segment_deleted),
)
_OF_LOGS: Final[tuple[tuple[re.Pattern[str], _Reads], ...]] = (
    (_CREATED, BrokerLines._log_created),
    (_LOADED, BrokerLines._log_loaded),
    (_REMOVED, BrokerLines._log_removed),
    (_SKIPS_RECOVERY, BrokerLines._recovery_skipped),
)
_READERS: Final[dict[str, tuple[tuple[re.Pattern[str], _Reads], ...]]] = {
    "kafka.cluster.Partition": (
        (_HIGH_WATERMARK, BrokerLines._high_watermark_moved),
        (_PROPOSED, BrokerLines._proposed),
        (_ISR, BrokerLines._isr_updated),
        (_REJECTED, BrokerLines._proposal_rejected),
    ),
    **dict.fromkeys(("kafka.log.UnifiedLog", "org.apache.kafka.storage.internals.log.UnifiedLog"), _OF_LOG),
    **dict.fromkeys(("kafka.log.LogLoader", "org.apache.kafka.storage.internals.log.LogLoader"), _OF_LOG),
    **dict.fromkeys(("kafka.log.LogManager", "org.apache.kafka.storage.internals.log.LogManager"), _OF_LOGS),
    "kafka.server.ReplicaFetcherThread": ((_TRUNCATES, BrokerLines._truncates),),
    _STATE_CHANGES: (
        (_LEADER, BrokerLines._led),
        (_FOLLOWER, BrokerLines._followed),
        (_STAYS_LEADER, BrokerLines._stays_leader),
        (_TOPIC_ID, BrokerLines._topic_id_told),
        (_BEGINS_ROLES, BrokerLines._roles_begin),
    ),
    **dict.fromkeys(
        ("kafka.server.BrokerLifecycleManager", "org.apache.kafka.server.BrokerLifecycleManager"),
        ((_REGISTERED, BrokerLines._registered),),
    ),
}
"""By the name of a logger: what its lines may say, the most frequent first."""


def _all(moves: Iterator[log_start_lines.Moved]) -> Iterator[Found]:
    return (_at(*move) for move in moves)


def _at(line: Line, event: NodeEvent) -> Found:
    return Found(line.ns, line.wall * 1_000_000, event)


def _numbers(text: str) -> list[int]:
    return [int(one) for one in re.findall(r"\d+", text)]


def _uuid(text: str) -> str:
    """Kafka's ids are in base 64, those of events in hexadecimal digits."""
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4)).hex()
    except (ValueError, Base64Error):
        return ""
