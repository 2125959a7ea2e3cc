"""What a node of Apache Kafka is started with, and what is refused before anything starts."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from highwater_chaos.apache_kafka.disks import is_formatted, new_directory_id
from highwater_chaos.apache_kafka.fetching import LOG4J
from highwater_chaos.apache_kafka.node_config import jvm_options, misplaced, node_properties
from highwater_chaos.apache_kafka.versions import Mode, newest
from highwater_chaos.backends.local.apache_kafka import ApacheKafkaProgram, available, program, proxying
from highwater_chaos.backends.local.apache_kafka.evidence import recorded_events
from highwater_chaos.backends.local.isolated import local_backend
from highwater_chaos.backends.local.program import ClusterPlan, NodePlace
from highwater_chaos.cli import execute
from highwater_chaos.experiment import Cluster, ExperimentError, parse_experiment
from highwater_chaos.records.dump import dump_replicas
from highwater_chaos.schedule.capability import missing_capabilities
from highwater_pipeline.anomalies import NEEDED_EVENTS
from highwater_pipeline.java import find_java
from highwater_pipeline.tables.recordings import RECORDED_EVENTS_FILE
from highwater_runtime.host.files.posix_disk import PosixDisk
from highwater_runtime.log.records import Record, assemble_batch, build_batch
from highwater_runtime.ports import Endpoint

EXPERIMENT = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: put-to-apache-kafka}
spec:
  timeout: 1m
  cluster:
    runtime: apache-kafka
    config: {min.insync.replicas: 2, log.cleaner.threads: 1}
    topics: [{name: orders, partitions: 1, replicationFactor: 3}]
  schedule:
    - inject: {kill: {target: {broker: 0}, restartAfter: 1s}}
"""


INSIDE = {
    "deleted-topic-records",
    "hw-regression",
    "isr-incomplete",
    "live-partition-deleted",
    "stale-isr-join",
    "two-leaders",
}
"""Checks that need what nodes log."""


class Jars:
    """An installation whose files are of no matter here."""

    def __init__(self, release: str | None = None) -> None:
        self.release = release or newest("kraft")

    def first_files(self, metadata_version: str | None = None) -> dict[str, bytes]:
        return {
            "bootstrap.checkpoint": f"features of {metadata_version}".encode(),
            "__cluster_metadata-0/0.checkpoint": b"the first snapshot",
        }

    def command(self, main: str, *arguments: str, options: tuple[str, ...] = ()) -> tuple[str, ...]:
        return ("java", *options, main, *arguments)


@pytest.fixture
def without_jars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "install", Jars)


def plan_of(cluster: Cluster, home: Path) -> ClusterPlan:
    places = []
    for number, name in enumerate(("controller-0", "broker-0", "broker-1")):
        (home / name / "data").mkdir(parents=True)
        role: Any = name.partition("-")[0]
        endpoint = Endpoint(f"10.77.{number}.1", 9092)
        node = 1000 if role == "controller" else int(name[-1])
        places.append(NodePlace(name, node, role, endpoint, endpoint, home / name / "data", home / name, home / "x"))
    return ClusterPlan(cluster, "AAECAwQFBgcICQoLDA0ODw", 7, tuple(places))


# --- files ----------------------------------------------------------------------------------------------------------


def test_an_experiments_properties_go_in_by_kafkas_names_and_win() -> None:
    properties = node_properties(
        role="broker",
        node_id=1,
        bind=Endpoint("0.0.0.0", 9092),
        advertised=Endpoint("10.77.1.2", 9092),
        voters=[(1000, Endpoint("10.77.2.1", 9093)), (1001, Endpoint("10.77.2.2", 9093))],
        data=Path("/data"),
        brokers=2,
        config={"min.insync.replicas": 2, "group.initial.rebalance.delay.ms": 500, "any.other": True},
    )
    assert properties["controller.quorum.voters"] == "1000@10.77.2.1:9093,1001@10.77.2.2:9093"
    assert properties["listeners"] == "PLAINTEXT://0.0.0.0:9092"
    assert properties["advertised.listeners"] == "PLAINTEXT://10.77.1.2:9092"
    assert properties["offsets.topic.replication.factor"] == 2
    assert (properties["min.insync.replicas"], properties["any.other"]) == (2, True)
    assert properties["group.initial.rebalance.delay.ms"] == 500
    (complaint,) = misplaced({"min.insync.replicas": 2, "log.dirs": "/elsewhere"}, ())
    assert complaint.startswith("spec.cluster.config.log.dirs is set by the place")


def test_a_node_is_small_unless_it_is_to_be_measured(tmp_path: Path) -> None:
    small, measured = jvm_options(tmp_path / "log"), jvm_options(tmp_path / "log", heap_mb=1024, compile_fully=True)
    assert {"-Xmx256m", "-XX:TieredStopAtLevel=1"} <= set(small)
    assert "-Xmx1024m" in measured
    assert "-XX:TieredStopAtLevel=1" not in measured


def test_an_empty_disk_is_formatted_and_a_kept_one_is_not(tmp_path: Path, without_jars: None) -> None:
    plan = plan_of(Cluster(runtime="apache-kafka", brokers=2, controllers=1), tmp_path)
    broker = plan.place("broker-1")
    kafka = ApacheKafkaProgram()

    def directory_id() -> str:
        meta = (broker.data / "meta.properties").read_text(encoding="ascii")
        lines = dict(line.split("=", 1) for line in meta.splitlines())
        assert (lines["cluster.id"], lines["node.id"], lines["version"]) == (plan.cluster_id, "1", "1")
        assert len(lines["directory.id"]) == 22
        return lines["directory.id"]

    launch = kafka.launch(plan, broker, 1)
    first = directory_id()
    assert (broker.data / "bootstrap.checkpoint").read_bytes() == b"features of None"
    assert launch.argv[-2:] == ("kafka.Kafka", str(broker.files / "server.properties"))
    kafka.launch(plan, broker, 2)
    assert directory_id() == first

    for file in broker.data.iterdir():
        file.unlink()
    assert not is_formatted(broker.data)
    kafka.launch(plan, broker, 3)
    assert directory_id() != first


def test_ids_of_directories_never_begin_with_a_dash() -> None:
    assert not any(new_directory_id().startswith("-") for _ in range(2000))


@pytest.mark.parametrize(
    ("mode", "release", "more"),
    [
        ("kraft", "4.4.0", INSIDE),
        ("kraft", "3.4.1", INSIDE),
        ("kraft", "4.3.0", set()),  # never tried: nobody knows what it logs
        ("zookeeper", "1.0.2", set()),
    ],
)
def test_a_run_says_which_events_it_has(mode: Mode, release: str, more: set[str]) -> None:
    told = recorded_events(release, mode)
    judged = {name for name, kinds in NEEDED_EVENTS.items() if set(kinds) <= set(told.kinds)}
    assert judged == {"leader-not-in-isr", "node-crash", "replica-incomplete", "stray-partition", *more}
    assert told.seen == (() if more else ("high-watermark",))


def test_what_a_node_leaves_behind(tmp_path: Path, without_jars: None) -> None:
    plan = plan_of(Cluster(runtime="apache-kafka", brokers=2, controllers=1), tmp_path)
    paths = ApacheKafkaProgram().launch(plan, plan.place("controller-0"), 4).paths
    assert set(paths) == {
        "config/controller-0.properties",
        "logs/controller-0.4.log",
        "logs/controller-0.4.log.crash",
        RECORDED_EVENTS_FILE,
    }


def test_compressed_batches_of_a_replica_are_dumped_without_their_values(tmp_path: Path) -> None:
    """The broker may have compressed them (compression.type); the CRC still tells replicas apart."""
    (tmp_path / "orders-0").mkdir()
    plain = build_batch([Record(value=b"7")], leader_epoch=3)
    gzip = assemble_batch(
        b"compressed", record_count=2, attributes=1, base_offset=1, last_offset=2, leader_epoch=3, producer_id=9,
        producer_epoch=0, base_sequence=4, base_timestamp=0, max_timestamp=0,
    )  # fmt: skip
    (tmp_path / "orders-0" / "00000000000000000000.log").write_bytes(plain + gzip)
    dumped = dump_replicas(1, PosixDisk(tmp_path, run_blocking=_at_once, post=_at_once))
    *rows, mark = [msgspec.json.decode(line) for part in dumped for line in part.lines()]
    assert (mark["ended"], mark["start_offset"], mark["offset"]) == ("end", 0, 3)
    assert [(row["offset"], row["value"], row["sequence"]) for row in rows] == [(0, 7, -1), (1, None, 4), (2, None, 5)]
    assert len({row["crc"] for row in rows}) == 2


def _at_once(task: Any) -> None:
    task()


# --- refusals -------------------------------------------------------------------------------------------------------


def test_without_java_or_maven_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("highwater_pipeline.java._candidates", lambda environment: iter(()))
    why = available()
    assert why is not None
    assert why.startswith("Apache Kafka needs Java 17 or newer, and none was found")


def test_without_maven_the_jars_that_are_there_will_do(
    apache_kafka: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(find_java().home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    why = available()
    assert why is not None
    assert "no mvn on PATH" in why
    (tmp_path / "highwater" / f"apache-kafka-{newest('kraft')}" / "lib").mkdir(parents=True)
    assert "Log4j" in str(available())
    (tmp_path / "highwater" / f"log4j-{LOG4J}" / "lib").mkdir(parents=True)
    assert available() is None


def test_doctor_tells_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("highwater_chaos.backends.local.apache_kafka.available", lambda release=None: "no mvn on PATH")
    assert execute(["doctor", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    (row,) = [row for row in rows if row["what"] == "cluster.runtime: apache-kafka"]
    assert (row["works"], row["detail"]) == (False, "no mvn on PATH")


def test_faults_that_need_our_host_are_refused_by_name(without_jars: None) -> None:
    def refused(fault: str) -> list[str]:
        text = EXPERIMENT.replace("kill: {target: {broker: 0}, restartAfter: 1s}", fault)
        return missing_capabilities(parse_experiment(text, "x.yaml"), local_backend())

    assert missing_capabilities(parse_experiment(EXPERIMENT, "x.yaml"), local_backend()) == []
    for works in ("hold: {rpc: AlterPartition}", "sessionExpiry: {target: {broker: 0}}"):
        assert refused(works) == [], "a proxy does it"
    (skew,) = refused("clockSkew: {target: {broker: 0}, offset: 1s}")
    assert skew.startswith("clockSkew needs clock skew")
    (stall,) = refused("diskStall: {target: {broker: 0}}")
    assert stall.startswith("diskStall needs stalled disk")


def test_messages_that_a_proxy_cannot_read_or_get_are_refused_with_the_reason(
    without_jars: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = EXPERIMENT.replace("kill: {target: {broker: 0}, restartAfter: 1s}", "hold: {rpc: AlterPartition}")
    over_tls = text.replace("log.cleaner.threads: 1", "security.inter.broker.protocol: SASL_SSL")
    (why,) = missing_capabilities(parse_experiment(over_tls, "x.yaml"), local_backend())
    assert "security.inter.broker.protocol is SASL_SSL, and a proxy cannot read TLS" in why
    monkeypatch.setattr(proxying, "can_isolate", lambda: True)
    monkeypatch.setattr(proxying, "_why_no_redirection", lambda: "nft: no tproxy")
    (why,) = missing_capabilities(parse_experiment(text, "x.yaml"), local_backend())
    assert why == "hold needs interference by RPC, which local does not have: nft: no tproxy"


@pytest.mark.parametrize("mode", ["kraft", "zookeeper"])
@pytest.mark.parametrize("shares_address", [False, True])
def test_a_node_behind_its_proxy(tmp_path: Path, without_jars: None, mode: Mode, shares_address: bool) -> None:
    """In a namespace of its own it keeps its address; on loopback the proxy has the one that is advertised. Without
    rules about messages there is no proxy."""
    made = plan_of(Cluster(runtime="apache-kafka", brokers=2, mode=mode, version="3.9.2"), tmp_path)
    ports = (4711,) if shares_address else ()
    plan = replace(made, places=tuple(replace(place, peer_ports=ports) for place in made.places))
    for name in ("controller-0", "broker-1") if mode == "kraft" else ("broker-1",):
        place = plan.place(name)
        plain = ApacheKafkaProgram("3.9.2").launch(plan, place, 1)
        before = (place.files / "server.properties").read_text()
        assert (plain.argv[0], plain.control) == ("java", None)
        launch = ApacheKafkaProgram("3.9.2").launch(replace(plan, interferes=True), place, 1)
        assert launch.control == place.files / "control.sock"
        words = " ".join(launch.argv)
        assert " -- java " in words
        assert "--peer broker-0=0@10.77.1.1 --peer broker-1=1@10.77.2.1" in words
        properties = (place.files / "server.properties").read_text()
        host, port = place.bind
        if shares_address:
            assert f"--target {host}:4711 --listen {host}:{port} " in words
            assert f"//{host}:4711\n" in properties
            assert re.search(rf"advertised.listeners=\w+://{host}:{port}\n", properties)
        else:
            assert f"--target {host}:{port} --redirect " in words
            assert properties == before


@pytest.mark.whole_machine
def test_writes_are_blocked_by_the_file_system_and_not_by_our_host(without_jars: None) -> None:
    fault = "diskStall: {target: {broker: 0}, writes: true}"
    text = EXPERIMENT.replace("kill: {target: {broker: 0}, restartAfter: 1s}", fault)
    assert missing_capabilities(parse_experiment(text, "x.yaml"), local_backend()) == []


@pytest.mark.parametrize(
    ("found", "replacement", "complaint"),
    [
        ("runtime: apache-kafka", "runtime: apache-kafka\n    switches: {pre-vote: off}", "has none of the switches"),
        ("min.insync.replicas: 2", "listeners: x", "config.listeners is set by the place where the node runs"),
    ],
)
def test_a_cluster_that_it_cannot_be_is_refused(
    without_jars: None, found: str, replacement: str, complaint: str
) -> None:
    problems = missing_capabilities(parse_experiment(EXPERIMENT.replace(found, replacement), "x.yaml"), local_backend())
    assert any(complaint in problem for problem in problems), problems


@pytest.mark.parametrize(
    ("replacement", "complaint"),
    [
        (
            "  workload: {producers: 0, metadata: {}}\n  schedule:",
            "spec.workload.metadata: reads registers as only our own",
        ),
        ("  checks: [raft-election-safety]\n  schedule:", "raft-election-safety is judged by what only our own nodes"),
        (
            "  checks: [raft-commit-durable]\n  schedule:",
            "raft-commit-durable is judged by what only our own nodes tell",
        ),
    ],
)
def test_what_only_our_nodes_tell_is_refused_in_the_file(replacement: str, complaint: str) -> None:
    with pytest.raises(ExperimentError) as refused:
        parse_experiment(EXPERIMENT.replace("  schedule:", replacement), "x.yaml")
    assert complaint in str(refused.value)


@pytest.mark.parametrize(
    ("found", "replacement", "path"),
    [
        ("replicationFactor: 3}", "replicationFactor: 3, config: {compression.type: zstd}}", "topics[0].config"),
        ("log.cleaner.threads: 1", "compression.type: gzip", "config"),
    ],
)
def test_a_broker_that_compresses_is_refused(found: str, replacement: str, path: str) -> None:
    with pytest.raises(ExperimentError) as refused:
        parse_experiment(EXPERIMENT.replace(found, replacement), "x.yaml")
    assert f"spec.cluster.{path}.compression.type: found" in str(refused.value)
    assert parse_experiment(EXPERIMENT.replace("log.cleaner.threads: 1", "compression.type: producer"), "x.yaml")


def test_properties_of_kafka_are_unknown_to_our_own_runtime() -> None:
    with pytest.raises(ExperimentError, match=r"unknown property 'log\.cleaner\.threads'"):
        parse_experiment(EXPERIMENT.replace("runtime: apache-kafka", "runtime: highwater"), "x.yaml")


def test_a_metadata_version_that_kafka_does_not_know_is_refused_by_kafka(apache_kafka: None) -> None:
    (problem,) = ApacheKafkaProgram().problems(Cluster(runtime="apache-kafka", metadata_version="9.9-IV0"))
    assert "Unknown metadata.version '9.9-IV0'" in problem
    assert ApacheKafkaProgram().problems(Cluster(runtime="apache-kafka", metadata_version="3.9-IV0")) == []
