"""Histories of one partition, and for each rule of the specification one that keeps it and one that breaks it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

walk = sys.modules["specification_walk"]


class History:
    """Broker 0 leads epoch 0 with everybody in the ISR. Ten records stand everywhere, and five are committed."""

    def __init__(self) -> None:
        self.events = walk.Events()
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

    def broker(self, number: int, kind: str, incarnation: int = 1, **fields: Any) -> History:
        self.events.add(f"broker-{number}", kind, incarnation, **fields)
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

    def proposes(self, number: int, isr: list[int], epoch: int, base: int) -> History:
        return self.broker(number, "isr-proposed", leader_epoch=epoch, partition_epoch=base, isr=isr, reason="expand")

    def ends(self, number: int, isr: list[int], epoch: int, at: int, reason: str = "committed") -> History:
        return self.broker(number, "isr-proposal-ended", leader_epoch=epoch, partition_epoch=at, isr=isr, reason=reason)

    def decides(self, leader: int, epoch: int, partition_epoch: int, isr: list[int]) -> History:
        self.events.decided(leader, epoch, partition_epoch, isr)
        return self

    def moves_to(self, partition_epoch: int, isr: list[int], *replicas: int, epoch: int = 0) -> History:
        """The partition has these replicas, with or without those that it is to lose; broker 0 leads."""
        self.events.decided(0, epoch, partition_epoch, isr, replicas=list(replicas))
        return self

    def lives(self, broker: int, what: str) -> History:
        self.events.alive(broker, what)
        return self

    def accepts(self, broker: int, isr: list[int], epoch: int, base: int) -> History:
        self.events.add(
            "controller-0",
            "alter-partition-handled",
            broker=broker,
            leader_epoch=epoch,
            isr=isr,
            partition_epoch=base,
            reason="NONE",
            metadata_offset=self.events.metadata + 1,
        )
        return self

    def refuses(self, broker: int, isr: list[int], epoch: int, base: int) -> History:
        self.accepts(broker, isr, epoch, base)
        self.events.rows[-1]["reason"] = "INELIGIBLE_REPLICA"
        return self

    def starts_again(self, number: int, start: int, end: int, leader: int = 1, epoch: int = 1) -> History:
        """A follower's process is started again, with a log that begins at ``start``."""
        self.broker(number, "log-loaded", 2, offset=start, end_offset=end, reason="recovered")
        fields = {"leader": leader, "leader_epoch": epoch, "offset": 0, "end_offset": end}
        return self.broker(number, "became-follower", 2, **fields)

    def appends_again(self, number: int, start: int, end: int) -> History:
        return self.broker(number, "log-appended", 2, leader_epoch=1, offset=start, end_offset=end, reason="follower")

    def truncates_again(self, number: int, to: int, end: int, epoch: int) -> History:
        fields = {"leader_epoch": epoch, "offset": to, "end_offset": end, "reason": "diverging-epoch"}
        return self.broker(number, "log-truncated", 2, **fields)

    def goes_on(self, start: int, end: int) -> History:
        """Broker 0 appends as leader in its second life."""
        fields = {"leader_epoch": 0, "offset": start, "end_offset": end, "reason": "leader"}
        return self.broker(0, "log-appended", 2, **fields)

    def deletes_below(self, offset: int, *brokers: int) -> History:
        for broker in brokers:
            self.broker(broker, "log-start-moved", offset=0, end_offset=offset, reason="delete-records")
        return self

    def answers_deletion(self, offset: int) -> History:
        return self.broker(0, "records-deleted", leader_epoch=0, offset=offset, replicas=[0, 1, 2])

    def acknowledges(self, number: int, end: int, epoch: int = 0, at: int = 0) -> History:
        return self.broker(
            number,
            "write-acknowledged",
            leader_epoch=epoch,
            partition_epoch=at,
            offset=end - 1,
            end_offset=end,
            isr=[0, 1, 2],
            min_isr=2,
        )

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

    def leads_again(self, hw: int) -> History:
        """Broker 1 leads epoch 1 in its second life."""
        fields = {"leader_epoch": 1, "partition_epoch": 1, "replicas": [0, 1, 2], "isr": [1]}
        return self.broker(1, "became-leader", 2, offset=hw, end_offset=10, **fields)

    def returns(self, hw: int) -> History:
        """The leader's process is started again, and leads on in its epoch, as in ZooKeeper mode."""
        self.broker(0, "log-loaded", 2, offset=0, end_offset=11, reason="recovered")
        fields = {"leader_epoch": 0, "partition_epoch": 0, "replicas": [0, 1, 2], "isr": [0, 1, 2]}
        return self.broker(0, "became-leader", 2, offset=hw, end_offset=11, **fields)

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

    def left_behind(self) -> History:
        """Broker 1 leads epoch 1, and its log starts at 10, where that of broker 0 ends at 8."""
        self.broker(0, "log-loaded", 2, offset=0, end_offset=8, reason="recovered")
        self.decides(1, 1, 1, [1, 2]).leads(1, 1, 1, 10, [1, 2], 5).follows(2, 1, 1, 10).moves(1, 10, 1)
        self.broker(1, "log-start-moved", offset=0, end_offset=10, reason="retention-time")
        return self.broker(0, "became-follower", 2, leader=1, leader_epoch=1, offset=0, end_offset=8)

    def restarts_at(self, to: int) -> History:
        """Broker 0 empties its log."""
        return self.broker(0, "log-truncated", 2, leader_epoch=1, offset=to, end_offset=8, reason="restart-at")

    def starts_at(self, number: int, to: int) -> History:
        """Everything is committed, and what is below ``to`` is deleted."""
        self.appends(2, 10, 13, 1, "follower").moves(number, 13, 1)
        return self.broker(number, "log-start-moved", offset=0, end_offset=to, reason="retention-size")

    def goes_offline(self, end: int) -> History:
        """The leader's log fails in the moment in which it acknowledges."""
        self.moves(0, 10, 0).broker(0, "transition", reason="log-offline")
        now = self.events.rows[-1]["time_ns"]
        self.acknowledges(0, end)
        self.events.rows[-1]["time_ns"] = now
        return self

    def fails_and_returns(self, number: int, end: int) -> History:
        """A follower's log fails while it appends, and after a restart it has the records below ``end``."""
        self.broker(number, "transition", reason="log-offline").stops(number, 1, "kill")
        return self.broker(number, "log-loaded", 2, offset=0, end_offset=end, reason="recovered")

    def leads_on_from_12(self, follower: int) -> History:
        """Broker 1 leads epoch 2 and appends a record, which this one of the others fetches."""
        self.decides(1, 2, 2, [1]).leads(1, 2, 2, 12, [1]).appends(1, 12, 13, 2)
        self.broker(follower, "became-follower", 2, leader=1, leader_epoch=2, offset=0, end_offset=12)
        return self.broker(follower, "log-appended", 2, leader_epoch=2, offset=12, end_offset=13, reason="follower")

    def fails_over(self) -> History:
        """Broker 1 leads epoch 1 and appends two records; broker 0 had appended two that nobody fetched."""
        self.appends(0, 10, 12, 0).decides(1, 1, 1, [1, 2]).leads(1, 1, 1, 10, [1, 2])
        return self.appends(1, 10, 12, 1).follows(2, 1, 1, 10).follows(0, 1, 1, 12)


Tail = Callable[[History], Any]
CASES: list[tuple[str, Tail, Tail]] = [
    # --- decisions ---
    ("epochs-advance", lambda h: h.decides(1, 1, 1, [1, 2]), lambda h: h.decides(0, 0, 0, [0, 1])),
    ("epochs-advance", lambda h: h.decides(1, 1, 1, [1, 2]), lambda h: h.decides(1, 0, 1, [1, 2])),
    ("isr-of-replicas", lambda h: h.elects(), lambda h: h.decides(1, 1, 1, [2])),
    ("isr-of-replicas", lambda h: h.decides(-1, 1, 1, [1]), lambda h: h.decides(-1, 1, 1, [])),
    (
        "leader-from-isr",
        lambda h: h.decides(0, 0, 1, [0, 1]).decides(1, 1, 2, [1]),
        lambda h: h.decides(0, 0, 1, [0, 1]).decides(2, 1, 2, [2]),
    ),
    (
        "leader-alive",
        lambda h: h.lives(1, "fenced").decides(2, 1, 1, [2]),
        lambda h: h.lives(1, "fenced").elects(),
    ),
    (
        "fenced-leaves-isr",
        lambda h: h.lives(2, "fenced").decides(0, 0, 1, [0, 1]),
        lambda h: h.lives(2, "fenced").decides(0, 0, 1, [0, 2]),
    ),
    (
        "isr-grows-by-proposal",
        lambda h: (
            h.shrinks([0, 1]).proposes(0, [0, 1, 2], 0, 1).accepts(0, [0, 1, 2], 0, 1).decides(0, 0, 2, [0, 1, 2])
        ),
        lambda h: (
            h.shrinks([0, 1]).proposes(0, [0, 1, 2], 0, 1).accepts(0, [0, 1, 2], 0, 0).decides(0, 0, 2, [0, 1, 2])
        ),
    ),
    # A move to 3 and 0 takes 1 and 2 away when 3 is in sync.
    (
        "reassignment-in-sync",
        lambda h: (
            h.moves_to(1, [0, 1, 2], 3, 0, 1, 2).accepts(0, [0, 1, 2, 3], 0, 1).moves_to(2, [0, 3], 3, 0, epoch=1)
        ),
        lambda h: h.moves_to(1, [0, 1, 2], 3, 0, 1, 2).moves_to(2, [0], 3, 0, epoch=1),
    ),
    # Who takes it back loses 3, which need not be in sync; who moves on to 4, 3 and 0 waits for both.
    (
        "reassignment-in-sync",
        lambda h: h.moves_to(1, [0, 1, 2], 3, 0, 1, 2).moves_to(2, [0, 1, 2], 0, 1, 2, epoch=1),
        lambda h: (
            h.moves_to(1, [0, 1, 2], 3, 0, 1, 2)
            .moves_to(2, [0, 1, 2], 4, 3, 0, 1, 2)
            .accepts(0, [0, 1, 2, 3], 0, 2)
            .moves_to(3, [0, 3], 4, 3, 0, epoch=1)
        ),
    ),
    # A move to 0 and 1 takes 2 away: one that stays must be in sync as well (KAFKA-15665).
    (
        "reassignment-in-sync",
        lambda h: h.moves_to(1, [0, 1], 0, 1, epoch=1),
        lambda h: h.moves_to(1, [0], 0, 1, epoch=1),
    ),
    # What was added and has joined was there before the next move; until then it is taken back.
    (
        "reassignment-in-sync",
        lambda h: h.moves_to(1, [0, 1], 0, 1, 2, 3).moves_to(2, [0, 1], 0, 1, 2, epoch=1),
        lambda h: (
            h.moves_to(1, [0, 1, 2], 0, 1, 2, 3)
            .accepts(0, [0, 1, 2, 3], 0, 1)
            .moves_to(2, [0, 1, 2, 3], 0, 1, 2, 3)
            .moves_to(3, [0, 1], 0, 1, 2, epoch=1)
        ),
    ),
    # An acknowledgement under what the next leader epoch has decided.
    (
        "acknowledge",
        lambda h: h.moves(0, 8, 0).acknowledges(0, 8),
        lambda h: h.moves(0, 8, 0).decides(0, 1, 1, [0, 1]).acknowledges(0, 8, at=1),
    ),
    # What is below 4 is gone everywhere; broker 1 has lost the last move of its log start by a power loss.
    (
        "records-deleted",
        lambda h: (
            h.deletes_below(4, 0, 1, 2)
            .broker(1, "log-loaded", 2, offset=0, end_offset=10, reason="recovered")
            .answers_deletion(4)
        ),
        lambda h: h.deletes_below(4, 0, 1).answers_deletion(4),
    ),
    (
        "records-deleted",
        lambda h: h.deletes_below(4, 0, 1, 2).answers_deletion(4),
        lambda h: h.deletes_below(4, 0, 1).deletes_below(3, 2).answers_deletion(4),
    ),
    # --- logs ---
    (
        "load",
        lambda h: h.broker(2, "log-loaded", 2, offset=0, end_offset=9, reason="recovered"),
        lambda h: h.broker(2, "log-loaded", 2, offset=0, end_offset=11, reason="recovered"),
    ),
    ("load", lambda h: h.stops(2, 1).loads(2, 2, 10), lambda h: h.stops(2, 1).loads(2, 2, 0)),
    # What was appended is still there after a kill, which leaves the page cache; a damaged end is cut, and reported.
    (
        "load",
        lambda h: (
            h.stops(2, 1, "kill").broker(2, "log-cut", 2, offset=70, end_offset=9, reason="bad-crc").loads(2, 2, 9)
        ),
        lambda h: h.stops(2, 1, "kill").loads(2, 2, 9),
    ),
    # Broker 2 has got another disk, and was stopped once before it had reported its logs.
    (
        "load",
        lambda h: h.stops(2, 1, "power-loss").stops(2, 2).loads(2, 3, 0),
        lambda h: h.stops(2, 1, "power-loss").loads(2, 2, 9).stops(2, 2).loads(2, 3, 0),
    ),
    ("append", lambda h: h.appends(0, 10, 12, 0), lambda h: h.appends(0, 11, 12, 0)),
    ("append", lambda h: h.appends(0, 10, 12, 0), lambda h: h.appends(0, 10, 12, 1)),
    ("append", lambda h: h.appends(0, 10, 12, 0), lambda h: h.appends(1, 10, 12, 0)),
    (
        "append-of-leader",
        lambda h: h.appends(0, 10, 12, 0).appends(1, 10, 12, 0, "follower"),
        lambda h: h.appends(0, 10, 12, 0).appends(1, 10, 13, 0, "follower"),
    ),
    (
        "log-matching",
        lambda h: h.fails_over().truncates(0, 10, 12, 1).appends(0, 10, 12, 1, "follower"),
        lambda h: h.fails_over().appends(1, 12, 13, 1).appends(0, 12, 13, 1, "follower"),
    ),
    # Where the leader has deleted what differs, the follower goes on, and deletes the same.
    (
        "log-matching",
        lambda h: h.fails_over().appends(1, 12, 13, 1).starts_at(1, 12).appends(0, 12, 13, 1, "follower"),
        lambda h: h.fails_over().appends(1, 12, 13, 1).starts_at(1, 11).appends(0, 12, 13, 1, "follower"),
    ),
    # A disk that is full takes whole batches of an append that fails. Of which epoch they are is not known; what was
    # there before still is.
    (
        "log-matching",
        lambda h: h.fails_over().fails_and_returns(2, end=12).leads_on_from_12(2),
        lambda h: h.fails_over().fails_and_returns(0, end=12).leads_on_from_12(0),
    ),
    ("truncate", lambda h: h.fails_over().truncates(0, 10, 12, 1), lambda h: h.truncates(0, 8, 10, 0)),
    ("truncate", lambda h: h.left_behind().restarts_at(10), lambda h: h.left_behind().restarts_at(11)),
    (
        "truncate-diverging",
        lambda h: h.fails_over().truncates(0, 10, 12, 1),
        lambda h: h.fails_over().truncates(0, 9, 12, 1),
    ),
    (
        "log-start",
        lambda h: h.broker(0, "log-start-moved", offset=0, end_offset=5, reason="delete-records"),
        lambda h: h.broker(0, "log-start-moved", offset=0, end_offset=6, reason="delete-records"),
    ),
    # --- roles ---
    (
        "role",
        lambda h: h.elects().follows(2, 1, 1, 10),
        lambda h: h.elects().follows(2, 0, 1, 10),
    ),
    (
        "role",
        lambda h: h.fails_over().decides(2, 2, 2, [2]).follows(1, 2, 2, 12),
        lambda h: h.fails_over().follows(1, 0, 0, 12),
    ),
    (
        "role",
        lambda h: h.elects().leads(1, 1, 1, 10, [1]),
        lambda h: h.elects().leads(1, 1, 1, 10, [1, 2]),
    ),
    ("one-leader", lambda h: h.leads(1, 1, 7, 10, [1]), lambda h: h.leads(1, 0, 7, 10, [1])),
    (
        "role-keeps-log",
        lambda h: h.elects().follows(2, 1, 1, 10),
        lambda h: h.elects().follows(2, 1, 1, 9),
    ),
    (
        "follower-high-watermark",
        lambda h: h.elects().leads(1, 1, 1, 10, [1], hw=5),
        lambda h: h.elects().leads(1, 1, 1, 10, [1], hw=6),
    ),
    # Without topic ids, a log that was not created for this topic may have the high watermark of a deleted one.
    (
        "follower-high-watermark",
        lambda h: h.broker(2, "log-removed", reason="deleted").loads(2, 1, 10).elects().follows(2, 1, 1, 10, hw=6),
        lambda h: h.elects().follows(2, 1, 1, 10, hw=6),
    ),
    # After a restart it has what its checkpoint says, and that was the true one at most.
    (
        "follower-high-watermark",
        lambda h: h.stops(1, 1, "kill").loads(1, 2, 10).elects().leads_again(hw=5),
        lambda h: h.stops(1, 1, "kill").loads(1, 2, 10).elects().leads_again(hw=6),
    ),
    # Broker 1 has what its leader sent after it had moved its high watermark to 5: it must know of that.
    (
        "follower-high-watermark",
        lambda h: h.fetches().elects().leads(1, 1, 1, 11, [1], 5),
        lambda h: h.fetches().elects().leads(1, 1, 1, 11, [1], 4),
    ),
    # A leader that returns in its epoch has the high watermark of its checkpoint: its followers take that over.
    (
        "follower-high-watermark",
        lambda h: h.fetches().returns(hw=3).elects().leads(1, 1, 1, 11, [1], 3),
        lambda h: h.fetches().returns(hw=5).elects().leads(1, 1, 1, 11, [1], 3),
    ),
    # --- the leader ---
    ("high-watermark", lambda h: h.moves(0, 10, 0), lambda h: h.moves(0, 5, 0)),
    ("high-watermark", lambda h: h.moves(0, 10, 0), lambda h: h.moves(0, 11, 0)),
    ("high-watermark", lambda h: h.moves(0, 10, 0), lambda h: h.moves(1, 10, 0)),
    ("high-watermark-min-isr", lambda h: h.shrinks([0, 1]).moves(0, 10, 0), lambda h: h.shrinks([0]).moves(0, 10, 0)),
    (
        "high-watermark-isr",
        lambda h: h.appends(0, 10, 12, 0).appends(1, 10, 12, 0, "follower").shrinks([0, 1]).moves(0, 12, 0),
        lambda h: h.appends(0, 10, 12, 0).appends(1, 10, 12, 0, "follower").moves(0, 12, 0),
    ),
    # Who is proposed is waited for: the controller may have accepted it.
    (
        "high-watermark-isr",
        lambda h: h.shrinks([0, 1]).proposes(0, [0, 1, 2], 0, 1).moves(0, 10, 0),
        lambda h: (
            h.shrinks([0, 1])
            .proposes(0, [0, 1, 2], 0, 1)
            .appends(0, 10, 11, 0)
            .appends(1, 10, 11, 0, "follower")
            .moves(0, 11, 0)
        ),
    ),
    # A follower that has all records, and has not fetched from the leader of the new epoch yet.
    (
        "high-watermark-isr",
        lambda h: h.decides(1, 1, 1, [1, 2]).leads(1, 1, 1, 10, [1, 2]).follows(2, 1, 1, 10).moves(1, 10, 1),
        lambda h: h.decides(1, 1, 1, [1, 2]).leads(1, 1, 1, 10, [1, 2]).moves(1, 10, 1),
    ),
    (
        "commit",
        lambda h: h.broker(0, "batch-committed", leader_epoch=0, offset=0, end_offset=5, epoch=0),
        lambda h: h.broker(0, "batch-committed", leader_epoch=0, offset=0, end_offset=5, epoch=1),
    ),
    # A leader acts in its own leader epoch, neither in a later one nor in an earlier one.
    ("commit", lambda h: h.commits(0, epoch=0), lambda h: h.commits(0, epoch=1)),
    (
        "commit",
        lambda h: h.elects().leads(1, 1, 1, 10, [1]).commits(1, epoch=1),
        lambda h: h.elects().leads(1, 1, 1, 10, [1]).commits(1, epoch=0),
    ),
    ("proposal", lambda h: h.proposes(0, [0, 1], 0, 0), lambda h: h.proposes(0, [0, 1], 0, 1)),
    ("proposal", lambda h: h.proposes(0, [0, 1], 0, 0), lambda h: h.proposes(0, [0, 1], 0, 0).proposes(0, [0], 0, 0)),
    # Everything below the high watermark is not enough: the true one may be anywhere below the start of the epoch.
    (
        "proposal-caught-up",
        lambda h: h.elects().leads(1, 1, 1, 10, [1]).follows(2, 1, 1, 10).proposes(1, [1, 2], 1, 1),
        lambda h: (
            h.broker(2, "log-loaded", 2, offset=0, end_offset=8, reason="recovered")
            .elects()
            .leads(1, 1, 1, 10, [1])
            .broker(2, "became-follower", 2, leader=1, leader_epoch=1, offset=0, end_offset=8)
            .proposes(1, [1, 2], 1, 1)
        ),
    ),
    # Who begins again where the leader's log starts has what the leader has up to there.
    (
        "proposal-caught-up",
        lambda h: h.left_behind().restarts_at(10).proposes(1, [1, 2, 0], 1, 1),
        lambda h: h.left_behind().proposes(1, [1, 2, 0], 1, 1),
    ),
    (
        "proposal-end",
        lambda h: h.proposes(0, [0, 1], 0, 0).decides(0, 0, 1, [0, 1]).ends(0, [0, 1], 0, 1),
        lambda h: h.proposes(0, [0, 1], 0, 0).ends(0, [0, 1, 2], 0, 0, "INELIGIBLE_REPLICA"),
    ),
    (
        "proposal-end",
        lambda h: h.proposes(0, [0, 1], 0, 0).decides(0, 0, 1, [0]).ends(0, [0], 0, 1, "superseded"),
        lambda h: h.proposes(0, [0, 1], 0, 0).decides(0, 0, 1, [0]).ends(0, [0, 1], 0, 1),
    ),
    ("acknowledge", lambda h: h.acknowledges(0, 5), lambda h: h.acknowledges(0, 6)),
    ("acknowledge", lambda h: h.acknowledges(0, 5), lambda h: h.acknowledges(1, 5)),
    ("acknowledge", lambda h: h.goes_offline(10), lambda h: h.goes_offline(11)),
    ("acknowledge", lambda h: h.goes_offline(10), lambda h: h.goes_offline(10).acknowledges(0, 10)),
    ("acknowledge", lambda h: h.shrinks([0, 1]).acknowledges(0, 5), lambda h: h.shrinks([0]).acknowledges(0, 5)),
    # A proposal is refused by a controller, and nothing else.
    (
        "proposal-end",
        lambda h: h.proposes(0, [0, 1], 0, 0).refuses(0, [0, 1], 0, 0).ends(0, [0, 1, 2], 0, 0, "INELIGIBLE_REPLICA"),
        lambda h: h.proposes(0, [0, 1], 0, 0).refuses(0, [0, 1], 0, 1).ends(0, [0, 1, 2], 0, 0, "INELIGIBLE_REPLICA"),
    ),
    # What a leader has that returned in its epoch is not known.
    (
        "append",
        lambda h: h.fetches().returns(hw=5).goes_on(11, 12).appends(1, 11, 12, 0, "follower"),
        lambda h: h.fetches().returns(hw=5).appends(1, 12, 13, 0, "follower"),
    ),
    # What is left of a log below its start counts for nothing; what a truncation leaves does.
    (
        "log-matching",
        lambda h: h.fails_over().appends(1, 12, 13, 1).starts_again(0, 12, 12).appends_again(0, 12, 13),
        lambda h: h.fails_over().truncates(0, 11, 12, 1).appends(0, 11, 12, 1, "follower"),
    ),
    (
        "truncate-diverging",
        lambda h: h.starts_again(2, 8, 10, leader=0, epoch=0).truncates_again(2, 3, 10, epoch=0),
        lambda h: h.starts_again(2, 2, 10, leader=0, epoch=0).truncates_again(2, 3, 10, epoch=0),
    ),
    (
        "role",
        lambda h: h.decides(1, 1, 1, [1, 2]).leads(1, 1, 1, 10, [2, 1]),
        lambda h: h.decides(1, 1, 1, [1, 2]).leads(1, 1, 1, 10, [1]),
    ),
    # --- one bound each, from both sides ---
    ("isr-of-replicas", lambda h: h.decides(0, 0, 1, [0, 1]), lambda h: h.decides(0, 0, 1, [0, 0])),
    (
        "isr-of-replicas",
        lambda h: h.accepts(0, [0, 1], 0, 0).decides(0, 0, 1, [0, 1]),
        lambda h: h.accepts(0, [0, 3], 0, 0).decides(0, 0, 1, [0, 3]),
    ),
    (
        "isr-grows-by-proposal",
        lambda h: h.shrinks([0, 1]).grows(1),
        lambda h: h.shrinks([0, 1]).accepts(0, [0, 1], 0, 1).decides(0, 0, 2, [0, 1, 2]),
    ),
    # The last member of the ISR stays in it, whatever becomes of it.
    (
        "fenced-leaves-isr",
        lambda h: h.shrinks([0]).lives(0, "fenced").decides(-1, 1, 2, [0]),
        lambda h: h.lives(0, "fenced").decides(0, 0, 1, [0, 1]),
    ),
    (
        "epochs-advance",
        lambda h: h.decides(1, 1, 1, [0, 1]).decides(0, 2, 2, [0, 1]),
        lambda h: h.decides(1, 1, 1, [0, 1]).decides(0, 1, 2, [0, 1]),
    ),
    # Decisions that were not recorded may have been anything; one that moves nothing completes no move.
    (
        "reassignment-in-sync",
        lambda h: h.moves_to(1, [0, 1, 2], 3, 0, 1, 2).moves_to(3, [0], 3, 0, epoch=1),
        lambda h: h.moves_to(1, [0, 1, 2], 3, 0, 1, 2).moves_to(2, [0], 3, 0, epoch=1),
    ),
    (
        "reassignment-in-sync",
        lambda h: (
            h.moves_to(1, [0, 1, 2], 3, 0, 1, 2).moves_to(2, [0, 1], 3, 0, 1, 2).moves_to(3, [0, 1], 0, 1, 2, epoch=1)
        ),
        lambda h: h.moves_to(1, [0, 1], 3, 0, 1, 2).moves_to(2, [0, 1], 3, 0, 1, epoch=1),
    ),
    ("append", lambda h: h.appends(0, 10, 11, 0), lambda h: h.appends(0, 10, 10, 0)),
    ("append", lambda h: h.appends(0, 10, 11, 0), lambda h: h.appends(0, 9, 11, 0)),
    (
        "load",
        lambda h: h.flushes(2, 6).stops(2, 1, "power-loss").loads(2, 2, 9).stops(2, 2, "power-loss").loads(2, 3, 6),
        lambda h: h.flushes(2, 6).stops(2, 1, "power-loss").loads(2, 2, 9).stops(2, 2, "power-loss").loads(2, 3, 5),
    ),
    # A process that failed before it had a log may have left a directory without records on a new disk.
    (
        "load",
        lambda h: h.flushes(2, 6).stops(2, 1, "kill").stops(2, 2, "crash").loads(2, 3, 0),
        lambda h: h.flushes(2, 6).stops(2, 1, "kill").stops(2, 2, "crash").loads(2, 3, 5),
    ),
    # At the bound itself: the log end, and the log start.
    (
        "commit",
        lambda h: h.broker(0, "batch-committed", leader_epoch=0, offset=0, end_offset=10, epoch=0),
        lambda h: h.broker(0, "batch-committed", leader_epoch=0, offset=0, end_offset=11, epoch=0),
    ),
    (
        "truncate-diverging",
        lambda h: h.deletes_below(5, 2).truncates(2, 4, 10, 0),
        lambda h: h.deletes_below(5, 2).truncates(2, 5, 10, 0),
    ),
    ("load", lambda h: h.creates(2, 2, 3, 3), lambda h: h.creates(2, 2, 3, 4)),
    (
        "load",
        lambda h: h.stops(2, 1, "power-loss").loads(2, 2, 9).stops(2, 2, "power-loss").loads(2, 3, 8),
        lambda h: h.stops(2, 1).loads(2, 2, 10).stops(2, 2, "power-loss").loads(2, 3, 8),
    ),
    # No stop takes away what was flushed, and a truncation takes back what a flush has vouched for.
    *(
        (
            "load",
            lambda h, how=how: h.flushes(2, 6).stops(2, 1, how).broker(2, "log-cut", 2).loads(2, 2, 6),
            lambda h, how=how: h.flushes(2, 6).stops(2, 1, how).broker(2, "log-cut", 2).loads(2, 2, 5),
        )
        for how in ("kill", "power-loss")
    ),
    (
        "load",
        lambda h: h.fails_over().flushes(0, 12).truncates(0, 10, 12, 1).stops(0, 1, "power-loss").loads(0, 2, 10),
        lambda h: h.flushes(2, 3).flushes(2, 8).flushes(2, 6).stops(2, 1, "power-loss").loads(2, 2, 7),
    ),
    (
        "load",
        lambda h: h.flushes(2, 8).stops(2, 1, "power-loss").creates(2, 2, 0, 0).stops(2, 2, "kill").loads(2, 3, 0),
        lambda h: h.stops(2, 1).loads(2, 2, 10).stops(2, 2, "power-loss").loads(2, 3, 9),
    ),
    (
        "load",
        lambda h: h.flushes(2, 8).broker(2, "log-removed").stops(2, 1, "power-loss").loads(2, 2, 0),
        lambda h: h.flushes(2, 8).broker(2, "transition", reason="log-offline").stops(2, 1, "kill").loads(2, 2, 7),
    ),
    ("load", lambda h: h.creates(2, 2, 3, 3), lambda h: h.creates(2, 2, 3, 2)),
    ("truncate", lambda h: h.truncates(2, 10, 10, 0), lambda h: h.truncates(2, 11, 10, 0)),
    (
        "truncate",
        lambda h: h.fails_over().truncates(0, 10, 12, 1),
        lambda h: h.fails_over().truncates(0, 10, 13, 1),
    ),
    ("log-start", lambda h: h.deletes_below(5, 2), lambda h: h.deletes_below(5, 2).deletes_below(5, 2)),
    # Who begins again elsewhere, or is cut back below its log start, has that as its log start.
    (
        "log-start",
        lambda h: h.fails_over().begins_again(0, 0, 12, 1).appends(0, 0, 10, 1, "follower").deletes_below(4, 0),
        lambda h: h.left_behind().restarts_at(10).broker(0, "log-start-moved", 2, offset=0, end_offset=9, reason="x"),
    ),
    (
        "log-start",
        lambda h: (
            h.deletes_below(5, 2)
            .truncates(2, 3, 10, 0)
            .deletes_below(3, 0)
            .appends(2, 3, 9, 0, "follower")
            .deletes_below(4, 2)
        ),
        lambda h: h.deletes_below(5, 2).deletes_below(4, 2),
    ),
    ("role", lambda h: h.takes([0, 1, 2], at=0), lambda h: h.shrinks([0, 1]).takes([0, 1, 2], at=0)),
    ("proposal-end", lambda h: h.takes([0, 1, 2], at=0), lambda h: h.takes([0, 1], at=0)),
    ("role", lambda h: h.elects().leads(1, 1, 1, 10, [1]), lambda h: h.elects().leads(1, 2, 1, 10, [1])),
    (
        "proposal-end",
        lambda h: h.proposes(0, [0, 1], 0, 0).decides(0, 0, 1, [0, 1]).ends(0, [0, 1], 0, 1),
        lambda h: h.proposes(0, [0, 1], 0, 0).ends(0, [0, 1, 2], 0, 0, "superseded"),
    ),
    (
        "proposal-end",
        lambda h: h.proposes(0, [0, 1], 0, 0).decides(0, 0, 1, [0, 1]).ends(0, [0, 1], 0, 1),
        lambda h: h.proposes(0, [0, 1], 0, 0).decides(0, 0, 1, [0, 1]).ends(0, [0, 1], 0, 1, "forgotten"),
    ),
]
"""Whatever was known of a partition, one step that is permitted, and one like it that is not."""
