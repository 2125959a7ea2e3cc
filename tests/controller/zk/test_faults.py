"""The ZooKeeper controller under fire: each story breaks something between a decision and its command."""

from __future__ import annotations

from typing import Any

import pytest
from recording_brokers import Cluster, with_isr

from highwater_runtime.controller.zk.commands import Commands
from highwater_runtime.controller.zk.context import PartitionKey
from highwater_runtime.controller.zk.election import CONTROLLER, CONTROLLER_EPOCH, Elected
from highwater_runtime.metadata.znodes import (
    DELETE_TOPICS,
    PARTITIONS_REASSIGNED,
    ReplicasNode,
    encode_node,
    leader_and_isr_path,
    topic_path,
)
from highwater_runtime.ports.coordination import Check, Create, Delete, Exists, Failure, Set, Stat
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from highwater_runtime.wire.messages.leader_and_isr_request import LeaderAndIsrRequest
from highwater_runtime.wire.messages.update_metadata_request import UpdateMetadataRequest


def followers(c: Cluster) -> list[int]:
    return [number for number in range(len(c.brokers)) if number != c.controllers[0]]


def test_the_controller_dies_between_the_write_and_the_command() -> None:
    c = Cluster().up()
    old = c.controllers[0]
    first, second = followers(c)
    c.sim.faults.cut(c.brokers[old], [c.brokers[first], c.brokers[second]])
    c.create("orders", {0: (first, second)})
    c.await_state(first, (first, second), "orders")
    c.settle()
    assert not c.broker(first).hosted, "it is written and not told"
    c.sim.kill(c.brokers[old])
    c.settle(4000)
    assert c.broker(first).hosted["orders", 0].leader == first
    assert c.broker(second).leaders["orders", 0] == first


def test_the_answer_of_a_multi_is_lost() -> None:
    """It is written, and the controller cannot know: it reads back, and tells what it finds."""
    c = Cluster().up()
    tree = c.server(c.leader or "").state.tree
    found = leader_and_isr_path("orders", 0)
    c.create("orders", {0: (0, 1, 2)})
    c.until(lambda: isinstance(tree.read(Exists(found)), Stat))
    assert not any(broker.hosted for broker in c.alive), "the response is still on its way"
    c.sim.faults.isolate(c.controller().session.server.host)
    c.settle(4000)
    c.sim.faults.heal_all()
    c.settle(2000)
    state = c.state("orders")
    assert state is not None
    assert state[1] == 0, "it was written once"
    assert all(broker.hosted["orders", 0].leader == 0 for broker in c.alive)


def make_zombie(c: Cluster) -> tuple[Any, int]:
    """The controller does not hear that its node is deleted, and that another is elected. Its session lives."""
    zombie = c.controller()
    zombie.controller._election._begin = lambda: None  # type: ignore[union-attr, method-assign]
    zombie.controller._election._cycle += 1  # type: ignore[union-attr]
    active = zombie.controller._active
    c.must(c.told, Delete(CONTROLLER))
    c.until(lambda: len(c.controllers) == 2)
    c.settle()
    return active, zombie.node_id


def kill_a_leader(c: Cluster, zombie: int) -> None:
    """Both controllers see it. The true one is slow to, so that the zombie writes first if it may."""
    true = next(number for number in c.controllers if number != zombie)
    victim = next(number for number in range(4) if number not in (zombie, true))
    c.create("orders", {0: (victim, zombie, true)})
    c.settle()
    for broker in c.alive:
        if broker.node_id == true:
            c.sim.pause(broker.name)
    c.sim.kill(c.brokers[victim])
    c.settle(3000)
    c.sim.resume(c.brokers[true])
    c.settle(4000)


def epochs_written(c: Cluster) -> set[int]:
    state = c.state("orders")
    assert state is not None
    return {state[0].controller_epoch}


def test_a_zombie_writes_nothing() -> None:
    c = Cluster(brokers=4).up()
    active, zombie = make_zombie(c)
    kill_a_leader(c, zombie)
    assert c.broker(zombie).controller._active is not active, "a write that was refused has told it"
    assert 1 not in epochs_written(c)


def test_without_the_guard_it_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Elected, "guard", property(lambda elected: Check(CONTROLLER_EPOCH)))
    c = Cluster(brokers=4).up()
    active, zombie = make_zombie(c)
    kill_a_leader(c, zombie)
    assert c.broker(zombie).controller._active is active
    assert epochs_written(c) == {1}


def test_commands_of_a_zombie_have_the_old_epoch() -> None:
    c = Cluster(brokers=4).up()
    active, _ = make_zombie(c)
    commands = Commands(active.context)
    for broker_id in active.context.image.brokers:
        commands.full(broker_id)
    commands.tell_all()
    active.tell(commands)
    c.settle()
    for broker in c.alive:
        errors = [error for request, error in broker.refused if request.controller_epoch == 1]
        assert errors
        assert set(errors) == {ErrorCode.STALE_CONTROLLER_EPOCH}


def test_a_paused_controller_is_deposed_and_does_nothing_more() -> None:
    c = Cluster().up()
    old = c.controllers[0]
    zombie = c.broker(old)
    c.create("orders", {0: (0, 1, 2)})
    c.settle()
    c.sim.pause(zombie.name)
    c.until(lambda: c.controllers not in ([], [old]))
    c.settle(3000)
    before = c.state("orders")
    c.sim.resume(zombie.name)
    c.settle(4000)
    assert len(c.controllers) == 1
    state = c.state("orders")
    assert before is not None
    assert state is not None
    assert state[0].controller_epoch == before[0].controller_epoch == 2
    assert zombie.hosted["orders", 0].controller_epoch == 2, "it is a broker of the new controller"
    assert zombie.lists()[-1].broker_epoch == zombie.epoch, "in its new incarnation"


def test_the_leader_writes_its_isr_first() -> None:
    """The controller's write meets another version: it reads, and decides on what is there."""
    c = Cluster(brokers=4).up()
    victim, first, second = followers(c)
    c.create("orders", {0: (victim, first, second), 1: (victim, second, first)})
    c.settle()
    state = c.state("orders")
    assert state is not None
    node, version = state
    without_note = Set(leader_and_isr_path("orders", 0), encode_node(with_isr(node, (victim, second))), version)
    c.must(c.told, without_note)
    c.sim.kill(c.brokers[victim])
    c.await_state(second, (second,), "orders", 0)
    c.await_state(second, (second, first), "orders", 1)  # in the same multi, which failed with it
    c.settle()
    state = c.state("orders")
    assert state is not None
    assert (state[0].leader_epoch, state[1]) == (1, 2)
    assert c.broker(second).hosted["orders", 0].partition_epoch == 2


def test_the_controller_writes_first() -> None:
    """The leader's write meets another version, and it is no longer the leader."""
    c = Cluster(brokers=4).up()
    victim, first, second = followers(c)
    c.create("orders", {0: (victim, first, second)})
    c.settle()
    before = c.state("orders")
    assert before is not None
    c.sim.kill(c.brokers[victim])
    c.await_state(first, (first, second), "orders")
    late = Set(leader_and_isr_path("orders", 0), encode_node(with_isr(before[0], (victim,))), before[1])
    assert c.do(c.told, late) is Failure.BAD_VERSION


def test_a_broker_is_down_while_its_topic_is_moved_deleted_and_created_again() -> None:
    """KAFKA-7362: it returns to a full list, which says that it has nothing of the old one."""
    c = Cluster().up()
    victim, other = followers(c)
    third = c.controllers[0]
    c.create("orders", {0: (other, victim)})
    c.settle()
    old_id = c.assignment("orders").topic_id
    c.sim.kill(c.brokers[victim])
    c.settle(3000)
    c.do(c.told, Create(f"{PARTITIONS_REASSIGNED}/orders"))
    order = encode_node(ReplicasNode(replicas=(other, third)))
    c.must(c.told, Create(f"{PARTITIONS_REASSIGNED}/orders/0", order))
    c.settle()
    c.write_isr("orders", (other, third))
    c.settle()
    assert c.assignment("orders").partitions == {0: (other, third)}
    c.must(c.told, Create(f"{DELETE_TOPICS}/orders"))
    c.settle(2000)
    assert not c.exists(topic_path("orders"))
    c.create("orders", {0: (third, other)})
    c.settle()
    assert c.assignment("orders").topic_id != old_id
    c.sim.start(c.brokers[victim])
    c.settle(3000)
    full = c.broker(victim).lists()[0]
    assert (full.type, full.topic_states) == (2, [])
    assert c.broker(third).hosted["orders", 0].leader == third


def test_a_member_dies_while_its_partition_is_moved() -> None:
    c = Cluster(brokers=4).up()
    a, b, new = followers(c)
    c.create("orders", {0: (a, b)})
    c.settle()
    c.do(c.told, Create(f"{PARTITIONS_REASSIGNED}/orders"))
    order = encode_node(ReplicasNode(replicas=(b, new)))
    c.must(c.told, Create(f"{PARTITIONS_REASSIGNED}/orders/0", order))
    c.settle()
    c.sim.kill(c.brokers[new])
    c.sim.kill(c.brokers[a])
    c.await_state(b, (b,), "orders")
    assert c.assignment("orders").adding_replicas == {0: (new,)}, "it waits"
    c.sim.start(c.brokers[new])
    c.settle(2000)
    assert c.broker(new).hosted["orders", 0].leader == b
    c.write_isr("orders", (b, new))
    c.settle()
    assert c.assignment("orders").partitions == {0: (b, new)}
    c.sim.start(c.brokers[a])
    c.settle(2000)
    assert not c.broker(a).hosted


def test_a_new_controller_goes_on_with_what_was_begun() -> None:
    """D 7 to 9: a move, and a deletion."""
    c = Cluster(brokers=4).up()
    a, b, new = followers(c)
    c.create("orders", {0: (a, b)})
    c.create("gone", {0: (a, b)})
    c.settle()
    c.sim.faults.cut(c.brokers[c.controllers[0]], [c.brokers[a], c.brokers[b], c.brokers[new]])
    c.do(c.told, Create(f"{PARTITIONS_REASSIGNED}/orders"))
    order = encode_node(ReplicasNode(replicas=(b, new)))
    c.must(c.told, Create(f"{PARTITIONS_REASSIGNED}/orders/0", order))
    c.must(c.told, Create(f"{DELETE_TOPICS}/gone"))
    c.settle()
    assert c.exists(topic_path("gone"))
    c.sim.kill(c.brokers[c.controllers[0]])
    c.settle(4000)
    assert not c.exists(topic_path("gone"))
    assert c.broker(new).hosted["orders", 0].adding_replicas == [new]
    c.write_isr("orders", (a, b, new))
    c.settle()
    assert c.assignment("orders").partitions == {0: (b, new)}


def test_a_controller_that_stops_sends_nothing_more() -> None:
    """A command that waits for the one before it is not sent by a controller that is none."""
    c = Cluster().up()
    controller, silent = c.controller(), c.broker(followers(c)[0])
    c.sim.faults.cut(controller.name, silent.name)
    c.create("orders", {0: (0, 1, 2)})
    c.await_state(0, (0, 1, 2), "orders")
    c.create("later", {0: (0, 1, 2)})
    c.await_state(0, (0, 1, 2), "later")
    controller.controller.close()
    c.sim.faults.heal_all()
    c.settle(3000)
    assert ("later", 0) not in silent.hosted


def test_a_broker_that_does_not_know_its_epoch_yet_gets_the_list_again() -> None:
    c = Cluster().up()
    broker = c.broker(followers(c)[0])
    true, broker.epoch = broker.epoch, -5
    c.create("orders", {0: (0, 1, 2)})
    c.settle()
    assert {error for _, error in broker.refused} == {ErrorCode.STALE_BROKER_EPOCH}
    assert not broker.hosted
    broker.epoch = true
    c.settle()
    assert broker.hosted["orders", 0].leader == 0
    assert broker.lists()[-1].type == 2


def test_a_command_that_is_sent_again_has_its_number() -> None:
    c = Cluster().up()
    broker = c.broker(followers(c)[0])
    before = len(broker.received)
    broker.silent = True
    c.create("orders", {0: (0, 1, 2)})
    c.settle(70_000)
    copies = broker.received[before:]
    assert len(copies) > 1
    assert len({(type(body), body.sequence) for body in copies}) == 1
    broker.silent = False
    c.settle(35_000)
    assert broker.received[-1].sequence > copies[0].sequence


def test_a_controller_goes_on_counting_when_a_broker_has_another_session() -> None:
    """The broker's process lives, and remembers the highest number."""
    c = Cluster().up()
    broker = c.broker(followers(c)[0])
    before, first = broker.epoch, len(broker.sequences)
    broker.session.close(broker.start)
    c.settle()
    assert broker.epoch > before
    assert len(broker.sequences) > first
    assert broker.sequences == sorted(set(broker.sequences))


@pytest.mark.thorough
def test_a_full_list_is_never_split() -> None:
    partitions = 5000
    c = Cluster(brokers=2).up()
    victim = followers(c)[0]
    c.create("orders", dict.fromkeys(range(partitions), (0, 1)))
    c.until(lambda: len(c.broker(victim).hosted) == partitions, within_ms=60_000)
    c.sim.kill(c.brokers[victim])
    c.settle(3000)
    c.sim.start(c.brokers[victim])
    c.until(lambda: any(broker.node_id == victim and broker.lists() for broker in c.alive), within_ms=60_000)
    full = c.broker(victim).lists()[0]
    assert full.type == 2
    assert sum(len(topic.partition_states) for topic in full.topic_states) == partitions


def lose_the_isr(c: Cluster) -> tuple[int, int]:
    """The only member of the ISR dies, and then the controller; those that may lack records live."""
    first, second, third = followers(c)
    c.create("orders", {0: (first, second, third)})
    c.settle()
    c.write_isr("orders", (first,))
    c.settle()
    c.sim.kill(c.brokers[first])
    c.settle(3000)
    c.sim.kill(c.brokers[c.controllers[0]])
    c.settle(5000)
    return first, second


def test_a_new_controller_keeps_to_the_isr() -> None:
    c = Cluster(brokers=4).up()
    first, _ = lose_the_isr(c)
    assert c.leader_and_isr("orders") == (-1, (first,))


def test_init_leaderless_isr_makes_leaders_that_lack_records() -> None:
    c = Cluster(brokers=4, init_leaderless_isr="on").up()
    first, second = lose_the_isr(c)
    leader, isr = c.leader_and_isr("orders")
    assert leader == second
    assert first not in isr
    assert len(isr) == 2, "both are taken for in sync, and neither is"


def test_unclean_elections_make_leaders_that_lack_records() -> None:
    c = Cluster(brokers=4, unclean_leader_election="on").up()
    _, second = lose_the_isr(c)
    state = c.state("orders")
    assert state is not None
    assert (state[0].leader, state[0].isr, state[0].leader_recovery_state) == (second, (second,), 1)


def test_a_topic_may_come_to_allow_an_unclean_election() -> None:
    """``unclean.leader.election.enable``; a new controller reads it where it was written."""
    c = Cluster(brokers=4).up()
    _, second = lose_the_isr(c)
    value = AlterableConfig(name="unclean.leader.election.enable", value="true")
    resource = AlterConfigsResource(resource_type=2, resource_name="orders", configs=[value])
    c.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1)
    assert c.leader_and_isr("orders") == (second, (second,))


def test_partition_keys_of_commands() -> None:
    """A topic that is deleted and created again needs a second round: stop first, then start."""
    from highwater_runtime.controller.zk.sender import Round
    from highwater_runtime.wire.messages.leader_and_isr_request import LeaderAndIsrPartitionState
    from highwater_runtime.wire.messages.stop_replica_request import StopReplicaPartitionState

    key = PartitionKey("orders", 0)
    stop = Round(stop={key: StopReplicaPartitionState()})
    start = Round(leader_and_isr={key: LeaderAndIsrPartitionState()})
    assert not stop.takes(start)
    assert start.takes(stop)
    full = Round(leader_and_isr={}, full=True)
    start.merge(full)
    assert (start.full, start.leader_and_isr) == (True, {}), "a full list replaces what was to be told"
    full.merge(Round(leader_and_isr={key: LeaderAndIsrPartitionState()}))
    assert full.full


def test_a_broker_is_introduced_before_it_is_named_as_a_leader() -> None:
    """A broker that answers slowly gets several events in one round, and follows no leader that it does not know."""
    c = Cluster().up(without=(2,))
    (slow,) = (number for number in (0, 1) if number != c.controllers[0])
    broker = c.broker(slow)
    broker.silent = True
    c.create("orders", {0: (slow,)})
    c.settle()
    c.sim.start(c.brokers[2])
    c.settle()
    c.create("payments", {0: (2, slow)})
    c.settle()
    assert ("payments", 0) not in broker.hosted, "it has not answered the first command"
    broker.silent = False
    c.until(lambda: ("payments", 0) in broker.hosted, within_ms=60_000)
    live: set[int] = set()
    for body in broker.received:
        if isinstance(body, UpdateMetadataRequest):
            live = {one.id for one in body.live_brokers}
        elif isinstance(body, LeaderAndIsrRequest):
            assert {state.leader for topic in body.topic_states for state in topic.partition_states} <= live
