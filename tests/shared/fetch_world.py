"""A leader and its fetchers without a cluster, with fetch sessions that look at news, or at everything."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from uuid import UUID

from hand_ports import HandClock
from msgspec.structs import replace

from highwater_runtime.broker.apis import fetch
from highwater_runtime.broker.fetch_sessions import FetchSessions
from highwater_runtime.broker.isr import Answer
from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.partition_context import PartitionContext
from highwater_runtime.broker.purgatory import Purgatory, WakeUps
from highwater_runtime.broker.replication_quota import ReplicationQuota
from highwater_runtime.config import NodeConfig
from highwater_runtime.log.config import LogConfig
from highwater_runtime.log.log import Log
from highwater_runtime.log.records import build_batch
from highwater_runtime.metadata import PartitionRegistration
from highwater_runtime.ports import MS, SECOND
from highwater_runtime.sim import SimDisk, derive_random
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.fetch_request import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)

TOPIC = UUID(int=7)
PARTITIONS = 4
LEADER, FOLLOWER, OTHER, CONSUMER = 1, 2, 3, -1
LAG_MS = 3000


class Walking(FetchSessions):
    """Looks at everything, always: nothing is ever quiet, and who is woken looks at all again."""

    def calm(self, asked, follower):
        pass

    def wake(self):
        for session in self._woken:
            self.disturb(session)
        super().wake()


class World:
    """A leader of four partitions, a follower and a consumer with a session each, and a follower without one."""

    def __init__(self, sessions_class):
        self.clock = clock = HandClock(SECOND)
        self.registered = {LEADER: 11, FOLLOWER: 12, OTHER: 13}
        self.fenced = set()
        self.min_isr = 1
        self.proposals = []
        self.answers = []
        self.fetches = Purgatory(clock)
        counters = SimpleNamespace(counter=lambda *_: None, gauge=lambda *_: None)
        self.sessions = sessions_class(10, Random(1), clock.now_ns, counters, waiting=self.fetches)
        self.wake_ups = WakeUps((self.fetches,), listener=self.sessions)
        trace = SimpleNamespace(emit=lambda _: None, follows_records=True)
        self.ports = SimpleNamespace(metrics=counters, trace=trace, clock=clock)
        self.options = SimpleNamespace(config=SimpleNamespace(fetch_max_bytes=1 << 20))
        self.image = SimpleNamespace(brokers={})
        self.quotas = SimpleNamespace(leader=ReplicationQuota(clock.now_ns))
        self.context = PartitionContext(
            broker_id=LEADER,
            config=NodeConfig.of({"replica.lag.time.max.ms": LAG_MS}),
            clock=clock,
            trace=trace,
            broker_epoch=lambda: 11,
            eligible=lambda f: f.broker_id not in self.fenced and f.replica_epoch in (-1, self.registered[f.broker_id]),
            min_isr=lambda _: self.min_isr,
            propose=lambda key, proposal, _: self.proposals.append((key[1], proposal.isr, proposal.isr_epochs)),
            withdraw=lambda _: None,
            changed=self.wake_ups.mark,
            committed=self.wake_ups.mark_committed,
            appended=self.wake_ups.mark_appended,
            isr_changed=lambda *_: None,
        )
        disk = SimDisk(derive_random(1, "disk"), schedule=lambda *_: None, now_ns=clock.now_ns)
        self.partitions = {}
        self.states = {}
        for index in range(PARTITIONS):
            log = Log.open(disk, f"orders-{index}", LogConfig(), clock, topic_id=TOPIC)
            self.partitions[index] = Partition("orders", TOPIC, index, log, 0, self.context)
            self.states[index] = PartitionRegistration(
                replicas=(1, 2, 3), isr=(1, 2, 3), leader=LEADER, leader_epoch=0, partition_epoch=0
            )
            self.partitions[index].apply(self.states[index])
        self.clients = {who: SimpleNamespace(id=0, epoch=0, offsets={}) for who in (FOLLOWER, CONSUMER)}
        self.after()

    def after(self):
        self.wake_ups.drain()

    # --- what requests need ---

    def find(self, topic_id, index):
        return self.partitions[index] if topic_id == TOPIC else ErrorCode.UNKNOWN_TOPIC_ID

    def has_stale_epoch(self, broker_id, replica_epoch):
        return 0 <= replica_epoch < self.registered[broker_id]

    def leader_of(self, *_):
        return -1, -1

    # --- what happens ---

    def ask(self, who, wanted, *, epochs=(), forgotten=(), session=True, **limits):
        """``wanted``: index → offset to name."""
        client = self.clients.get(who) if session else None
        named = wanted
        if client is not None:
            client.offsets.update(wanted)
            for index in forgotten:
                client.offsets.pop(index, None)
            named = client.offsets if client.epoch == 0 else wanted
        partitions = [
            FetchPartition(
                partition=index,
                fetch_offset=offset,
                current_leader_epoch=self.partitions[index].leader_epoch - (index in epochs),
                partition_max_bytes=1 << 20,
                log_start_offset=0,
            )
            for index, offset in named.items()
        ]
        request = FetchRequest(
            session_id=client.id if client else 0,
            session_epoch=client.epoch if client else -1,
            topics=[FetchTopic(topic_id=TOPIC, partitions=partitions)] if partitions else [],
            forgotten_topics_data=[ForgottenTopic(topic_id=TOPIC, partitions=list(forgotten))]
            if forgotten and client and client.epoch
            else [],
            **{"max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1 << 20, **limits},
        )
        if who != CONSUMER:
            request.replica_state = ReplicaState(replica_id=who, replica_epoch=self.registered[who])
        fetch.handle(
            SimpleNamespace(body=request, version=15, reply=lambda r: self.heard(who, client, r)), self, self.sessions
        )
        self.after()

    def heard(self, who, client, response):
        self.answers.append((self.clock.now, who, response))
        if client is not None:
            failed = response.error_code != ErrorCode.NONE
            client.id = response.session_id
            client.epoch = 0 if failed or not response.session_id else client.epoch + 1

    def act(self, action, index, value):
        partition = self.partitions[index]
        log, leading = partition.log, partition.leading
        match action:
            case "append" if leading:
                leading.append(build_batch([b"x" * 50] * (1 + value % 2), timestamp_ms=1))
            case "follower":
                self.ask(FOLLOWER, self.positions(FOLLOWER, value))
            case "follower-behind":
                self.ask(FOLLOWER, {index: max(0, log.log_end_offset - value % 3)})
            case "follower-stale":
                self.ask(FOLLOWER, {index: log.log_end_offset}, epochs=(index,))
            case "consumer":
                self.ask(CONSUMER, self.positions(CONSUMER, value), max_bytes=1 << 20 if value % 2 else 100)
            case "consumer-anywhere":
                self.ask(CONSUMER, {index: value}, min_bytes=1 if value % 2 else 300)
            case "forget":
                self.ask(FOLLOWER if value % 2 else CONSUMER, {}, forgotten=(index,), max_wait_ms=0)
            case "other":
                self.ask(
                    OTHER, {i: p.log.log_end_offset for i, p in self.partitions.items()}, session=False, max_wait_ms=0
                )
            case "other-behind":
                self.ask(OTHER, {index: max(0, log.log_end_offset - 1)}, session=False, max_wait_ms=0)
            case "quiet":
                for _ in range(2):
                    ends = {i: p.log.log_end_offset for i, p in self.partitions.items()}
                    self.ask(OTHER, ends, session=False, max_wait_ms=0)
                    self.ask(FOLLOWER, self.positions(FOLLOWER, 15), max_wait_ms=0)
                    self.ask(CONSUMER, self.positions(CONSUMER, 15), max_wait_ms=0)
            case "leader-epoch":
                self.metadata(index, leader=LEADER if value % 4 else OTHER, epoch=1)
            case "isr":
                self.metadata(index, isr=((1, 2, 3), (1, 2), (1, 3), (1,))[value % 4])
            case "log-start" if leading:
                partition.begin_at(min(value, partition.high_watermark), "delete-records")
            case "retention" if leading:
                log.advance_log_start_offset(min(log.log_start_offset + value, partition.high_watermark))
            case "answer" if leading and partition.isr.proposal:
                proposal, error = partition.isr.proposal, (ErrorCode.NONE, ErrorCode.INELIGIBLE_REPLICA)[value % 2]
                answer = Answer(error, partition.leader_epoch, partition.partition_epoch + 1, proposal.isr)
                if leading.proposal_answered(proposal, answer) is False and error is ErrorCode.NONE:
                    old = self.states[index]
                    self.states[index] = replace(
                        old, isr=proposal.isr, partition_epoch=max(old.partition_epoch, partition.partition_epoch)
                    )
            case "min-isr":
                self.configure(1 + value % 3)
            case "time":
                self.clock.advance(value * 300 * MS)
            case "new-life":
                self.registered[FOLLOWER] += 1
            case "old-life":
                self.registered[FOLLOWER] += 1
                self.ask_stale()
            case "isr-pass":
                for each in self.partitions.values():
                    if each.leading is not None:
                        each.leading.review_isr()
        self.after()

    def ask_stale(self):
        """What the follower sent before it registered again."""
        now = self.registered[FOLLOWER]
        client, self.registered[FOLLOWER] = self.clients[FOLLOWER], now
        request = FetchRequest(session_id=client.id, session_epoch=client.epoch, max_wait_ms=0, min_bytes=1)
        request.replica_state = ReplicaState(replica_id=FOLLOWER, replica_epoch=now - 1)
        fetch.handle(
            SimpleNamespace(body=request, version=15, reply=lambda r: self.heard(FOLLOWER, client, r)),
            self,
            self.sessions,
        )

    def positions(self, who, value):
        """What the client names: the partitions whose position is another than it asked for last."""
        offsets = self.clients[who].offsets
        there = {
            i: p.log.log_end_offset if who == FOLLOWER else p.high_watermark
            for i, p in self.partitions.items()
            if (value >> i) % 2 or i not in offsets
        }
        return {i: offset for i, offset in there.items() if offsets.get(i) != offset}

    def metadata(self, index, *, leader=None, isr=None, epoch=0):
        old = self.states[index]
        self.states[index] = PartitionRegistration(
            replicas=old.replicas,
            isr=old.isr if isr is None else isr,
            leader=old.leader if leader is None else leader,
            leader_epoch=old.leader_epoch + epoch,
            partition_epoch=old.partition_epoch + 1,
        )
        self.partitions[index].apply(self.states[index])

    def configure(self, min_isr):
        self.min_isr = min_isr
        for partition in self.partitions.values():
            partition.configured()
            if partition.leading is not None:
                partition.leading.advance_high_watermark()
        self.after()

    # --- what has come of it ---

    def outcome(self):
        followers = {
            (index, broker_id): (
                f.log_end_offset,
                f.replica_epoch,
                f.left_isr,
                max(f.last_caught_up_ns, f._quiet.fetched_ns if f._quiet else 0),
                max(f.last_fetch_ns, f._quiet.fetched_ns if f._quiet else 0),
                f.log_end_offset if f._quiet else f.leader_end_offset_at_last_fetch,
            )
            for index, p in self.partitions.items()
            if p.leading is not None
            for broker_id, f in p.leading.followers.items()
        }
        watermarks = [(p.high_watermark, p.log.log_end_offset, p.isr) for p in self.partitions.values()]
        return self.answers, self.proposals, followers, [(hw, end, isr.committed) for hw, end, isr in watermarks]


ACTIONS = (
    "quiet",
    "quiet",
    "quiet",
    "quiet",
    "append",
    "append",
    "follower",
    "follower",
    "follower-behind",
    "follower-stale",
    "consumer",
    "consumer",
    "consumer-anywhere",
    "forget",
    "other",
    "other",
    "other-behind",
    "leader-epoch",
    "isr",
    "answer",
    "answer",
    "min-isr",
    "log-start",
    "retention",
    "time",
    "new-life",
    "old-life",
    "isr-pass",
)
