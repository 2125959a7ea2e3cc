"""What Apache Kafka logs in pods becomes events on the runner's clock, incarnation by incarnation."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from experiments.test_observing import FAR, WALL, Machine, line, pod_on

from highwater_chaos.backends.kubernetes.clocks import MachineClocks
from highwater_chaos.backends.kubernetes.kafka_pods import KafkaPods
from highwater_chaos.backends.kubernetes.observing import EventPolls, PodEvents
from highwater_chaos.backends.local.program import Observed
from highwater_chaos.experiment import Cluster
from highwater_pipeline.tables.recordings import RECORDED_EVENTS_FILE
from highwater_runtime.ports import Endpoint
from highwater_runtime.ports.trace import BrokerRegistered, BrokerStateChanged

AHEAD = 1_000_000
"""How far the clock of the broker's machine is ahead of the runner's, in ns."""


def logged(seq: int, at: int, logger: str, text: str) -> bytes:
    """As Log4j writes it in the pod; ``at`` by the clock of the pod's machine."""
    made = {
        "seq": seq,
        "ns": at,
        "wall": 1,
        "level": "INFO",
        "logger": logger,
        "thread": "t",
        "text": text,
    }
    return json.dumps(made, separators=(",", ":")).encode() + b"\n"


def registered(seq: int, at: int, epoch: int) -> bytes:
    text = f"[BrokerLifecycleManager id=0] Successfully registered broker 0 with broker epoch {epoch}"
    return logged(seq, at, "kafka.server.BrokerLifecycleManager", text)


@pytest.fixture
def seen() -> Iterator[tuple[EventPolls, PodEvents, KafkaPods]]:
    cluster = Cluster.model_validate({"runtime": "apache-kafka", "version": "3.4.1", "brokers": 1, "controllers": 1})
    nowhere = {name: Endpoint("127.0.0.1", 1) for name in ("controller-0", "broker-0")}
    kafka = KafkaPods(cluster, "id", nowhere, 7)
    pod = pod_on("broker-0", Machine(ahead=AHEAD, error=3))
    clocks = MachineClocks(0)
    clocks.look(pod.place.agent)
    yield EventPolls([pod], clocks, lambda *who: None, kafka), pod, kafka
    kafka.close()


def test_lines_are_events_of_their_incarnation_on_the_runner_s_clock(
    seen: tuple[EventPolls, PodEvents, KafkaPods],
) -> None:
    polls, pod, kafka = seen
    created = logged(
        2, AHEAD + 30, "kafka.log.LogManager", "Created log for partition orders-0 in /data with properties {}"
    )
    first = line(AHEAD + 10, WALL) + registered(1, AHEAD + 20, 5) + created
    # It is killed in the middle of a line. The next incarnation numbers its lines from 1 again.
    torn = created[:40]
    second = line(AHEAD + 50, WALL) + registered(1, AHEAD + 60, 9)
    taken = polls.take([(pod, first)], FAR)
    pod.ending = "kill"
    taken += polls.take([(pod, torn + second)], FAR)
    found = [
        (one.time_ns, one.incarnation, one.event.__struct_config__.tag, getattr(one.event, "broker_epoch", None))
        for one in taken
    ]
    assert found == [
        (10, 1, "node-started", None),
        (20, 1, "broker-state", 5),
        (30, 1, "log-loaded", None),
        (49, 1, "node-stopped", None),
        (50, 2, "node-started", None),
        (60, 2, "broker-state", 9),
    ]
    assert pod.clock_error_ns >= 3
    assert "log-loaded" in json.loads(kafka.files()[RECORDED_EVENTS_FILE])["kinds"]


def test_what_rests_on_lines_that_cannot_be_read_was_not_recorded(
    seen: tuple[EventPolls, PodEvents, KafkaPods],
) -> None:
    polls, pod, kafka = seen
    polls.take([(pod, line(AHEAD + 10, WALL) + b'{"seq":1,"ns":"now"}\n')], FAR)
    recorded = json.loads(kafka.files()[RECORDED_EVENTS_FILE])
    assert "log-appended" not in recorded["kinds"]
    assert "partition-changed" in recorded["kinds"], "the metadata log is another source"
    assert "the log of broker-0 is not whole" in recorded["why"]


def test_a_line_without_an_end_is_not_kept(seen: tuple[EventPolls, PodEvents, KafkaPods]) -> None:
    polls, pod, _ = seen
    for _ in range(5):
        polls.take([(pod, b"x" * (1 << 19))], FAR)
    assert len(pod.partial) <= 1 << 20
    assert "events of broker-0: a line has more than 1048576 bytes" in polls.notes()[0]


# --- ZooKeeper mode ---------------------------------------------------------------------------------------------------


@pytest.fixture
def zookeeper_mode() -> Iterator[tuple[EventPolls, PodEvents, KafkaPods]]:
    given = {"runtime": "apache-kafka", "version": "2.8.2", "mode": "zookeeper", "brokers": 1, "zookeepers": 1}
    kafka = KafkaPods(Cluster.model_validate(given), "id", {"broker-0": Endpoint("127.0.0.1", 1)}, 7)
    pod = pod_on("broker-0", Machine(ahead=AHEAD, error=0))
    clocks = MachineClocks(0)
    clocks.look(pod.place.agent)
    yield EventPolls([pod], clocks, lambda *who: None, kafka), pod, kafka
    kafka.close()


def began(seq: int, at: int, session: int) -> bytes:
    text = f"Session establishment complete on server zookeeper/10.0.0.1:2181, session id = 0x{session:x}, timeout = 6"
    return logged(seq, AHEAD + at, "org.apache.zookeeper.ClientCnxn", text)


def committed(at: int, session: int, epoch: int) -> Observed:
    event = BrokerRegistered(broker=0, broker_epoch=epoch, metadata_offset=epoch, reason=f"{session:032x}")
    return Observed(at, at, "zookeeper-0", 1, event)


def states(found: list[Observed]) -> list[tuple[int, int, str, int]]:
    return [
        (one.time_ns, one.incarnation, one.event.reason, one.event.broker_epoch)
        for one in found
        if isinstance(one.event, BrokerStateChanged)
    ]


def test_a_registration_is_of_the_process_that_logged_the_session_in_either_order(
    zookeeper_mode: tuple[EventPolls, PodEvents, KafkaPods],
) -> None:
    polls, pod, kafka = zookeeper_mode
    kafka.starting("zookeeper-0", 1, 5)
    polls.take([(pod, line(AHEAD + 10, WALL) + began(1, 20, 0xA))], FAR)
    # The line is known, and the commit comes.
    first, second = kafka.committed([committed(30, 0xA, 61)])
    assert first.event.__struct_config__.tag == "broker-registered"
    assert states([second]) == [(30, 1, "registered", 61)]
    # The next process: its registration is known before any of its lines is.
    assert states(kafka.committed([committed(60, 0xB, 74)])) == []
    pod.ending = "kill"
    started = logged(2, AHEAD + 80, "kafka.server.KafkaServer", "[KafkaServer id=0] started")
    taken = polls.take([(pod, line(AHEAD + 40, WALL) + began(1, 50, 0xB) + started)], FAR)
    assert states(taken) == [(60, 2, "registered", 74), (80, 2, "running", 74)], "not before it was committed"
    assert kafka.notes() == []


def test_a_log_that_names_no_session_is_noted(zookeeper_mode: tuple[EventPolls, PodEvents, KafkaPods]) -> None:
    polls, pod, kafka = zookeeper_mode
    polls.take([(pod, line(AHEAD + 10, WALL))], FAR)
    kafka.committed([committed(30, 0xA, 61)])
    assert kafka.notes() == [
        "broker-0 does not log which ZooKeeper session it has, so it is not known when it is registered"
    ]
    recorded = json.loads(kafka.files()[RECORDED_EVENTS_FILE])
    assert "controller-changed" in recorded["kinds"]
    assert "log-appended" not in recorded["kinds"]
