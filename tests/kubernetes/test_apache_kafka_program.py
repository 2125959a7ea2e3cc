"""``highwater-kafka``: real nodes of a real release, as the processes of two pods."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from log_cluster.conftest import until
from test_zookeeper_program import Server, needs_zookeeper

from highwater_chaos.apache_kafka.fetching import ApacheKafkaUnavailableError
from highwater_chaos.apache_kafka.installation import fetch, install
from highwater_chaos.apache_kafka.node_config import node_properties, zookeeper_mode_properties
from highwater_chaos.apache_kafka.versions import Mode
from highwater_chaos.backends.local.apache_kafka.node_log import SessionLog
from highwater_chaos.backends.local.control import ControlChannel
from highwater_chaos.backends.local.layout import free_ports
from highwater_chaos.backends.local.properties import render_properties
from highwater_operator.apache_kafka.main import run
from highwater_runtime.ports import Endpoint
from highwater_runtime.ports.trace import BrokerStateChanged

RELEASE = "3.4.1"
CLUSTER = "highwater-test-cluster"


class Pod:
    """The process, its files and its ports."""

    def __init__(
        self, folder: Path, role: Literal["broker", "controller"], node: int, at: int, quorum: int, mode: Mode = "kraft"
    ):
        """``quorum``: the port of the controller, or of the ZooKeeper server."""
        folder.mkdir()
        self.data, self.hold, self.trace = folder / "data", folder / "hold-1", folder / "events.jsonl"
        self.admin, behind = free_ports(2)
        self.control = folder / "control.sock"
        common: dict[str, Any] = {
            "node_id": node,
            "bind": Endpoint("127.0.0.1", behind),
            "advertised": Endpoint("127.0.0.1", at),
            "data": self.data,
            "brokers": 1,
            "config": {},
        }
        if mode == "kraft":
            voters = [(1000, Endpoint("127.0.0.1", quorum))]
            properties = node_properties(role=role, voters=voters, **common)
        else:
            properties = zookeeper_mode_properties(servers=[Endpoint("127.0.0.1", quorum)], **common)
        config = folder / f"demo-{role}-0.properties"
        config.write_text(render_properties(properties))
        self.arguments = [str(config), "--pod", f"demo-{role}-0", "--release", RELEASE]
        self.arguments += ["--cluster-id", CLUSTER] if mode == "kraft" else []
        self.arguments += ["--listen", f"127.0.0.1:{at}", "--control", str(self.control)]
        self.arguments += ["--hold-files", str(folder / "hold-"), "--trace", str(self.trace)]
        self.arguments += ["--admin", f"http://127.0.0.1:{self.admin}"]
        self.process: subprocess.Popen[bytes] | None = None
        self.output = folder / "output"

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "highwater_operator.apache_kafka.main", *self.arguments]
        with self.output.open("ab") as output:
            # What one that is killed leaves goes with the test.
            environment = {**os.environ, "TMPDIR": str(self.data.parent)}
            self.process = subprocess.Popen(
                command, start_new_session=True, stdout=output, stderr=output, env=environment
            )
        return self.process

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.admin}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def is_ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.output.read_text()[-2000:]
        return self.get("/readyz")[0] == 200

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@pytest.fixture
def release() -> None:
    try:
        install(RELEASE)
        fetch(RELEASE, exporter=True)
    except ApacheKafkaUnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture
def pods(tmp_path: Path, release: None) -> Iterator[tuple[Pod, Pod]]:
    controller, broker = free_ports(2)
    made = (
        Pod(tmp_path / "controller", "controller", 1000, controller, controller),
        Pod(tmp_path / "broker", "broker", 0, broker, controller),
    )
    yield made
    for pod in made:
        pod.close()


@pytest.mark.thorough
def test_a_life(pods: tuple[Pod, Pod]) -> None:
    controller, broker = pods
    broker.hold.touch()
    process = broker.start()
    controller.start()
    until(controller.is_ready, "the controller to lead", 180)
    # Held: nothing of the broker exists.
    assert not broker.trace.exists()
    assert not broker.data.exists()
    broker.hold.unlink()
    until(broker.is_ready, "the broker to run", 180)
    meta = (broker.data / "meta.properties").read_text()
    assert f"cluster.id={CLUSTER}" in meta

    metrics = broker.get("/metrics")[1]
    for series in (
        "kafka_server_replicamanager_underreplicatedpartitions 0.0",
        "kafka_server_replicamanager_leadercount 0.0",
        "kafka_server_replicamanager_isrshrinks_total 0.0",
        'kafka_server_replicafetchermanager_failedpartitionscount{clientId="Replica"',
        "kafka_server_brokertopicmetrics_bytesin_total 0.0",
    ):
        assert series in metrics
    metrics = controller.get("/metrics")[1]
    for series in (
        "kafka_controller_kafkacontroller_activecontrollercount 1.0",
        'kafka_server_raftmetrics_current_state{current_state="leader"',
        "kafka_server_raftmetrics_current_leader 1000.0",
    ):
        assert series in metrics

    # Rules about messages: who a message is from is known by its client id.
    control = ControlChannel(controller.control, "controller-0")
    assert control.try_open()
    rule = control.call(
        "addRule", {"action": "hold", "rpc": "BrokerHeartbeat", "sources": ["broker-0"], "part": "request"}
    )
    until(lambda: control.call("ruleMatches", {"rule": rule}) > 0, "a heartbeat to be held", 180)
    control.call("removeRule", {"rule": rule})
    control.close()

    # One file: the start as our own nodes report it, then what Kafka logs, each incarnation after the other.
    lines = [json.loads(line) for line in broker.trace.read_text().splitlines()]
    assert (lines[0]["kind"], lines[0]["node"]) == ("node-started", "broker-0")
    assert [one["seq"] for one in lines[1:]]
    assert any("Successfully registered broker 0" in one["text"] for one in lines[1:])

    # A node that dies takes its process along: the kubelet, and the runner, see that it has ended.
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(child), signal.SIGKILL)
    assert process.wait(180) == 1

    process = broker.start()
    until(broker.is_ready, "the broker to run again", 180)
    assert (broker.data / "meta.properties").read_text() == meta, "its disk is formatted once"
    assert broker.trace.read_text().count('"kind":"node-started"') == 2
    process.terminate()
    assert process.wait(180) == 0


@pytest.fixture
def with_zookeeper(tmp_path: Path, release: None) -> Iterator[tuple[Server, Pod]]:
    (tmp_path / "zookeeper").mkdir()
    server = Server(tmp_path / "zookeeper")
    (at,) = free_ports(1)
    broker = Pod(tmp_path / "broker", "broker", 0, at, server.client, "zookeeper")
    yield server, broker
    broker.close()
    server.close()


@needs_zookeeper
@pytest.mark.thorough
def test_a_life_in_zookeeper_mode(with_zookeeper: tuple[Server, Pod]) -> None:
    """Beside a real ZooKeeper server, as the process of its pod."""
    server, broker = with_zookeeper
    broker.hold.touch()
    broker.start()
    server.start()
    until(lambda: server.get("/readyz")[0] == 200, "the server to serve", 180)
    assert not broker.data.exists()
    broker.hold.unlink()
    until(broker.is_ready, "the broker to run", 180)
    meta = (broker.data / "meta.properties").read_text().splitlines()
    assert "broker.id=0" in meta
    metrics = broker.get("/metrics")[1]
    for series in (
        "kafka_controller_kafkacontroller_activecontrollercount 1.0",
        "kafka_server_replicamanager_underreplicatedpartitions 0.0",
        "kafka_server_brokertopicmetrics_bytesin_total 0.0",
    ):
        assert series in metrics

    # The controller's own messages to its broker come through the proxy, and are known by their client id.
    control = ControlChannel(broker.control, "broker-0")
    assert control.try_open()
    rule = control.call("addRule", {"action": "delay", "rpc": "UpdateMetadata", "sources": ["broker-0"]})
    control.call("removeRule", {"rule": rule})
    control.close()

    # What it logs says which session is its own, by which a registration is known to be of this process.
    lines = [json.loads(line) for line in broker.trace.read_text().splitlines()]
    assert (lines[0]["kind"], lines[0]["node"]) == ("node-started", "broker-0")
    log = SessionLog(0)
    found = [event for one in lines[1:] if (event := log.event_in(one["logger"], one["text"])) is not None]
    assert [one.reason for one in found if isinstance(one, BrokerStateChanged)] == ["running"]
    (session,) = log.sessions
    assert log.registered(session, 7) == BrokerStateChanged(broker=0, broker_epoch=7, reason="registered")

    process = broker.process
    assert process is not None
    process.terminate()
    assert process.wait(180) == 0
    process = broker.start()
    until(broker.is_ready, "the broker to run again", 180)
    again = (broker.data / "meta.properties").read_text().splitlines()
    assert {one for one in again if not one.startswith("#")} == {one for one in meta if not one.startswith("#")}
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(child), signal.SIGKILL)
    assert process.wait(180) == 1


@pytest.mark.parametrize(
    ("arguments", "properties", "words"),
    [
        (["--release", "4.0.2"], "broker.id=0\nzookeeper.connect=z:2181\n", "in mode zookeeper from 1.1.0 to 3.9.x"),
        (["--release", "2.0.1"], "broker.id=0\nzookeeper.connect=z:2181\n", "needs Java 11"),
        (["--release", "3.4.1"], "zookeeper.connect=z:2181\n", "expected broker.id"),
        (["--release", "3.4.1"], "node.id=0\nprocess.roles=broker\n", "expected --cluster-id"),
    ],
)
def test_what_cannot_be_run_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], properties: str, words: str
) -> None:
    config = tmp_path / "server.properties"
    config.write_text(f"{properties}log.dirs=/nowhere\nlisteners=PLAINTEXT://127.0.0.1:2\n")
    more = ["--pod", "demo-broker-0", "--listen", "127.0.0.1:1", "--control", str(tmp_path / "control")]
    assert run([str(config), *arguments, *more]) == 2
    assert words in capsys.readouterr().err


def test_another_release_than_the_image_s_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "highwater" / "apache-kafka-3.5.2" / "lib").mkdir(parents=True)
    config = tmp_path / "server.properties"
    config.write_text("node.id=0\nprocess.roles=broker\nlog.dirs=/nowhere\nlisteners=PLAINTEXT://127.0.0.1:2\n")
    more = ["--listen", "127.0.0.1:1", "--control", str(tmp_path / "control")]
    assert run([str(config), "--pod", "demo-broker-0", "--release", "3.4.1", "--cluster-id", CLUSTER, *more]) == 2
    assert "expected an image with apache-kafka-3.4.1; found apache-kafka-3.5.2" in capsys.readouterr().err
