"""The definitions again, in plain Python: one record, one event at a time, as slow and as plain as they read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from highwater_pipeline.tables.rows import MicroOp, NodeEventRow, Operation, ReplicaRecord


@dataclass
class Done:
    """An operation with its outcome; ``began`` and ``ended`` are rows, equal where nothing completes it."""

    process: int
    client: str | None
    f: str
    outcome: str
    began: int
    ended: int
    value: list[MicroOp]


def completed(operations: list[Operation]) -> list[Done]:
    """Operations in the order in which they ended."""
    found = []
    open_at: dict[int, int] = {}
    for row, operation in enumerate(operations):
        if operation.type == "invoke":
            open_at[operation.process] = row
            continue
        began = open_at.pop(operation.process)
        value = operation.value or []
        if not value and operation.type != "ok":
            value = operations[began].value or []
        found.append(Done(operation.process, operation.client, operation.f, operation.type, began, row, value))
    for row in open_at.values():
        one = operations[row]
        found.append(Done(one.process, one.client, one.f, "info", row, row, one.value or []))
    return sorted(found, key=lambda done: done.ended)


def client(operations: list[Operation], *, idempotent: bool = True) -> dict[str, int]:
    """Counts of the client-visible anomalies, over all partitions, with ``acks=all``."""
    ops = completed(operations)
    read_anywhere = {(m.key, m.value) for op in ops if op.outcome == "ok" for m in op.value if m.op == "poll"}
    last_ack = max((op.ended for op in ops if op.outcome == "ok" for m in op.value if m.op == "send"), default=-1)
    drained = any(op.f == "poll" and op.outcome == "ok" and op.began > last_ack for op in ops)
    has_sends = any(m.op == "send" for op in ops for m in op.value)
    counts: dict[str, int] = defaultdict(int)
    for key in {m.key for op in ops for m in op.value}:
        at_offset: dict[int, set[int]] = defaultdict(set)
        written, acked, failed, maybe, read = set(), set(), set(), set(), set()
        began: dict[int, int] = {}
        first_read: dict[int, int] = {}
        for op in ops:
            seen = any(m.op == "send" and (m.key, m.value) in read_anywhere for m in op.value)
            own = {m.value for m in op.value if m.op == "send" and m.key == key}
            for m in op.value:
                if m.key != key or m.op == "assign":
                    continue
                must = m.op == "send" and (op.outcome == "ok" or (op.outcome == "info" and seen))
                if m.offset is not None and (m.op == "poll" or must):
                    at_offset[m.offset].add(m.value)
                if m.op == "poll" and op.outcome == "ok":
                    read.add(m.value)
                    first_read.setdefault(m.value, op.ended)
                    counts["precommitted-read"] += m.value in own
                if m.op == "send":
                    began[m.value] = min(op.began, began.get(m.value, op.began))
                    (failed if op.outcome == "fail" else maybe).add(m.value)
                    if must:
                        written.add(m.value)
                    if op.outcome == "ok":
                        acked.add(m.value)
        reads = [
            m for op in ops if op.outcome == "ok" for m in op.value if m.op == "poll" and m.key == key and m.altered
        ]
        counts["altered"] += len({(m.offset, m.value) for m in reads})
        rank = {offset: index for index, offset in enumerate(sorted(at_offset))}
        places: dict[int, list[int]] = defaultdict(list)
        for offset in sorted(at_offset):
            for value_there in at_offset[offset]:
                places[value_there].append(rank[offset])
        bound = max((min(places[value]) for value in read if value in places), default=-1)
        counts["inconsistent-offsets"] += sum(len(values) > 1 for values in at_offset.values())
        counts["duplicate"] += sum(len(indices) > 1 for indices in places.values())
        counts["lost-write"] += sum(v in places and max(places[v]) <= bound and v not in read for v in written)
        if has_sends:
            counts["never-sent"] += sum(at < began.get(value, len(operations)) for value, at in first_read.items())
        counts["aborted-read"] += sum(v in read and v not in maybe for v in failed)
        if drained:
            counts["unseen"] += len(acked - read)
        for name, count in [*polls(ops, key, rank).items(), *sends(ops, key, idempotent).items()]:
            counts[name] += count
    return {name: count for name, count in counts.items() if count}


def polls(ops: list[Done], key: str, rank: dict[int, int]) -> dict[str, int]:
    """Follows each consumer's position in one partition."""
    counts: dict[str, int] = defaultdict(int)
    position: dict[int, int] = {}  # by process: everything up to and with this offset is behind it
    subscribed: set[int] = set()
    for op in ops:
        if op.outcome != "ok":
            continue
        if op.f in ("assign", "subscribe"):
            (subscribed.add if op.f == "subscribe" else subscribed.discard)(op.process)
            listed = [m for m in op.value if m.key == key]
            if not listed:
                position.pop(op.process, None)
            for m in listed:
                if m.offset is not None:
                    position[op.process] = m.offset - 1
            continue
        inside = ""
        for m in op.value:
            if m.op != "poll" or m.key != key:
                continue
            before = position.get(op.process)
            moved = any(one.op == "assign" and one.key == key for one in op.value)
            if before is not None and (op.process not in subscribed or (inside and not moved)):
                counts[f"{inside}nonmonotonic-poll"] += m.offset <= before
                counts[f"{inside}poll-skip"] += any(before < offset < m.offset for offset in rank)
            position[op.process] = m.offset
            inside = "int-"
    return counts


def sends(ops: list[Done], key: str, idempotent: bool) -> dict[str, int]:
    """Compares each acknowledged send with the one before it, of the same producer in one partition."""
    counts: dict[str, int] = defaultdict(int)
    latest: dict[Any, tuple[int, Done]] = {}
    for op in sorted((op for op in ops if op.outcome == "ok"), key=lambda op: op.began):
        producer = op.client if idempotent and op.client is not None else op.process
        for m in op.value:
            if m.op != "send" or m.key != key or m.offset is None:
                continue
            if producer in latest:
                offset, other = latest[producer]
                counts["int-nonmonotonic-send" if other is op else "nonmonotonic-send"] += m.offset <= offset
            latest[producer] = m.offset, op
    return counts


def hw_regression(events: list[NodeEventRow]) -> int:
    moves = [event for event in events if event.kind == "high-watermark"]
    return sum(
        any(before.offset > now.offset and before.leader_epoch <= now.leader_epoch for before in moves[:position])
        for position, now in enumerate(moves)
    )


def two_leaders(events: list[NodeEventRow]) -> int:
    leaders: dict[Any, set[tuple[str, int]]] = defaultdict(set)
    zookeeper = any(event.kind == "partition-changed" and event.node.startswith("zookeeper-") for event in events)
    for event in events:
        if event.kind == "log-appended" and event.reason == "leader":
            leaders[event.leader_epoch].add((event.node, 0 if zookeeper else event.incarnation))
    return sum(len(nodes) > 1 for nodes in leaders.values())


def isr_incomplete(events: list[NodeEventRow]) -> int:
    """Replays one event after the other; looks at the state when a step is through."""
    hw, isr, seen_states, seen_registrations = 0, [], set(), set()
    incarnation: dict[int, int] = defaultdict(int)
    leo: dict[int, int] = {}
    registered: set[int] = set()
    instructed: set[int] = set()
    zookeeper = any(event.kind == "partition-changed" and event.node.startswith("zookeeper-") for event in events)
    lacking: set[int] = set()
    count = 0
    for position, event in enumerate(events):
        role, _, number = event.node.rpartition("-")
        if role == "broker":
            broker = int(number)
            if event.incarnation > incarnation[broker]:
                incarnation[broker] = event.incarnation
                leo.pop(broker, None)
                registered.discard(broker)
                instructed.discard(broker)
            if event.kind in ("became-leader", "became-follower"):
                instructed.add(broker)
            if event.kind in ("log-loaded", "log-appended", "log-cut"):
                leo[broker] = event.end_offset
            if event.kind == "log-truncated":
                leo[broker] = event.offset
        if event.kind == "high-watermark":
            hw = max(hw, event.offset)
        if event.kind == "partition-changed" and event.metadata_offset not in seen_states:
            seen_states.add(event.metadata_offset)
            isr = event.isr
        if event.kind == "broker-registered" and event.metadata_offset not in seen_registrations:
            seen_registrations.add(event.metadata_offset)
            registered.add(event.broker)
        following = events[position + 1] if position + 1 < len(events) else None
        if following is not None and (following.node, following.time_ns) == (event.node, event.time_ns):
            continue
        judged = registered & instructed if zookeeper else registered
        now_lacking = {b for b in isr if b in judged and b in leo and leo[b] < hw}
        count += len(now_lacking - lacking)
        lacking = now_lacking
    return count


def committed_loss(events: list[NodeEventRow], dumps: list[ReplicaRecord]) -> int:
    reports = [event for event in events if event.kind == "batch-committed"]
    leaders = [event for event in events if event.kind == "became-leader"]
    committed_in: dict[tuple[int, int, int, int], int] = {}
    for r in reports:
        batch = (r.offset, r.end_offset, r.epoch, r.crc)
        committed_in[batch] = min(committed_in.get(batch, r.leader_epoch), r.leader_epoch)
    last = max(enumerate(leaders), key=lambda one: (one[1].leader_epoch, one[0]), default=None)
    log: dict[int, tuple[int, int]] = {}
    if last is not None:
        broker = int(last[1].node.rpartition("-")[2])
        log = {record.offset: (record.leader_epoch, record.crc) for record in dumps if record.broker == broker}
    lost = 0
    for (offset, end, epoch, crc), since in committed_in.items():
        short = any(leader.leader_epoch > since and leader.end_offset < end for leader in leaders)
        replaced = any(
            r.leader_epoch > since
            and r.offset < end
            and r.end_offset > offset
            and (r.offset, r.end_offset, r.epoch, r.crc) != (offset, end, epoch, crc)
            for r in reports
        )
        gone = bool(log) and any(log.get(o) != (epoch, crc) for o in range(max(offset, min(log)), end))
        if short or replaced or gone:
            lost += end - offset
    return lost


def divergence(dumps: list[ReplicaRecord], watermark: dict[int, int], isr: Collection[int] = ()) -> int:
    logs: dict[int, dict[int, tuple[int, int, int | None]]] = defaultdict(dict)
    for r in dumps:
        logs[r.broker].setdefault(r.offset, (r.leader_epoch, r.crc, r.value))
    offsets = set()
    for one, two in combinations(logs, 2):
        held, other = logs[one], logs[two]
        shared = max((o for o in held if other.get(o) == held[o]), default=-1)
        for o in range(max(min(held), min(other)), min(max(held), max(other)) + 1):
            parts = held.get(o), other.get(o)
            if parts[0] == parts[1]:
                continue
            if None in parts:
                below = one in isr and two in isr and o < min(watermark.get(one, 0), watermark.get(two, 0))
                silent = False
            else:
                below = o < min(watermark.get(one, 0), watermark.get(two, 0))
                silent = parts[0][0] == parts[1][0]
            if below or silent or o < shared:
                offsets.add(o)
    return len(offsets)
