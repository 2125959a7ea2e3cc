"""Mutants of fetch sessions, groups' offsets, compaction and throttles."""

from __future__ import annotations

from typing import Final

from highwater_lab.mutants.mutant import Mutant

_SESSIONS: Final = "broker.fetch_sessions"
_COORDINATOR: Final = "broker.groups.coordinator:GroupCoordinator"
_OFFSETS: Final = "broker.groups"
_COMPACTION: Final = "log.compaction"

FETCH_SESSIONS: Final = (
    Mutant(
        "session-epoch-not-compared",
        f"{_SESSIONS}:FetchSessions.begin",
        "if session.epoch != body.session_epoch:",
        "if False:",
        "a fetch of a former epoch of its session is refused (KIP-227)",
    ),
    Mutant(
        "session-ignores-appends",
        f"{_SESSIONS}:FetchSessions.note",
        "if asked.session is not None and asked.session.privileged:",
        "if False:",
        "an append marks the partition as changed in followers' sessions",
    ),
    Mutant(
        "session-keeps-forgotten-partitions",
        f"{_SESSIONS}:FetchSessions._continue",
        "forgotten = session.partitions.pop((name, topic_id, index), None)",
        "forgotten = None",
        "a partition that a fetch forgets leaves the session",
    ),
    Mutant(
        "session-hw-is-no-news",
        "broker.fetch_session:AskedPartition.is_news",
        "news = news or data.high_watermark != self.high_watermark or ",
        "news = news or ",
        "a new HW is sent to a session even without records",
    ),
    Mutant(
        "session-survives-lost-response",
        "wire.fetch_session:ClientFetchSession.failed",
        "self._epoch = FIRST_EPOCH",
        "pass",
        "a client whose fetch got no response begins a new session",
    ),
)

GROUPS: Final = (
    Mutant(
        "group-commit-answered-at-append",
        f"{_OFFSETS}.offsets_log:OffsetsLog.append",
        "self._replicas.produces.park(waiting, [partition.name], self._timeout_ns)",
        "on_written(Written(ErrorCode.NONE, appended.first_offset))",
        "a commit of offsets is acknowledged when its record is committed",
    ),
    Mutant(
        "group-commit-of-former-generation",
        f"{_OFFSETS}.offsets_api:OffsetsApi._group_to_commit",
        "if generation != found.generation:",
        "if False:",
        "a commit of a former generation is refused",
    ),
    Mutant(
        "group-keeps-first-commit",
        f"{_OFFSETS}.offsets:GroupOffsets.store",
        "if before is None or before.record_offset < record_offset:",
        "if before is None:",
        "the later of two commits for a partition is kept",
    ),
    Mutant(
        "coordinator-of-former-epoch",
        f"{_COORDINATOR}._follow",
        " and shard.leader_epoch == partition.leader_epoch",
        "",
        "a coordinator that leads again, in a new leader epoch, loads its groups again",
    ),
)

COMPACTION: Final = (
    Mutant(
        "compaction-drops-last-record",
        f"{_COMPACTION}:kept_records",
        "replaced = last is not None and record.offset < last",
        "replaced = last is not None and record.offset <= last",
        "compaction drops only records that a later record replaces",
    ),
)

THROTTLES: Final = (
    Mutant(
        "throttle-survives-its-removal",
        "broker.replication_quota:ReplicationQuota.throttle",
        "self._throttled.pop(topic, None)",
        "pass",
        "a removed throttle ends",
    ),
    Mutant(
        "throttle-holds-back-in-sync-replicas",
        "broker.apis.fetch:DelayedFetch._holds_back",
        "and follower not in partition.isr.committed",
        "and True",
        "a leader's throttle slows no member of the ISR (KIP-73)",
    ),
)

SERVICES: Final = (*FETCH_SESSIONS, *GROUPS, *COMPACTION, *THROTTLES)
