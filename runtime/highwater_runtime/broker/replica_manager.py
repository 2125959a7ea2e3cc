"""All replicas of this broker: takes up their roles, drives fetchers and ISR passes, finds partitions.

A role is what a replica here is to be: its topic's name, and the state of its partition. The mode brings roles
(:meth:`ReplicaManager.apply_roles`, :meth:`ReplicaManager.stop`) and the image of the cluster
(:meth:`ReplicaManager.apply_cluster`); in KRaft mode both come from the metadata log.

What one replica does is in :mod:`highwater_runtime.broker.partition`; what one request does is in
:mod:`highwater_runtime.broker.apis`. Here is what goes over all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from uuid import UUID

from msgspec.structs import replace

from highwater_runtime.broker import metrics, strays
from highwater_runtime.broker.delta import Delta
from highwater_runtime.broker.fetcher import FetchContext
from highwater_runtime.broker.fetcher_manager import FetcherManager
from highwater_runtime.broker.follower_state import FollowerState
from highwater_runtime.broker.isr import OnAnswer, Proposal
from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.partition_context import PartitionContext
from highwater_runtime.broker.purgatory import PartitionKey, Purgatory, WakeUps
from highwater_runtime.broker.replica_gauges import ReplicaGauges
from highwater_runtime.broker.replica_role import IsrWriter, LostLogs, ReplicaManagerOptions, Role
from highwater_runtime.broker.replication_quota import ReplicationQuotas
from highwater_runtime.broker.truncation import PROTOCOLS
from highwater_runtime.broker.work_queue import PartitionWorkQueue
from highwater_runtime.log.errors import InconsistentTopicIdError, LogOfflineError
from highwater_runtime.log.log import Log
from highwater_runtime.log.manager import LogManager
from highwater_runtime.log.names import TopicPartition
from highwater_runtime.metadata import (
    NO_LEADER,
    MetadataImage,
    TopicImage,
    has_stale_epoch,
    replica_epoch_matches,
)
from highwater_runtime.metadata.effective_config import ALL_BROKERS, min_insync_replicas, topic_properties
from highwater_runtime.metadata.registrations import BROKER_RESOURCE, TOPIC_RESOURCE
from highwater_runtime.metadata.znodes import key_of
from highwater_runtime.ports import MS, Ports
from highwater_runtime.wire.errors import ErrorCode

_RESIGN, _FOLLOW, _LEAD, _TAKE_UP, _CONFIGURE, _ADVANCE = range(6)
"""What there is to do for a partition when its role or the image changes, the most urgent first."""

_REVIEWED_TOGETHER = 200
"""Leaderships whose ISR one event reviews."""


class ReplicaManager:
    """The replicas on this broker, by topic id and partition index."""

    def __init__(
        self,
        options: ReplicaManagerOptions,
        ports: Ports,
        logs: LogManager,
        wake_ups: WakeUps,
        produces: Purgatory,
        fetches: Purgatory,
        deletions: Purgatory,
    ) -> None:
        self.options = options
        self.ports = ports
        self.logs = logs
        self.image = MetadataImage()
        """What has been published to this broker; empty before that."""
        self.roles: dict[PartitionKey, Role] = {}
        """What the replicas here are to be, by the newest that was brought: :attr:`partitions` follow."""
        self._to_drop: dict[PartitionKey, None] = {}
        """Stopped, and the replica is still there; it goes, even if there is a new role for one of the same key."""
        self.partitions: dict[PartitionKey, Partition] = {}
        self.produces = produces
        self.fetches = fetches
        self.deletions = deletions
        self._wake_ups = wake_ups
        self._gauges = ReplicaGauges(ports.metrics, self.partitions, options.config.metrics_partition_limit)
        self._to_review: dict[PartitionKey, None] = {}
        """Those whose ISR or HW may change with time."""
        self.quotas = ReplicationQuotas(options.broker_id, ports.clock.now_ns)
        self._closed = False
        self.on_changed: Callable[[PartitionKey], None] = lambda _: None
        """Called when a replica has become what its role says, or is here no longer."""
        self.on_loaded: Callable[[], None] = lambda: None
        """Called once :attr:`is_loaded` holds."""
        self.is_loaded = False
        """Whether the replicas of the first roles have been opened."""
        self._key_of: dict[TopicPartition, PartitionKey] = {}
        self._creating: dict[TopicPartition, PartitionKey] = {}
        """Logs that are being made, and for which replica."""
        self._created: list[tuple[TopicPartition, PartitionKey, Log]] = []
        """Logs that were made in the present event of the disk."""
        self._under_review: list[PartitionKey] = []
        self._slices = PartitionWorkQueue(
            ports.clock,
            (*[self._partition_changed] * 4, self._configure, self._advance),
            self._idle,
        )
        self._isr_writer: IsrWriter | None = None
        self._lost_logs: LostLogs | None = None
        self._context = self._partition_context()
        self._fetchers = FetcherManager(self._fetch_context())

    def _partition_context(self) -> PartitionContext:
        """What every partition gets of this broker."""
        options, ports, wake_ups = self.options, self.ports, self._wake_ups
        return PartitionContext(
            broker_id=options.broker_id,
            config=options.config,
            clock=ports.clock,
            trace=ports.trace,
            broker_epoch=options.broker_epoch,
            eligible=self._eligible,
            min_isr=lambda topic: min_insync_replicas(self.image, options.config, topic, options.broker_id),
            propose=self._propose,
            withdraw=self._withdraw,
            changed=wake_ups.mark,
            committed=wake_ups.mark_committed,
            appended=wake_ups.mark_appended,
            isr_changed=self._isr_changed,
            start_moved=self._start_moved,
            review_later=self._review_later,
            proposal_kept=options.switches.proposal_kept == "on",
            isr_expansion_as_printed=options.switches.isr_expansion_rule == "as-printed",
        )

    def _fetch_context(self) -> FetchContext:
        """What every fetcher gets of this broker."""
        options, ports = self.options, self.ports
        return FetchContext(
            broker_id=options.broker_id,
            config=options.config,
            protocol=PROTOCOLS[options.switches.truncation],
            ports=ports,
            broker_epoch=options.broker_epoch,
            fetch_version=options.fetch_version,
            quota=self.quotas.follower,
            replicated=lambda size: ports.metrics.counter(metrics.REPLICATION_BYTES_IN, size),
            failed=self._gauges.mark_failures,
        )

    # --- start and end ----------------------------------------------------------------------------------------------

    def start(self, isr_writer: IsrWriter, lost_logs: LostLogs) -> None:
        """Begin the periodic passes over the ISRs."""
        self._isr_writer = isr_writer
        self._lost_logs = lost_logs
        self.logs.on_failed = self._log_failed
        metrics.initialise(self.ports.metrics)
        self._schedule_isr_pass()

    def close(self) -> None:
        """Fetch no more and lead no more; the logs stay with their manager."""
        self._closed = True
        self._slices.close()
        self._fetchers.close()
        for partition in self.partitions.values():
            partition.close()

    def high_watermarks(self) -> dict[TopicPartition, int]:
        """HW of every replica by topic and index, for the checkpoint."""
        return {partition.tp: partition.high_watermark for partition in self.partitions.values()}

    # --- roles and metadata ---------------------------------------------------------------------------------------
    # What is brought is put into a queue, of which begin() does a slice at once. What comes first: leaderships that are
    # over. Then the leaders that are followed, leaderships that begin, replicas that are new here, and what follows
    # from settings and from other brokers. Each partition gets the role that it has when its turn comes.

    def apply_roles(self, roles: Mapping[PartitionKey, Role]) -> None:
        """Let replicas here be what ``roles`` says; others stay as they are."""
        me = self.options.broker_id
        for key, role in roles.items():
            self.roles[key] = role
            partition = self.partitions.get(key)
            if partition is not None and partition.is_leader and role.state.leader != me:
                self._slices.add(_RESIGN, key)
            elif partition is None:
                self._slices.add(_TAKE_UP, key)
            else:
                self._slices.add(_LEAD if role.state.leader == me else _FOLLOW, key)

    def stop(self, keys: Iterable[PartitionKey]) -> None:
        """Have no replica of these partitions any more, and delete their logs."""
        for key in keys:
            if self.roles.pop(key, None) is not None:
                self._to_drop[key] = None
                self._slices.add(_RESIGN, key)

    def halt(self, keys: Iterable[PartitionKey]) -> None:
        """Let the replicas of these partitions neither lead nor follow until they get a new role; keep their logs."""
        for key in keys:
            role = self.roles.get(key)
            if role is not None:
                self.roles[key] = Role(role.topic, replace(role.state, leader=NO_LEADER), None)
                self._slices.add(_RESIGN, key)

    def apply_cluster(self, image: MetadataImage, delta: Delta) -> None:
        """Act on a change of the metadata but for the roles; ``image`` is the state after it."""
        self.image = image
        self.quotas.configure(image, delta.configs)
        self._configure_logs(delta)
        if delta.brokers:
            # Who is eligible may be another now, for which the HW of a leader may wait: nobody else looks at that.
            for partition in self.partitions.values():
                if partition.leading is not None and any(
                    b in delta.brokers and b not in partition.isr.maximal for b in partition.replicas
                ):
                    self._slices.add(_ADVANCE, partition.key)
            for name in self.deletions.watched():
                self._wake_ups.mark(name)  # a replica that a deletion waits for may have died

    def begin(self) -> None:
        """Act on what was brought; the first time, on all that there is at first (:attr:`is_loaded`)."""
        self._slices.begin()

    def _idle(self) -> None:
        if not self.is_loaded:
            self.is_loaded = True
            self.on_loaded()

    def set_strays_aside(self, assigned: Mapping[PartitionKey, str]) -> None:
        """Take away the logs of all partitions but ``assigned`` (topic's name by key): see :mod:`.strays`.

        To be called once every log is loaded, with all that this broker has to have, as the present cluster says to
        the present incarnation of this broker. Switch ``stray-cleanup``.
        """
        if self.options.switches.stray_cleanup == "off":
            return
        assert self.logs.is_loaded, "a broker that does not know its logs calls none of them a stray"
        for key in [key for key in self.roles if key not in assigned]:
            del self.roles[key]
        for tp in strays.find(self.logs.logs, assigned, self._creating):
            held = self._key_of.get(tp)
            if held is not None:
                self._release(held)
                self.on_changed(held)
            self.logs.set_aside(*tp)
            self.ports.metrics.counter(metrics.STRAYS)

    def _configure_logs(self, delta: Delta) -> None:
        topics = {resource.name for resource in delta.configs if resource.type == TOPIC_RESOURCE}
        own = (ALL_BROKERS, str(self.options.broker_id))
        everything = any(resource.type == BROKER_RESOURCE and resource.name in own for resource in delta.configs)
        if topics or everything:
            for partition in self.partitions.values():
                if everything or partition.topic in topics:
                    self._slices.add(_CONFIGURE, partition.key)

    def _configure(self, key: PartitionKey) -> None:
        partition = self.partitions.get(key)
        if partition is not None:
            self.logs.configure(partition.topic, partition.index, self._topic_properties(partition.topic))
            partition.configured()
            self._gauges.mark(key)  # the least ISR may be another
            self._advance(key)

    def _advance(self, key: PartitionKey) -> None:
        partition = self.partitions.get(key)
        if partition is not None and partition.leading is not None:
            partition.leading.advance_high_watermark()

    def _topic_properties(self, topic: str) -> Mapping[str, str]:
        return topic_properties(self.image, topic, self.options.broker_id)

    def _partition_changed(self, key: PartitionKey) -> None:
        """Let the replica here be what its role says, or be no more."""
        if key in self._to_drop:
            del self._to_drop[key]
            self._drop(key)
        role = self.roles.get(key)
        if role is None:
            return
        partition = self.partitions.get(key) or self._open(key, role.topic)
        if partition is None:
            return
        leader_epoch_before = partition.leader_epoch
        partition.apply(role.state)
        self._gauges.mark(key)
        if partition.log.failure is not None:
            self._lost(partition)
        elif partition.leader_id in (self.options.broker_id, NO_LEADER):
            self._fetchers.unfollow(key)
        elif partition.leader_epoch != leader_epoch_before:
            if role.leader_at is None:
                self._fetchers.unfollow(key)  # Kafka 3.9 does not wait for it either (applyLocalFollowersDelta)
            else:
                self._fetchers.follow(partition, role.leader_at)
        self.on_changed(key)

    def _log_failed(self, tp: TopicPartition) -> None:
        key = self._key_of.get(tp)
        if key is not None:
            self._lost(self.partitions[key])
        elif not self._closed and (log := self.logs.get(*tp)) is not None:
            assert self._lost_logs is not None
            self._lost_logs.report(log, None)

    def _lost(self, partition: Partition) -> None:
        """Its log has failed: neither lead nor follow, and report it.

        The metadata may name this broker again (an election without anybody else to choose from), so every change of
        it comes here.
        """
        partition.go_offline()
        self._fetchers.unfollow(partition.key)
        self._gauges.mark(partition.key)
        if not self._closed:
            assert self._lost_logs is not None
            self._lost_logs.report(partition.log, partition)

    def _open(self, key: PartitionKey, topic: str) -> Partition | None:
        """The replica over its log; None where there is no log yet: then it is being made, and comes here again."""
        tp = TopicPartition(topic, key[1])
        log = self.logs.get(*tp)
        if log is not None:
            try:
                if _topic_id(topic, key) is not None:
                    log.assign_topic_id(key[0])
            except InconsistentTopicIdError:
                # The directory is of an earlier topic of this name, which was deleted while this broker was away.
                self.logs.delete(*tp)
                log = None
            except LogOfflineError:
                pass  # as it is: the caller handles a log that has failed
        if log is None:
            self._create(tp, key)
            return None
        self.logs.configure(*tp, self._topic_properties(topic))
        partition = Partition(
            topic, key[0], tp.partition, log, self.logs.checkpointed_high_watermark(*tp), self._context
        )
        self.partitions[key] = partition
        self._key_of[tp] = key
        return partition

    def _create(self, tp: TopicPartition, key: PartitionKey) -> None:
        creating, self._creating[tp] = tp in self._creating, key
        if creating:
            return

        def created(log: Log) -> None:
            # This is a completion of the disk, behind which nobody looks for wake-ups and gauges. It ends up to
            # MOST_TOGETHER creations.
            if not self._created:
                self.ports.clock.call_later(0, self._take_up_created)
            self._created.append((tp, key, log))

        self.logs.create(*tp, _topic_id(tp.topic, key), created, self._topic_properties(tp.topic))

    def _take_up_created(self) -> None:
        """The logs are there; unless one is not wanted any more, or its name belongs to another topic by now."""
        created, self._created = self._created, []
        for tp, key, log in created:
            wanted = self._creating.pop(tp)
            if self._closed:
                continue
            if (key != wanted or key not in self.roles) and self.logs.get(*tp) is log:
                self.logs.delete(*tp)
            self._partition_changed(wanted)

    def _drop(self, key: PartitionKey) -> None:
        """This broker has no replica of it any more: stop everything, and delete the log."""
        partition = self._release(key)
        if partition is not None:
            self.logs.delete(partition.topic, partition.index)
            self.on_changed(key)

    def _release(self, key: PartitionKey) -> Partition | None:
        partition = self.partitions.pop(key, None)
        if partition is None:
            return None
        self._key_of.pop(partition.tp, None)
        self._fetchers.unfollow(key)
        partition.close()
        self._gauges.mark(key)
        return partition

    # --- ISR ------------------------------------------------------------------------------------------------------

    def _eligible(self, follower: FollowerState) -> bool:
        broker = self.image.brokers.get(follower.broker_id)
        return (
            broker is not None
            and broker.active
            and replica_epoch_matches(follower.replica_epoch, broker.epoch, self.options.switches.replica_epoch_check)
        )

    def has_stale_epoch(self, broker_id: int, replica_epoch: int) -> bool:
        """Whether a Fetch of this follower was sent before its present registration (KAFKA-15221)."""
        broker = self.image.brokers.get(broker_id)
        return broker is not None and has_stale_epoch(
            replica_epoch, broker.epoch, self.options.switches.stale_fetch_check
        )

    def _propose(self, key: PartitionKey, proposal: Proposal, on_answer: OnAnswer) -> None:
        assert self._isr_writer is not None
        self._isr_writer.propose(key, proposal, on_answer)

    def _withdraw(self, key: PartitionKey) -> None:
        assert self._isr_writer is not None
        self._isr_writer.withdraw(key)

    def _isr_changed(self, key: PartitionKey, expanded: bool, shrunk: bool) -> None:
        if expanded:
            self.ports.metrics.counter(metrics.ISR_EXPANDS)
        if shrunk:
            self.ports.metrics.counter(metrics.ISR_SHRINKS)
        self._gauges.mark(key)

    def _start_moved(self, key: PartitionKey) -> None:
        self._fetchers.moved(key)

    def _review_later(self, key: PartitionKey) -> None:
        self._to_review[key] = None

    def _schedule_isr_pass(self) -> None:
        # Half the lag time, as in Kafka: a replica leaves after one and a half times the lag time at the latest.
        period_ns = self.options.config.replica_lag_time_max_ms * MS // 2
        self.ports.clock.call_later(period_ns, self._isr_pass)

    def _isr_pass(self) -> None:
        self._under_review = list(reversed(self._to_review))
        self._review_slice()

    def _review_slice(self) -> None:
        if self._closed:
            return
        for _ in range(min(_REVIEWED_TOGETHER, len(self._under_review))):
            key = self._under_review.pop()
            leading = self.partitions[key].leading if key in self.partitions else None
            if leading is not None:
                leading.review_isr()
            if leading is None or leading.is_fully_replicated:
                self._to_review.pop(key, None)
        if self._under_review:
            self.ports.clock.call_later(0, self._review_slice)
            return
        self._gauges.mark_sizes()
        self._schedule_isr_pass()

    def key_by_name(self, topic: str, index: int) -> PartitionKey | None:
        """The key of the replica that this broker has, or is to have, under this name."""
        tp = TopicPartition(topic, index)
        found = self._key_of.get(tp) or self._creating.get(tp)
        return found or next((key for key, role in self.roles.items() if (role.topic, key[1]) == tp), None)

    # --- what requests need ---------------------------------------------------------------------------------------

    def find(self, topic_id: UUID, index: int) -> Partition | ErrorCode:
        """A replica by topic id, or the error that says why there is none here."""
        partition = self.partitions.get((topic_id, index))
        if partition is not None:
            return partition
        topic = self.image.topics_by_id.get(topic_id)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        return _not_here(topic, index)

    def find_by_name(self, name: str, index: int) -> Partition | ErrorCode:
        """A replica by topic name, or the error that says why there is none here."""
        topic = self.image.topics_by_name.get(name)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        partition = self.partitions.get((topic.id, index))
        if partition is None:
            return _not_here(topic, index)
        return partition if partition.log.failure is None else ErrorCode.KAFKA_STORAGE_ERROR

    def leader_of(self, name: str, topic_id: UUID, index: int) -> tuple[int, int]:
        """Leader and leader epoch of a partition of the cluster, by topic id or name; (−1, −1) where unknown."""
        topic = self.image.topics_by_name.get(name) if name else self.image.topics_by_id.get(topic_id)
        state = None if topic is None else topic.partitions.get(index)
        return (NO_LEADER, -1) if state is None else (state.leader, state.leader_epoch)

    def after_event(self) -> None:
        """Wake who waits, and bring the gauges up to date: runs after every event of this broker."""
        self._wake_ups.drain()
        if self._gauges.is_stale:
            self._gauges.report(failed=len(self._fetchers.failed))

    def refresh_gauges(self) -> None:
        """Bring every gauge up to date before the gauges are read."""
        self._gauges.report(failed=len(self._fetchers.failed))
        self._gauges.report_positions()


def _not_here(topic: TopicImage, index: int) -> ErrorCode:
    return ErrorCode.NOT_LEADER_OR_FOLLOWER if index in topic.partitions else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _topic_id(topic: str, key: PartitionKey) -> UUID | None:
    """The topic's id; None where the cluster has no topic ids, so that a log must not keep one."""
    return None if key[0] == key_of(topic, None) else key[0]
