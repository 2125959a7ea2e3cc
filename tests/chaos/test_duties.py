"""What single nodes owe while others are in trouble: a bug that a healthy majority hides is found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import parse_experiment
from highwater_chaos.experiment.nodes import node_id
from highwater_chaos.liveness import upkeep
from highwater_chaos.liveness.duties import COMMITS, FENCING, METADATA, PREFERRED, VOTERS
from highwater_chaos.liveness.requests import ADMINISTRATION
from highwater_chaos.run.result import RunResult
from highwater_runtime.broker.follower_state import FollowerState
from highwater_runtime.broker.replica_manager import ReplicaManager
from highwater_runtime.broker.zk.cluster_image import ClusterImage
from highwater_runtime.controller import leadership
from highwater_runtime.controller.kraft import broker_state
from highwater_runtime.controller.zk.active import ActiveController
from highwater_runtime.ports import SECOND
from highwater_runtime.raft import RaftReplica
from highwater_runtime.raft.answering import Answering
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.no_op_record import NoOpRecord
from highwater_runtime.wire.records_codec import encode_metadata_record

Break = Callable[[pytest.MonkeyPatch], None]

FILE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: duties}}
spec:
  seed: 1
  timeout: 3m
  cluster:
    mode: {mode}
    brokers: 3
    {controllers}
    config:
      replica.lag.time.max.ms: 1000
      replica.socket.timeout.ms: 1000
      leader.imbalance.check.interval.ms: 1000
      {session}
    topics: [{{name: orders, partitions: 2, assignment: [[0, 1], [1, 2]]}}]
  workload: {{producers: 1, rate: 10/s}}
  schedule: {schedule}
"""
KRAFT = {
    "mode": "kraft",
    "controllers": "controllers: 3",
    "session": "broker.session.timeout.ms: 2000\n      broker.heartbeat.interval.ms: 500",
}
ZOOKEEPER = {
    "mode": "zookeeper",
    "controllers": "",
    "session": "zookeeper.session.timeout.ms: 1500\n      controller.socket.timeout.ms: 1000",
}
CONTROLLER_2 = node_id("controller-2")
HELD = "[{inject: {hold: {rpc: Fetch, from: {broker: 1}, of: request}, for: 15s}}, {wait: 20s}]"
DEAD = "[{inject: {kill: {target: {broker: 2}, restartAfter: 25s}, for: 25s}}, {wait: 30s}]"
DEAD_FOR_A_WHILE = "[{inject: {kill: {target: {broker: 2}, restartAfter: 7s}, for: 7s}}, {wait: 9s}]"
LATE_BEATS = (
    "[{inject: {delay: {rpc: BrokerHeartbeat, from: {broker: 2}, of: request, by: 14s}, for: 3s}}, {wait: 2s}, "
    "{inject: {kill: {target: {broker: 2}, restartAfter: 25s}, for: 25s}}, {wait: 30s}]"
)
FOLLOWER_DEAD = "[{inject: {kill: {target: {controller: 2}, restartAfter: 2s}, for: 2s}}, {wait: 30s}]"
TAKEN_BACK = (
    "[{inject: {partition: {between: [{broker: 2}, [{broker: 0}, {broker: 1}]]}, for: 12s}}, "
    "{admin: {reassign: {partition: orders-0, replicas: [0, 2]}}}, {wait: 1s}, "
    "{admin: {cancelReassign: {partition: orders-0}}}, {wait: 15s}]"
)
MOVED = "[{admin: {reassign: {partition: orders-0, replicas: [0, 2]}}}, {wait: 9s}]"
LOST_PROPOSAL = (
    "[{inject: {kill: {target: {broker: 1}, restartAfter: 3s}, for: 3s}}, "
    "{inject: {drop: {rpc: AlterPartition, from: {broker: 0}, of: request}, for: 8s}}, {wait: 9s}, "
    "{inject: {FAULT, for: 8s}}, {wait: 25s}]"
)
BACK = "[{inject: {kill: {target: {broker: 0}, restartAfter: 6s}, for: 6s}}, {wait: 40s}]"


def count_everybody_as_caught_up(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(FollowerState, "caught_up", lambda *_: True)


def fence_nobody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(broker_state, "own_fencing", lambda *_: [])


def pass_over_news_of_brokers(patch: pytest.MonkeyPatch) -> None:
    apply = ReplicaManager.apply_cluster

    def wrong(self: ReplicaManager, image: Any, delta: Any) -> None:
        if self.is_loaded and self.options.broker_id == 1:
            return
        apply(self, image.copy() if self.options.broker_id == 1 else image, delta)

    patch.setattr(ReplicaManager, "apply_cluster", wrong)


def hear_of_no_death(patch: pytest.MonkeyPatch) -> None:
    take, seen = ClusterImage._brokers, dict[int, Any]()

    def wrong(self: ClusterImage, live: list[Any], own_epoch: int) -> None:
        seen.update({one.id: one for one in live if one.endpoints})
        take(self, [*seen.values()], own_epoch)

    patch.setattr(ClusterImage, "_brokers", wrong)


def keep_leaders_where_they_are(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(leadership, "rebalance_leaders", lambda _image: [])


def go_on_with_moves(patch: pytest.MonkeyPatch) -> None:
    """Read what is asked for, and decide on what is new alone."""
    decide = ActiveController.decide_and_tell

    def changed(self: ActiveController) -> Any:
        yield from self._read_orders()
        yield from decide(self, [*self.context.reassigned])

    patch.setattr(ActiveController, "orders_changed", changed)


def begin_moves_late(patch: pytest.MonkeyPatch) -> None:
    begin = ActiveController.orders_changed

    def late(self: ActiveController) -> Any:
        self._ports.clock.call_later(3 * SECOND, lambda: self.queue.put("late", lambda: begin(self)))
        yield from self._read_orders()

    patch.setattr(ActiveController, "orders_changed", late)


BROKEN: list[tuple[str, Break, dict[str, str], str]] = [
    (COMMITS, count_everybody_as_caught_up, KRAFT, HELD),
    (COMMITS, count_everybody_as_caught_up, ZOOKEEPER, HELD),
    (FENCING, fence_nobody, KRAFT, DEAD),
    (METADATA, pass_over_news_of_brokers, KRAFT, DEAD),
    (METADATA, pass_over_news_of_brokers, ZOOKEEPER, DEAD),
    (METADATA, hear_of_no_death, ZOOKEEPER, DEAD_FOR_A_WHILE),
    (PREFERRED, keep_leaders_where_they_are, KRAFT, BACK),
    (ADMINISTRATION, go_on_with_moves, ZOOKEEPER, TAKEN_BACK),
    (ADMINISTRATION, begin_moves_late, ZOOKEEPER, MOVED),
]


def _run(mode: dict[str, str], schedule: str) -> RunResult:
    return run_experiment(parse_experiment(FILE.format(**mode, schedule=schedule), "duties.yaml"), SimBackend())


def _late(result: RunResult) -> set[str]:
    return {one.what.partition(":")[0] for one in result.violations if one.name == "unavailable"}


@pytest.mark.quick("commits without laggards-count_everybody_as_caught_up-mode1", "administration in time-go_on")
@pytest.mark.parametrize(("feature", "broken", "mode", "schedule"), BROKEN)
def test_what_one_node_owes_is_asked_of_it(
    monkeypatch: pytest.MonkeyPatch, feature: str, broken: Break, mode: dict[str, str], schedule: str
) -> None:
    result = _run(mode, schedule)
    assert (_late(result), result.features[feature].state) == (set(), "ok")
    broken(monkeypatch)
    result = _run(mode, schedule)
    assert feature in _late(result)


def test_a_broker_that_is_gone_is_unfenced_by_what_it_sent_before() -> None:
    assert _late(_run(KRAFT, LATE_BEATS)) == set()


@pytest.mark.parametrize(
    "fault", ["partition: {between: [{broker: 0}, {broker: 1}]}", "kill: {target: {broker: 1}, restartAfter: 8s}"]
)
def test_a_leader_makes_no_proposal_while_it_waits_for_an_answer_that_was_lost(fault: str) -> None:
    """Found by ``campaign random``, seeds 785342 and 785006."""
    assert _late(_run(KRAFT, LOST_PROPOSAL.replace("FAULT", fault))) == set()


@pytest.mark.thorough
def test_a_voter_that_follows_nobody_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _run(KRAFT, FOLLOWER_DEAD)
    assert (_late(result), result.features[VOTERS].state) == (set(), "ok")
    begin = Answering._begin_epoch

    def deaf(self: Answering, notice: Any) -> Any:
        return self._answer(ErrorCode.NONE) if self._shared.node_id == CONTROLLER_2 else begin(self, notice)

    learned = RaftReplica.learned
    monkeypatch.setattr(Answering, "_begin_epoch", deaf)
    monkeypatch.setattr(
        RaftReplica, "learned", lambda self, answer: self.node_id != CONTROLLER_2 and learned(self, answer)
    )
    assert VOTERS in _late(_run(KRAFT, FOLLOWER_DEAD))


def test_no_record_of_the_metadata_is_smaller_than_is_counted() -> None:
    """Where no-op records come often, a snapshot would be missed before it is due."""
    assert len(encode_metadata_record(NoOpRecord(), 0)) >= upkeep._OF_METADATA
