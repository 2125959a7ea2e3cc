"""What the harness says of a run while it goes on: phases, faults in force, heals, and the nodes' own metrics."""

from __future__ import annotations

import socket
import threading
import urllib.error
import urllib.request
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from highwater_chaos.backends import make_backend
from highwater_chaos.backends.protocol import MetricRow, NodeState
from highwater_chaos.cli import execute
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import load_experiment
from highwater_chaos.monitoring import MetricsServer, RunMetrics, address_of, run_metrics
from highwater_chaos.monitoring.server import Address
from highwater_chaos.run.live import LiveRun

EXPERIMENT: dict[str, Any] = {
    "apiVersion": "highwater.dev/v1alpha1",
    "kind": "ChaosExperiment",
    "metadata": {"name": "watched"},
    "spec": {
        "seed": 3,
        "timeout": "1m",
        "cluster": {
            "brokers": 3,
            "controllers": 1,
            "config": {"broker.session.timeout.ms": 1000, "broker.heartbeat.interval.ms": 200},
            "topics": [{"name": "orders", "partitions": 1, "replicationFactor": 3}],
        },
        "workload": {"producers": 1, "rate": "20/s", "consumers": 1},
        "schedule": [
            {"inject": {"kill": {"target": {"followerOf": "orders-0"}, "restartAfter": "3s"}}},
            {"wait": "5s"},
        ],
        "expect": [{"verdict": "pass"}],
    },
}

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def series(text: bytes) -> Series:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def values(found: Series, name: str, **labels: str) -> list[float]:
    return [value for (one, has), value in found.items() if one == name and labels.items() <= set(has)]


@pytest.fixture
def experiment_file(tmp_path: Path) -> Path:
    file = tmp_path / "watched.yaml"
    file.write_text(yaml.safe_dump(EXPERIMENT))
    return file


def test_a_run_shows_its_phases_faults_heals_and_nodes(experiment_file, monkeypatch):
    monkeypatch.setattr(run_metrics, "_TURN_SECONDS", 0)
    metrics, seen = RunMetrics(), []
    last = [-1]

    def turn(run: LiveRun) -> None:
        metrics.turn(run)
        if run.now_ns() - last[0] > 100_000_000:  # scraped ten times a second of run time
            last[0] = run.now_ns()
            seen.append(series(metrics.exposition()))

    run_experiment(load_experiment(experiment_file), make_backend("sim"), on_turn=turn)
    phases = [
        dict(labels)["phase"] for found in seen for (name, labels) in found if name == "highwater_experiment_phase"
    ]
    assert list(dict.fromkeys(phases)) == ["SettingUp", "Steady", "Injecting", "Recovering"]
    assert all(len([key for key in found if key[0] == "highwater_experiment_phase"]) == 1 for found in seen)
    in_force = [values(found, "highwater_experiment_faults_in_force", kind="kill") for found in seen]
    assert [1.0] in in_force
    assert in_force[-1] == [0.0]
    assert values(seen[-1], "highwater_experiment_faults_injected_total", kind="kill") == [1.0]
    assert values(seen[-1], "highwater_experiment_fault_heal_seconds_count", kind="kill") == [1.0]
    # The labels that pods have; a broker that is down is not there, as its pod's target would not be.
    brokers = [values(one, "kafka_server_replicamanager_leadercount", strimzi_io_cluster="watched") for one in seen]
    assert {2, 3} <= {len(one) for one in brokers}
    assert len(brokers[-1]) == 3
    assert values(
        seen[-1],
        "kafka_cluster_partition_underreplicated",
        namespace="sim",
        strimzi_io_name="watched-broker",
        topic="orders",
    )
    pods = {dict(labels).get("kubernetes_pod_name") for _, labels in seen[-1]} - {None}
    assert pods == {"watched-broker-0", "watched-broker-1", "watched-broker-2", "watched-controller-0"}
    metrics.judged({"verdict": "pass", "asExpected": True})
    done = series(metrics.exposition())
    assert values(done, "highwater_experiments_completed_total", verdict="pass") == [1.0]
    assert values(done, "highwater_experiment_verdict", verdict="pass", expected="true") == [1.0]
    assert values(done, "highwater_experiment_phase", phase="Completed") == [1.0]
    assert values(done, "highwater_experiments", phase="Completed") == [1.0]
    assert sum(values(done, "highwater_experiments")) == 1.0
    assert not values(done, "kafka_server_replicamanager_leadercount")


def test_the_nodes_series_of_one_metric_stand_together(experiment_file, monkeypatch):
    """The text format asks for it; a topic's name may not break out of its quotes."""
    monkeypatch.setattr(run_metrics, "_TURN_SECONDS", 0)
    metrics, texts = RunMetrics(), []

    def turn(run: LiveRun) -> None:
        metrics.turn(run)
        if run.phase == "recovered" and not texts:
            texts.append(metrics.exposition().decode())

    run_experiment(load_experiment(experiment_file), make_backend("sim"), on_turn=turn)
    names = [line.partition("{")[0] for line in texts[0].splitlines() if line.startswith("kafka_")]
    changes = [name for before, name in zip(["", *names], names, strict=False) if name != before]
    assert len(changes) == len(set(changes))
    assert run_metrics._escaped('a"b\\c\nd') == 'a\\"b\\\\c\\nd'


def test_only_what_changed_is_written_again(monkeypatch):
    """Line for line what a first scrape of the same sample writes, but without making the heads of the lines again."""
    escaped = []
    monkeypatch.setattr(run_metrics, "_TURN_SECONDS", 0)
    monkeypatch.setattr(run_metrics, "_escaped", lambda value: escaped.append(value) or value)

    def rows(epochs: dict[str, float], leaders: float) -> tuple[MetricRow, ...]:
        own = tuple(MetricRow(0, "broker-0", 1, "epoch", {"partition": key}, value) for key, value in epochs.items())
        return (*own, MetricRow(0, "broker-0", 1, "leaders", {"topic": "orders"}, leaders))

    run = SimpleNamespace(
        experiment=SimpleNamespace(metadata=SimpleNamespace(name="bench")),
        backend="local",
        phase="fault",
        faults=(),
        latest=(),
        node_state=lambda _: NodeState.UP,
        clients=lambda: SimpleNamespace(acknowledged=1, open=0),
    )
    metrics = RunMetrics()
    samples = (
        rows({"0": 1.0, "1": 1.0}, 2.0),
        rows({"0": 1.0, "1": 2.0}, 2.0),  # a value changed
        rows({"1": 2.0, "2": 2.0}, 2.0),  # a series went, another one came: the places of the lines moved
        rows({"2": 2.0}, 1.0),
    )
    for sample in samples:
        run.latest = sample
        metrics.turn(run)
        escaped.clear()
        text = metrics.exposition()
        labels = [value for value in escaped if not value.startswith(("bench", "local"))]
        assert labels == {0: ["0", "1", "orders"], 1: [], 2: ["1", "2"], 3: ["2"]}[samples.index(sample)]
        fresh = RunMetrics()
        fresh.turn(run)
        nodes = run_metrics._text_of(fresh._nodes.values())
        assert text.endswith(nodes)
        assert metrics.exposition().endswith(nodes)
        assert set(values(series(text), "epoch")) == {row.value for row in sample if row.name == "epoch"}


def test_the_last_values_wait_for_who_scrapes(monkeypatch):
    """By the server's clock there are 30 s between two scrapes. A client has its answer before its scrape counts."""
    clock = count(0.0, 30.0)
    monkeypatch.setattr("highwater_chaos.monitoring.server.time", SimpleNamespace(monotonic=lambda: next(clock)))
    value = [b"first"]
    with MetricsServer(Address("127.0.0.1", 0), lambda: value[0]) as server:
        assert not server.wait_for_scrape(), "nobody scrapes: nobody is waited for"
        for _ in range(2):
            with urllib.request.urlopen(server.url, timeout=10) as answer:
                assert answer.read() == b"first"
        with server._scraped:
            assert server._scraped.wait_for(lambda: server._scrapes == 2, 10)
        value[0], got = b"last", []
        waiting = threading.Thread(target=lambda: got.append(server.wait_for_scrape()))
        waiting.start()
        with urllib.request.urlopen(server.url, timeout=10) as answer:
            assert answer.read() == b"last"
        while waiting.is_alive():  # it may have begun to wait only now
            urllib.request.urlopen(server.url, timeout=10).close()
            waiting.join(0.05)
        assert got == [True]
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(server.url.removesuffix("metrics"), timeout=10)


@pytest.mark.parametrize("text", ["", "9464", ":9464", "host:", "host:x", "host:65536", "host:²"])
def test_what_is_no_address(text, experiment_file, capsys):
    with pytest.raises(ValueError, match="expected HOST:PORT"):
        address_of(text)
    assert execute(["run", str(experiment_file), "--metrics", text]) == 254
    assert "--metrics: expected HOST:PORT, such as 127.0.0.1:9464" in capsys.readouterr().err


def test_an_address_that_is_taken_is_refused_before_anything_runs(experiment_file, tmp_path, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        assert execute(["run", str(experiment_file), "--metrics", where, "--out", str(tmp_path / "runs")]) == 254
    assert f"--metrics {where}: cannot listen there" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
