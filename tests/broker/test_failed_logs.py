"""A log that fails is one partition's end on one broker: the broker lives, and somebody else leads."""

from __future__ import annotations

import pytest

from highwater_runtime.ports import SECOND
from highwater_runtime.ports.trace import BecameFollower, BecameLeader, IsrProposed, NodeStopped, TransitionTaken
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from highwater_runtime.wire.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

NONE, STORAGE = ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR
SEGMENT = "00000000000000000000.log"


def damage(c, broker: int, partition: str = "orders-0") -> None:
    """Cut the file behind the broker's back: neither a read nor the next append finds it as it was written."""
    c.sim.node(f"broker-{broker}").disk.open(f"{partition}/{SEGMENT}").truncate(20)


def stopped(c) -> list[str]:
    return [node for _, node, _ in c.of_kind(NodeStopped)]


def gauge(c, broker: int, name: str) -> float:
    samples = [s for s in c.sim.metric_samples() if s.node == f"broker-{broker}" and s.name.endswith(name)]
    return samples[0].value


@pytest.fixture
def orders(make_cluster):
    """``orders-0`` on three brokers, led by 0, and ``others-0`` led by 0 as well."""
    c = make_cluster(controllers=3)
    c.create_topic([0, 1, 2], configs={"min.insync.replicas": "1"})
    c.create_topic([0, 1], name="others")
    assert c.produce(b"1").error_code == NONE
    return c


def test_a_leader_whose_log_fails_hands_over_and_its_broker_goes_on(orders):
    c = orders
    damage(c, 0)
    refused = c.produce(b"2", to=0)
    assert (refused.error_code, refused.base_offset) == (STORAGE, -1)
    c.until(lambda: c.leads(1), 1)
    assert c.produce(b"2", to=1).error_code == NONE
    assert sorted(c.leader().committed_isr) == [1, 2]
    assert c.produce(b"x", topic="others", to=0).error_code == NONE, "one log has failed, and no other"
    assert c.produce(b"3", to=0).error_code == STORAGE
    assert (stopped(c), gauge(c, 0, "offlinereplicacount")) == ([], 1)
    followers = {(node, event.leader_epoch) for _, node, event in c.of_kind(BecameFollower)}
    assert ("broker-2", 1) in followers
    assert ("broker-0", 1) not in followers, "it follows nobody, and what its log ends with is not known"


def test_a_log_that_has_failed_is_back_after_a_restart(orders):
    c = orders
    damage(c, 0)
    c.produce(b"2", to=0)
    c.until(lambda: c.leads(1), 1)
    assert c.produce(b"2", to=1).error_code == NONE
    c.sim.kill("broker-0")
    c.sim.start("broker-0")
    c.until(lambda: sorted(c.leader().committed_isr) == [0, 1, 2], 20)
    assert c.values(0) == [b"1", b"2"]


def test_a_follower_whose_log_fails_leaves_the_isr_before_the_lag_time(orders):
    c = orders
    damage(c, 2)
    assert c.produce(b"2", acks=1).error_code == NONE
    c.until(lambda: sorted(c.leader().committed_isr) == [0, 1], 0.5)
    assert (stopped(c), c.leads(0)) == ([], True)


def test_a_failed_flush_takes_one_partition_offline(orders):
    """``LogOfflineError`` raised in the event 'response arrives'."""
    c = orders
    disk = c.sim.node("broker-2").disk
    c.replica(2).log.flush_later(lambda _error: None)
    disk.set_errors("fsync")
    c.until(lambda: c.replica(2).log.failure is not None, 1)
    disk.heal()
    assert c.produce(b"2", acks=1).error_code == NONE
    c.until(lambda: sorted(c.leader().committed_isr) == [0, 1], 0.5)
    assert stopped(c) == []


def test_who_waits_for_a_leader_whose_log_fails_is_answered(orders):
    c = orders
    topic_id = c.replica(0).topic_id
    for other in (1, 2):
        c.sim.faults.cut("broker-0", f"broker-{other}")
    produced, fetched = [], []
    c.send("broker-0", c.produce_request(b"2"), 9, produced.append)
    c.send("broker-0", c.fetch_request(topic_id, 1, max_wait_ms=5000), 15, fetched.append, channel="fetch")
    c.run(0.1)
    assert (produced, fetched) == ([], [])
    damage(c, 0)
    assert c.produce(b"3", to=0, acks=1).error_code == STORAGE
    c.until(lambda: bool(produced and fetched), 0.5)
    assert produced[0].responses[0].partition_responses[0].error_code == STORAGE
    assert fetched[0].responses[0].partitions[0].error_code == STORAGE
    taken = {e.reason for _, _, e in c.of_kind(TransitionTaken)}
    assert "produce-lost-leadership" in taken
    assert "not-enough-replicas-after-append" not in taken


@pytest.mark.parametrize("trouble", ["damage", "EIO"])
def test_every_read_of_a_log_that_fails_is_answered_and_the_broker_lives(orders, trouble):
    c = orders
    topic_id = c.replica(0).topic_id
    if trouble == "damage":
        damage(c, 0)
    else:
        c.sim.node("broker-0").disk.set_errors("all")
    assert c.fetch(topic_id, 0, to=0).error_code == STORAGE
    c.sim.node("broker-0").disk.heal()
    assert c.replica(0).log.failure is not None
    asked = ListOffsetsPartition(partition_index=0, timestamp=1, current_leader_epoch=-1)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="orders", partitions=[asked])])
    answer = c.ask("broker-0", request, 7)
    assert (answer.topics[0].partitions[0].error_code, stopped(c)) == (STORAGE, [])


@pytest.mark.parametrize("version", [None, "3.5-IV2"])
def test_the_last_member_does_not_lead_with_a_log_that_has_failed(make_cluster, version):
    c = make_cluster(controllers=3, metadata_version=version)
    c.create_topic([0])
    c.produce(b"1")
    damage(c, 0)
    assert c.produce(b"2", to=0).error_code == STORAGE
    c.until(lambda: c.broker(1).image.partition("orders", 0).leader == -1, 1)
    before = c.broker(1).image.partition("orders", 0)
    c.run(1)
    assert c.broker(1).image.partition("orders", 0) == before, "nothing more to be done, so no epoch moves"
    c.sim.kill("broker-2")
    c.sim.start("broker-2")  # when it is unfenced, leaders are elected where there is none
    c.run(10)
    led = [node for _, node, e in c.of_kind(BecameLeader) if e.partition == "orders-0"]
    assert (led, stopped(c)) == (["broker-0"], ["broker-2"])
    assert c.broker(1).image.partition("orders", 0).isr == (0,)


def test_an_election_that_overtakes_the_answer_to_a_report_is_reported_against(make_cluster):
    c = make_cluster(controllers=3)
    c.create_topic([0])
    c.produce(b"1")
    held = c.sim.faults.hold("AssignReplicasToDirs", from_nodes=["broker-0"], direction="response")
    damage(c, 0)
    c.produce(b"2", to=0)
    c.run(0.2)
    election = ElectLeadersRequest(topic_partitions=[TopicPartitions(topic="orders", partitions=[0])], timeout_ms=1000)
    c.ask("broker-1", election, 2)
    assert (held.caught, c.broker(1).image.partition("orders", 0).leader) == (1, 0)
    c.sim.faults.heal(held)
    c.until(lambda: c.broker(1).image.partition("orders", 0).leader == -1, 1)


def test_a_broker_with_a_failed_log_stops_as_it_should_and_recovers_when_it_starts(orders):
    c = orders
    damage(c, 0)
    c.produce(b"2", to=0)
    done = []
    c.sim.stop("broker-0", lambda: done.append(True))
    c.until(lambda: bool(done), 10)
    c.sim.start("broker-0")
    c.until(lambda: c.unfenced(0), 20)
    assert c.replica(0).log.recovery.reason == "recovered"


def test_what_a_former_incarnation_has_lost_is_no_news(orders):
    """The report travels slowly; meanwhile the broker has restarted, and its log is whole again."""
    c = orders
    held = c.sim.faults.hold("AssignReplicasToDirs", from_nodes=["broker-0"])
    damage(c, 0)
    c.produce(b"2", to=0)
    c.run(0.2)
    assert held.caught == 1
    c.sim.kill("broker-0")
    c.sim.start("broker-0")
    c.until(lambda: c.unfenced(0), 20)
    c.until(lambda: sorted(c.leader().committed_isr) == [0, 1, 2], 20)
    before = c.leader().partition_epoch
    c.sim.faults.heal(held)
    c.run(0.5)
    assert (c.leader().partition_epoch, c.leader().committed_isr) == (before, (1, 2, 0))


def fail_flush(c, broker: int) -> None:
    """Let a flush of ``orders-0`` fail: a log is lost that has every record."""
    disk = c.sim.node(f"broker-{broker}").disk
    c.replica(broker).log.flush_later(lambda _error: None)
    disk.set_errors("fsync")
    c.until(lambda: c.replica(broker).log.failure is not None, 1)
    disk.heal()


def test_a_follower_with_a_lost_log_stays_out_of_the_isr_though_it_had_every_record(orders):
    c = orders
    c.run(3)
    fail_flush(c, 2)
    c.until(lambda: sorted(c.leader().committed_isr) == [0, 1], 0.5)
    c.events.clear()
    c.run(10)
    assert [e.isr for _, _, e in c.of_kind(IsrProposed)] == [], "what it fetched before its log was lost says nothing"


def test_the_hw_does_not_wait_for_a_lost_log_once_it_is_out_of_the_isr(orders):
    c = orders
    c.run(3)
    fail_flush(c, 2)
    before = c.sim.now_ns
    assert c.produce(b"2").error_code == NONE
    assert c.sim.now_ns - before < SECOND, "and not for replica.lag.time.max.ms"
