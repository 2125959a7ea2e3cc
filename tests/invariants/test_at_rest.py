"""Bugs that no client sees: what nodes know, keep on their disks, and hold of each other, is compared."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from highwater_pipeline.anomalies import ON_REQUEST
from highwater_runtime.broker import leadership, replica_manager
from highwater_runtime.broker.delta import Delta
from highwater_runtime.broker.follower_state import FollowerState
from highwater_runtime.broker.groups.sessions import Sessions
from highwater_runtime.broker.kraft.metadata_loader import MetadataLoader
from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.purgatory import WakeUps
from highwater_runtime.broker.replica_manager import ReplicaManager
from highwater_runtime.controller.kraft import broker_state, cluster_control, settings
from highwater_runtime.controller.kraft.cluster_control import BrokerControlState
from highwater_runtime.controller.kraft.quorum_controller import QuorumController
from highwater_runtime.log import compaction, log
from highwater_runtime.log.checkpoints import (
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_START_OFFSETS,
    encode_epochs,
    write_atomically,
    write_offsets,
)
from highwater_runtime.log.epoch_cache import EpochCache
from highwater_runtime.log.errors import LogOfflineError
from highwater_runtime.log.manager import LogManager
from highwater_runtime.log.names import TopicPartition
from highwater_runtime.log.offset_checkpoints import OffsetCheckpoints
from highwater_runtime.log.producer_state import ProducerStates
from highwater_runtime.log.readable_log import ReadableLog
from highwater_runtime.log.segments import SegmentChain
from highwater_runtime.metadata import BrokerRegistration, TopicDeleted, snapshot
from highwater_runtime.metadata.registrations import TOPIC_RESOURCE, ConfigResource
from highwater_runtime.ports import SECOND, Endpoint
from highwater_runtime.ports.trace import LogLoaded, PartitionChanged, TransitionTaken
from highwater_runtime.raft import RaftReplica
from highwater_runtime.raft.election import Timing
from highwater_runtime.raft.fetching import Fetching
from highwater_runtime.raft.leading import Leading
from highwater_runtime.raft.pre_election import PreElection
from highwater_runtime.sim import Simulator
from highwater_runtime.sim.disk import SimDisk
from highwater_runtime.sim.invariants.leftovers import contradictions
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.logs import LogInvariants
from highwater_runtime.sim.invariants.overdue import OverdueInvariants
from highwater_runtime.sim.invariants.reported import ReportInvariants
from highwater_runtime.sim.invariants.sessions import SessionInvariants
from highwater_runtime.sim.invariants.violation import Violations
from highwater_runtime.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from highwater_runtime.wire.messages.producer_ids_record import ProducerIdsRecord

Break = Callable[[pytest.MonkeyPatch], None]

TWO_TOPICS = """
    - admin: {createTopic: {name: other, partitions: 1, replicationFactor: 2}}
    - wait: 1s
    - admin: {deleteTopic: {name: other}}
    - wait: 3s
"""
MOVE = """
    - admin: {reassign: {partition: orders-0, replicas: [1, 2]}}
    - wait: 3s
"""
DELETION = """
    - admin: {deleteRecords: {partition: orders-0, before: 30}}
    - wait: 1s
    - inject: {restart: {target: {broker: 1}}}
    - wait: 3s
"""
LAGGARD = """
    - inject: {hold: {rpc: Fetch, from: {broker: 1}, of: request}, for: 8s}
    - wait: 12s
"""
ALONE = """
    - inject: {partition: {isolate: {controller: 0}}, for: 12s}
    - wait: 13s
"""
GONE = """
    - inject: {kill: {target: {broker: 0}}, for: 9s}
    - wait: 14s
"""
FAILING = """
    - inject: {diskError: {target: {broker: 1}}, for: 3s}
    - wait: 6s
"""
THROTTLED_AND_ANEW = """
    - admin: {createTopic: {name: other, partitions: 1, config: {leader.replication.throttled.replicas: "*"}}}
    - admin: {deleteTopic: {name: other}}
    - admin: {createTopic: {name: other, partitions: 1}}
"""
ADDED = "[{admin: {createTopic: {name: other, partitions: 2, replicationFactor: 2}}}]"
STOPPED = """
    - inject: {stop: {target: {activeController: true}, restartAfter: 2s}}
    - wait: 4s
"""
SPLIT = """
    - inject: {partition: {isolate: {activeController: true}}, for: 8s}
    - wait: 9s
"""
ONE_REPLICA = "{name: orders, partitions: 1, assignment: [[0]]}"
RETENTION = '[{"wait": "12s"}]'
SMALL = "{{name: orders, partitions: 1, assignment: [[0, 1]], config: {{segment.bytes: 700, {}}}}}"


def keep_directories(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LogManager, "_remove_dir_later", lambda *_: None)


def keep_segments(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SegmentChain, "_set_aside", lambda _self, segment: segment.set_aside())


def lose_moves_in_snapshots(patch: pytest.MonkeyPatch) -> None:
    make = snapshot._partition

    def without(*of: Any) -> Any:
        record = make(*of)
        record.removing_replicas = []
        return record

    patch.setattr(snapshot, "_partition", without)


def pass_over_no_op_records(patch: pytest.MonkeyPatch) -> None:
    replay = MetadataLoader.on_commit

    def wrong(self: MetadataLoader, base_offset: int, records: list[bytes], last_offset: int) -> None:
        if self.applied_offset < 20 or any(len(record) > 4 for record in records):
            replay(self, base_offset, records, last_offset)
        else:  # no-op records
            self.applied_offset = last_offset

    patch.setattr(MetadataLoader, "on_commit", wrong)


def decide_by_an_older_image(patch: pytest.MonkeyPatch) -> None:
    become = QuorumController._become_active

    def wrong(self: QuorumController) -> None:
        become(self)
        assert self._latest is not None
        self._latest.configs[ConfigResource(TOPIC_RESOURCE, "orders")] = {"flush.ms": "1000"}

    patch.setattr(QuorumController, "_become_active", wrong)


def never_follow_the_log_start(patch: pytest.MonkeyPatch) -> None:
    begin = Partition.begin_at
    patch.setattr(Partition, "begin_at", lambda self, to, why: None if why == "leader" else begin(self, to, why))


def let_sessions_last(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Sessions, "_watch", lambda *_: None)


def forget_log_starts(patch: pytest.MonkeyPatch) -> None:
    read = LogManager._read
    patch.setattr(LogManager, "_read", lambda self, path: {} if path == LOG_START_OFFSETS else read(self, path))


def keep_old_epochs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(EpochCache, "truncate_from_start", lambda *_: False)


def compact_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(compaction, "kept_records", lambda *_: None)


def let_the_silent_join(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(FollowerState, "has_fetched", property(lambda self: self.log_end_offset >= 0))


def give_out_a_block_twice(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(settings, "ProducerIdsRecord", lambda **of: ProducerIdsRecord(**{**of, "next_producer_id": 0}))


def ask_for_pre_votes_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PreElection, "_lost", lambda _: None)


def unfence_late(patch: pytest.MonkeyPatch) -> None:
    decide = cluster_control.next_state
    late: dict[int, bool] = {}

    def wrong(image: Any, broker: Any, *rest: Any) -> BrokerControlState:
        state = decide(image, broker, *rest)
        is_late = broker.fenced and state is BrokerControlState.UNFENCED and late.setdefault(broker.epoch, True)
        if is_late:
            late[broker.epoch] = False
        return BrokerControlState.FENCED if is_late else state

    patch.setattr(cluster_control, "next_state", wrong)


def let_laggards_stay(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(leadership, "lagging", lambda *_, **__: ())


def wait_for_every_replica(patch: pytest.MonkeyPatch) -> None:
    def wrong(followers: Any, isr: Any, *, leader_end_offset: int, **_: Any) -> int:
        return min([leader_end_offset, *(follower.log_end_offset for follower in followers)])

    patch.setattr(leadership, "next_high_watermark", wrong)


def fence_nobody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(QuorumController, "_arm_session_timer", lambda _: None)


def elect_nobody_who_returns(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(broker_state, "elect_leaderless", lambda *_: [])


def write_no_op_records_never(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(QuorumController, "_arm_no_op_timer", lambda _: None)


def keep_the_news_of_high_watermarks(patch: pytest.MonkeyPatch) -> None:
    move = Partition.move_high_watermark
    patch.setattr(Partition, "move_high_watermark", lambda self, to: move(self, to) if self.is_leader else None)


def write_high_watermarks_once(patch: pytest.MonkeyPatch) -> None:
    write = OffsetCheckpoints.write
    patch.setattr(
        OffsetCheckpoints, "write", lambda self, path, of: None if path == HIGH_WATERMARKS else write(self, path, of)
    )


def stay_online(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ReadableLog, "_go_offline", lambda _, error: LogOfflineError(str(error)))


def obey_no_more_than_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(replica_manager, "min_insync_replicas", lambda *_: 1)


def find_every_segment_needed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(log, "deletable", lambda *_: [])


def never_end_a_throttle(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Delta, "note", lambda self, change, note=Delta.note: _without_deletions(self, change, note))


def _without_deletions(delta: Delta, change: Any, note: Any) -> None:
    note(delta, change)
    if isinstance(change, TopicDeleted):
        delta.configs.pop(ConfigResource(TOPIC_RESOURCE, change.topic.name), None)


def keep_old_snapshots(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SegmentChain, "remove_snapshots", lambda *_: None)


def write_snapshots_without_producers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ProducerStates, "encode", lambda _self, encode=ProducerStates.encode: encode(ProducerStates()))


def take_up_the_first_partition_alone(patch: pytest.MonkeyPatch) -> None:
    apply = ReplicaManager.apply_roles
    patch.setattr(
        ReplicaManager, "apply_roles", lambda self, of: apply(self, {k: r for k, r in of.items() if not k[1]})
    )


def wake_nobody_for_a_commit(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(WakeUps, "mark_committed", lambda *_: None)


def leave_waiting_fetches_of_the_quorum(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RaftReplica, "_stamp", lambda self: (self.epoch, int(self.is_leader), self.high_watermark))


def check_the_quorum_once(patch: pytest.MonkeyPatch) -> None:
    def wrong(self: Leading) -> None:
        self.scope.later(self._shared.timing.check_quorum_ns, lambda: None)

    patch.setattr(Leading, "_check_quorum", wrong)


def wait_long_after_a_resignation(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Timing, "successor_backoff_ns", lambda self, *_: 0)
    patch.setattr(Fetching, "stand_after", lambda self, _: self.scope.later(SECOND, lambda: self._actions.stand(0)))


BROKEN: list[tuple[str, Break, dict[str, Any]]] = [
    ("disk-leftover", keep_directories, {"schedule": TWO_TOPICS, "delete_delay_ms": 1000}),
    (
        "disk-leftover",
        keep_segments,
        {"schedule": RETENTION, "topic": SMALL.format("retention.bytes: 2000"), "delete_delay_ms": 1000},
    ),
    ("metadata-image", lose_moves_in_snapshots, {"schedule": MOVE}),
    ("metadata-image", pass_over_no_op_records, {"schedule": "[]"}),
    ("metadata-image", decide_by_an_older_image, {"schedule": "[]"}),
    ("replica-state", never_follow_the_log_start, {"schedule": DELETION}),
    ("group-state", let_sessions_last, {"workload": "{producers: 1, rate: 20/s, groupMembers: 2}", "schedule": MOVE}),
    ("log-start-back", forget_log_starts, {"schedule": DELETION}),
    ("leader-epoch-cache", keep_old_epochs, {"schedule": DELETION}),
    (
        "compaction-left-record",
        compact_nothing,
        {
            "schedule": RETENTION,
            "topic": SMALL.format("cleanup.policy: compact"),
            "workload": "{producers: 1, rate: 50/s, keys: 5}",
        },
    ),
    ("producer-id-reused", give_out_a_block_twice, {"workload": "{producers: 4, rate: 20/s}"}),
    ("raft-overdue", ask_for_pre_votes_once, {"schedule": ALONE}),
    ("unfencing-refused", unfence_late, {}),
    ("overdue", let_laggards_stay, {"schedule": LAGGARD}),
    ("overdue", wait_for_every_replica, {"schedule": LAGGARD.replace("8s", "16s").replace("12s", "18s")}),
    ("overdue", fence_nobody, {"schedule": GONE}),
    ("overdue", write_no_op_records_never, {}),
    ("replica-state", keep_the_news_of_high_watermarks, {}),
    ("disk-leftover", write_high_watermarks_once, {}),
    ("overdue", elect_nobody_who_returns, {"schedule": GONE, "topic": ONE_REPLICA}),
    ("failed-log-online", stay_online, {"schedule": FAILING}),
    ("overdue", wake_nobody_for_a_commit, {}),
    ("overdue", leave_waiting_fetches_of_the_quorum, {}),
    ("raft-overdue", check_the_quorum_once, {"schedule": SPLIT}),
    ("raft-overdue", wait_long_after_a_resignation, {"schedule": STOPPED}),
    ("silent-isr-join", let_the_silent_join, {"schedule": LAGGARD, "min_isr": 2}),
    ("replica-state", obey_no_more_than_one, {"schedule": LAGGARD, "min_isr": 2}),
    (
        "replica-state",
        find_every_segment_needed,
        {"schedule": RETENTION, "topic": SMALL.format("retention.bytes: 2000"), "delete_delay_ms": 1000},
    ),
    ("replica-state", never_end_a_throttle, {"schedule": THROTTLED_AND_ANEW}),
    ("replica-state", take_up_the_first_partition_alone, {"schedule": ADDED}),
    (
        "disk-leftover",
        keep_old_snapshots,
        {"schedule": RETENTION, "topic": SMALL.format("retention.bytes: 2000"), "delete_delay_ms": 1000},
    ),
    (
        "disk-leftover",
        write_snapshots_without_producers,
        {"schedule": RETENTION, "topic": SMALL.format("retention.bytes: 2000"), "delete_delay_ms": 1000},
    ),
]


SOUND: dict[str, set[str]] = {}
"""What is found in each run without its bug."""


@pytest.mark.quick("decide_by_an_older_image", "forget_log_starts")
@pytest.mark.parametrize(("name", "broken", "options"), BROKEN, ids=[f"{one[1].__name__}" for one in BROKEN])
def test_a_bug_that_nobody_sees_is_found(
    simulate: Any, monkeypatch: pytest.MonkeyPatch, name: str, broken: Break, options: dict[str, Any]
) -> None:
    with monkeypatch.context() as patched:
        broken(patched)
        assert name in simulate(**options).violations
    if repr(options) not in SOUND:  # several bugs are sought in the same run
        SOUND[repr(options)] = simulate(**options).violations - {*ON_REQUEST}
    assert SOUND[repr(options)] == set()


@pytest.mark.parametrize(("leaves", "found"), [(False, ["unfencing-refused"]), (True, [])])
def test_a_late_heartbeat_may_end_a_controlled_shutdown(leaves: bool, found: list[str]) -> None:
    """It asks for no fence, for it was sent before; the controller fences the broker all the same."""
    broker = BrokerRegistration(
        id=2, epoch=4, incarnation_id=UUID(int=1), endpoint=Endpoint("broker-2", 9092), in_controlled_shutdown=leaves
    )
    live: Any = SimpleNamespace(latest_image=lambda _: SimpleNamespace(brokers={2: broker}), broker=lambda _: None)
    simulator: Any = SimpleNamespace(now_ns=0)
    call: Any = SimpleNamespace(
        body=BrokerHeartbeatRequest(broker_id=2, broker_epoch=4, current_metadata_offset=56, want_fence=False)
    )
    violations = Violations()
    SessionInvariants(simulator, live, violations).on_request("controller-0", call)
    assert [one.name for one in violations.found] == found


@pytest.mark.parametrize(("registered_anew", "may_lead"), [(False, False), (True, True)])
def test_a_broker_that_dies_of_its_failed_log_does_not_owe_to_lead(registered_anew: bool, may_lead: bool) -> None:
    """Its process ends in the event in which the log goes offline; a new controller has it unfenced for a while."""
    live: Any = SimpleNamespace(broker=lambda _: None, registered_epoch=lambda _: 36)
    overdue = OverdueInvariants(SimpleNamespace(), live, Violations())  # type: ignore[arg-type]
    failed = TransitionTaken(reason="log-offline", partition="orders-0")
    overdue.on_event("broker-0", 1, failed)
    live.broker = lambda _: SimpleNamespace(broker_epoch=-1)  # its successor, which is not registered yet
    overdue.on_event("broker-0", 2, failed)
    broker = BrokerRegistration(
        id=0,
        epoch=87 if registered_anew else 36,
        incarnation_id=UUID(int=1),
        endpoint=Endpoint("broker-0", 9092),
        fenced=False,
    )
    image: Any = SimpleNamespace(brokers={0: broker})
    state: Any = SimpleNamespace(isr=(0,), leader=-1)
    assert bool(overdue._left_undone(image, "orders-0", state)) is may_lead


def test_another_leader_and_fewer_replicas_need_another_epoch() -> None:
    def changed(offset: int, leader: int, epoch: int, replicas: list[int]) -> PartitionChanged:
        return PartitionChanged(
            partition="orders-0",
            topic_id="1" * 32,
            replicas=replicas,
            isr=replicas,
            leader=leader,
            leader_epoch=epoch,
            partition_epoch=offset,
            metadata_offset=offset,
            reason="created" if offset == 0 else "changed",
        )

    simulator, violations = Simulator(1), Violations()
    judge = ReportInvariants(LiveCluster(simulator), violations)
    for event in (
        changed(0, 0, 0, [0, 1, 2]),
        changed(1, 0, 0, [0, 1, 2, 3]),  # one more: nobody has to be fenced
        changed(2, 1, 1, [0, 1, 2, 3]),
        changed(3, 1, 2, [1, 2, 3]),
    ):
        judge.on_event("controller-0", 1, event)
    assert violations.found == []
    judge.on_event("controller-0", 1, changed(4, 2, 2, [1, 2, 3]))
    judge.on_event("controller-0", 1, changed(5, 2, 2, [1, 2]))
    assert [one.name for one in violations.found] == ["leader-epoch-kept", "leader-epoch-kept"]


@pytest.mark.parametrize(("written", "found"), [([(1, 0), (2, 5)], []), ([(1, 0)], ["disk-leftover"])])
def test_leader_epochs_are_written_as_their_log_has_them(written: list[tuple[int, int]], found: list[str]) -> None:
    disk = SimDisk()
    disk.mkdir("orders-0")
    write_atomically(disk, f"orders-0/{LEADER_EPOCHS}", encode_epochs(written))
    of_log = {"is_online": True, "directory": "orders-0", "partition": "orders-0", "epochs_are_stale": False}
    entries = SimpleNamespace(**of_log, epoch_entries=[(1, 0), (2, 5)], config=SimpleNamespace(compacts=True))
    broker: Any = SimpleNamespace(logs={("orders", 0): entries}, image=SimpleNamespace(topics_by_name={}))
    assert [one.name for one in contradictions("broker-0", broker, disk)] == found


@pytest.mark.parametrize(("reason", "found"), [("clean", []), ("created", ["disk-leftover"])])
def test_a_log_that_is_created_inherits_no_offsets(reason: str, found: list[str]) -> None:
    disk = SimDisk()
    write_offsets(disk, HIGH_WATERMARKS, {TopicPartition("orders", 0): 7})
    live: Any = SimpleNamespace(disk_fails=lambda _: False, disk=lambda _: disk)
    violations = Violations()
    loaded = LogLoaded(partition="orders-0", topic_id="1" * 32, offset=0, end_offset=0, reason=reason)
    LogInvariants(live, violations).on_event("broker-0", 1, loaded)
    assert [one.name for one in violations.found] == found
