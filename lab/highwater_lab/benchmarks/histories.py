"""Synthetic runs of any size, written as a store in bounded memory, with anomalies planted at known places.

One partition is a sequence of batches. Ten records are sent by one of two producers in turn, the leader and two
followers append them, the batch passes the high watermark, and one poll reads the ten. A batch is eleven operations,
and twenty rows of ``history``, five of ``events`` and thirty of ``replica_log``. :data:`PLANTED` names what is wrong in
some batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from highwater_pipeline.arrow.arrays import is_in
from highwater_pipeline.partitions.partition_tables import RunFacts
from highwater_pipeline.partitions.store import Home, marks
from highwater_pipeline.partitions.stored_table import table_writer
from highwater_pipeline.tables.micro_operations import OK
from highwater_pipeline.tables.schemas import BY_PARTITION, WHOLE
from highwater_pipeline.tables.settings import Settings

BATCH = 10
OPERATIONS_PER_BATCH = BATCH + 1
REPLICAS = 3
PRODUCERS = 2
TOPIC_ID = "0" * 31 + "1"
AT_ONCE = 1 << 16
"""Batches that are in memory at once."""
ROW_GROUP = 1 << 17

PLANTED = ("lost", "duplicate", "reordered", "divergent", "consumer")
"""What is planted, each as often: a record that no poll reads; a value that stands at two offsets; two sends of one
producer that changed places; a record that is another one on one replica; a consumer that goes ahead and back again."""

EXPECTED = {
    "lost-write": {"lost": 1},
    "unseen": {"lost": 1},
    "poll-skip": {"lost": 1},
    "duplicate": {"duplicate": 1},
    "nonmonotonic-send": {"reordered": 1},
    "divergence": {"divergent": 1},
    "never-sent": {"divergent": 1, "consumer": 1},
    "nonmonotonic-poll": {"consumer": 1},
    "int-poll-skip": {"consumer": 2},
}
"""The anomalies that each planted thing makes, and how many of each."""

SETTINGS = Settings(acks="all", idempotence=True, retention=(), compaction=(), deletion=(), unclean=())

_FORMAT = {"version": 3, "schemas": 1, "checks": None}

Ints = npt.NDArray[np.int64]


def write_store(store: Path, operations: int, *, partitions: int = 8, planted: int = 5, run_id: str = "run") -> int:
    """Write a run of about ``operations`` operations, with each of :data:`PLANTED` that often in each partition.

    Returns the number of operations.
    """
    batches = operations // OPERATIONS_PER_BATCH // partitions
    assert batches >= 3 * len(PLANTED) * planted + 3, "too few operations for so many anomalies"
    home = Home.in_store(store, run_id)
    events = batches * (REPLICAS + 2)
    facts = RunFacts(
        run_id=run_id,
        operations=batches * OPERATIONS_PER_BATCH * partitions,
        acknowledged=(batches * BATCH - planted) * partitions,
        drained=True,
        has_events=True,
        has_replica_log=True,
        read=(batches * BATCH - planted) * partitions,
        sent=batches * BATCH * partitions,
        settings=SETTINGS,
        has_dump_marks=True,
        last_event_ns=events * partitions * 1000,
    )
    units = []
    for number in range(partitions):
        partition = _Partition(number, partitions, batches, planted)
        rows = {}
        for table, schema in BY_PARTITION.items():
            path = Path(str(home.partition(table, partition.name)))
            path.parent.mkdir(parents=True, exist_ok=True)
            marked = schema.with_metadata(marks(run_id, partition.name))
            rows[table] = _write(path, marked, getattr(partition, table)())
        units.append({"partition": partition.name, "rows": rows})
    _write(Path(str(home.others)), BY_PARTITION["events"].with_metadata(marks(run_id, None)), iter(()))
    for table, schema in WHOLE.items():
        Path(str(home.directory(table))).mkdir(parents=True)
        _write(Path(str(home.whole(table))), schema.with_metadata(marks(run_id, None)), iter(()))
    entry = Path(str(home.entry))
    entry.parent.mkdir(exist_ok=True)
    entry.write_bytes(
        msgspec.json.encode({**_FORMAT, "facts": facts, "units": units, "whole": dict.fromkeys(WHOLE, 0)})
    )
    return facts.operations


def _write(path: Path, schema: pa.Schema, tables: Iterator[dict[str, pa.Array]]) -> int:
    rows = 0
    with table_writer(path, schema) as writer:
        for columns in tables:
            count = len(next(iter(columns.values())))
            arrays = [
                (columns[field.name] if field.name in columns else pa.nulls(count, field.type)).cast(field.type)
                for field in schema
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema), row_group_size=ROW_GROUP)
            rows += count
    return rows


class _Partition:
    """One partition's tables, part by part."""

    def __init__(self, number: int, partitions: int, batches: int, planted: int) -> None:
        self.name = f"orders-{number}"
        self._number, self._partitions, self._batches = number, partitions, batches
        # Two batches apart at least, so that one anomaly does not touch another.
        places = np.linspace(1, batches - 3, len(PLANTED) * planted).astype(np.int64)
        self._planted = {kind: places[which :: len(PLANTED)] for which, kind in enumerate(PLANTED)}

    def history(self) -> Iterator[dict[str, pa.Array]]:
        for batch in self._parts():
            count = len(batch)
            value, logged, producer = self._values(batch)
            offset = batch[:, None] * BATCH + np.arange(BATCH)
            sent_to = offset.copy()
            swapped = self._has("reordered", batch)
            sent_to[swapped, 3], sent_to[swapped, 4] = offset[swapped, 4], offset[swapped, 3]
            polled_at, polled = offset.copy(), logged.copy()
            ahead, behind = self._has("consumer", batch), self._has("consumer", batch - 1)
            polled_at[ahead, -1] = offset[ahead, -1] + 1
            polled[ahead, -1] = self._values(batch[ahead] + 1)[1][:, 0]
            polled_at[behind, 0] = offset[behind, 0] - 1
            polled[behind, 0] = self._values(batch[behind] - 1)[1][:, -1]
            there = np.ones((count, 2 * BATCH), np.bool_)
            there[self._has("duplicate", batch), 5] = False
            there[self._has("lost", batch), -1] = False
            place = np.tile(np.arange(2 * BATCH), (count, 1))[there]
            is_poll = place >= BATCH
            # A send is two rows of the run's table of operations, and so is a poll of ten records.
            first_row = ((batch * self._partitions + self._number) * 2 * OPERATIONS_PER_BATCH)[:, None]
            row = (first_row + np.minimum(np.arange(2 * BATCH), BATCH) * 2 + 1)[there]
            who = np.where(is_poll, PRODUCERS, np.repeat(producer, there.sum(axis=1)))
            process = np.where(is_poll, 1000, who * BATCH + place) + self._number * 10_000
            yield {
                "partition": _words(len(row), self.name),
                "row": pa.array(row),
                "invoke_row": pa.array(row - 1),
                "invoke_time": pa.array((row - 1) * 1000),
                "end_time": pa.array(row * 1000),
                "index": pa.array(row),
                "process": pa.array(process),
                "client": _chosen(who, *self._clients()),
                "outcome": pa.array(np.full(len(row), OK)),
                "is_send": pa.array(~is_poll),
                "is_poll": pa.array(is_poll),
                "offset": pa.array(np.concatenate([sent_to, polled_at], axis=1)[there]),
                "value": pa.array(np.concatenate([value, polled], axis=1)[there]),
                "topic_id": pa.array([None, TOPIC_ID]).take(pa.array(is_poll.astype(np.int64))),
                "attempts": pa.array(np.where(is_poll, -1, 1)),
                "assignment": pa.array(np.zeros(len(row), np.int64)),
                "subscribed": pa.array(np.zeros(len(row), np.bool_)),
                "must_commit": pa.array(~is_poll),
            }

    def events(self) -> Iterator[dict[str, pa.Array]]:
        beginning = self._beginning()
        yield beginning
        before = len(beginning["row"])
        kinds = ["log-appended"] * REPLICAS + ["batch-committed", "high-watermark"]
        for batch in self._parts():
            count = len(batch) * len(kinds)
            place = np.tile(np.arange(len(kinds)), len(batch))
            start = np.repeat(batch * BATCH, len(kinds))
            row = np.repeat(batch * self._partitions + self._number, len(kinds)) * len(kinds) + place
            row += before * self._partitions
            none = np.zeros(count, np.bool_)
            yield {
                "seq": pa.array(row),
                "time_ns": pa.array(row * 1000),
                "node": _chosen(np.where(place < REPLICAS, place, 0), *(f"broker-{one}" for one in range(REPLICAS))),
                "incarnation": pa.array(np.ones(count, np.int64)),
                "kind": _chosen(place, *kinds),
                "partition": _words(count, self.name),
                "leader_epoch": pa.array(none.astype(np.int64)),
                "offset": pa.array(np.where(place == REPLICAS + 1, start + BATCH, start)),
                "end_offset": pa.array(start + BATCH, mask=place == REPLICAS + 1),
                "epoch": pa.array(none.astype(np.int64), mask=place != REPLICAS),
                "crc": pa.array(start + 1, mask=place != REPLICAS),
                "reason": _chosen(np.minimum(place, 3), "leader", "follower", "follower", None),
                "row": pa.array(row),
            }

    def replica_log(self) -> Iterator[dict[str, pa.Array]]:
        batches = self._batches * self._partitions
        for broker in range(REPLICAS):
            for batch in self._parts():
                count = len(batch) * BATCH
                _, logged, producer = self._values(batch)
                if broker == REPLICAS - 1:
                    logged[self._has("divergent", batch), 2] += 10**15
                within = np.tile(np.arange(BATCH), len(batch))
                zero = np.zeros(count, np.int64)
                at = np.repeat((broker * batches + batch * self._partitions + self._number) * BATCH, BATCH) + within
                yield {
                    "broker": pa.array(zero + broker),
                    "partition": _words(count, self.name),
                    "topic_id": _words(count, TOPIC_ID),
                    "offset": pa.array(np.repeat(batch * BATCH, BATCH) + within),
                    "leader_epoch": pa.array(zero),
                    "producer_id": pa.array(np.repeat(producer, BATCH) + self._number * PRODUCERS),
                    "sequence": pa.array(np.repeat(batch // PRODUCERS * BATCH, BATCH) + within),
                    "value": pa.array(logged.ravel()),
                    "crc": pa.array(np.repeat(batch * BATCH + 1, BATCH)),
                    "producer_epoch": pa.array(zero),
                    "row": pa.array(at),
                }
        ends = np.arange(REPLICAS)
        yield {
            "broker": pa.array(ends),
            "partition": _words(REPLICAS, self.name),
            "topic_id": _words(REPLICAS, TOPIC_ID),
            "offset": pa.array(ends * 0 + self._batches * BATCH),
            "leader_epoch": pa.array(ends * 0 - 1),
            "producer_id": pa.array(ends * 0 - 1),
            "sequence": pa.array(ends * 0 - 1),
            "crc": pa.array(ends * 0),
            "ended": _words(REPLICAS, "end"),
            "start_offset": pa.array(ends * 0),
            "row": pa.array(batches * BATCH * REPLICAS + self._number * REPLICAS + ends),
        }

    def _parts(self) -> Iterator[Ints]:
        for start in range(0, self._batches, AT_ONCE):
            yield np.arange(start, min(start + AT_ONCE, self._batches))

    def _has(self, kind: str, batch: Ints) -> Ints:
        """Positions of the batches with that anomaly."""
        return np.flatnonzero(is_in(batch, self._planted[kind]))

    def _values(self, batch: Ints) -> tuple[Ints, Ints, Ints]:
        """The values that are sent, those that stand in the log in their place, and whose they are, batch by batch."""
        producer = batch % PRODUCERS
        first = (self._number * PRODUCERS + producer) * 10**10 + batch // PRODUCERS * BATCH + 1
        value = first[:, None] + np.arange(BATCH)
        logged = value.copy()
        twice, swapped = self._has("duplicate", batch), self._has("reordered", batch)
        logged[twice, 5] = value[twice, 4]
        logged[swapped, 3], logged[swapped, 4] = value[swapped, 4], value[swapped, 3]
        return value, logged, producer

    def _clients(self) -> list[str]:
        first = self._number * PRODUCERS
        return [f"producer-{first + one}" for one in range(PRODUCERS)] + [f"consumer-{self._number}"]

    def _beginning(self) -> dict[str, pa.Array]:
        """Brokers start and register, and the partition is created: broker 0 leads, and all are in sync."""
        about: dict[str, object] = {"partition": self.name, "topic_id": TOPIC_ID}
        everyone = list(range(REPLICAS))
        role = {**about, "leader": 0, "leader_epoch": 0}
        events: list[dict[str, object]] = []
        for broker in everyone:
            events.append({"node": f"broker-{broker}", "kind": "node-started"})
            registered = {"broker": broker, "broker_epoch": broker + 1, "metadata_offset": broker + 1}
            events.append({"node": "controller-0", "kind": "broker-registered", **registered})
        state = {**role, "partition_epoch": 0, "replicas": everyone, "isr": everyone}
        changed = {"node": "controller-0", "kind": "partition-changed", "metadata_offset": 10, "reason": "created"}
        events.append({**state, **changed})
        for broker in everyone:
            where = {"node": f"broker-{broker}", "offset": 0, "end_offset": 0}
            events.append({**about, **where, "kind": "log-loaded", "reason": "created"})
            if broker == 0:
                events.append({**state, **where, "kind": "became-leader"})
                events.append({**role, "node": "broker-0", "kind": "min-isr-set", "min_isr": 2})
            else:
                events.append({**role, **where, "kind": "became-follower"})
        for place, event in enumerate(events):
            row = self._number * len(events) + place
            event |= {"seq": row, "row": row, "time_ns": row * 1000, "incarnation": 1}
        columns = BY_PARTITION["events"]
        return {field.name: pa.array([event.get(field.name) for event in events], field.type) for field in columns}


def _words(count: int, word: str) -> pa.Array:
    return pa.array([word]).take(pa.array(np.zeros(count, np.int64)))


def _chosen(which: Ints, *words: str | None) -> pa.Array:
    return pa.array(words, pa.string()).take(pa.array(which))
