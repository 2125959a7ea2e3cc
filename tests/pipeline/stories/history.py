"""What the tiny histories are written with.

A story is written as things happen: sends, polls and node events share one clock. In a dump, a record stands for a
batch of its own whose crc is its value, unless the story says otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from table_files import write_jsonl

from highwater_pipeline.tables.recorded_events import EVERY_KIND, RecordedEvents, write_recorded_events
from highwater_pipeline.tables.rows import (
    NODE_EVENT_ROWS,
    OPERATION_ROWS,
    REPLICA_LOG_ROWS,
    MicroOp,
    NodeEventRow,
    Operation,
    ReplicaRecord,
)
from highwater_pipeline.tables.run_tables import RunTables
from highwater_pipeline.tables.settings import STRICTEST, Settings

TOPIC_ID = "0" * 31 + "1"
P0 = "orders-0"

TOLD = RecordedEvents(EVERY_KIND.kinds, "a story leaves out what it is not about")

_OF_RUNS = msgspec.structs.replace(STRICTEST, headers=True)


@dataclass
class Story:
    """A history as it is written down."""

    operations: list[Operation] = field(default_factory=list)
    events: list[NodeEventRow] = field(default_factory=list)
    dumps: list[ReplicaRecord] = field(default_factory=list)
    now: int = 0
    settings: Settings = _OF_RUNS

    # --- clients ---

    def _row(self, process: int, kind: str, f: str, value: list[MicroOp], client: str) -> None:
        self.now += 1
        self.operations.append(
            Operation(
                index=len(self.operations),
                time=self.now,
                process=process,
                type=kind,
                f=f,
                value=value,
                client=client,
            )
        )

    def send(
        self,
        *values: int,
        at: int | None = None,
        outcome: str | None = "ok",
        key: str = P0,
        process: int = 0,
        attempts: int | None = None,
    ) -> Story:
        """Producer ``process`` sends values; ``outcome`` None: no completion was ever recorded."""
        client = f"producer-{process}"
        self._row(process, "invoke", "send", [MicroOp("send", key, None, v) for v in values], client)
        if outcome is not None:
            told = [MicroOp("send", key, None if at is None else at + i, v) for i, v in enumerate(values)]
            self._row(process, outcome, "send", told, client)
            self.operations[-1].attempts = attempts
        return self

    def poll(
        self,
        *records: tuple[int, int],
        key: str = P0,
        outcome: str = "ok",
        process: int = 100,
        topic_id: str | None = None,
        altered: str | None = None,
    ) -> Story:
        """Consumer ``process`` reads (offset, value) records; ``altered``: what is not as it was sent, of the last."""
        client = f"consumer-{process - 100}"
        self._row(process, "invoke", "poll", [], client)
        self._row(process, outcome, "poll", [MicroOp("poll", key, o, v, topic_id) for o, v in records], client)
        if records:
            self.operations[-1].value[-1].altered = altered
        return self

    def assign(self, process: int = 100, f: str = "assign", **positions: int | None) -> Story:
        """Consumer ``process`` is assigned partitions (``orders_0=7``), each at an offset, or where it was (None)."""
        value = [MicroOp("assign", name.replace("_", "-"), offset, None) for name, offset in positions.items()]
        client = f"consumer-{process - 100}"
        self._row(process, "invoke", f, value, client)
        self._row(process, "ok", f, value, client)
        return self

    def under(self, **settings: Any) -> Story:
        """The run's settings, where they are not the strictest."""
        self.settings = msgspec.structs.replace(self.settings, **settings)
        return self

    def operation(self, process: int, kind: str, f: str, *value: MicroOp) -> Story:
        self._row(process, kind, f, list(value), f"client-{process}")
        return self

    # --- nodes ---

    def event(self, node: str, kind: str, *, incarnation: int = 1, same_time: bool = False, **fields: Any) -> Story:
        if not same_time:
            self.now += 1
        self.events.append(
            NodeEventRow(
                seq=len(self.events),
                time_ns=self.now,
                node_time_ns=self.now,
                node=node,
                incarnation=incarnation,
                kind=kind,
                **fields,
            )
        )
        return self

    def started(self, broker: int, *, epoch: int, leo: int, incarnation: int = 1, partition: str = P0) -> Story:
        """A broker starts, loads its log and registers."""
        node = f"broker-{broker}"
        self.event(node, "node-started", incarnation=incarnation)
        self.event(
            node, "log-loaded", incarnation=incarnation, partition=partition, topic_id=TOPIC_ID, offset=0,
            end_offset=leo, reason="recovered" if incarnation > 1 else "created",
        )  # fmt: skip
        return self.registered(broker, epoch=epoch)

    def registered(self, broker: int, *, epoch: int, controller: int = 0, same_time: bool = False) -> Story:
        return self.event(
            f"controller-{controller}", "broker-registered", broker=broker, broker_epoch=epoch, metadata_offset=epoch,
            reason="0" * 32, same_time=same_time,
        )  # fmt: skip

    def state(
        self,
        isr: list[int],
        *,
        offset: int,
        leader: int = 0,
        leader_epoch: int = 0,
        controller: int = 0,
        same_time: bool = False,
        topic_id: str = TOPIC_ID,
        partition: str = P0,
        quorum: str = "controller",
        replicas: Sequence[int] = (0, 1, 2),
        partition_epoch: int | None = None,
    ) -> Story:
        """A committed partition state at metadata ``offset``, which is its partition epoch too unless one is named."""
        return self.event(
            f"{quorum}-{controller}", "partition-changed", partition=partition, topic_id=topic_id,
            replicas=[*replicas], isr=isr, leader=leader, leader_epoch=leader_epoch,
            partition_epoch=offset if partition_epoch is None else partition_epoch,
            metadata_offset=offset, reason="changed", same_time=same_time,
        )  # fmt: skip

    def leads(
        self,
        broker: int,
        leader_epoch: int,
        *,
        leo: int,
        hw: int = 0,
        incarnation: int = 1,
        topic_id: str = TOPIC_ID,
        partition: str = P0,
    ) -> Story:
        return self.event(
            f"broker-{broker}", "became-leader", incarnation=incarnation, partition=partition, topic_id=topic_id,
            leader_epoch=leader_epoch, partition_epoch=0, offset=hw, end_offset=leo, isr=[broker], replicas=[0, 1, 2],
        )  # fmt: skip

    def follows(self, broker: int, leader: int, leader_epoch: int, *, leo: int, hw: int, incarnation: int = 1) -> Story:
        return self.event(
            f"broker-{broker}", "became-follower", incarnation=incarnation, partition=P0, topic_id=TOPIC_ID,
            leader=leader, leader_epoch=leader_epoch, offset=hw, end_offset=leo,
        )  # fmt: skip

    def appends(
        self, broker: int, start: int, end: int, *, leader_epoch: int = 0, leader: bool = False, incarnation: int = 1
    ) -> Story:
        return self.event(
            f"broker-{broker}", "log-appended", incarnation=incarnation, partition=P0, leader_epoch=leader_epoch,
            offset=start, end_offset=end, reason="leader" if leader else "follower",
        )  # fmt: skip

    def truncates(self, broker: int, to: int, end: int, *, leader_epoch: int, reason: str = "diverging-epoch") -> Story:
        return self.event(
            f"broker-{broker}", "log-truncated", partition=P0, leader_epoch=leader_epoch, offset=to, end_offset=end,
            reason=reason,
        )  # fmt: skip

    def passes_hw(
        self,
        broker: int,
        start: int,
        end: int,
        *,
        leader_epoch: int = 0,
        epoch: int | None = None,
        crc: int = 7,
        partition: str = P0,
        producer: tuple[int, int] = (-1, -1),
    ) -> Story:
        """A batch is about to pass the leader's HW; ``producer``: id and epoch of who wrote it."""
        return self.event(
            f"broker-{broker}", "batch-committed", partition=partition, leader_epoch=leader_epoch, offset=start,
            end_offset=end, epoch=leader_epoch if epoch is None else epoch, crc=crc, producer_id=producer[0],
            producer_epoch=producer[1],
        )  # fmt: skip

    def commits(
        self, broker: int, start: int, end: int, *, leader_epoch: int = 0, epoch: int | None = None, crc: int = 7
    ) -> Story:
        """A batch passes the leader's HW, which moves to its end."""
        self.passes_hw(broker, start, end, leader_epoch=leader_epoch, epoch=epoch, crc=crc)
        return self.moves_hw(broker, end, leader_epoch=leader_epoch)

    def moves_hw(self, broker: int, to: int, *, leader_epoch: int = 0, partition: str = P0) -> Story:
        return self.event(
            f"broker-{broker}", "high-watermark", partition=partition, leader_epoch=leader_epoch, offset=to
        )

    def proposes(self, broker: int, isr: list[int], epochs: list[int], *, leader_epoch: int = 0) -> Story:
        return self.event(
            f"broker-{broker}", "isr-proposed", partition=P0, leader_epoch=leader_epoch, partition_epoch=0, isr=isr,
            isr_epochs=epochs, reason="expand",
        )  # fmt: skip

    def handles(
        self,
        isr: list[int],
        claimed: list[int],
        registered: list[int],
        *,
        offset: int,
        broker: int = 0,
        leader_epoch: int = 0,
        reason: str = "NONE",
    ) -> Story:
        """The controller judges broker's AlterPartition; ``offset`` is that of the change it wrote."""
        return self.event(
            "controller-0", "alter-partition-handled", partition=P0, broker=broker, leader_epoch=leader_epoch,
            partition_epoch=0, isr=isr, isr_epochs=claimed, registered_epochs=registered, metadata_offset=offset,
            reason=reason,
        )  # fmt: skip

    def dump(
        self,
        broker: int,
        *records: tuple[int, int, int],
        crc: int | None = None,
        topic_id: str = TOPIC_ID,
        altered: str | None = None,
    ) -> Story:
        """Broker's log at the end: (offset, leader epoch, value) records; ``altered`` as of :meth:`poll`."""
        for offset, epoch, value in records:
            self.dumps.append(
                ReplicaRecord(
                    broker=broker, partition=P0, topic_id=topic_id, offset=offset, leader_epoch=epoch, producer_id=-1,
                    sequence=-1, value=value, crc=value if crc is None else crc,
                )
            )  # fmt: skip
        if records:
            self.dumps[-1].altered = altered
        return self

    def dump_end(
        self,
        broker: int,
        end: int,
        *,
        start: int = 0,
        ended: str = "end",
        found: str | None = None,
    ) -> Story:
        """A mark behind the records of broker's log: that it ends at ``end``, or that it has a gap or damage there."""
        self.dumps.append(
            ReplicaRecord(
                broker=broker, partition=P0, topic_id=TOPIC_ID, offset=end, leader_epoch=-1, producer_id=-1,
                sequence=-1, value=None, crc=0, ended=ended, start_offset=start if ended == "end" else None,
                found=found,
            )
        )  # fmt: skip
        return self

    def dump_of_producer(
        self,
        broker: int,
        *records: tuple[int, int, int],
        producer_id: int = 7,
        epoch: int = 0,
        topic_id: str = TOPIC_ID,
    ) -> Story:
        """Records of an idempotent producer in broker's log at the end: (offset, sequence, value) in leader epoch 0."""
        for offset, sequence, value in records:
            self.dumps.append(
                ReplicaRecord(
                    broker=broker, partition=P0, topic_id=topic_id, offset=offset, leader_epoch=0,
                    producer_id=producer_id, producer_epoch=epoch, sequence=sequence, value=value, crc=value,
                )
            )  # fmt: skip
        return self

    def acknowledges(
        self, broker: int, start: int, end: int, *, isr: list[int], min_isr: int, partition_epoch: int = 0
    ) -> Story:
        """The leader answers an acks=all producer: the first time under this ISR."""
        return self.event(
            f"broker-{broker}", "write-acknowledged", partition=P0, topic_id=TOPIC_ID, leader_epoch=0,
            partition_epoch=partition_epoch, offset=start, end_offset=end, isr=isr, min_isr=min_isr,
        )  # fmt: skip

    def moves_start(
        self,
        broker: int,
        old: int,
        new: int,
        reason: str,
        *,
        asked: bool = True,
        retention_ms: int = -1,
        retention_bytes: int = -1,
        age_ms: int = -1,
        size_left: int = -1,
    ) -> Story:
        """The log start of broker's replica moves. ``asked``: after DeleteRecords, if that is the reason."""
        if asked and reason == "delete-records":
            self.is_asked_to_delete(broker, new)
        return self.event(
            f"broker-{broker}", "log-start-moved", partition=P0, topic_id=TOPIC_ID, offset=old, end_offset=new,
            reason=reason, retention_ms=retention_ms, retention_bytes=retention_bytes, age_ms=age_ms,
            size_left=size_left,
        )  # fmt: skip

    def is_asked_to_delete(self, broker: int, offset: int) -> Story:
        """A client sends DeleteRecords."""
        node = f"broker-{broker}"
        return self.event(node, "records-deletion-asked", partition=P0, topic_id=TOPIC_ID, offset=offset)

    # --- as tables, as files ---

    def tables(self, run_id: str = "tiny") -> RunTables:
        return RunTables(
            run_id,
            OPERATION_ROWS.to_table(self.operations, run_id),
            NODE_EVENT_ROWS.to_table(self.events, run_id) if self.events else None,
            REPLICA_LOG_ROWS.to_table(self.dumps, run_id) if self.dumps else None,
            recorded_events=TOLD if self.events else None,
            settings=self.settings,
        )

    def write(self, run_dir: Path) -> Path:
        run_dir.mkdir(parents=True, exist_ok=True)
        (run_dir / "run.json").write_bytes(msgspec.json.encode({"settings": self.settings}))
        write_jsonl(run_dir / "history" / "operations.jsonl", self.operations)
        if self.events:
            write_jsonl(run_dir / "events" / "nodes.jsonl", self.events)
            write_recorded_events(run_dir, TOLD, Counter(event.kind for event in self.events))
        if self.dumps:
            write_jsonl(run_dir / "dumps" / "replica_log.jsonl", self.dumps)
        return run_dir


@dataclass(frozen=True)
class Case:
    """A story, the verdict on it, and the anomalies that it must show: those and no others. ``is_whole``: it leaves
    out no step of a broker, so that ``model-step`` must find nothing in it."""

    name: str
    why: str
    build: Callable[[], Story]
    verdict: str
    anomalies: dict[str, int]
    is_whole: bool = False


CASES: list[Case] = []


def case(
    verdict: str = "fail", *, is_whole: bool = False, **anomalies: int
) -> Callable[[Callable[[Story], Any]], Callable[[Story], Any]]:
    """Registers a story: ``@case(lost_write=1)`` must be judged ``fail`` for one lost write."""

    def register(tell: Callable[[Story], Any]) -> Callable[[Story], Any]:
        def build() -> Story:
            written = Story()
            tell(written)
            return written

        counts = {name.replace("_", "-"): count for name, count in anomalies.items()}
        CASES.append(Case(tell.__name__, (tell.__doc__ or "").strip(), build, verdict, counts, is_whole))
        return tell

    return register


def happy(story: Story) -> Story:
    """A history in which nothing is wrong, to put something wrong beside it, also records that others sent."""
    return story.send(1, at=0).poll((0, 1)).under(unrecorded_sends=True)


def three(story: Story) -> Story:
    """Values 1, 2 and 3 stand at offsets 0, 1 and 2, and somebody has read them all."""
    return story.send(1, at=0).send(2, at=1).send(3, at=2).poll((0, 1), (1, 2), (2, 3), process=109)
