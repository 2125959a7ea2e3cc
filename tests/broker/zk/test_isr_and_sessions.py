"""ISR writes, sessions and reads of a broker in ZooKeeper mode (V3 E, G and discussions 3 and 7)."""

from __future__ import annotations

import pytest

from highwater_runtime.metadata.registrations import BROKER_RESOURCE
from highwater_runtime.metadata.znodes import (
    ALL_BROKERS_CONFIG,
    CONFIG_CHANGE_PREFIX,
    ConfigChangeNode,
    ConfigNode,
    encode_node,
    leader_and_isr_path,
)
from highwater_runtime.ports.coordination import Create, Failure, Set
from highwater_runtime.ports.trace import BatchCommitted, IsrProposalEnded
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

UNCLEAN = "unclean.leader.election.enable"


def test_the_leader_writes_its_isr_and_tells_the_controller(make_cluster):
    c = make_cluster(config={"zookeeper.session.timeout.ms": 60_000})
    c.create_topic([0, 1, 2])
    c.sim.pause("broker-2")
    assert c.produce(0, b"a", acks=1) is ErrorCode.NONE
    c.until(lambda: set(c.state()[0].isr) == {0, 1})
    c.until(lambda: c.replica(0).partition_epoch == c.state()[1])
    c.sim.resume("broker-2")
    c.until(lambda: set(c.state()[0].isr) == {0, 1, 2})
    c.until(lambda: set(c.broker(1).image.partition("orders", 0).isr) == {0, 1, 2})


def test_an_isr_write_whose_answer_is_lost_is_recognised_as_done(make_cluster, monkeypatch):
    c = make_cluster(config={"zookeeper.session.timeout.ms": 60_000})
    c.create_topic([0, 1, 2])
    membership = c.broker(0)._mode._membership
    submit, lost = membership.submit, []

    def lossy(operation, on_result, **options):
        if type(operation).__name__ == "Multi" and not lost:
            lost.append(operation)
            submit(operation, lambda _: on_result(Failure.CONNECTION_LOSS), **options)
        else:
            submit(operation, on_result, **options)

    monkeypatch.setattr(membership, "submit", lossy)
    version = c.state()[1]
    c.sim.pause("broker-2")
    assert c.produce(0, b"a", acks=1) is ErrorCode.NONE
    c.until(lambda: bool(lost))
    c.until(lambda: set(c.replica(0).committed_isr) == {0, 1})
    assert c.state()[1] == version + 1 == c.replica(0).partition_epoch, "written once, and known"
    c.sim.resume("broker-2")
    c.until(lambda: set(c.state()[0].isr) == {0, 1, 2})


def test_a_deposed_leader_cannot_shrink_its_isr_and_commits_nothing(make_cluster):
    """Discussion 3: the controller has written, and this leader has not heard of it."""
    c = make_cluster(config={"zookeeper.session.timeout.ms": 60_000})
    c.create_topic([0, 1, 2])
    assert c.produce(0, b"a") is ErrorCode.NONE
    state, version = c.state()
    deposing = type(state)(leader=1, leader_epoch=state.leader_epoch + 1, isr=(1, 2), controller_epoch=1)
    assert not isinstance(c.do(Set(leader_and_isr_path("orders", 0), encode_node(deposing), version)), Failure)
    c.sim.kill("broker-1")
    c.sim.kill("broker-2")
    before = len(c.of_kind(BatchCommitted, "broker-0"))
    assert c.produce(0, b"lost", timeout_ms=8000) is not ErrorCode.NONE
    c.run(10)
    assert c.leads(0), "nobody has told it"
    assert c.state()[0] == deposing, "its write changed nothing"
    assert len(c.of_kind(BatchCommitted, "broker-0")) == before
    assert c.replica(0).high_watermark == 1
    assert set(c.replica(0).committed_isr) == {0, 1, 2}
    assert not c.of_kind(IsrProposalEnded, "broker-0")


def test_a_consumer_between_hw_and_leo_gets_nothing_and_above_leo_an_error(make_cluster):
    """Discussion 7."""
    c = make_cluster()
    c.create_topic([0, 1, 2])
    assert c.produce(0, b"a", b"b") is ErrorCode.NONE
    c.sim.pause("broker-1")
    c.sim.pause("broker-2")
    assert c.produce(0, b"c", b"d", acks=1) is ErrorCode.NONE
    replica = c.replica(0)
    assert (replica.high_watermark, replica.log.log_end_offset) == (2, 4)
    for offset in (2, 3, 4):
        answer = c.fetch(0, offset)
        assert (answer.error_code, answer.records or b"") == (ErrorCode.NONE, b""), offset
    assert c.fetch(0, 5).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    c.sim.resume("broker-1")
    c.sim.resume("broker-2")


def test_a_broker_whose_session_expired_registers_under_a_new_epoch(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1, 2])
    follower = next(b for b in (1, 2) if b != c.controller)
    before = c.broker(follower).broker_epoch
    c.sim.pause(f"broker-{follower}")
    c.run(6)
    c.sim.resume(f"broker-{follower}")
    c.until(lambda: c.broker(follower).broker_epoch > before and c.is_up(follower))
    c.until(lambda: set(c.state()[0].isr) == {0, 1, 2})
    assert c.produce(c.state()[0].leader, b"a") is ErrorCode.NONE


def test_a_restart_waits_for_the_node_of_the_former_session(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1, 2])
    before = c.broker(2).broker_epoch
    c.sim.kill("broker-2")
    c.sim.start("broker-2")
    c.run(0.5)
    assert c.broker(2).broker_epoch == -1
    assert c.broker(2).partitions == {}, "before it is told, it leads and follows nothing"
    c.until(lambda: c.is_up(2) and c.broker(2).broker_epoch > before)
    c.until(lambda: set(c.state()[0].isr) == {0, 1, 2})
    assert "orders-0" in c.directories(2)
    assert not [name for name in c.directories(2) if name.endswith("-stray")], "what is assigned is no stray"


def test_a_controlled_shutdown_moves_leaderships_first(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1, 2])
    c.sim.stop("broker-0")
    c.until(lambda: c.broker(0) is None)
    state, _ = c.state()
    assert state.leader in (1, 2)
    assert 0 not in state.isr


def test_a_topic_that_was_deleted_and_made_anew_while_a_broker_was_off(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1, 2])
    assert c.produce(0, b"old") is ErrorCode.NONE
    c.until(lambda: c.values(2) == [b"old"])
    c.create_topic([0, 1, 2], "kept", configs={"min.insync.replicas": "2"})
    assert c.replica(0, "kept-0").min_isr == 2
    assert c.produce(0, b"kept", topic="kept") is ErrorCode.NONE
    c.sim.stop("broker-2")
    c.until(lambda: c.broker(2) is None)
    c.sim.start("broker-2")
    c.until(lambda: c.is_up(2) and set(c.state("kept")[0].isr) == {0, 1, 2})
    assert c.values(2, "kept-0") == [b"kept"]
    c.delete_topic()
    c.until(lambda: all("orders-0" not in c.directories(b) for b in range(3)))
    c.until(lambda: all("orders" not in c.broker(b).image.topics_by_name for b in range(3)))
    c.create_topic([1, 2, 0])
    assert c.produce(1, b"new") is ErrorCode.NONE
    c.until(lambda: c.values(2) == [b"new"])


def leave_a_replica_outside_the_isr(c):
    """Brokers that do not control: the only member of the ISR, which is down, and one that was down before."""
    first, second, _ = (b for b in range(4) if b != c.controller)
    c.create_topic([first, second])
    c.sim.kill(f"broker-{second}")
    c.until(lambda: c.state()[0].isr == (first,))
    c.sim.kill(f"broker-{first}")
    c.until(lambda: c.state()[0].leader == -1)
    return first, second


@pytest.mark.parametrize("allowed", [True, False])
def test_a_new_controller_knows_what_is_configured_for_all_brokers(make_cluster, allowed):
    """It takes precedence over what the brokers were started with."""
    c = make_cluster(brokers=4, config={UNCLEAN: not allowed})
    value = AlterableConfig(name=UNCLEAN, value=str(allowed).lower())
    resource = AlterConfigsResource(resource_type=BROKER_RESOURCE, resource_name="", configs=[value])
    answer = c.ask(c.controller, IncrementalAlterConfigsRequest(resources=[resource]), 1)
    assert answer.responses[0].error_code == ErrorCode.NONE
    first, second = leave_a_replica_outside_the_isr(c)
    before = c.controller
    c.sim.kill(f"broker-{before}")
    c.until(lambda: any(b.controller.is_active for b in map(c.broker, range(4)) if b is not None))
    c.sim.start(f"broker-{second}")
    if allowed:
        c.until(lambda: c.leads(second))
    c.run(5)
    assert c.state()[0].isr == ((second,) if allowed else (first,))


def test_a_controller_hears_of_what_another_client_of_zookeeper_configures(make_cluster):
    c = make_cluster(brokers=4)
    first, second = leave_a_replica_outside_the_isr(c)
    c.sim.start(f"broker-{second}")
    c.run(5)
    assert c.state()[0].isr == (first,)
    c.do(Create(ALL_BROKERS_CONFIG, encode_node(ConfigNode(config={UNCLEAN: "true"}))))
    change = encode_node(ConfigChangeNode(entity_path="brokers/<default>"))
    c.do(Create(CONFIG_CHANGE_PREFIX, change, sequential=True))
    c.until(lambda: c.leads(second))
    c.do(Set(ALL_BROKERS_CONFIG, b"no JSON", 0))
    c.do(Create(CONFIG_CHANGE_PREFIX, change, sequential=True))
    c.sim.kill(f"broker-{second}")
    c.until(lambda: c.state()[0].leader == -1)
    c.sim.start(f"broker-{first}")
    c.run(5)
    assert c.state()[0].isr == (second,), "what cannot be read allows nothing, and ends no controller"


UNREADABLE = {
    "cleanup.policy": "eternal",
    "leader.replication.throttled.replicas": "x",
    "leader.replication.throttled.rate": "x",
    "log.retention.ms": "x",
    "max.message.bytes": "-5",
    "message.max.bytes": "x",
    "min.insync.replicas": "x",
    "retention.ms": "x",
    "segment.bytes": "0",
}


@pytest.mark.parametrize("entity", ["topics/orders", "brokers/<default>"])
def test_values_that_cannot_be_read_count_for_nothing(make_cluster, entity):
    """Clients of ZooKeeper write what they like; no broker ends by that, and what can be read beside them holds."""
    c = make_cluster()
    c.create_topic([0, 1, 2])
    node = encode_node(ConfigNode(config={**UNREADABLE, "unknown": "x", UNCLEAN: "true"}))
    path = f"/config/{entity}"
    written = c.do(Set(path, node, 0) if entity.startswith("topics") else Create(path, node))
    assert not isinstance(written, Failure)
    change = encode_node(ConfigChangeNode(entity_path=entity))
    c.do(Create(CONFIG_CHANGE_PREFIX, change, sequential=True))
    c.run(3)
    assert c.produce(0, b"a") is ErrorCode.NONE
    before = c.controller
    c.sim.kill(f"broker-{before}")
    c.until(lambda: any(b.controller.is_active for b in map(c.broker, range(3)) if b is not None))
    c.sim.start(f"broker-{before}")
    c.until(lambda: set(c.state()[0].isr) == {0, 1, 2} and all(map(c.is_up, range(3))))
    for broker in map(c.broker, range(3)):
        broker.refresh_metrics()
        values = [config for resource, config in broker.image.configs.items() if config]
        assert values == [{"unknown": "x", UNCLEAN: "true"}]
