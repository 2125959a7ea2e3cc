"""The tables of a run, field by field, as Arrow schemas: what JSON Lines and Parquet files hold and what checks read.

All times are nanoseconds of run time (the harness's clock) unless a field says otherwise. ``run_id`` names the run; in
a run directory it may be left out: ``run.json`` has it, or else the directory's name stands for it. The order
of rows is the order in which things happened: a table's rows are named by their position in it, counted from 0,
wherever an anomaly says which rows prove it.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from highwater_pipeline.arrow import without_pandas  # noqa: F401 - before the first array


def _field(name: str, kind: pa.DataType, doc: str, *, nullable: bool = False) -> pa.Field:
    return pa.field(name, kind, nullable=nullable, metadata={"doc": doc})


RUN_ID: Final = _field("run_id", pa.string(), "the run's key; null: as run.json says", nullable=True)

ALTERED: Final = (
    "of a record that was read: what is not as it was sent, in words; of lookup: what of the log contradicts it; null:"
    " nothing, or it is not known"
)

MICRO_OPERATION: Final = pa.struct(
    [
        _field(
            "op",
            pa.string(),
            "send, poll or assign; of groups: commit or committed; lookup (by time stamp); of registers: read or write",
        ),
        _field("key", pa.string(), "topic-partition (orders-0), of groups GROUP/orders-0, or a register"),
        _field(
            "offset",
            pa.int64(),
            "record offset; null: not known (an unacknowledged send). Of assign: where the consumer was put; null: it"
            " stays where it was. Of groups: the committed offset; null: none. Of lookup: the offset of the first"
            " record not earlier; null: there is none",
            nullable=True,
        ),
        _field(
            "value",
            pa.int64(),
            "the record's value, unique in a run; null for assign and of groups. Of lookup: the time stamp, ms. A"
            " register's value; null: never written",
            nullable=True,
        ),
        _field(
            "topic_id", pa.string(), "the topic's uuid, 32 hex digits; null: the client does not know", nullable=True
        ),
        _field("altered", pa.string(), ALTERED, nullable=True),
    ]
)

OPERATIONS: Final = pa.schema(
    [
        RUN_ID,
        _field("index", pa.int64(), "strictly increasing"),
        _field("time", pa.int64(), "ns of run time"),
        _field("process", pa.int64(), "a single-threaded process: at most one open operation; none after info"),
        _field("type", pa.string(), "invoke, then one of ok (took effect), fail (did not), info (not known)"),
        _field(
            "f",
            pa.string(),
            "send, poll, txn, assign, subscribe or crash; of groups: commit or committed; lookup; of registers: read,"
            " write or cas",
        ),
        _field(
            "value",
            pa.list_(pa.field("item", MICRO_OPERATION, nullable=False)),
            "its micro-operations; the sends of one operation take effect all or not at all. Of registers: [read],"
            " [write], and of a cas [read of the expected value, write of the new one], on one key, as one step",
        ),
        _field("client", pa.string(), "node name of the client (producer-0)", nullable=True),
        _field("error", pa.string(), "why it was not ok, in Kafka's words", nullable=True),
        _field("attempts", pa.int64(), "of a completed send: how often it was sent; null: not known", nullable=True),
    ],
    metadata={"doc": "operation history (Jepsen's model): one row per event of an operation"},
)

NODE_EVENT: Final = pa.schema(
    [
        RUN_ID,
        _field("seq", pa.int64(), "strictly increasing over all nodes: the order in which events happened"),
        _field("time_ns", pa.int64(), "run time"),
        _field("node_time_ns", pa.int64(), "the node's own clock"),
        _field("node", pa.string(), "the node that reports it (broker-0, controller-1)"),
        _field("incarnation", pa.int64(), "how often the node had been started, from 1"),
        _field("kind", pa.string(), "what happened: a tag of highwater_runtime.ports.trace"),
        _field("partition", pa.string(), "topic, dash, partition index", nullable=True),
        _field("topic_id", pa.string(), "the topic's uuid, 32 hex digits", nullable=True),
        _field("broker", pa.int64(), "the broker concerned; of a vote: the candidate", nullable=True),
        _field("broker_epoch", pa.int64(), "offset of that broker's registration record", nullable=True),
        _field("leader", pa.int64(), "leader's broker id; -1: none", nullable=True),
        _field("leader_epoch", pa.int64(), "leader epoch of the partition", nullable=True),
        _field("partition_epoch", pa.int64(), "epoch of the partition's registration", nullable=True),
        _field("replicas", pa.list_(pa.int64()), "assigned replicas, in order of preference", nullable=True),
        _field("isr", pa.list_(pa.int64()), "in-sync replicas", nullable=True),
        _field(
            "isr_epochs", pa.list_(pa.int64()), "broker epochs that the leader sent for isr; -1: unknown", nullable=True
        ),
        _field("registered_epochs", pa.list_(pa.int64()), "broker epochs in force for isr, same order", nullable=True),
        _field("offset", pa.int64(), "log offset (inclusive); see the kind", nullable=True),
        _field("end_offset", pa.int64(), "log offset (exclusive); see the kind", nullable=True),
        _field("epoch", pa.int64(), "leader epoch of a batch, or epoch of the metadata quorum", nullable=True),
        _field("crc", pa.int64(), "CRC-32C of a record batch", nullable=True),
        _field("producer_id", pa.int64(), "who produced a batch; -1: its producer is not idempotent", nullable=True),
        _field("producer_epoch", pa.int64(), "of that producer; -1: none", nullable=True),
        _field("metadata_offset", pa.int64(), "offset of the metadata record of this change", nullable=True),
        _field("min_isr", pa.int64(), "min.insync.replicas in force, at most the number of replicas", nullable=True),
        _field("retention_ms", pa.int64(), "setting in force for a log; -1: no limit", nullable=True),
        _field("retention_bytes", pa.int64(), "setting in force for a log; -1: no limit", nullable=True),
        _field("age_ms", pa.int64(), "age of the newest record that retention removed; -1: unknown", nullable=True),
        _field("size_left", pa.int64(), "bytes that retention left of a log", nullable=True),
        _field("reason", pa.string(), "short stable word; of a crash: the exception", nullable=True),
        _field("stack", pa.string(), "of a crash: where the exception was raised", nullable=True),
    ],
    metadata={"doc": "events that nodes reported: one wide table for all kinds of events"},
)

REPLICA_LOG: Final = pa.schema(
    [
        RUN_ID,
        _field("broker", pa.int64(), "whose replica"),
        _field("partition", pa.string(), "topic, dash, partition index"),
        _field("topic_id", pa.string(), "the topic's uuid, 32 hex digits"),
        _field("offset", pa.int64(), "record offset"),
        _field("leader_epoch", pa.int64(), "of the record's batch"),
        _field("producer_id", pa.int64(), "-1: not idempotent"),
        _field("sequence", pa.int64(), "the record's sequence number; -1: none"),
        _field("value", pa.int64(), "the record's value; null: not known (a compressed batch)", nullable=True),
        _field("crc", pa.int64(), "CRC-32C of the record's batch"),
        _field("producer_epoch", pa.int64(), "the producer's epoch; -1 or null: none", nullable=True),
        _field(
            "ended",
            pa.string(),
            "null: a record. Else a mark: end (offset: where the log ends), gap or corrupt (offset: the first that"
            " is not there)",
            nullable=True,
        ),
        _field("start_offset", pa.int64(), "of the mark `end`: the first offset that has bytes", nullable=True),
        _field("found", pa.string(), "of a mark: file, position, and what was found", nullable=True),
        _field("altered", pa.string(), ALTERED, nullable=True),
    ],
    metadata={"doc": "every record of every replica at the end of a run, and marks that say how reading it ended"},
)

FAULTS: Final = pa.schema(
    [
        RUN_ID,
        _field("id", pa.string(), "of this injection", nullable=True),
        _field("name", pa.string(), "its name in the schedule", nullable=True),
        _field("kind", pa.string(), "powerLoss, partition, hold …"),
        _field("targets", pa.list_(pa.string()), "nodes, as resolved when it began", nullable=True),
        _field("injected_ns", pa.int64(), "run time", nullable=True),
        _field("healed_ns", pa.int64(), "run time", nullable=True),
        _field("confirmed", pa.bool_(), "whether evidence shows that it took effect", nullable=True),
        _field("healed", pa.bool_(), "whether evidence shows that it is gone", nullable=True),
        _field(
            "drawn", pa.bool_(), "whether it was drawn at random: nothing in the schedule depends on it", nullable=True
        ),
        _field("idle", pa.bool_(), "whether it had no effect, because there was nothing to act upon", nullable=True),
        _field("detail", pa.string(), "the whole line as it was written (JSON), evidence included"),
    ],
    metadata={"doc": "faults that were injected, with evidence"},
)

ROW: Final = _field("row", pa.int64(), "position in the run's table of node events, or of the replica log, from 0")

HISTORY: Final = pa.schema(
    [
        _field("partition", pa.string(), "topic, dash, partition index; of groups: GROUP/orders-0"),
        _field("row", pa.int64(), "of the operation's last event, in the run's table of operations, from 0"),
        _field("invoke_row", pa.int64(), "of its invocation; -1: nothing completes it, and row is the invocation"),
        _field("invoke_time", pa.int64(), "ns of run time, when the operation began"),
        _field("end_time", pa.int64(), "ns of run time, of the last event; 2^63 - 1: nothing completes it"),
        _field("index", pa.int64(), "the last event's index"),
        _field("process", pa.int64(), "the process that did it"),
        _field("client", pa.string(), "node name of the client (producer-0)", nullable=True),
        _field("outcome", pa.int8(), "0: ok, 1: fail, 2: info (not known)"),
        _field("is_send", pa.bool_(), "whether it is a send"),
        _field("is_poll", pa.bool_(), "whether it is a poll; neither: an assignment"),
        _field("offset", pa.int64(), "record offset; -1: not known"),
        _field("value", pa.int64(), "the record's value, unique in a run; 0 for an assignment"),
        _field("topic_id", pa.string(), "the topic's uuid, 32 hex digits; null: not known", nullable=True),
        _field("attempts", pa.int64(), "of a send: how often its operation was sent; -1: not known"),
        _field("assignment", pa.int64(), "how often its process had been assigned or subscribed, itself included"),
        _field("subscribed", pa.bool_(), "whether the last of these was a subscription"),
        _field("must_commit", pa.bool_(), "a send that was acknowledged, or whose operation was seen"),
        _field("altered", pa.string(), ALTERED, nullable=True),
    ],
    metadata={"doc": "operations by record: one row for each record sent or read, and for each partition assigned"},
)

RUNS: Final = pa.schema(
    [
        _field("name", pa.string(), "of the experiment; null: not recorded by Highwater", nullable=True),
        _field("seed", pa.int64(), "the run's seed", nullable=True),
        _field("backend", pa.string(), "sim, local, kubernetes or attach", nullable=True),
        _field("switches", pa.map_(pa.string(), pa.string()), "those that were set, and to what"),
        _field("verdict", pa.string(), "pass, fail or inconclusive; null: not judged when stored", nullable=True),
        _field(
            "explanation",
            pa.string(),
            "what was lost, by which decision, in a sentence; null: not judged when stored",
            nullable=True,
        ),
        _field("reasons", pa.list_(pa.string()), "why the verdict is what it is"),
        _field("acknowledged", pa.int64(), "records that were acknowledged", nullable=True),
        _field("lost", pa.int64(), "acknowledged records that are gone; null: not known", nullable=True),
        _field("run_ns", pa.int64(), "how long it took, in run time", nullable=True),
        _field("wall_seconds", pa.float64(), "how long it took, in s of real time", nullable=True),
        _field("began_unix_ns", pa.int64(), "ns since 1970 when run time began; null: simulated", nullable=True),
    ],
    metadata={"doc": "the runs of a store: one row each"},
)

VERDICTS: Final = pa.schema(
    [
        _field("check", pa.string(), "the check's name"),
        _field("state", pa.string(), "ok, failed, not-available …"),
        _field("count", pa.int64(), "anomalies that it found"),
    ],
    metadata={"doc": "what each check came to when the run was judged"},
)

FINDINGS: Final = pa.schema(
    [
        _field("check", pa.string(), "the check that found it"),
        _field("number", pa.int64(), "of the check's examples, from 0: the first of all that it counts"),
        _field("partition", pa.string(), "topic, dash, partition index", nullable=True),
        _field("time_ns", pa.int64(), "run time", nullable=True),
        _field("story", pa.string(), "what happened, in a sentence"),
        _field("detail", pa.string(), "the whole example (JSON), with the rows that prove it"),
    ],
    metadata={"doc": "examples of what checks found"},
)

PHASES: Final = pa.schema(
    [
        _field("name", pa.string(), "steady, fault, recovered …"),
        _field("start_ns", pa.int64(), "run time"),
        _field("end_ns", pa.int64(), "run time, exclusive"),
    ],
    metadata={"doc": "the phases of a run"},
)

METRIC_SAMPLES: Final = pa.schema(
    [
        _field("time_ns", pa.int64(), "run time"),
        _field("node", pa.string(), "the node that it is of"),
        _field("incarnation", pa.int32(), "how often the node had been started, from 1"),
        _field("name", pa.string(), "the metric, as Prometheus names it"),
        _field("labels", pa.map_(pa.string(), pa.string()), "its labels"),
        _field("value", pa.float64(), "the sample, in the metric's own unit"),
    ],
    metadata={"doc": "what nodes measured, once a second"},
)


NOT_STORED: Final = ("run_id", "node_time_ns", "stack")
"""Columns that a store does not have: the run is in the path, and the others no check reads."""


def _stored(schema: pa.Schema, *added: pa.Field) -> pa.Schema:
    return pa.schema([*(field for field in schema if field.name not in NOT_STORED), *added], schema.metadata)


BY_PARTITION: Final = {
    "history": HISTORY,
    "events": _stored(NODE_EVENT, ROW),
    "replica_log": _stored(REPLICA_LOG, ROW),
}
"""The tables of a store of which each partition has a file: what checks read."""

WHOLE: Final = {
    "runs": RUNS,
    "verdicts": VERDICTS,
    "findings": FINDINGS,
    "faults": _stored(FAULTS),
    "phases": PHASES,
    "metric_samples": METRIC_SAMPLES,
}
"""The tables of a store of which each run has one file."""

VERSION: Final = 1
"""Of the tables of a store. A new column that may be null does not change it."""
