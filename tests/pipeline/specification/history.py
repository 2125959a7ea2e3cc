"""Histories of one partition, written event by event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

FIELDS = (
    "row",
    "time_ns",
    "node",
    "incarnation",
    "kind",
    "reason",
    "broker",
    "broker_epoch",
    "leader",
    "leader_epoch",
    "partition_epoch",
    "replicas",
    "isr",
    "isr_epochs",
    "registered_epochs",
    "offset",
    "end_offset",
    "epoch",
    "metadata_offset",
    "min_isr",
)
REPLICAS = [0, 1, 2]
_KNOWN = ("became-leader", "isr-proposal-ended", "isr-taken")


class Events:
    """Events of a partition, written down as they happen."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.metadata = 10

    def add(self, node: str, kind: str, incarnation: int = 1, **fields: Any) -> dict[str, Any]:
        row = {**dict.fromkeys(FIELDS), "row": len(self.rows), "time_ns": len(self.rows), "node": node}
        row.update(incarnation=incarnation, kind=kind, **fields)
        self.rows.append(row)
        return row

    def decided(
        self,
        leader: int,
        leader_epoch: int,
        partition_epoch: int,
        isr: list[int],
        reason: str = "changed",
        **fields: Any,
    ) -> None:
        self.metadata += 1
        self.add(
            "controller-0",
            "partition-changed",
            leader=leader,
            leader_epoch=leader_epoch,
            partition_epoch=partition_epoch,
            isr=list(isr),
            metadata_offset=self.metadata,
            reason=reason,
            **{"replicas": REPLICAS, **fields},
        )

    def alive(self, broker: int, what: str) -> None:
        self.metadata += 1
        kind = "broker-registered" if what == "registered" else "broker-registration-changed"
        epoch = self.metadata if what == "registered" else None
        self.add("controller-0", kind, broker=broker, broker_epoch=epoch, metadata_offset=self.metadata, reason=what)

    def epochs_of(self, brokers: list[int]) -> list[int]:
        """Under which these are registered; −1: not at all."""
        known = {row["broker"]: row["broker_epoch"] for row in self.rows if row["kind"] == "broker-registered"}
        return [known.get(broker, -1) for broker in brokers]


class History:
    """Broker 0 leads epoch 0 with everybody in the ISR. Ten records stand everywhere, and five are committed."""

    def __init__(self) -> None:
        self.events = Events()
        self._incarnations: dict[int, int] = {}
        for broker in (0, 1, 2):
            self.events.alive(broker, "registered")
            self.events.alive(broker, "unfenced")
        self.events.decided(0, 0, 0, [0, 1, 2], "created")
        for broker in (0, 1, 2):
            self.broker(broker, "log-loaded", offset=0, end_offset=0, reason="created")
            self.broker(broker, "min-isr-set", min_isr=2)
        self.leads(0, epoch=0, partition_epoch=0, end=0, isr=[0, 1, 2])
        self.follows(1, 0, epoch=0, end=0).follows(2, 0, epoch=0, end=0)
        self.appends(0, 0, 10, epoch=0).appends(1, 0, 10, epoch=0, of="follower").appends(2, 0, 10, 0, "follower")
        self.moves(0, 5, epoch=0)

    def broker(self, number: int, kind: str, incarnation: int | None = None, **fields: Any) -> History:
        """An event of a broker; of its latest incarnation if none is named."""
        self._incarnations[number] = incarnation or self._incarnations.get(number, 1)
        self.events.add(f"broker-{number}", kind, self._incarnations[number], **fields)
        return self

    def leads(self, number: int, epoch: int, partition_epoch: int, end: int, isr: list[int], hw: int = 0) -> History:
        return self.broker(
            number,
            "became-leader",
            leader_epoch=epoch,
            partition_epoch=partition_epoch,
            offset=hw,
            end_offset=end,
            isr=isr,
            replicas=[0, 1, 2],
        )

    def follows(self, number: int, leader: int, epoch: int, end: int, hw: int = 0) -> History:
        return self.broker(number, "became-follower", leader=leader, leader_epoch=epoch, offset=hw, end_offset=end)

    def appends(self, number: int, start: int, end: int, epoch: int, of: str = "leader") -> History:
        return self.broker(number, "log-appended", leader_epoch=epoch, offset=start, end_offset=end, reason=of)

    def truncates(self, number: int, to: int, end: int, epoch: int) -> History:
        return self.broker(
            number, "log-truncated", leader_epoch=epoch, offset=to, end_offset=end, reason="diverging-epoch"
        )

    def flushes(self, number: int, to: int) -> History:
        return self.broker(number, "log-flushed", offset=to)

    def moves(self, number: int, to: int, epoch: int) -> History:
        return self.broker(number, "high-watermark", leader_epoch=epoch, offset=to)

    def proposes(self, number: int, isr: list[int], epoch: int, base: int, epochs: Sequence[int] = ()) -> History:
        fields = {"leader_epoch": epoch, "partition_epoch": base, "isr": isr, "isr_epochs": epochs}
        return self.broker(number, "isr-proposed", **fields, reason="expand")

    def ends(self, number: int, isr: list[int], epoch: int, at: int, reason: str = "committed") -> History:
        return self.broker(number, "isr-proposal-ended", leader_epoch=epoch, partition_epoch=at, isr=isr, reason=reason)

    def decides(
        self, leader: int, epoch: int, partition_epoch: int, isr: list[int], reason: str = "changed"
    ) -> History:
        self.events.decided(leader, epoch, partition_epoch, isr, reason)
        return self

    def moves_to(self, partition_epoch: int, isr: list[int], *replicas: int, epoch: int = 0) -> History:
        """The partition has these replicas, with or without those that it is to lose; broker 0 leads."""
        self.events.decided(0, epoch, partition_epoch, isr, replicas=list(replicas))
        return self

    def lives(self, broker: int, what: str) -> History:
        self.events.alive(broker, what)
        return self

    def at_that_offset(self) -> History:
        """The next decision has the metadata offset of the last one: both come from a snapshot."""
        self.events.metadata -= 1
        return self

    def at_that_time(self) -> History:
        """The last event happened when the one before it did."""
        self.events.rows[-1]["time_ns"] = self.events.rows[-2]["time_ns"]
        return self

    def accepts(
        self,
        broker: int,
        isr: list[int],
        epoch: int,
        base: int,
        reason: str = "NONE",
        claimed: Sequence[int] = (),
        registered: Sequence[int] = (),
    ) -> History:
        """By default as AlterPartition below version 3, which has no broker epochs."""
        self.events.add(
            "controller-0",
            "alter-partition-handled",
            broker=broker,
            leader_epoch=epoch,
            isr=isr,
            isr_epochs=claimed or [-1 for _ in isr],
            registered_epochs=registered or self.events.epochs_of(isr),
            partition_epoch=base,
            reason=reason,
            metadata_offset=self.events.metadata + 1,
        )
        return self

    def refuses(self, broker: int, isr: list[int], epoch: int, base: int) -> History:
        return self.accepts(broker, isr, epoch, base, "INELIGIBLE_REPLICA")

    def starts_again(self, number: int, start: int, end: int, leader: int = 1, epoch: int = 1) -> History:
        """A follower's process is started again, with a log that begins at ``start``."""
        self.broker(number, "log-loaded", 2, offset=start, end_offset=end, reason="recovered")
        return self.follows(number, leader, epoch, end)

    def deletes_below(self, offset: int, *brokers: int) -> History:
        for broker in brokers:
            self.broker(broker, "log-start-moved", offset=0, end_offset=offset, reason="delete-records")
        return self

    def answers_deletion(self, offset: int) -> History:
        return self.broker(0, "records-deleted", leader_epoch=0, offset=offset, replicas=[0, 1, 2])

    def acknowledges(self, number: int, end: int, epoch: int = 0, **other: Any) -> History:
        """As the leader knows its partition; ``other``: what it says otherwise."""
        known = [row for row in self.events.rows if row["kind"] in _KNOWN and row["node"] == f"broker-{number}"]
        state = known[-1] if known else {"partition_epoch": 0, "isr": [0, 1, 2]}
        fields = {"partition_epoch": state["partition_epoch"], "isr": list(state["isr"]), "min_isr": 2, **other}
        return self.broker(number, "write-acknowledged", leader_epoch=epoch, offset=end - 1, end_offset=end, **fields)

    def commits(self, number: int, epoch: int) -> History:
        """Batches of epoch 0, by the leader in leader epoch ``epoch``."""
        return self.broker(number, "batch-committed", leader_epoch=epoch, offset=0, end_offset=5, epoch=0)

    def shrinks(self, isr: list[int]) -> History:
        """The leader proposes a smaller ISR, and gets it."""
        self.proposes(0, isr, 0, 0).accepts(0, isr, 0, 0).decides(0, 0, 1, isr)
        return self.ends(0, isr, 0, 1)

    def fetches(self) -> History:
        """One more record, on the leader and on broker 1."""
        return self.appends(0, 10, 11, 0).appends(1, 10, 11, 0, "follower")

    def grows(self, based_on: int) -> History:
        """The controller takes the third replica into the ISR by a proposal that is based on a partition epoch."""
        isr = [0, 1, 2]
        return self.proposes(0, isr, 0, 1).accepts(0, isr, 0, based_on).decides(0, 0, 2, isr)

    def elects(self) -> History:
        """Broker 1 is elected for epoch 1, alone in the ISR."""
        return self.decides(1, 1, 1, [1])

    def knows(self, hw: int, end: int, epoch: int = 1) -> History:
        """Broker 1 leads an epoch, with this high watermark from the epoch before."""
        return self.leads(1, epoch, epoch, end, [1], hw)

    def returns(self, hw: int) -> History:
        """The leader's process is started again, and leads on in its epoch, as in ZooKeeper mode."""
        self.broker(0, "log-loaded", 2, offset=0, end_offset=11, reason="recovered")
        return self.leads(0, 0, 0, 11, [0, 1, 2], hw)

    def creates(self, number: int, incarnation: int, start: int, end: int) -> History:
        return self.broker(number, "log-loaded", incarnation, offset=start, end_offset=end, reason="created")

    def begins_again(self, number: int, at: int, end: int, epoch: int) -> History:
        fields = {"leader_epoch": epoch, "offset": at, "end_offset": end, "reason": "restart-at"}
        return self.broker(number, "log-truncated", **fields)

    def takes(self, isr: list[int], at: int) -> History:
        """The leader takes over a committed ISR."""
        return self.broker(0, "isr-taken", partition_epoch=at, leader_epoch=0, isr=isr)

    def stops(self, number: int, incarnation: int, reason: str = "stop") -> History:
        return self.broker(number, "node-stopped", incarnation, reason=reason)

    def loads(self, number: int, incarnation: int, end: int) -> History:
        """As after a clean stop."""
        return self.broker(number, "log-loaded", incarnation, offset=0, end_offset=end, reason="clean")

    def recovers(self, number: int, incarnation: int, end: int) -> History:
        """Its log is loaded as after any other stop."""
        return self.broker(number, "log-loaded", incarnation, offset=0, end_offset=end, reason="recovered")

    def controller(self, kind: str, epoch: int, base: int) -> History:
        """An event of a controller about the full ISR."""
        self.events.add("controller-0", kind, leader_epoch=epoch, partition_epoch=base, isr=[0, 1, 2])
        return self

    def removes(self, number: int) -> History:
        return self.broker(number, "log-removed", reason="deleted")

    def left_behind(self) -> History:
        """Broker 1 leads epoch 1, and its log starts at 10, where that of broker 0 ends at 8."""
        self.broker(0, "log-loaded", 2, offset=0, end_offset=8, reason="recovered")
        self.decides(1, 1, 1, [1, 2]).leads(1, 1, 1, 10, [1, 2], 5).follows(2, 1, 1, 10).moves(1, 10, 1)
        self.broker(1, "log-start-moved", offset=0, end_offset=10, reason="retention-time")
        return self.follows(0, 1, 1, 8)

    def restarts_at(self, to: int) -> History:
        """Broker 0 empties its log."""
        return self.begins_again(0, to, 8, 1)

    def starts_at(self, number: int, to: int) -> History:
        """Everything is committed, and what is below ``to`` is deleted."""
        self.appends(2, 10, 13, 1, "follower").moves(number, 13, 1)
        return self.broker(number, "log-start-moved", offset=0, end_offset=to, reason="retention-size")

    def goes_offline(self, end: int) -> History:
        """The leader's log fails in the moment in which it acknowledges."""
        return self.moves(0, 10, 0).fails(0).acknowledges(0, end).at_that_time()

    def fails(self, number: int) -> History:
        """A broker's log is offline from now on."""
        return self.broker(number, "transition", reason="log-offline")

    def fails_and_returns(self, number: int, end: int) -> History:
        """A follower's log fails while it appends, and after a restart it has the records below ``end``."""
        return self.fails(number).stops(number, 1, "kill").recovers(number, 2, end)

    def leads_on_from_12(self, follower: int) -> History:
        """Broker 1 leads epoch 2 and appends a record, which this one of the others fetches."""
        self.decides(1, 2, 2, [1]).leads(1, 2, 2, 12, [1]).appends(1, 12, 13, 2)
        return self.follows(follower, 1, 2, 12).appends(follower, 12, 13, 2, "follower")

    def lose_power(self, end: int) -> History:
        """Broker 2 leads epoch 2 from 9 on after a power loss, and broker 1 follows with what is left below ``end``."""
        self.fails_over().stops(1, 1, "power-loss").stops(2, 1, "power-loss").recovers(1, 2, end).recovers(2, 2, 9)
        return self.decides(2, 2, 2, [2]).leads(2, 2, 2, 9, [2]).appends(2, 9, 13, 2).follows(1, 2, 2, end)

    def fetches_from_two(self) -> History:
        """Broker 1 fetches from broker 2 in epoch 1, and a record from broker 0 in epoch 2."""
        self.follows(1, 2, 1, 10).appends(1, 10, 12, 1, "follower")
        self.decides(0, 2, 2, [0]).leads(0, 2, 2, 10, [0]).appends(0, 10, 13, 2)
        return self.follows(1, 0, 2, 12).appends(1, 12, 13, 2, "follower")

    def follows_again(self, end: int) -> History:
        """What differs in the logs of brokers 0 and 1 is deleted, and they go on in epoch 2."""
        self.fails_over().appends(1, 12, 13, 1).starts_at(1, 12).deletes_below(12, 0)
        if end > 12:
            self.appends(0, 12, end, 1, "follower")
        self.accepts(1, [0, 1, 2], 1, 1).decides(1, 1, 2, [0, 1, 2]).decides(1, 2, 3, [0, 1])
        return self.leads(1, 2, 3, 13, [0, 1], 12).follows(0, 1, 2, end).moves(1, 13, 2)

    def returns_late(self) -> History:
        """Broker 1 has the high watermark 10 from the leader of epoch 1 when that of epoch 0 returns with 3."""
        self.decides(2, 1, 1, [1, 2]).leads(2, 1, 1, 10, [1, 2], 5).follows(1, 2, 1, 10).moves(2, 10, 1)
        self.appends(2, 10, 11, 1).appends(1, 10, 11, 1, "follower")
        return self.recovers(0, 2, 10).leads(0, 0, 0, 10, [0, 1, 2], 3).decides(1, 2, 2, [1])

    def leads_on(self) -> History:
        """Broker 0 is elected again for epoch 1 while its proposal is open."""
        self.shrinks([0, 1]).proposes(0, [0, 1, 2], 0, 1).decides(0, 1, 2, [0, 1]).leads(0, 1, 2, 10, [0, 1], 5)
        self.follows(1, 0, 1, 10).follows(2, 0, 1, 10).appends(0, 10, 11, 1)
        return self.appends(1, 10, 11, 1, "follower")

    def overtakes(self) -> History:
        """Broker 0 has two records that nobody fetched, and the leader of epoch 1 has others there."""
        self.appends(0, 10, 12, 0).decides(1, 1, 1, [0, 1, 2]).leads(1, 1, 1, 10, [0, 1, 2]).appends(1, 10, 12, 1)
        return self.follows(2, 1, 1, 10).appends(2, 10, 12, 1, "follower").follows(0, 1, 1, 12)

    def fails_over(self) -> History:
        """Broker 1 leads epoch 1 and appends two records; broker 0 had appended two that nobody fetched."""
        self.appends(0, 10, 12, 0).decides(1, 1, 1, [1, 2]).leads(1, 1, 1, 10, [1, 2])
        return self.appends(1, 10, 12, 1).follows(2, 1, 1, 10).follows(0, 1, 1, 12)


Tail = Callable[[History], Any]
Case = tuple[str, Tail, Tail]
"""A rule, what keeps it and what breaks it."""
