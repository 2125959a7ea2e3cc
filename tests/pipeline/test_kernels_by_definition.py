"""The vectorised kernels find exactly what the definitions, spelt out naively, find: on random histories and events."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_pipeline.anomalies import CLIENT_CHECKS
from highwater_pipeline.in_process import check_run
from highwater_pipeline.tables.micro_operations import micro_operations
from highwater_pipeline.tables.rows import MicroOp, NodeEventRow, Operation, ReplicaRecord

EXAMPLES = settings(max_examples=150)
P0 = "orders-0"
small = st.integers(0, 5)


def _judged(tables: Any) -> dict[str, int]:
    return {name: report.count for name, report in check_run(tables).anomalies.items()}


# --- clients --------------------------------------------------------------------------------------------------------


@st.composite
def micro_ops(draw: Any, kind: str) -> MicroOp:
    op = draw(st.sampled_from(["send", "poll"])) if kind == "txn" else kind
    offset = draw(small) if op == "poll" else draw(st.none() | small)
    altered = draw(st.sampled_from([None, None, "headers ()", "no value"])) if op == "poll" else None
    return MicroOp(op, draw(st.sampled_from([P0, "orders-1"])), offset, draw(st.integers(1, 6)), altered=altered)


positions = st.builds(
    lambda key, offset: MicroOp("assign", key, offset), st.sampled_from([P0, "orders-1"]), st.none() | small
)
assignments = st.lists(positions, max_size=2, unique_by=lambda one: one.key)


@st.composite
def histories(draw: Any) -> list[Operation]:
    """What four clients did. A process whose operation has no known outcome never acts again: another takes over."""
    rows: list[Operation] = []
    process_of = {client: client for client in range(4)}
    names = draw(st.sampled_from([["a", "a", "b", "c"], ["a", "b", "c", "d"], [None] * 4]))
    for _ in range(draw(st.integers(0, 14))):
        f = draw(st.sampled_from(["send", "send", "poll", "poll", "poll", "txn", "assign", "subscribe"]))
        client = draw(st.integers(0, 3))
        value = draw(assignments) if f in ("assign", "subscribe") else draw(st.lists(micro_ops(f), max_size=3))
        if f in ("poll", "txn") and draw(st.integers(0, 3)) == 0:
            value = [MicroOp("assign", draw(st.sampled_from([P0, "orders-1"]))), *value]
        kinds = draw(st.sampled_from([["invoke", "ok"], ["invoke", "fail"], ["invoke", "info"], ["invoke"]]))
        for kind in kinds:
            said = [] if kind in ("fail", "info") and draw(st.booleans()) else value
            rows.append(Operation(len(rows), len(rows), process_of[client], kind, f, said, names[client]))
        if kinds[-1] not in ("ok", "fail"):
            process_of[client] += 4
    # Operations of different processes overlap: shuffle, keeping each process's own order.
    order = draw(st.permutations(range(len(rows))))
    queues: dict[int, list[Operation]] = {}
    for row in rows:
        queues.setdefault(row.process, []).append(row)
    mixed = [queues[rows[position].process].pop(0) for position in order]
    for index, row in enumerate(mixed):
        row.index = row.time = index
    return mixed


@EXAMPLES
@given(histories())
def test_client_checks(naive: Any, new_story: Any, operations: list[Operation]) -> None:
    story = new_story()
    story.operations = operations
    found = {name: count for name, count in _judged(story.tables()).items() if name in CLIENT_CHECKS}
    assert found == naive.client(operations)
    # Without idempotence pipelined sends may change places; the attempts are not known, so retries may have doubled.
    found = _judged(story.under(idempotence=False).tables())
    expected = naive.client(operations, idempotent=False)
    assert found.pop("duplicate", 0) <= expected.pop("duplicate", 0)
    assert found == expected


@EXAMPLES
@given(histories(), st.sampled_from(["all", "1", None]), st.booleans(), st.sampled_from([(), None]))
def test_what_was_not_promised_is_no_anomaly_and_no_pass(
    new_story: Any, operations: list[Operation], acks: Any, known: bool, deleting: Any
) -> None:
    """With fewer promises known there are no more anomalies, and a pass only where every promise is kept."""
    story = new_story()
    story.operations = operations
    strict = check_run(story.tables())
    story.under(acks=acks, idempotence=True if known else None, retention=deleting, compaction=deleting)
    run_verdict = check_run(story.tables())
    for name, report in run_verdict.anomalies.items():
        assert report.count <= strict.anomalies[name].count
    if strict.verdict != "fail":
        assert run_verdict.verdict == strict.verdict
    elif run_verdict.verdict != "fail":
        assert run_verdict.verdict == "inconclusive"
        assert {name for name, state in run_verdict.checks.items() if state == "unknown"} >= set(strict.anomalies)


@EXAMPLES
@given(histories())
def test_micro_operations_come_in_order_of_completion(new_story: Any, operations: list[Operation]) -> None:
    story = new_story()
    story.operations = operations
    history = micro_operations(story.tables().operations)
    rows = history.micro_operations["row"].to_pylist()
    assert rows == sorted(rows)
    assert history.operations == len({*range(len(operations))} - _paired_invocations(operations))


def _paired_invocations(operations: list[Operation]) -> set[int]:
    paired, last = set(), {}
    for row, operation in enumerate(operations):
        before = last.get(operation.process)
        if operation.type != "invoke" and before is not None and operations[before].type == "invoke":
            paired.add(before)
        last[operation.process] = row
    return paired


# --- nodes ----------------------------------------------------------------------------------------------------------


@st.composite
def node_events(draw: Any) -> list[NodeEventRow]:
    """Events of three brokers and two controllers (or ZooKeeper servers), in any order that one might fear."""
    quorum = draw(st.sampled_from(["controller", "zookeeper"]))
    events: list[NodeEventRow] = []
    lives = {0: 1, 1: 1, 2: 1}
    time = 0
    for seq in range(draw(st.integers(0, 25))):
        kind = draw(
            st.sampled_from(
                ["log-appended", "log-truncated", "high-watermark", "batch-committed", "became-leader"]
                + ["partition-changed", "broker-registered", "node-started"] * 2
            )
        )
        broker = draw(st.integers(0, 2))
        node = f"broker-{broker}"
        fields: dict[str, Any] = {"partition": P0, "leader_epoch": draw(st.integers(0, 3))}
        match kind:
            case "log-appended":
                fields |= {
                    "offset": 0,
                    "end_offset": draw(small),
                    "reason": draw(st.sampled_from(["leader", "follower"])),
                }
            case "log-truncated":
                fields |= {"offset": draw(small), "end_offset": 9, "reason": "diverging-epoch"}
            case "high-watermark":
                fields |= {"offset": draw(small)}
            case "batch-committed":
                start = draw(small)
                end = start + draw(st.integers(1, 2))
                fields |= {"offset": start, "end_offset": end, "epoch": draw(st.integers(0, 1)), "crc": draw(small)}
            case "became-leader":
                fields |= {"topic_id": "0", "partition_epoch": 0, "offset": 0, "end_offset": draw(small)}
                fields |= {"isr": [broker], "replicas": [0, 1, 2]}
            case "partition-changed":
                node = f"{quorum}-{draw(st.integers(0, 1))}"
                offset = draw(st.integers(0, 8))
                # A metadata offset means one state: controllers that report it say the same.
                members = [b for b in range(3) if (offset * 7 + 3) >> b & 1]
                fields |= {"topic_id": "0", "replicas": [0, 1, 2], "isr": members, "leader": -1, "partition_epoch": 0}
                fields |= {"metadata_offset": offset, "reason": "changed"}
            case "broker-registered":
                node = f"{quorum}-{draw(st.integers(0, 1))}"
                offset = 100 + draw(st.integers(0, 8))
                fields = {"broker": offset % 3, "broker_epoch": offset, "metadata_offset": offset, "reason": "0"}
            case _:
                lives[broker] += 1
                fields = {}
        time += draw(st.integers(0, 1))
        life = lives[broker] if node.startswith("broker") else 1
        events.append(
            NodeEventRow(
                seq=seq, time_ns=time, node_time_ns=time, node=node, incarnation=life, kind=kind, **fields
            )
        )  # fmt: skip
    return events


@st.composite
def dumps(draw: Any) -> list[ReplicaRecord]:
    return [
        ReplicaRecord(
            broker=broker, partition=P0, topic_id="0", offset=offset, leader_epoch=draw(st.integers(0, 1)),
            producer_id=-1, sequence=-1, value=draw(st.none() | small), crc=draw(st.integers(0, 2)),
        )
        for broker in range(3)
        for offset in range(draw(st.integers(0, 2)), draw(small))
        if draw(st.sampled_from([True] * 5 + [False]))
    ]  # fmt: skip


@EXAMPLES
@given(node_events())
def test_event_checks(naive: Any, new_story: Any, events: list[NodeEventRow]) -> None:
    story = new_story()
    story.events = events
    found = _judged(story.tables())
    for name, definition in (
        ("hw-regression", naive.hw_regression),
        ("two-leaders", naive.two_leaders),
        ("isr-incomplete", naive.isr_incomplete),
    ):
        assert found.get(name, 0) == definition(events), name


@EXAMPLES
@given(node_events(), dumps())
def test_committed_loss(naive: Any, new_story: Any, events: list[NodeEventRow], records: list[ReplicaRecord]) -> None:
    # One leader an epoch, whose batches do not overlap: else it is two-leaders that speaks.
    kept, taken = [], set()
    for event in events:
        if event.kind == "batch-committed":
            places = {(event.leader_epoch, offset) for offset in range(event.offset, event.end_offset)}
            if places & taken:
                continue
            taken |= places
        kept.append(event)
    story = new_story()
    story.events, story.dumps = kept, records
    assert _judged(story.tables()).get("committed-loss", 0) == naive.committed_loss(kept, records)


@EXAMPLES
@given(dumps(), st.lists(st.integers(0, 2), unique=True), small, small)
def test_divergence(
    naive: Any, new_story: Any, records: list[ReplicaRecord], isr: list[int], hw: int, own: int
) -> None:
    """Members of the ISR are judged below the HW, broker 2 (if outside) below its own, others at equal epochs only."""
    story = new_story()
    story.state(isr, offset=1, topic_id="0").moves_hw(9, hw).event(
        "broker-2", "became-follower", partition=P0, topic_id="0", leader=9, leader_epoch=0, offset=own, end_offset=own
    )
    story.dumps = records
    watermark = {2: own} | dict.fromkeys(isr, hw)
    assert _judged(story.tables()).get("divergence", 0) == naive.divergence(records, watermark, isr)
