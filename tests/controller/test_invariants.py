"""Whatever happens in whatever order, the image keeps its invariants.

Random histories of brokers that come, go, crash and register again, of leaders that propose (with present and stale
epochs), of administrators that create, reassign and elect, and of controllers that lose and regain the leadership.
After every step the committed image must satisfy what :func:`check` says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from highwater_runtime.controller.kraft import quorum_controller
from highwater_runtime.metadata import NO_LEADER, MetadataImage, MetadataVersion
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from highwater_runtime.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from highwater_runtime.wire.messages.elect_leaders_request import ElectLeadersRequest
from highwater_runtime.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from highwater_runtime.wire.messages.unregister_broker_request import UnregisterBrokerRequest

BROKERS = 4
broker = st.integers(0, BROKERS - 1)
some_brokers = st.lists(broker, min_size=1, max_size=BROKERS, unique=True)

step = st.one_of(
    st.tuples(st.just("register"), broker),
    st.tuples(st.just("restart"), broker),
    st.tuples(st.just("heartbeat"), broker),
    st.tuples(st.just("heartbeat"), broker),
    st.tuples(st.just("shut-down"), broker),
    st.tuples(st.just("fence"), broker),
    st.tuples(st.just("unregister"), broker),
    st.tuples(st.just("silence"), broker),
    st.tuples(st.just("propose"), some_brokers),
    st.tuples(st.just("propose"), some_brokers),
    st.tuples(st.just("hold"), some_brokers),
    st.tuples(st.just("deliver"), st.none()),
    st.tuples(st.just("reassign"), some_brokers),
    st.tuples(st.just("cancel"), st.none()),
    st.tuples(st.just("elect"), st.none()),
    st.tuples(st.just("create"), some_brokers),
    st.tuples(st.just("delete"), st.none()),
    st.tuples(st.just("configure"), st.tuples(st.sampled_from(["orders", "extra", ""]), st.integers(1, 3))),
    st.tuples(st.just("fail-over"), st.booleans()),
)


def check(image: MetadataImage) -> None:
    """The invariants that hold at every committed batch."""
    for topic, index, partition in image.all_partitions():
        where = f"{topic.name}-{index} {partition}"
        assert partition.isr, where
        assert len(set(partition.isr)) == len(partition.isr), where
        assert set(partition.isr) <= set(partition.replicas), where
        assert partition.leader == NO_LEADER or partition.leader in partition.isr, where
        assert set(partition.adding_replicas) | set(partition.removing_replicas) <= set(partition.replicas), where
        unfit = [r for r in partition.isr if r not in image.brokers or not image.brokers[r].active]
        assert not unfit or len(partition.isr) == 1, f"{where}: {unfit} may not be in an ISR beside others"
        assert partition.leader not in unfit, f"{where}: a leader must be active"
        if partition.leader == NO_LEADER:
            assert unfit, f"{where}: a live member of the ISR must have been elected"


def check_prefix(image: MetadataImage) -> None:
    """What holds even where a decision's records are cut off in the middle: KIP-841 and KIP-903."""
    for topic, index, partition in image.all_partitions():
        unfit = [r for r in partition.isr if r not in image.brokers or not image.brokers[r].active]
        assert not unfit or len(partition.isr) == 1, f"{topic.name}-{index} {partition}: {unfit} beside others"
        assert partition.leader not in unfit, f"{topic.name}-{index} {partition}"


def check_index(image: MetadataImage) -> None:
    """The index of an image says what a walk over all partitions finds, in the same order."""
    walked = [((topic.id, index), state) for topic, index, state in image.all_partitions()]
    index = image.index
    assert index.partitions == len(walked)
    for b in range(BROKERS + 1):
        assert index.in_sync(b) == [key for key, state in walked if b in state.isr], b
        assert index.leads_any(b) == any(state.leader == b for _, state in walked), b
    assert index.leaderless() == [key for key, state in walked if state.leader == NO_LEADER]
    assert list(index.not_preferred()) == [key for key, state in walked if state.leader != state.replicas[0]]
    for name in ("orders", "extra", "ext.ra", "nothing"):
        assert index.colliding(name) == (name if name in image.topics_by_name else None)


def check_counts(image: MetadataImage, gauges: dict[str, float]) -> None:
    """A controller's gauges say what a walk over all partitions finds."""

    def least(topic: str, replicas: int) -> int:
        values = [image.configs.get(resource, {}).get("min.insync.replicas") for resource in ((2, topic), (4, ""))]  # type: ignore[call-overload]
        return min(replicas, next((int(value) for value in values if value is not None), 1))

    states = [(topic.name, state) for topic, _, state in image.all_partitions()]
    controller = "kafka_controller_kafkacontroller_"
    expected = {
        controller + "globalpartitioncount": len(states),
        controller + "offlinepartitionscount": sum(s.leader == NO_LEADER for _, s in states),
        controller + "preferredreplicaimbalancecount": sum(s.leader != s.replicas[0] for _, s in states),
        "highwater_controller_under_replicated_partitions": sum(len(s.isr) < len(s.replicas) for _, s in states),
        "highwater_controller_under_min_isr_partitions": sum(
            len(s.isr) < least(topic, len(s.replicas)) for topic, s in states
        ),
    }
    assert {name: gauges[name] for name in expected} == expected


def check_progress(before: MetadataImage, after: MetadataImage) -> None:
    """Epochs only grow, and the leader epoch grows with every change of the leader."""
    for topic, index, old in before.all_partitions():
        if topic.id not in after.topics_by_id:
            continue
        new = after.partition(topic.name, index)
        assert new is not None
        assert new.partition_epoch >= old.partition_epoch
        assert (new == old) == (new.partition_epoch == old.partition_epoch)
        assert new.leader_epoch >= old.leader_epoch
        assert new.leader == old.leader or new.leader_epoch > old.leader_epoch
    for broker_id, old_broker in before.brokers.items():
        if broker_id in after.brokers:
            assert after.brokers[broker_id].epoch >= old_broker.epoch


class World:
    """A cluster, the incarnation that each broker is in, and the proposals that the network still holds."""

    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster
        self.incarnations = dict.fromkeys(range(BROKERS), 1)
        self.held: list[Any] = []
        cluster.up(*range(BROKERS))
        cluster.create_topic("orders", [0, 1, 2], [1, 2, 3])

    def do(self, what: str, with_: Any) -> None:
        cluster = self.cluster
        registered = isinstance(with_, int) and with_ in cluster.image.brokers
        match what:
            case "register":
                cluster.ask(cluster.registration(with_, self.incarnations[with_]))
            case "restart":
                self.incarnations[with_] += 1
                cluster.ask(cluster.registration(with_, self.incarnations[with_]))
            case "heartbeat" | "shut-down" | "fence" if registered:
                cluster.heartbeat(with_, shut_down=what == "shut-down", fence=what == "fence")
            case "unregister":
                cluster.ask(UnregisterBrokerRequest(broker_id=with_))
            case "silence":
                cluster.silence(with_)
            case "propose" if self._leader_is_there():
                cluster.propose(self._with_leader(with_))
            case "hold" if self._leader_is_there():
                self.held.append(cluster.proposal(self._with_leader(with_)))
            case "deliver" if self.held:
                self._deliver(self.held.pop(0))
            case "reassign" | "cancel":
                asked = ReassignablePartition(partition_index=0, replicas=with_)
                topics = [ReassignableTopic(name="orders", partitions=[asked])]
                cluster.ask(AlterPartitionReassignmentsRequest(topics=topics))
            case "elect":
                cluster.ask(ElectLeadersRequest(election_type=0, topic_partitions=None))
            case "create" if "extra" not in cluster.image.topics_by_name and self._may_place(with_):
                cluster.create_topic("extra", with_, with_)
            case "delete" if "extra" in cluster.image.topics_by_name:
                cluster.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="extra")]))
            case "configure":
                name, value = with_
                change = AlterableConfig(name="min.insync.replicas", config_operation=0, value=str(value))
                resource = AlterConfigsResource(resource_type=2 if name else 4, resource_name=name, configs=[change])
                cluster.ask(IncrementalAlterConfigsRequest(resources=[resource]))
            case "fail-over":
                cluster.send(cluster.registration(0, self.incarnations[0]))
                cluster.quorum.lose(1001, survives=with_)
                cluster.quorum.lead()
                cluster.quorum.commit()

    def _may_place(self, replicas: list[int]) -> bool:
        brokers = self.cluster.image.brokers
        return all(b in brokers for b in replicas) and any(brokers[b].active for b in replicas)

    def _leader_is_there(self) -> bool:
        return self.cluster.partition().leader != NO_LEADER

    def _with_leader(self, members: list[int]) -> list[int]:
        leader = self.cluster.partition().leader
        return members if leader in members else [leader, *members]

    def _deliver(self, held: Any) -> None:
        """KIP-903: a proposal from long ago brings in nobody who has registered again since."""
        before = self.cluster.image.copy()
        response = self.cluster.ask(held)
        if response.error_code == ErrorCode.NONE:
            result = response.topics[0].partitions[0]
            changed = self.cluster.image.partition("orders", 0) != before.partition("orders", 0)
            if result.error_code == ErrorCode.NONE and changed:
                for member in held.topics[0].partitions[0].new_isr_with_epochs:
                    assert before.brokers[member.broker_id].epoch == member.broker_epoch


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    steps=st.lists(step, min_size=15, max_size=60),
    level=st.sampled_from([MetadataVersion.IBP_3_5_IV1, MetadataVersion.latest()]),
    most_records=st.sampled_from([1, 2, 10_000]),
)
def test_the_image_keeps_its_invariants(
    make_cluster: Callable[..., Any], steps: list[tuple[str, Any]], level: MetadataVersion, most_records: int
) -> None:
    """``most_records`` in a batch: a decision is cut in pieces, and each piece must leave the cluster as it may be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quorum_controller, "MOST_RECORDS", most_records)
        cluster = make_cluster(metadata_version=level)
        commit = cluster.controller.on_commit

        def commit_and_check(*batch: Any) -> None:
            commit(*batch)
            check_prefix(cluster.image)

        cluster.controller.on_commit = commit_and_check
        world = World(cluster)
        check(cluster.image)
        for what, with_ in steps:
            before = cluster.image.copy()
            world.do(what, with_)
            check(cluster.image)
            check_index(cluster.image)
            check_counts(cluster.image, cluster.metrics.values)
            check_progress(before, cluster.image)
