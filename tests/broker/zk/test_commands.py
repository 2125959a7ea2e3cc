"""A broker obeys the controller of its cluster and of its own life, and no other (V3 C and E; KIP-380, KAFKA-7362)."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

import pytest

from highwater_runtime.epochs import LAST, MOST_AHEAD
from highwater_runtime.metadata.znodes import key_of
from highwater_runtime.ports.trace import TransitionTaken
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.leader_and_isr_request import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from highwater_runtime.wire.messages.stop_replica_request import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from highwater_runtime.wire.messages.update_metadata_request import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)

NO_ID = UUID(int=0)
FULL, INCREMENTAL = 2, 1


@dataclass
class Orders:
    """What a controller in the test's hands says of ``orders-0`` to broker 1."""

    cluster: object
    topic_id: UUID = NO_ID
    controller_epoch: int = 0
    broker_epoch: int = -1
    sent: list = field(default_factory=list)

    def lead(
        self, leader, *, leader_epoch, partition_epoch, kind=INCREMENTAL, names=("orders",), isr=(0, 1, 2), sequence=-1
    ):
        states = [
            LeaderAndIsrTopicState(
                topic_name=name,
                topic_id=self.topic_id,
                partition_states=[
                    LeaderAndIsrPartitionState(
                        partition_index=0,
                        controller_epoch=self.controller_epoch,
                        leader=leader,
                        leader_epoch=leader_epoch,
                        isr=list(isr),
                        partition_epoch=partition_epoch,
                        replicas=[0, 1, 2],
                    )
                ],
            )
            for name in names
        ]
        request = LeaderAndIsrRequest(
            controller_id=0,
            controller_epoch=self.controller_epoch,
            broker_epoch=self.broker_epoch,
            sequence=sequence,
            type=kind,
            topic_states=states,
        )
        return self.cluster.ask(1, request, 5)

    def stop(self, **what):
        return self.cluster.ask(1, self.stop_request(**what), 3)

    def stop_request(self, *, leader_epoch=-2, delete=True, name="orders", sequence=-1):
        state = StopReplicaPartitionState(partition_index=0, leader_epoch=leader_epoch, delete_partition=delete)
        return StopReplicaRequest(
            controller_id=0,
            controller_epoch=self.controller_epoch,
            broker_epoch=self.broker_epoch,
            sequence=sequence,
            topic_states=[StopReplicaTopicState(topic_name=name, partition_states=[state])],
        )

    def update(self, leader=0, *, brokers=(0, 1, 2), sequence=-1, leader_epoch=9, name="orders"):
        request = UpdateMetadataRequest(
            controller_id=0,
            controller_epoch=self.controller_epoch,
            broker_epoch=self.broker_epoch,
            sequence=sequence,
            topic_states=[
                UpdateMetadataTopicState(
                    topic_name=name,
                    topic_id=self.topic_id if name == "orders" else UUID(int=7),
                    partition_states=[
                        UpdateMetadataPartitionState(
                            partition_index=0,
                            controller_epoch=self.controller_epoch,
                            leader=leader,
                            leader_epoch=leader_epoch,
                            isr=[leader],
                            zk_version=9,
                            replicas=[0, 1, 2],
                        )
                    ],
                )
            ],
            live_brokers=[
                UpdateMetadataBroker(
                    id=b,
                    endpoints=[
                        UpdateMetadataEndpoint(port=9092, host=f"broker-{b}", listener="PLAINTEXT", security_protocol=0)
                    ],
                )
                for b in brokers
            ],
        )
        return self.cluster.ask(1, request, 7)


@pytest.fixture
def make_orders(make_cluster):
    def make(**options):
        c = make_cluster(**options)
        topic_id = c.create_topic([0, 1, 2])
        c.produce(0, b"a", b"b")
        c.until(lambda: c.replica(1) is not None and c.replica(1).high_watermark == 2)
        epoch = c.broker(c.controller).controller.epoch
        return c, Orders(c, topic_id, epoch, c.broker(1).broker_epoch)

    return make


def test_a_zombie_controller_commands_nobody(make_orders):
    c, orders = make_orders()
    orders.controller_epoch -= 1
    assert orders.lead(1, leader_epoch=9, partition_epoch=9).error_code == ErrorCode.STALE_CONTROLLER_EPOCH
    assert orders.stop().error_code == ErrorCode.STALE_CONTROLLER_EPOCH
    assert orders.update(leader=2).error_code == ErrorCode.STALE_CONTROLLER_EPOCH
    c.run(1)
    assert not c.leads(1)
    assert c.values(1) == [b"a", b"b"]
    assert c.broker(1).image.partition("orders", 0).leader == 0


def test_without_the_fence_a_zombie_controller_deletes_a_live_replica(make_orders):
    c, orders = make_orders(switches={"controller-epoch-fencing": "off"})
    orders.controller_epoch -= 1
    assert orders.stop().error_code == ErrorCode.NONE
    c.run(1)
    assert c.replica(1) is None


def test_commands_for_an_earlier_life_of_the_broker_are_refused(make_orders):
    c, orders = make_orders()
    orders.broker_epoch -= 1
    assert orders.lead(1, leader_epoch=9, partition_epoch=9).error_code == ErrorCode.STALE_BROKER_EPOCH
    assert orders.lead(1, leader_epoch=9, partition_epoch=9, kind=FULL, names=()).error_code == (
        ErrorCode.STALE_BROKER_EPOCH
    )
    assert orders.stop().error_code == ErrorCode.STALE_BROKER_EPOCH
    assert orders.update(leader=2).error_code == ErrorCode.STALE_BROKER_EPOCH
    c.run(1)
    assert not c.leads(1)
    assert c.values(1) == [b"a", b"b"]
    assert c.broker(1).image.partition("orders", 0).leader == 0


def test_no_command_moves_an_epoch_far(make_orders):
    c, orders = make_orders()
    replica_epoch, controller_epoch = c.replica(1).leader_epoch, orders.controller_epoch

    def of_partition(response):
        errors = response.topics[0].partition_errors if hasattr(response, "topics") else response.partition_errors
        return errors[0].error_code

    for ahead in (MOST_AHEAD + 1, LAST):
        far = min(replica_epoch + ahead, LAST)
        lead = orders.lead(1, leader_epoch=far, partition_epoch=9)
        assert (lead.error_code, of_partition(lead)) == (ErrorCode.NONE, ErrorCode.INVALID_REQUEST)
        assert of_partition(orders.stop(leader_epoch=far, delete=False)) == ErrorCode.INVALID_REQUEST
        assert orders.update(leader_epoch=far).error_code == ErrorCode.INVALID_REQUEST
        orders.controller_epoch = min(controller_epoch + ahead, LAST)
        for response in (orders.lead(1, leader_epoch=9, partition_epoch=9), orders.stop(), orders.update()):
            assert response.error_code == ErrorCode.INVALID_REQUEST
        orders.controller_epoch = controller_epoch
    c.run(1)
    assert not c.leads(1)
    assert c.values(1) == [b"a", b"b"]
    assert c.broker(1).image.partition("orders", 0).leader_epoch == replica_epoch
    orders.controller_epoch += MOST_AHEAD
    lead = orders.lead(1, leader_epoch=replica_epoch + MOST_AHEAD, partition_epoch=9)
    assert (lead.error_code, of_partition(lead)) == (ErrorCode.NONE, ErrorCode.NONE)
    assert orders.update(leader_epoch=replica_epoch + MOST_AHEAD).error_code == ErrorCode.NONE


def test_a_later_broker_epoch_is_taken_for_the_controller_may_know_it_first(make_orders):
    _, orders = make_orders()
    orders.broker_epoch += 1000
    assert orders.update(leader=0).error_code == ErrorCode.NONE


def test_an_older_state_of_a_partition_is_refused_and_impossible_ones_are(make_orders):
    c, orders = make_orders()

    def outcome(**state):
        answer = orders.lead(**state)
        assert answer.error_code == ErrorCode.NONE
        return answer.topics[0].partition_errors[0].error_code

    assert outcome(leader=1, leader_epoch=5, partition_epoch=9) == ErrorCode.NONE
    c.until(lambda: c.leads(1))
    assert outcome(leader=2, leader_epoch=4, partition_epoch=10) == ErrorCode.STALE_CONTROLLER_EPOCH
    assert outcome(leader=2, leader_epoch=6, partition_epoch=11, isr=(0, 7)) == ErrorCode.INVALID_REQUEST
    assert outcome(leader=2, leader_epoch=6, partition_epoch=11, isr=(0, 1)) == ErrorCode.INVALID_REQUEST
    assert outcome(leader=2, leader_epoch=-6, partition_epoch=11) == ErrorCode.INVALID_REQUEST
    orders.topic_id = UUID(int=77)
    assert outcome(leader=2, leader_epoch=6, partition_epoch=11) == ErrorCode.INCONSISTENT_TOPIC_ID
    c.run(1)
    assert c.leads(1)


def test_a_stopped_replica_keeps_its_log_until_it_is_told_to_delete_it(make_orders):
    c, orders = make_orders()
    c.until(lambda: 1 in c.state()[0].isr)
    assert orders.stop(leader_epoch=0, delete=False).partition_errors[0].error_code == ErrorCode.NONE
    c.run(0.5)
    c.produce(0, b"c", acks=1)
    c.run(0.5)
    assert c.values(1) == [b"a", b"b"], "it follows nobody"
    assert orders.lead(0, leader_epoch=7, partition_epoch=9).error_code == ErrorCode.NONE
    assert orders.stop(leader_epoch=6).partition_errors[0].error_code == ErrorCode.FENCED_LEADER_EPOCH
    c.run(0.5)
    assert c.replica(1) is not None
    assert orders.stop(leader_epoch=-2).partition_errors[0].error_code == ErrorCode.NONE
    c.until(lambda: c.replica(1) is None and "orders-0" not in c.directories(1))


def test_settings_that_were_read_for_a_topic_end_with_it(make_orders):
    """A broker came back while a topic was deleted: only commands about its end named it here."""
    c, orders = make_orders()
    read = c.broker(1)._mode._configs._topics
    for end in (orders.stop, lambda name: orders.update(leader=-2, name=name)):
        orders.lead(0, leader_epoch=7, partition_epoch=9, names=("gone",))
        assert "gone" in read
        end(name="gone")
        assert "gone" not in read
        assert "orders" in read


def test_a_deletion_is_confirmed_once_the_log_is_gone_however_often_it_is_asked_for(make_orders):
    """The log is still being created; a controller that got no answer, or a new one, asks anew (random seed 900050)."""
    c, orders = make_orders()
    disk, answers, given_up = c.sim.node("broker-1").disk, [], []
    disk.set_stalled(True)
    c.create_topic([0, 1, 2], "again")
    c.run(0.5)
    c.send(1, orders.stop_request(name="again"), 3, given_up.append, within_s=0.5)
    c.until(lambda: bool(given_up))
    c.send(1, orders.stop_request(name="again"), 3, answers.append)
    c.run(1)
    assert answers == []
    disk.set_stalled(False)
    c.until(lambda: bool(answers))
    assert "again-0" not in c.directories(1)
    assert answers[0].partition_errors[0].error_code == ErrorCode.NONE


def test_a_full_list_sets_strays_aside_and_nothing_else(make_orders):
    c, orders = make_orders()
    c.create_topic([1, 0, 2], "kept")
    c.until(lambda: c.replica(1, "kept-0") is not None)
    kept = c.broker(1).image.topics_by_name["kept"].id
    orders.topic_id = kept
    orders.lead(1, leader_epoch=0, partition_epoch=0, kind=INCREMENTAL, names=("kept",), isr=(1, 0, 2))
    c.run(0.5)
    assert "orders-0" in c.directories(1), "only a full list says what is not"
    orders.lead(1, leader_epoch=0, partition_epoch=0, kind=FULL, names=("kept",), isr=(1, 0, 2))
    c.run(0.5)
    assert "kept-0" in c.directories(1)
    assert c.leads(1, "kept-0")
    assert "orders-0" not in c.directories(1)
    assert any(name.startswith("orders-0.") and name.endswith("-stray") for name in c.directories(1))
    assert c.replica(1) is None
    c.run(70)
    assert [name for name in c.directories(1) if name.startswith(("orders", "kept"))] == ["kept-0"], "deleted by now"


def outcome(response):
    return response.topics[0].partition_errors[0].error_code


def test_a_follower_that_runs_goes_on_without_its_leader_in_the_metadata(make_orders):
    """AbstractFetcherManager keeps the endpoint with the fetcher, whatever UpdateMetadata says later."""
    c, orders = make_orders()
    c.until(lambda: sorted(c.state()[0].isr) == [0, 1, 2])
    orders.update(brokers=(1, 2))
    assert 0 not in c.broker(1).image.brokers
    c.run(2)
    assert c.produce(0, b"c") == ErrorCode.NONE
    assert c.values(1) == [b"a", b"b", b"c"]
    assert sorted(c.state()[0].isr) == [0, 1, 2]


def test_a_replica_follows_no_leader_that_is_not_alive(make_orders):
    """ReplicaManager.makeFollowers: the state is dropped, and only the next leader epoch makes up for it."""
    c, orders = make_orders()
    orders.update(brokers=(0, 1))
    assert outcome(orders.lead(2, leader_epoch=9, partition_epoch=9)) == ErrorCode.NONE
    c.run(0.5)
    assert c.produce(0, b"c", acks=1) == ErrorCode.NONE
    c.until(lambda: c.values(1) == [b"a", b"b", b"c"])
    assert c.replica(1).leader_epoch == 0, "it goes on as before"
    (reached,) = [e for e in c.of_kind(TransitionTaken, "broker-1") if e.reason == "leader-not-alive"]
    assert reached.partition == "orders-0"
    orders.update(brokers=(0, 1, 2))
    c.run(0.5)
    assert c.replica(1).leader_id == 0
    assert outcome(orders.lead(2, leader_epoch=10, partition_epoch=10)) == ErrorCode.NONE
    c.run(0.5)
    assert (c.replica(1).leader_id, c.replica(1).leader_epoch) == (2, 10)


@pytest.mark.parametrize("leader", [2, -1])
def test_a_leader_stays_one_if_its_successor_is_not_alive(make_orders, leader):
    c, orders = make_orders()
    orders.lead(1, leader_epoch=9, partition_epoch=9)
    c.until(lambda: c.leads(1))
    orders.update(brokers=(0, 1))
    assert outcome(orders.lead(leader, leader_epoch=10, partition_epoch=10)) == ErrorCode.NONE
    c.run(0.5)
    assert c.leads(1)
    assert c.replica(1).leader_epoch == 9


def test_a_new_replica_gets_its_log_though_its_leader_is_not_alive(make_orders):
    """createLogIfNotExists (KAFKA-1647)."""
    c, orders = make_orders()
    orders.update(brokers=(0, 1))
    orders.topic_id = UUID(int=77)
    assert outcome(orders.lead(2, leader_epoch=0, partition_epoch=0, names=("late",))) == ErrorCode.NONE
    c.until(lambda: c.replica(1, "late-0") is not None)
    assert (c.replica(1, "late-0").leader_id, c.replica(1, "late-0").leader_epoch) == (-1, -1)
    orders.update(brokers=(0, 1, 2))
    assert outcome(orders.lead(2, leader_epoch=0, partition_epoch=0, names=("late",))) == ErrorCode.NONE
    c.until(lambda: c.replica(1, "late-0").leader_id == 2)


LATER = 1_000
"""Above the numbers of the cluster's own controller."""


@pytest.mark.parametrize("check", ["on", "off"])
def test_a_late_copy_of_a_command_is_refused(make_orders, check):
    """With the switch off each of them does its damage, as in Kafka."""
    c, orders = make_orders(switches={"stale-command-check": check})
    is_refused = check == "on"

    def is_late(response):
        assert response.error_code == (ErrorCode.STALE_CONTROLLER_EPOCH if is_refused else ErrorCode.NONE)
        c.run(0.5)

    orders.update(sequence=LATER)
    is_late(orders.update(brokers=(1,), sequence=LATER - 1))
    assert (0 in c.broker(1).image.brokers) == is_refused
    assert orders.update(sequence=LATER).error_code == ErrorCode.NONE, "a copy of the last one"
    is_late(orders.lead(1, leader_epoch=9, partition_epoch=9, sequence=LATER - 1))
    assert c.leads(1) != is_refused
    is_late(orders.lead(1, leader_epoch=9, partition_epoch=9, kind=FULL, names=(), sequence=LATER - 1))
    assert ("orders-0" in c.directories(1)) == is_refused
    orders.lead(0, leader_epoch=9, partition_epoch=10, sequence=LATER + 1)
    is_late(orders.stop(sequence=LATER))
    assert (c.replica(1) is not None) == is_refused
    orders.controller_epoch += 1
    assert orders.stop(sequence=0).error_code == ErrorCode.NONE, "the next controller begins again"
    assert orders.stop().error_code == ErrorCode.NONE, "a controller of Kafka does not number"
    assert orders.stop(sequence=LATER - 1).error_code == ErrorCode.NONE
    is_late(orders.stop(sequence=LATER - 2))


def test_without_the_fence_numbers_of_a_zombie_controller_count_for_nothing(make_orders):
    """The switch shows what the fence is for, so that the other check must not stand in for it."""
    _, orders = make_orders(switches={"controller-epoch-fencing": "off"})
    orders.controller_epoch += 1
    orders.update(sequence=5)
    orders.controller_epoch -= 1
    assert orders.update(sequence=3).error_code == ErrorCode.NONE
    assert orders.update(sequence=7).error_code == ErrorCode.NONE
    orders.controller_epoch += 1
    assert orders.update(sequence=6).error_code == ErrorCode.NONE


def test_a_stray_that_a_stop_has_left_is_deleted_after_the_next_start(make_orders):
    c, orders = make_orders()
    orders.lead(1, leader_epoch=0, partition_epoch=0, kind=FULL, names=())
    c.run(0.5)
    c.sim.kill("broker-1")
    c.sim.start("broker-1")
    c.run(30)
    assert any(name.startswith("orders-0.") and name.endswith("-stray") for name in c.directories(1))
    c.until(lambda: not any(name.endswith("-stray") for name in c.directories(1)))


def test_a_name_is_not_enough_where_topic_ids_differ(make_orders):
    """The list has ``orders-0`` of another topic id: what is here under that name is stray, and made again."""
    c, orders = make_orders()
    orders.topic_id = UUID(int=77)
    orders.lead(1, leader_epoch=0, partition_epoch=0, kind=FULL, isr=(0, 1, 2))
    c.until(lambda: c.replica(1) is not None and c.replica(1).topic_id == UUID(int=77))
    assert c.values(1) == []
    assert any(name.endswith("-stray") for name in c.directories(1))


def test_a_log_that_has_failed_is_no_stray(make_orders):
    c, orders = make_orders()
    c.broker(1)._logs.logs["orders", 0].failure = OSError("gone")
    orders.lead(1, leader_epoch=0, partition_epoch=0, kind=FULL, names=())
    c.run(0.5)
    assert "orders-0" in c.directories(1)


def test_with_the_switch_off_strays_stay(make_orders):
    c, orders = make_orders(switches={"stray-cleanup": "off"})
    orders.lead(1, leader_epoch=0, partition_epoch=0, kind=FULL, names=())
    c.run(0.5)
    assert "orders-0" in c.directories(1)


def test_without_topic_ids_a_key_follows_from_the_name():
    assert key_of("orders", None) == key_of("orders", None) != key_of("other", None)
