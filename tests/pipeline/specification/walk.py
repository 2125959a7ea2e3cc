"""A random walk of three brokers and a controller that keep to the rules, as the events that they would report.

Written without the specification: brokers here have logs with records, and do what the protocol says.
"""

from __future__ import annotations

from random import Random
from typing import Any

from pipeline_specification.history import REPLICAS, Events


class _Broker:
    def __init__(self, number: int) -> None:
        self.number = number
        self.incarnation = 1
        self.up = True
        self.role = ""
        self.epoch = -1
        self.leader = -1
        self.log: list[int] = []
        self.high_watermark = 0
        self.fetched: dict[int, int] = {}
        self.isr: list[int] = []
        self.partition_epoch = -1
        self.start = 0

    @property
    def node(self) -> str:
        return f"broker-{self.number}"


class Walk:
    """``steps`` random steps, drawn with ``seed``; ``events.rows`` is what was reported. After each step follow up to
    ``busy`` in which records are produced or fetched."""

    def __init__(self, seed: int, steps: int, busy: int = 0) -> None:
        self.random = Random(seed)
        self.events = Events()
        self.brokers = [_Broker(number) for number in REPLICAS]
        self.leader, self.epoch, self.partition_epoch, self.isr = 0, 0, 0, [0, 1, 2]
        for broker in self.brokers:
            self.events.alive(broker.number, "registered")
            self.events.alive(broker.number, "unfenced")
        self.events.decided(0, 0, 0, self.isr, "created")
        for broker in self.brokers:
            self._report(broker, "log-loaded", offset=0, end_offset=0, reason="created")
        for _ in range(steps):
            self.random.choice(
                [
                    self.learn,
                    self.learn,
                    self.produce,
                    self.produce,
                    self.fetch,
                    self.fetch,
                    self.fetch,
                    self.fail,
                    self.restart,
                    self.elect,
                    self.expand,
                ]
            )()
            for _ in range(self.random.randint(0, busy) if busy else 0):
                self.random.choice([self.produce, self.fetch, self.fetch])()

    def _report(self, broker: _Broker, kind: str, **fields: Any) -> None:
        self.events.add(broker.node, kind, broker.incarnation, **fields)

    def _pick(self, role: str = "") -> _Broker | None:
        able = [b for b in self.brokers if b.up and (not role or b.role == role)]
        return self.random.choice(able) if able else None

    def learn(self) -> None:
        """A broker hears of the newest decision."""
        broker = self._pick()
        if broker is None or broker.epoch == self.epoch or self.leader < 0:
            return
        broker.epoch, broker.leader, end = self.epoch, self.leader, len(broker.log)
        if self.leader == broker.number:
            broker.role, broker.fetched, broker.start = "leader", {}, end
            broker.isr, broker.partition_epoch = list(self.isr), self.partition_epoch
            self._report(broker, "min-isr-set", min_isr=2)
            self._report(
                broker,
                "became-leader",
                leader_epoch=self.epoch,
                partition_epoch=self.partition_epoch,
                offset=broker.high_watermark,
                end_offset=end,
                isr=list(self.isr),
                replicas=REPLICAS,
            )
        else:
            broker.role = "follower"
            self._report(
                broker,
                "became-follower",
                leader=self.leader,
                leader_epoch=self.epoch,
                offset=broker.high_watermark,
                end_offset=end,
            )

    def produce(self) -> None:
        """A leader appends, be it deposed."""
        leader = self._pick("leader")
        if leader is not None:
            start = len(leader.log)
            leader.log += [leader.epoch] * self.random.randint(1, 3)
            self._report(
                leader,
                "log-appended",
                leader_epoch=leader.epoch,
                offset=start,
                end_offset=len(leader.log),
                reason="leader",
            )
            self._advance(leader)

    def fetch(self) -> None:
        """A follower truncates what differs, or else appends what its leader has."""
        follower = self._pick("follower")
        if follower is None:
            return
        leader = self.brokers[follower.leader]
        if not leader.up or leader.role != "leader" or leader.epoch != follower.epoch:
            return
        same = 0
        while same < min(len(leader.log), len(follower.log)) and leader.log[same] == follower.log[same]:
            same += 1
        end = len(follower.log)
        if same < end:
            del follower.log[same:]
            follower.high_watermark = min(follower.high_watermark, same)
            self._report(
                follower,
                "log-truncated",
                leader_epoch=follower.epoch,
                offset=same,
                end_offset=end,
                reason="diverging-epoch",
            )
            return
        leader.fetched[follower.number] = end
        self._advance(leader)
        if end < len(leader.log):
            follower.log += leader.log[end : self.random.randint(end + 1, len(leader.log))]
            self._report(
                follower,
                "log-appended",
                leader_epoch=follower.epoch,
                offset=end,
                end_offset=len(follower.log),
                reason="follower",
            )
        follower.high_watermark = min(leader.high_watermark, len(follower.log))

    def _advance(self, leader: _Broker) -> None:
        others = [leader.fetched.get(b, -1) for b in leader.isr if b != leader.number]
        to = min([len(leader.log), *others])
        if len(leader.isr) >= 2 and to > leader.high_watermark:
            leader.high_watermark = to
            self._report(leader, "high-watermark", leader_epoch=leader.epoch, offset=to)
            self._report(
                leader,
                "write-acknowledged",
                leader_epoch=leader.epoch,
                offset=to - 1,
                end_offset=to,
                partition_epoch=leader.partition_epoch,
                isr=list(leader.isr),
                min_isr=2,
            )

    def fail(self) -> None:
        """A broker that is not the last member of the ISR loses power, and the end of its log with it."""
        broker = self._pick()
        if broker is None or self.isr == [broker.number] or sum(b.up for b in self.brokers) < 3:
            return
        broker.up, broker.role, broker.epoch = False, "", -1
        self._report(broker, "node-stopped", reason="power-loss")
        self._decide(isr=[b for b in self.isr if b != broker.number])
        del broker.log[self.random.randint(0, len(broker.log)) :]
        self.events.alive(broker.number, "fenced")

    def restart(self) -> None:
        """It comes back, outside the ISR."""
        for broker in self.brokers:
            if not broker.up:
                broker.up = True
                broker.incarnation += 1
                broker.high_watermark = 0
                self._report(broker, "node-started")
                self._report(broker, "log-loaded", offset=0, end_offset=len(broker.log), reason="recovered")
                self.events.alive(broker.number, "registered")
                self.events.alive(broker.number, "unfenced")

    def elect(self) -> None:
        """Another member of the ISR becomes leader."""
        self._decide(isr=self.isr, leader=self.random.choice(self.isr))

    def _decide(self, isr: list[int], leader: int | None = None) -> None:
        leader = leader if leader is not None else self.leader if self.leader in isr else self.random.choice(isr)
        self.leader, self.isr = leader, list(isr)
        self.epoch += 1
        self.partition_epoch += 1
        self.events.decided(leader, self.epoch, self.partition_epoch, isr)

    def expand(self) -> None:
        """A leader that knows the newest decision proposes who has caught up, and the controller agrees."""
        leader = self.brokers[self.leader]
        if not leader.up or leader.role != "leader" or leader.partition_epoch != self.partition_epoch:
            return
        least = max(leader.high_watermark, leader.start)
        joining = [
            b
            for b in REPLICAS
            if b not in self.isr
            and leader.fetched.get(b, -1) >= least
            and self.brokers[b].up
            and self.brokers[b].epoch == self.epoch
        ]
        if not joining:
            return
        isr, base = [*self.isr, *joining], self.partition_epoch
        fields = {"leader_epoch": self.epoch, "partition_epoch": base, "isr": isr}
        self._report(leader, "isr-proposed", **fields, isr_epochs=self.events.epochs_of(isr), reason="expand")
        self.events.add(
            "controller-0",
            "alter-partition-handled",
            broker=leader.number,
            leader_epoch=self.epoch,
            partition_epoch=base,
            isr=isr,
            isr_epochs=self.events.epochs_of(isr),
            registered_epochs=self.events.epochs_of(isr),
            reason="NONE",
            metadata_offset=self.events.metadata + 1,
        )
        self.partition_epoch += 1
        self.isr = leader.isr = isr
        leader.partition_epoch = self.partition_epoch
        self.events.decided(self.leader, self.epoch, self.partition_epoch, isr)
        self._report(
            leader,
            "isr-proposal-ended",
            leader_epoch=self.epoch,
            partition_epoch=self.partition_epoch,
            isr=isr,
            reason="committed",
        )
        self._advance(leader)
