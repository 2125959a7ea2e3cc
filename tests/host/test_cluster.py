"""Real processes as a cluster: it elects, replicates, survives the death of a leader, and SIGKILL hides no event."""

from __future__ import annotations

import signal
import socket
import struct
import threading
import time

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from highwater_runtime.log.records import Record, build_batch
from highwater_runtime.wire.framing import decode_response, encode_request
from highwater_runtime.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

PATIENCE = 60


@pytest.fixture
def cluster(processes):
    """Names → processes, all of them ready; with a way to name the bootstrap servers and to make a topic."""

    class Cluster:
        def __init__(self, controllers, brokers, **properties):
            self.nodes = processes.cluster(controllers, brokers, **properties)
            for node in self.nodes.values():
                processes.wait_until(lambda node=node: node.http("/readyz")[0] == 200, f"{node.name} to be ready")
            ports = [
                node.ready()["listeners"]["PLAINTEXT"] for name, node in self.nodes.items() if name.startswith("b")
            ]
            self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in ports)

        def create_topic(self, name, replicas, **config):
            admin = AdminClient({"bootstrap.servers": self.bootstrap})
            (future,) = admin.create_topics([NewTopic(name, 1, replicas, config=config)]).values()
            future.result(PATIENCE)

        def leader(self, topic):
            admin = AdminClient({"bootstrap.servers": self.bootstrap})
            found = []

            def led():
                partition = admin.list_topics(topic, timeout=PATIENCE).topics[topic].partitions.get(0)
                found[:] = [] if partition is None else [partition.leader]
                return found and found[0] >= 0

            processes.wait_until(led, f"a leader of {topic}")
            return self.nodes[f"broker-{found[0]}"]

    return Cluster


def produce(producer, values, topic="orders"):
    delivered = []
    for value in values:
        producer.produce(
            topic, value, partition=0, on_delivery=lambda error, message: delivered.append((error, message))
        )
    assert producer.flush(PATIENCE) == 0
    assert [error for error, _ in delivered if error is not None] == []


def consume(bootstrap, count, topic="orders"):
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    values, deadline = [], time.monotonic() + PATIENCE
    while len(values) < count and time.monotonic() < deadline:
        for message in consumer.consume(1000, 0.5):
            if message.error() is None:
                values.append(message.value())
            elif message.error().fatal():
                raise KafkaException(message.error())
    consumer.close()
    return values


@pytest.mark.thorough
def test_three_and_three_survive_the_death_of_a_leader(cluster, processes):
    made = cluster(3, 3, broker_session_timeout_ms=3000, broker_heartbeat_interval_ms=500)
    made.create_topic("orders", 3, **{"min.insync.replicas": "2"})
    producer = Producer({"bootstrap.servers": made.bootstrap, "acks": "all", "enable.idempotence": True})
    produce(producer, [b"before-%d" % n for n in range(500)])
    leader = made.leader("orders")
    leader.signal(signal.SIGKILL)
    leader.wait()
    produce(producer, [b"after-%d" % n for n in range(500)])
    assert made.leader("orders") is not leader
    expected = [b"before-%d" % n for n in range(500)] + [b"after-%d" % n for n in range(500)]
    assert consume(made.bootstrap, 1000) == expected
    leader.properties["highwater.incarnation"] = 2
    leader.properties["listeners"] = f"PLAINTEXT://127.0.0.1:{leader.ready()['listeners']['PLAINTEXT']}"
    leader.start()
    processes.wait_until(lambda: leader.http("/readyz")[0] == 200, "the old leader to be back")
    metrics = made.leader("orders").http("/metrics")[1]
    assert "# TYPE kafka_server_replicamanager_isrshrinks_total counter" in metrics
    assert 'kafka_network_requestmetrics_requests_total{request="Produce"}' in metrics
    # Brokers first: their leave is the controllers' to give.
    for name in [f"broker-{n}" for n in range(3)] + [f"controller-{n}" for n in range(3)]:
        made.nodes[name].signal(signal.SIGTERM)
        assert made.nodes[name].wait() == 0, made.nodes[name].log
    for node in made.nodes.values():
        assert "Traceback" not in node.log
        assert node.events()[0]["kind"] == "node-started"


def test_sigkill_hides_no_event_whose_effect_was_seen(cluster):
    """What a producer was told must be in the trace, whenever the kill comes."""
    made = cluster(1, 1)
    broker = made.nodes["broker-0"]
    made.create_topic("orders", 1)
    # Metadata names a leader before the replica there has its log: a client that tries again awaits that.
    produce(Producer({"bootstrap.servers": made.bootstrap, "acks": "1"}), [b"first"])
    batch = build_batch([Record(value=b"v" * 20)], base_offset=0, leader_epoch=0, timestamp_ms=0)
    request = ProduceRequest(
        acks=1,
        timeout_ms=1000,
        topic_data=[
            TopicProduceData(name="orders", partition_data=[PartitionProduceData(index=0, records=bytes(batch))])
        ],
    )
    told = -1
    with socket.create_connection(("127.0.0.1", broker.ready()["listeners"]["PLAINTEXT"]), PATIENCE) as end:
        sender = threading.Thread(target=send_many, args=(end, b"".join(encode_request(request, 9, 1, "test"))))
        sender.start()
        answers = end.makefile("rb")
        killed = False
        while (frame := next_frame(answers)) is not None:
            _, body = decode_response(frame, 0, 9)
            (partition,) = body.responses[0].partition_responses
            assert partition.error_code == 0
            told = partition.base_offset
            if told >= 200 and not killed:
                killed = True
                broker.signal(signal.SIGKILL)
        sender.join()
    broker.wait()
    assert killed
    events = broker.events()
    appended = [event for event in events if event["kind"] == "log-appended" and event["partition"] == "orders-0"]
    assert max(event["end_offset"] for event in appended) > told >= 200


def next_frame(answers):
    """The next whole answer; None once the connection is gone."""
    try:
        head = answers.read(4)
        if len(head) < 4:
            return None
        (size,) = struct.unpack(">i", head)
        frame = answers.read(size)
    except ConnectionResetError:
        return None
    return frame if len(frame) == size else None


def send_many(end, frame):
    try:
        for _ in range(100_000):
            end.sendall(frame)
    except OSError:
        return  # the broker is dead: what the test is about


def test_rules_over_the_control_socket_act_on_live_nodes(cluster, processes):
    made = cluster(1, 2, broker_session_timeout_ms=2000, broker_heartbeat_interval_ms=300)
    controller, broker = made.nodes["controller-0"], made.nodes["broker-1"]
    rule = controller.control(
        "addRule", action="drop", rpc="BrokerHeartbeat", sources=["broker-1"], destinations=["controller-0"]
    )
    processes.wait_until(lambda: broker.http("/readyz")[0] == 503, "the broker to be fenced")
    assert "fenced" in broker.http("/readyz")[1]
    assert made.nodes["broker-0"].http("/readyz")[0] == 200
    assert controller.control("ruleMatches", rule=rule) > 0
    controller.control("removeRule", rule=rule)
    processes.wait_until(lambda: broker.http("/readyz")[0] == 200, "the broker to be unfenced")
    names = {sample["name"] for sample in broker.control("metrics")}
    assert {"kafka_server_replicamanager_leadercount", "highwater_connections_accepted_total"} <= names


def test_a_killed_process_is_gone_for_its_peers_at_once(cluster, processes):
    made = cluster(3, 1)
    leaders = [
        node
        for name, node in made.nodes.items()
        if name.startswith("controller")
        and any(event["kind"] == "raft-state" and event["reason"] == "leader" for event in node.events())
    ]
    leader = leaders[-1]
    leader.signal(signal.SIGKILL)
    leader.wait()
    rest = [node for name, node in made.nodes.items() if name.startswith("controller") and node is not leader]
    epoch = max(event["epoch"] for event in leader.events() if event["kind"] == "raft-state")

    def another_leads():
        return any(
            event["kind"] == "raft-state" and event["reason"] == "leader" and event["epoch"] > epoch
            for node in rest
            for event in node.events()
        )

    processes.wait_until(another_leads, "another controller to lead")
    processes.wait_until(lambda: made.nodes["broker-0"].http("/readyz")[0] == 200, "the broker to find it")
