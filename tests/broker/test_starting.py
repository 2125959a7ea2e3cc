"""What a broker that has just started tells clients: nothing, until it knows something."""

from __future__ import annotations

from highwater_runtime.broker.kraft.mode import KraftMode
from highwater_runtime.log import loading
from highwater_runtime.ports import RpcFailure
from highwater_runtime.ports.trace import BecameFollower, BecameLeader
from highwater_runtime.raft import replica
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.api_versions_request import ApiVersionsRequest
from highwater_runtime.wire.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from highwater_runtime.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from highwater_runtime.wire.messages.metadata_request import MetadataRequest


def restarted(cluster):
    """Broker 2 again, whose registration must wait until the session of its last incarnation is over."""
    cluster.create_topic([0, 1, 2])
    cluster.sim.kill("broker-2")
    cluster.sim.start("broker-2")
    cluster.run(0.2)
    assert cluster.broker(2).broker_epoch == -1


def test_a_request_waits_for_the_metadata_that_answers_it(make_cluster):
    c = make_cluster(hold_until_published=True)
    restarted(c)
    answers = []
    c.send("broker-2", MetadataRequest(topics=None), 12, answers.append)
    # What a client needs to connect is no metadata, and is answered at once.
    versions = c.ask("broker-2", ApiVersionsRequest(), 3, channel="other")
    assert versions.error_code == ErrorCode.NONE
    assert answers == []
    assert c.broker(2).broker_epoch == -1
    c.until(lambda: bool(answers))
    assert not isinstance(answers[0], RpcFailure)
    assert {0, 1} <= {broker.node_id for broker in answers[0].brokers}
    assert [topic.name for topic in answers[0].topics] == ["orders"]
    c.until(lambda: c.unfenced(2))
    assert [broker.node_id for broker in c.ask("broker-2", MetadataRequest(topics=None), 12).brokers] == [0, 1, 2]


def test_a_simulated_broker_answers_at_once_that_it_knows_nobody(make_cluster):
    c = make_cluster()
    restarted(c)
    answer = c.ask("broker-2", MetadataRequest(topics=None), 12)
    assert c.broker(2).broker_epoch == -1
    assert (answer.brokers, answer.topics) == ([], [])


def test_a_broker_acts_on_metadata_only_once_its_logs_are_loaded(make_cluster, monkeypatch):
    monkeypatch.setattr(loading, "AT_ONCE", 0)
    c = make_cluster()
    c.create_topic([0, 1, 2])
    c.produce(b"a", to=0)
    c.sim.kill("broker-2")
    held = []
    go_on = loading.Loading._go_on

    def hold(self):
        held.append(self)

    monkeypatch.setattr(loading.Loading, "_go_on", hold)
    c.sim.start("broker-2")
    c.until(lambda: c.broker(2) is not None and c.broker(2).broker_epoch >= 0)
    c.run(2)
    assert c.broker(2).partitions == {}
    assert not c.unfenced(2)
    monkeypatch.setattr(loading.Loading, "_go_on", go_on)
    (one,) = held
    go_on(one)
    c.until(lambda: c.unfenced(2))
    assert [p.log.log_end_offset for p in c.broker(2).partitions.values()] == [1]


def test_a_start_replays_the_metadata_log_in_pieces(make_cluster, monkeypatch):
    monkeypatch.setattr(replica, "MOST_AT_ONCE", 3)
    c = make_cluster()
    for i in range(10):
        c.create_topic([0, 1, 2], f"t{i}")
    events = []
    on_commit = KraftMode.on_commit

    def counted(self, base_offset, epoch, records, last_offset):
        if self._options.node_id == 2:
            events.append((c.sim.loop.events_run, c.sim.loop.now))
        on_commit(self, base_offset, epoch, records, last_offset)

    monkeypatch.setattr(KraftMode, "on_commit", counted)
    c.sim.kill("broker-2")
    c.run(20)
    events.clear()
    c.sim.start("broker-2")
    c.until(lambda: c.unfenced(2))
    assert len(c.broker(2).partitions) == 10
    assert len(events) > 20
    assert max(events.count(event) for event in events) <= 3
    assert len({now for _, now in events[:20]}) <= 3, "nothing is waited for between two pieces"


def test_logs_of_topics_that_were_deleted_meanwhile_are_set_aside_and_no_others(make_cluster):
    c = make_cluster()
    kept = c.create_topic([0, 1, 2], "kept")
    c.create_topic([0, 1, 2], "gone")
    c.create_topic([0, 1, 2], "again")
    c.sim.kill("broker-2")
    disk = c.sim.node("broker-2").disk
    for name in ("gone", "again"):
        c.ask("broker-0", DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=30_000), 6)
    c.until(lambda: not c.leads(0, "gone-0") and not c.leads(0, "again-0"))
    again = c.create_topic([0, 1, 2], "again")
    assert {"kept-0", "gone-0", "again-0"} <= set(disk.list())
    c.sim.start("broker-2")
    c.until(lambda: c.unfenced(2))
    c.run(1)
    assert [name for name in disk.list() if name.startswith("gone-0.")]
    assert "gone-0" not in disk.list()
    assert {key[0] for key in c.broker(2).partitions} == {kept, again}
    assert {"kept-0", "again-0"} <= set(disk.list())
    c.run(70)
    (stray,) = [name for name in disk.list() if name.startswith("gone-0")]
    assert stray.endswith("-stray"), "what was in it is kept"
    c.sim.kill("broker-2")
    c.sim.start("broker-2")
    c.until(lambda: c.unfenced(2))
    c.run(1)
    assert stray in disk.list()
    assert {"kept-0", "again-0"} <= set(disk.list())


def test_controllers_that_lost_their_metadata_delete_no_records(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1, 2], "orders")
    nodes = ("broker-0", "broker-1", "broker-2", "controller-0")
    for name in nodes:
        c.sim.kill(name)
    c.sim.node("controller-0").disk.wipe()
    for name in reversed(nodes):
        c.sim.start(name)
    c.until(lambda: all(c.unfenced(broker) for broker in range(3)))
    c.run(120)
    for broker in range(3):
        assert [name for name in c.sim.node(f"broker-{broker}").disk.list() if name.startswith("orders-0")]


def test_logs_that_the_disk_has_made_together_are_taken_up_in_one_event(make_cluster):
    """A broker does what follows from each event (wake-ups, gauges) once, and not once for each of 40 logs."""
    c = make_cluster()
    events: dict[str, set[int]] = {}

    def note(_time_ns, node, _incarnation, event):
        if isinstance(event, BecameLeader | BecameFollower):
            events.setdefault(node, set()).add(c.sim.loop.events_run)

    c.sim.trace.subscribers.append(note)
    assignments = [CreatableReplicaAssignment(partition_index=n, broker_ids=[0, 1]) for n in range(40)]
    topic = CreatableTopic(name="many", num_partitions=-1, replication_factor=-1, assignments=assignments)
    response = c.ask("controller-0", CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7)
    assert response.topics[0].error_code == ErrorCode.NONE
    c.until(lambda: all(len(c.broker(n).partitions) == 40 for n in (0, 1)))
    # The first is made alone: the disk begins when it comes. The others queue up behind it.
    assert {node: len(of_node) for node, of_node in events.items()} == {"broker-0": 2, "broker-1": 2}
