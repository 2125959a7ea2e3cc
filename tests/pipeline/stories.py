"""Tiny histories, each with the anomalies that it must show and one sentence why (the docstring).

A story is written as things happen: sends, polls and node events share one clock. In a dump, a record stands for a
batch of its own whose crc is its value, unless the story says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from highwater_pipeline.files import write_jsonl
from highwater_pipeline.rows import (
    NODE_EVENT_ROWS,
    OPERATION_ROWS,
    REPLICA_LOG_ROWS,
    MicroOp,
    NodeEventRow,
    Operation,
    ReplicaRecord,
)
from highwater_pipeline.settings import STRICTEST, Settings
from highwater_pipeline.tables import RunTables

TOPIC_ID = "0" * 31 + "1"
P0 = "orders-0"


@dataclass
class Story:
    """A history as it is written down."""

    operations: list[Operation] = field(default_factory=list)
    events: list[NodeEventRow] = field(default_factory=list)
    dumps: list[ReplicaRecord] = field(default_factory=list)
    now: int = 0
    settings: Settings = STRICTEST

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
    ) -> Story:
        """Consumer ``process`` reads (offset, value) records."""
        client = f"consumer-{process - 100}"
        self._row(process, "invoke", "poll", [], client)
        self._row(process, outcome, "poll", [MicroOp("poll", key, o, v, topic_id) for o, v in records], client)
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
    ) -> Story:
        """A committed partition state at metadata ``offset``."""
        return self.event(
            f"controller-{controller}", "partition-changed", partition=partition, topic_id=topic_id, replicas=[0, 1, 2],
            isr=isr, leader=leader, leader_epoch=leader_epoch, partition_epoch=offset, metadata_offset=offset,
            reason="changed", same_time=same_time,
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

    def follows(self, broker: int, leader: int, leader_epoch: int, *, leo: int, hw: int) -> Story:
        return self.event(
            f"broker-{broker}", "became-follower", partition=P0, topic_id=TOPIC_ID, leader=leader,
            leader_epoch=leader_epoch, offset=hw, end_offset=leo,
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
    ) -> Story:
        """A batch is about to pass the leader's HW."""
        return self.event(
            f"broker-{broker}", "batch-committed", partition=partition, leader_epoch=leader_epoch, offset=start,
            end_offset=end, epoch=leader_epoch if epoch is None else epoch, crc=crc,
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
        self, broker: int, *records: tuple[int, int, int], crc: int | None = None, topic_id: str = TOPIC_ID
    ) -> Story:
        """Broker's log at the end: (offset, leader epoch, value) records."""
        for offset, epoch, value in records:
            self.dumps.append(
                ReplicaRecord(
                    broker=broker, partition=P0, topic_id=topic_id, offset=offset, leader_epoch=epoch, producer_id=-1,
                    sequence=-1, value=value, crc=value if crc is None else crc,
                )
            )  # fmt: skip
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
        self, broker: int, *records: tuple[int, int, int], producer_id: int = 7, epoch: int = 0
    ) -> Story:
        """Records of an idempotent producer in broker's log at the end: (offset, sequence, value) in leader epoch 0."""
        for offset, sequence, value in records:
            self.dumps.append(
                ReplicaRecord(
                    broker=broker, partition=P0, topic_id=TOPIC_ID, offset=offset, leader_epoch=0,
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
            settings=self.settings,
        )

    def write(self, run_dir: Path) -> Path:
        run_dir.mkdir(parents=True, exist_ok=True)
        (run_dir / "run.json").write_bytes(msgspec.json.encode({"settings": self.settings}))
        write_jsonl(run_dir / "history" / "operations.jsonl", self.operations)
        if self.events:
            write_jsonl(run_dir / "events" / "nodes.jsonl", self.events)
        if self.dumps:
            write_jsonl(run_dir / "dumps" / "replica_log.jsonl", self.dumps)
        return run_dir


@dataclass(frozen=True)
class Case:
    """A story, the verdict on it, and the anomalies that it must show: those and no others."""

    name: str
    why: str
    build: Callable[[], Story]
    verdict: str
    anomalies: dict[str, int]


CASES: list[Case] = []


def case(verdict: str = "fail", **anomalies: int) -> Callable[[Callable[[Story], Any]], Callable[[Story], Any]]:
    """Registers a story: ``@case(lost_write=1)`` must be judged ``fail`` for one lost write."""

    def register(tell: Callable[[Story], Any]) -> Callable[[Story], Any]:
        def build() -> Story:
            written = Story()
            tell(written)
            return written

        counts = {name.replace("_", "-"): count for name, count in anomalies.items()}
        CASES.append(Case(tell.__name__, (tell.__doc__ or "").strip(), build, verdict, counts))
        return tell

    return register


def happy(story: Story) -> Story:
    """A history in which nothing is wrong, to put something wrong beside it."""
    return story.send(1, at=0).poll((0, 1))


# --- nothing wrong --------------------------------------------------------------------------------------------------


@case("pass")
def everything_read(story: Story) -> None:
    """Every acknowledged value is read where it was acknowledged."""
    story.send(1, at=0).send(2, at=1, process=1).poll((0, 1)).poll((1, 2))


@case("inconclusive")
def empty(story: Story) -> None:
    """Where nothing was done nothing can have gone wrong, nor right."""


@case("inconclusive")
def all_failed(story: Story) -> None:
    """Nothing was acknowledged, so no promise was tried."""
    story.send(1, outcome="fail").send(2, outcome="info", process=1).poll()


@case("inconclusive")
def no_final_reads(story: Story) -> None:
    """The last poll began before the last acknowledgement: the second value may yet be read."""
    story.send(1, at=0).poll((0, 1)).send(2, at=1)


@case("pass")
def failed_over_without_loss(story: Story) -> None:
    """A new leader begins with an older copy of the HW and cuts nobody's committed records."""
    story.send(1, at=0).send(2, at=1).poll((0, 1), (1, 2))
    story.started(0, epoch=10, leo=0).started(1, epoch=11, leo=0).state([0, 1], offset=20)
    story.leads(0, 0, leo=0).follows(1, 0, 0, leo=0, hw=0)
    story.appends(0, 0, 2, leader=True).appends(1, 0, 2).commits(0, 0, 2, crc=7)
    story.appends(0, 2, 3, leader=True)  # never replicated
    story.state([1], leader=1, leader_epoch=1, offset=30).leads(1, 1, leo=2, hw=0)
    story.commits(1, 0, 2, leader_epoch=1, epoch=0, crc=7).follows(0, 1, 1, leo=3, hw=2)
    story.truncates(0, 2, 3, leader_epoch=1).state([1, 0], leader=1, leader_epoch=1, offset=40)
    story.dump(0, (0, 0, 1), (1, 0, 2), crc=7).dump(1, (0, 0, 1), (1, 0, 2), crc=7)


# --- what clients see -----------------------------------------------------------------------------------------------


@case(lost_write=1, unseen=1, int_poll_skip=1)
def read_past(story: Story) -> None:
    """Value 2 was acknowledged at offset 1, and the consumer went from 0 to 2."""
    story.send(1, at=0).send(2, at=1).send(3, at=2).poll((0, 1), (2, 3))


@case("fail", unseen=1)
def not_read_yet(story: Story) -> None:
    """Nobody read past value 2, so it may still be there; but the final reads did not bring it."""
    story.send(1, at=0).send(2, at=1).poll((0, 1))


@case("pass")
def unknown_outcome_may_be_lost(story: Story) -> None:
    """Nobody was promised value 2, so nobody misses it."""
    story.send(1, at=0).send(2, outcome="info", process=1).send(3, at=2).poll((0, 1), (2, 3))


@case("pass")
def never_completed_may_be_lost(story: Story) -> None:
    """A send without completion is one of unknown outcome."""
    story.send(1, at=0).send(2, outcome=None, process=1).send(3, at=2).poll((0, 1), (2, 3))


@case(lost_write=1, int_poll_skip=1)
def seen_in_part(story: Story) -> None:
    """The operation of values 2 and 3 has no known outcome, but 3 was read: so 2 must have been written too."""
    both = [MicroOp("send", P0, 1, 2), MicroOp("send", P0, 2, 3)]
    story.send(1, at=0).operation(5, "invoke", "txn", *both).operation(5, "info", "txn", *both).poll((0, 1), (2, 3))


@case(lost_write=1, int_poll_skip=1)
def seen_in_part_elsewhere(story: Story) -> None:
    """As before, but the part that was read is in another partition."""
    both = [MicroOp("send", P0, 1, 2), MicroOp("send", "orders-1", 0, 3)]
    story.send(1, at=0).operation(5, "invoke", "txn", *both).operation(5, "info", "txn", *both)
    story.send(4, at=2).poll((0, 1), (2, 4)).poll((0, 3), key="orders-1")


@case(duplicate=1)
def written_twice(story: Story) -> None:
    """A retry was appended a second time."""
    story.send(1, at=0).poll((0, 1), (1, 1))


@case(duplicate=1)
def acknowledged_elsewhere(story: Story) -> None:
    """An acknowledgement is evidence too: value 1 stands at 0, says the leader, and at 4, says the reader."""
    story.send(1, at=0).poll((4, 1))


@case(inconsistent_offsets=1)
def two_readers_disagree(story: Story) -> None:
    """Offset 1 is value 2 for one reader and value 3 for another."""
    story.send(1, at=0).send(2, at=1).send(3, outcome="info", process=1)
    story.poll((0, 1), (1, 2)).poll((1, 3), process=101)


@case(aborted_read=1)
def failed_yet_read(story: Story) -> None:
    """The producer was told that value 2 had not been written."""
    story.send(1, at=0).send(2, outcome="fail").poll((0, 1), (1, 2))


@case("pass")
def failed_then_sent_again(story: Story) -> None:
    """The first attempt failed for certain, the second one succeeded: the value may be read."""
    story.send(2, outcome="fail").send(2, at=0).poll((0, 2))


@case(lost_write=1, unseen=2, int_poll_skip=1)
def partitions_are_apart(story: Story) -> None:
    """In orders-0 value 2 is lost; in orders-1 nobody read past value 4, which is only unseen."""
    story.send(1, at=0).send(2, at=1).send(3, at=2).send(4, at=7, key="orders-1").poll((0, 1), (2, 3))


# --- what only nodes see --------------------------------------------------------------------------------------------


def _committed_by_0(story: Story) -> Story:
    """Values 1 and 2 are committed by broker 0 alone, in leader epoch 0."""
    story.send(1, at=0).send(2, at=1).poll((0, 1), (1, 2))
    story.started(0, epoch=10, leo=0).state([0], offset=20).leads(0, 0, leo=0)
    story.appends(0, 0, 2, leader=True)
    return story.commits(0, 0, 1, crc=1).commits(0, 1, 2, crc=2)


@case(committed_loss=2)
def leader_with_less(story: Story) -> None:
    """Two records had passed the HW, and the next leader began with an empty log."""
    _committed_by_0(story).leads(1, 1, leo=0)


@case(committed_loss=1)
def leader_with_one_less(story: Story) -> None:
    """Only the second record is above the next leader's log end."""
    _committed_by_0(story).leads(1, 1, leo=1)


@case(committed_loss=1, divergence=1)
def another_record_committed(story: Story) -> None:
    """The next leader committed another batch at offset 1, though its log was long enough."""
    _committed_by_0(story).leads(1, 1, leo=2).commits(1, 1, 2, leader_epoch=1, epoch=0, crc=99)
    story.dump(0, (0, 0, 1), (1, 0, 2)).dump(1, (0, 0, 1), (1, 0, 99))


@case("pass")
def same_record_committed_again(story: Story) -> None:
    """A new leader begins with an old HW and sees old batches pass it once more: that is no loss."""
    _committed_by_0(story).leads(1, 1, leo=2).passes_hw(1, 0, 1, leader_epoch=1, epoch=0, crc=1)
    story.commits(1, 1, 2, leader_epoch=1, epoch=0, crc=2)


@case(committed_loss=1)
def last_leaders_log_ends_early(story: Story) -> None:
    """At the end of the run the last leader's log has record 0 and no longer record 1."""
    _committed_by_0(story).dump(0, (0, 0, 1))


@case(committed_loss=1)
def last_leaders_log_differs(story: Story) -> None:
    """At the end of the run the last leader's log has another record at offset 1."""
    _committed_by_0(story).dump(0, (0, 0, 1), (1, 0, 3))


@case("pass")
def retention_deleted_the_head(story: Story) -> None:
    """What lies below the first offset of a log was deleted by retention, not lost."""
    _committed_by_0(story).dump(0, (1, 0, 2))


@case(divergence=1)
def replicas_differ_below_hw(story: Story) -> None:
    """Both members of the ISR have everything below HW 2, but at offset 1 in different epochs."""
    happy(story).started(0, epoch=10, leo=2).started(1, epoch=11, leo=2).state([0, 1], offset=20)
    story.moves_hw(0, 2).dump(0, (0, 0, 1), (1, 0, 2), crc=7).dump(1, (0, 0, 1), (1, 1, 2), crc=7)


@case("pass")
def replicas_differ_above_hw(story: Story) -> None:
    """Broker 1 is out of the ISR and keeps a record that was never committed: it will truncate when it returns."""
    happy(story).started(0, epoch=10, leo=2).state([0], offset=20, leader_epoch=1)
    story.follows(1, 0, 0, leo=2, hw=1).moves_hw(0, 2, leader_epoch=1).appends(0, 0, 2)
    story.dump(0, (0, 0, 1), (1, 1, 3)).dump(1, (0, 0, 1), (1, 0, 2))


@case("pass")
def replicas_differ_below_the_log_start(story: Story) -> None:
    """DeleteRecords moved the log start to 2: what broker 1 still has below, nobody can read."""
    happy(story).started(0, epoch=10, leo=2).started(1, epoch=11, leo=2).state([0, 1], offset=20)
    story.moves_hw(0, 2).moves_start(0, 0, 2, "delete-records").moves_start(1, 0, 2, "leader")
    story.dump(0, (0, 0, 1), (1, 0, 2)).dump(1, (0, 0, 1), (1, 1, 2))


@case(divergence=1)
def replicas_differ_from_their_log_starts_on(story: Story) -> None:
    """Offset 1 is where the log of broker 1 begins: a consumer may read it from either."""
    happy(story).started(0, epoch=10, leo=2).started(1, epoch=11, leo=2).state([0, 1], offset=20)
    story.moves_hw(0, 2).moves_start(0, 0, 1, "delete-records").moves_start(1, 0, 1, "leader")
    story.dump(0, (0, 0, 1), (1, 0, 2)).dump(1, (0, 1, 1), (1, 1, 2))


@case(divergence=1)
def silent_divergence(story: Story) -> None:
    """Nobody can find a difference by epochs where offset and epoch are equal, so there must be none, at any HW."""
    happy(story).dump(0, (0, 0, 1), (1, 0, 2)).dump(2, (0, 0, 1), (1, 0, 3))


@case(isr_incomplete=1, stale_isr_join=1)
def empty_member(story: Story) -> None:
    """KAFKA-14139: broker 1 came back with an empty disk under epoch 30, and was let in under epoch 11."""
    happy(story).started(0, epoch=10, leo=0).started(1, epoch=11, leo=0).state([0], offset=20)
    story.appends(0, 0, 1, leader=True).appends(1, 0, 1).moves_hw(0, 1)
    story.proposes(0, [0, 1], [10, 11]).event("broker-1", "node-stopped", reason="power-loss")
    story.started(1, epoch=30, leo=0, incarnation=2)
    story.handles([0, 1], [10, 11], [10, 30], offset=40).state([0, 1], offset=40)
    story.state([0, 1], offset=40, controller=1).state([0], offset=50)


@case("pass")
def restarted_member_leaves_in_the_same_step(story: Story) -> None:
    """Registration and removal from the ISR commit together: nobody ever sees the state between them."""
    happy(story).started(0, epoch=10, leo=0).started(1, epoch=11, leo=0).state([0, 1], offset=20)
    story.appends(0, 0, 1, leader=True).appends(1, 0, 1).moves_hw(0, 1)
    story.event("broker-1", "node-started", incarnation=2)
    story.event(
        "broker-1", "log-loaded", incarnation=2, partition=P0, topic_id=TOPIC_ID, offset=0, end_offset=0,
        reason="recovered",
    )  # fmt: skip
    story.registered(1, epoch=30).state([0], offset=31, same_time=True)
    story.registered(1, epoch=11, controller=1).registered(1, epoch=30, controller=1)


@case(isr_incomplete=1)
def restarted_member_stays(story: Story) -> None:
    """Broker 1 came back with less, registered, and the controller left it in the ISR."""
    happy(story).started(0, epoch=10, leo=0).started(1, epoch=11, leo=0).state([0, 1], offset=20)
    story.appends(0, 0, 1, leader=True).appends(1, 0, 1).moves_hw(0, 1)
    story.started(1, epoch=30, leo=0, incarnation=2).moves_hw(0, 1)


@case("pass")
def restarted_member_not_registered_yet(story: Story) -> None:
    """Until the new incarnation registers, the controller cannot know; an old registration's late report is not one."""
    happy(story).started(0, epoch=10, leo=0).started(1, epoch=11, leo=0).state([0, 1], offset=20)
    story.appends(0, 0, 1, leader=True).appends(1, 0, 1).moves_hw(0, 1)
    story.event("broker-1", "node-started", incarnation=2)
    story.event(
        "broker-1", "log-loaded", incarnation=2, partition=P0, topic_id=TOPIC_ID, offset=0, end_offset=0,
        reason="recovered",
    )  # fmt: skip
    story.registered(1, epoch=11, controller=1)


@case(isr_incomplete=1)
def truncated_below_hw(story: Story) -> None:
    """KIP-101: a follower in the ISR cuts its log below the true HW, and for a while it could be elected without it."""
    happy(story).started(0, epoch=10, leo=0).started(1, epoch=11, leo=0).state([0, 1], offset=20)
    story.appends(0, 0, 2, leader=True).appends(1, 0, 2).moves_hw(0, 2)
    story.truncates(1, 1, 2, leader_epoch=0).appends(1, 1, 2)


@case(stale_isr_join=1)
def proposal_tells_the_epoch(story: Story) -> None:
    """AlterPartition 2 carries no epochs, but the leader says that it knew broker 1 under epoch 11."""
    happy(story).registered(1, epoch=11).state([0], offset=20).proposes(0, [0, 1], [10, 11])
    story.registered(1, epoch=30).handles([0, 1], [-1, -1], [10, 30], offset=40)


@case(stale_isr_join=1)
def registered_between(story: Story) -> None:
    """Nobody tells the epoch, but broker 1 registered anew between the proposal and its acceptance."""
    happy(story).registered(1, epoch=11).state([0], offset=20).proposes(0, [0, 1], [-1, -1])
    story.registered(1, epoch=30).handles([0, 1], [-1, -1], [10, 30], offset=40)


@case("pass")
def joins_under_its_own_epoch(story: Story) -> None:
    """Epochs agree; a stale one was refused; an old member's epoch is not the question; a retry changes nothing."""
    happy(story).registered(1, epoch=11).state([0, 2], offset=20).proposes(0, [0, 1], [10, 11])
    story.handles([0, 1], [10, 11], [10, 30], offset=-1, reason="INELIGIBLE_REPLICA")
    story.handles([0, 2, 1], [10, 5, 11], [10, 6, 11], offset=40).state([0, 2, 1], offset=40)
    story.handles([0, 2, 1], [10, 5, 11], [10, 6, 11], offset=-1)


@case(two_leaders=1)
def two_nodes_one_epoch(story: Story) -> None:
    """Two nodes append as leader in leader epoch 3."""
    happy(story).appends(0, 0, 1, leader=True, leader_epoch=3).appends(1, 0, 1, leader=True, leader_epoch=3)


@case(two_leaders=1)
def two_lives_one_epoch(story: Story) -> None:
    """A leader crashed and led on in its old epoch, as if it had never been away."""
    happy(story).appends(0, 0, 1, leader=True, leader_epoch=3)
    story.appends(0, 0, 1, leader=True, leader_epoch=3, incarnation=2)


@case("pass")
def one_leader_an_epoch(story: Story) -> None:
    """Followers append in the leader's epoch too, and a new leader has a new one."""
    happy(story).appends(0, 0, 1, leader=True, leader_epoch=3).appends(1, 0, 1, leader_epoch=3)
    story.appends(1, 1, 2, leader=True, leader_epoch=4).appends(0, 2, 3, leader=True, leader_epoch=3)


@case(leader_not_in_isr=1)
def leader_outside(story: Story) -> None:
    """Broker 0 leads, and the ISR is broker 1; three controllers report it, and it is one state."""
    happy(story).state([0, 1], offset=20).state([1], offset=21).state([1], offset=21, controller=1)
    story.state([1], offset=22, leader=-1)


@case(hw_regression=1)
def hw_goes_back(story: Story) -> None:
    """The new leader's HW moved, and to less than the old leader's."""
    happy(story).moves_hw(0, 5).moves_hw(1, 3, leader_epoch=1).moves_hw(1, 6, leader_epoch=1)


@case(node_crash=2)
def nodes_crash(story: Story) -> None:
    """A broker and a controller ended by exceptions of their own; one that a fault ended is no crash."""
    happy(story).state([0], offset=20)
    story.event("broker-1", "node-crashed", reason="KeyError: 'x'", stack="Traceback …")
    story.event("broker-1", "node-stopped", reason="crash").event("broker-0", "node-stopped", reason="crash")
    story.event("controller-0", "node-crashed", reason="QuorumBrokenError: two leaders", stack="Traceback …")


def _half_of_a_batch_is_left(story: Story) -> Story:
    happy(story).leads(0, 0, leo=0).commits(0, 0, 2, crc=7).state([0, 1], offset=20)
    return story.dump(0, (1, 0, 2), crc=9).dump(1, (0, 0, 1), (1, 0, 2), crc=7)


@case("pass")
def compacted(story: Story) -> None:
    """Broker 0 has compacted its log: of a batch of two records one is left, in a batch that has another CRC."""
    _half_of_a_batch_is_left(story).event("broker-0", "transition", reason="compaction-begun", partition=P0)


@case(committed_loss=2, divergence=1)
def not_compacted(story: Story) -> None:
    """The same without compaction; another transition excuses nothing."""
    _half_of_a_batch_is_left(story).event("broker-0", "transition", reason="segment-rolled", partition=P0)


@case("pass")
def deposed_leader_lags(story: Story) -> None:
    """A deposed leader that does not know it yet may say less than the new one has."""
    happy(story).moves_hw(0, 5).moves_hw(1, 8, leader_epoch=1).moves_hw(0, 6).moves_hw(1, 9, leader_epoch=1)


@case("pass")
def topic_created_anew(story: Story) -> None:
    """Offsets and epochs begin anew with a topic of the same name: its first generation was deleted, not lost."""
    _committed_by_0(story)
    new = "f" * 32
    story.state([1], leader=1, offset=50, topic_id=new).leads(1, 0, leo=0, topic_id=new)
    story.commits(1, 0, 1, leader_epoch=0, crc=55).moves_hw(1, 1)
    story.dump(0, (0, 0, 1), (1, 0, 2)).dump(1, (0, 0, 55), topic_id=new)


# --- logs that stay, and logs that go -------------------------------------------------------------------------------


def _runs(story: Story, broker: int, *, incarnation: int = 1, leo: int = 0) -> Story:
    """A broker starts, loads its log and runs."""
    node = f"broker-{broker}"
    story.event(node, "node-started", incarnation=incarnation).event(
        node, "log-loaded", incarnation=incarnation, partition=P0, topic_id=TOPIC_ID, offset=0, end_offset=leo,
        reason="clean",
    )  # fmt: skip
    return story.event(node, "broker-state", incarnation=incarnation, broker=broker, broker_epoch=1, reason="running")


def _assigned(
    story: Story, replicas: list[int], *, offset: int, isr: list[int] | None = None, reason: str = "changed"
) -> Story:
    return story.event(
        "zookeeper-0", "partition-changed", partition=P0, topic_id=TOPIC_ID, replicas=replicas,
        isr=replicas if isr is None else isr, leader=0, leader_epoch=0, partition_epoch=offset, metadata_offset=offset,
        reason=reason,
    )  # fmt: skip


def _removed(story: Story, broker: int, *, incarnation: int = 1, reason: str = "deleted") -> Story:
    node = f"broker-{broker}"
    return story.event(node, "log-removed", incarnation=incarnation, partition=P0, topic_id=TOPIC_ID, reason=reason)


def _later(story: Story, seconds: float) -> Story:
    story.now += int(seconds * 1e9)
    return story.event("broker-0", "broker-state", broker=0, broker_epoch=1, reason="running")


def _moved_while_away(story: Story) -> Story:
    """Broker 2 is down while its replica is moved to broker 1, and comes back."""
    happy(_runs(_assigned(story, [0, 2], offset=1), 2))
    story.event("broker-2", "node-stopped", reason="kill")
    return _runs(_assigned(story, [0, 1], offset=2), 2, incarnation=2, leo=5)


@case(stray_partition=1)
def stray_log_stays(story: Story) -> None:
    """Broker 2 has run for eleven seconds with a log that is assigned to brokers 0 and 1."""
    _later(_moved_while_away(story), 11)


@case("pass")
def stray_log_is_young(story: Story) -> None:
    """It has run for nine seconds only, and has ten."""
    _later(_moved_while_away(story), 9)


@case("pass")
def stray_log_set_aside(story: Story) -> None:
    """It set the log aside."""
    _later(_removed(_moved_while_away(story), 2, incarnation=2, reason="stray"), 11)


@case("pass")
def stray_log_of_a_dead_broker(story: Story) -> None:
    """A broker that is down can delete nothing."""
    _moved_while_away(story).event("broker-2", "node-stopped", incarnation=2, reason="kill")
    _later(story, 11)


@case("pass")
def stray_log_on_a_replaced_disk(story: Story) -> None:
    """The log went with the disk: the broker's present life has loaded none."""
    _moved_while_away(story).event("broker-2", "node-stopped", incarnation=2, reason="power-loss")
    story.event("broker-2", "node-started", incarnation=3)
    story.event("broker-2", "broker-state", incarnation=3, broker=2, broker_epoch=3, reason="running")
    _later(story, 11)


@case("pass")
def stray_log_assigned_again(story: Story) -> None:
    """The replica was moved back."""
    _later(_assigned(_moved_while_away(story), [0, 2], offset=3), 11)


@case(stray_partition=1)
def log_of_a_deleted_topic_stays(story: Story) -> None:
    """The topic is gone, and broker 2 keeps its log."""
    happy(_runs(_assigned(story.under(deletion=("orders",)), [0, 2], offset=1), 2))
    _later(_assigned(story, [0, 2], offset=2, reason="deleted"), 11)


@case(live_partition_deleted=1)
def assigned_log_deleted(story: Story) -> None:
    """No committed state has ever taken the replica from broker 2."""
    _removed(_assigned(happy(_runs(_assigned(story, [0, 2], offset=1), 2)), [0, 2], isr=[0], offset=2), 2)


@case("pass")
def removed_replica_deleted(story: Story) -> None:
    """The replica was moved away first."""
    _removed(_assigned(happy(_runs(_assigned(story, [0, 2], offset=1), 2)), [0, 1], offset=2), 2)


@case("pass")
def late_order_to_delete(story: Story) -> None:
    """The replica was moved away and back; broker 2, out of the ISR, carries out the first order now."""
    _assigned(happy(_runs(_assigned(story, [0, 2], offset=1), 2)), [0, 1], offset=2)
    _removed(_assigned(story, [0, 2], isr=[0], offset=3), 2)


@case(live_partition_deleted=1)
def member_of_the_isr_deleted(story: Story) -> None:
    """Broker 2 is back in the ISR: it has fetched by a newer order than the one to delete."""
    _assigned(happy(_runs(_assigned(story, [0, 2], offset=1), 2)), [0, 1], offset=2)
    _removed(_assigned(story, [0, 2], isr=[0, 2], offset=3), 2)


@case("pass")
def stray_found_at_a_start_goes(story: Story) -> None:
    """When broker 2 loaded the log again it was not assigned any more."""
    _removed(_moved_while_away(story), 2, incarnation=2)


# --- acknowledgements, sequences, whole logs, retention -------------------------------------------------------------


def _deleted(story: Story) -> Story:
    """The topic of two records that passed the high watermark is deleted."""
    _committed_by_0(story)
    return story.event(
        "controller-0", "partition-changed", partition=P0, topic_id=TOPIC_ID, replicas=[0], isr=[0], leader=0,
        leader_epoch=0, partition_epoch=1, metadata_offset=99, reason="deleted",
    ).poll()  # fmt: skip


@case(committed_loss=2)
def deleted_by_nobody(story: Story) -> None:
    """The experiment deletes no topic."""
    _deleted(story.under(deletion=()))


@case("pass")
def deleted_as_asked(story: Story) -> None:
    """Somebody may have deleted it. Broker 0, which led last, was away and has a part of the log still."""
    _deleted(story.under(deletion=("orders",)))
    story.dump_of_producer(0, (0, 0, 1)).dump_end(0, 1)


@case(min_isr=1)
def acknowledged_below_min_isr(story: Story) -> None:
    """Two in-sync replicas were asked for, broker 1 had left the ISR, and the leader acknowledged all the same."""
    happy(story).state([0, 1], offset=20).acknowledges(0, 0, 1, isr=[0, 1], min_isr=2, partition_epoch=20)
    story.state([0], offset=21).acknowledges(0, 1, 2, isr=[0], min_isr=2, partition_epoch=21)


@case(min_isr=1)
def proposed_member_counted(story: Story) -> None:
    """The leader counted broker 1, which it had only proposed to add: the controller committed no such ISR."""
    happy(story).state([0], offset=20).acknowledges(0, 0, 1, isr=[0, 1], min_isr=2, partition_epoch=20)


def _two_in_sync(story: Story) -> Story:
    """Brokers 0 and 1 are in sync, and HW 2 was reached."""
    happy(story).started(0, epoch=10, leo=0).started(1, epoch=11, leo=0).state([0, 1], offset=20)
    return (
        story.appends(0, 0, 2, leader=True).appends(1, 0, 2).moves_hw(0, 2).dump(0, (0, 0, 1), (1, 0, 2)).dump_end(0, 2)
    )


@case("pass")
def replicas_whole(story: Story) -> None:
    """Both replicas of the ISR hold everything below the HW; damage above it is nobody's."""
    _two_in_sync(story).dump(1, (0, 0, 1), (1, 0, 2)).dump_end(1, 2, ended="corrupt").dump_end(1, 2)


@case(replica_incomplete=1)
def follower_ends_early(story: Story) -> None:
    """Nobody reads from broker 1, whose log ends at offset 1 on the disk, though it is in sync and the HW is 2."""
    _two_in_sync(story).dump(1, (0, 0, 1)).dump_end(1, 1)


@case(replica_incomplete=2)
def damage_below_the_hw(story: Story) -> None:
    """Broker 1 has a corrupt batch at offset 1, broker 0 a gap at offset 0: each is one replica that lacks records."""
    _two_in_sync(story).dump(1, (0, 0, 1)).dump_end(1, 1, ended="corrupt", found="position 70: CRC").dump_end(1, 2)
    story.dump_end(0, 0, ended="gap")


@case(replica_incomplete=1)
def head_is_missing(story: Story) -> None:
    """Broker 1's log begins at offset 1, and nobody has reported that any log start moved."""
    _two_in_sync(story).dump(1, (1, 0, 2)).dump_end(1, 2, start=1)


@case(replica_incomplete=1)
def directory_is_missing(story: Story) -> None:
    """Broker 1 is in the ISR, and has no directory of the partition."""
    _two_in_sync(story)


@case(replica_incomplete=2)
def every_directory_is_missing(story: Story) -> None:
    """No replica of the partition is left on any disk, while another partition's are there."""
    _two_in_sync(story).dumps.clear()
    story.dump_end(0, 0)
    story.dumps[0].partition = "orders-1"


@case("pass")
def head_was_deleted(story: Story) -> None:
    """Broker 1's log begins at offset 1, and broker 0 reported that DeleteRecords moved the log start there."""
    _two_in_sync(story).moves_start(0, 0, 1, "delete-records").dump(1, (1, 0, 2)).dump_end(1, 2, start=1)


@case("pass")
def replica_is_down(story: Story) -> None:
    """Broker 1 lost power, and what it lost is not known to the controller yet."""
    _two_in_sync(story).event("broker-1", "node-stopped", reason="power-loss").dump_end(1, 0)


@case(sequence_gap=1)
def sequences_skipped(story: Story) -> None:
    """Sequence 2 follows sequence 0 on both replicas: what came between would be written behind it."""
    happy(story)
    for broker in (0, 1):
        story.dump_of_producer(broker, (0, 0, 1), (1, 2, 2)).dump_end(broker, 2)


@case(sequence_gap=2)
def sequences_of_other_epochs(story: Story) -> None:
    """Epoch 1 does not begin with 0; then epoch 0 writes again, though it was fenced."""
    happy(story).dump_of_producer(0, (0, 0, 1)).dump_of_producer(0, (1, 4, 2), epoch=1)
    story.dump_of_producer(0, (2, 1, 3)).dump_end(0, 3)


@case("pass")
def sequences_in_order(story: Story) -> None:
    """A first sequence above 0 (retention), a wrap, a new epoch, another producer, and a hole that compaction made."""
    happy(story).dump_of_producer(0, (5, 2**31 - 1, 1), (6, 0, 2)).dump_of_producer(0, (7, 3, 3), producer_id=8)
    story.dump_of_producer(0, (8, 0, 4), (11, 3, 5), epoch=1).dump_end(0, 12)


@case(retention_too_greedy=3)
def retention_takes_too_much(story: Story) -> None:
    """One segment went too young, one left less than the limit, and one was not committed."""
    happy(story).moves_hw(0, 3)
    story.moves_start(0, 0, 1, "retention-time", retention_ms=1000, age_ms=1000)
    story.moves_start(0, 1, 2, "retention-size", retention_bytes=500, size_left=499)
    story.moves_start(0, 2, 4, "delete-records")


@case(retention_too_greedy=2)
def deletes_records_that_nobody_asked_for(story: Story) -> None:
    """Clients asked broker 0 for less, asked another broker, and asked too late; then for all that is committed."""
    happy(story).moves_hw(0, 3).is_asked_to_delete(0, 1).is_asked_to_delete(1, 3)
    for new in (1, 2, 3):
        story.moves_start(0, new - 1, new, "delete-records", asked=False)
    story.is_asked_to_delete(0, -1).moves_start(0, 2, 3, "delete-records", asked=False)


@case(retention_too_greedy=1)
def follower_begins_on_its_own(story: Story) -> None:
    """Broker 1 says that its leader's log begins at 2, and no other log does."""
    happy(story).moves_hw(0, 3).moves_start(0, 0, 1, "delete-records").moves_start(1, 0, 2, "leader")


def _head_is_gone(story: Story) -> Story:
    """Broker 0 comes back with a log that begins at 2, and broker 1 takes that over."""
    happy(story).started(0, epoch=10, leo=3).moves_hw(0, 3).event("broker-0", "node-started", incarnation=2)
    story.event(
        "broker-0", "log-loaded", incarnation=2, partition=P0, topic_id=TOPIC_ID, offset=2, end_offset=3,
        reason="recovered",
    )  # fmt: skip
    return story.moves_start(1, 0, 2, "leader")


@case(retention_too_greedy=2)
def a_restart_is_no_reason(story: Story) -> None:
    """No retention is set, and the head of broker 0's log is gone when it comes back; broker 1 follows it."""
    _head_is_gone(story)


@case("inconclusive")
def a_restart_may_hide_retention(story: Story) -> None:
    """Old records may be deleted, and a node that was killed may not have got to report that it did."""
    _head_is_gone(story.under(retention=("orders",)))


@case(retention_too_greedy=2)
def begun_anew_too_late(story: Story) -> None:
    """Brokers 1 and 2 empty their logs and begin at 2, where no log begins."""
    happy(story).started(0, epoch=10, leo=3).moves_hw(0, 3)
    for broker in (1, 2):
        story.event(
            f"broker-{broker}", "log-truncated", partition=P0, leader_epoch=0, offset=2, end_offset=1,
            reason="restart-at",
        )  # fmt: skip


@case("pass")
def begun_anew_where_the_leader_begins(story: Story) -> None:
    """Broker 1 begins anew at its leader's log start, and broker 0, which lost its disk, where broker 1 does."""
    happy(story).moves_hw(0, 3).moves_start(0, 0, 2, "delete-records")
    for broker in (1, 0):
        story.event(
            f"broker-{broker}", "log-truncated", partition=P0, leader_epoch=0, offset=2, end_offset=0,
            reason="restart-at",
        )  # fmt: skip


@case("pass")
def retention_by_its_settings(story: Story) -> None:
    """Old enough, much enough, asked for, and followed."""
    happy(story).moves_hw(0, 3).moves_start(0, 0, 1, "retention-time", retention_ms=1000, age_ms=1001)
    story.moves_start(0, 1, 2, "retention-size", retention_bytes=500, size_left=500)
    story.moves_start(0, 2, 3, "delete-records").moves_start(1, 0, 3, "leader")
