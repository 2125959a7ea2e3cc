"""``highwater-zookeeper``: a real server, alone in its ensemble, as the process of a pod."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from log_cluster.conftest import until

from highwater_chaos.backends.local.layout import free_ports
from highwater_operator.java_server import NotServingError
from highwater_operator.objects.config_map import zoo_cfg
from highwater_operator.objects.naming import Owner
from highwater_operator.resources import LogClusterSpec
from highwater_operator.zookeeper import java
from highwater_operator.zookeeper.four_letter_words import parse_monitored
from highwater_operator.zookeeper.identity import write_identity
from highwater_operator.zookeeper.main import run
from highwater_operator.zookeeper.metrics import COUNTERS, GAUGES

needs_zookeeper = pytest.mark.skipif(
    bool(java.missing()), reason="no ZooKeeper here (apt-get install libzookeeper-java)"
)


class Server:
    """The process, its files and its ports."""

    def __init__(self, folder: Path) -> None:
        self.data, self.hold, self.trace = folder / "data", folder / "hold-1", folder / "events.jsonl"
        self.client, quorum, election, self.admin = free_ports(4)
        spec = LogClusterSpec.model_validate({"mode": "zookeeper", "zookeepers": 1})
        text = zoo_cfg(Owner("demo", "ns", "uid", spec))
        for pattern, found in (
            (r"^server\.1=.*$", f"server.1=127.0.0.1:{quorum}:{election}"),
            (r"^clientPort=.*$", f"clientPort={self.client}"),
            (r"^dataDir=.*$", f"dataDir={self.data}"),
        ):
            text = re.sub(pattern, found, text, flags=re.M)
        config = folder / "demo-zookeeper-0.cfg"
        config.write_text(text)
        self.arguments = [str(config), "--pod", "demo-zookeeper-0", "--hold-files", str(folder / "hold-")]
        self.arguments += ["--trace", str(self.trace), "--admin", f"http://127.0.0.1:{self.admin}"]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "highwater_operator.zookeeper.main", *self.arguments]
        self.process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
        return self.process

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.admin}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def close(self) -> None:
        if self.process is not None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                return
            self.process.wait()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path)
    yield made
    made.close()


@needs_zookeeper
def test_a_life(server: Server) -> None:
    server.hold.touch()
    process = server.start()
    # Held: nothing of it exists, as nothing of a node does.
    until(lambda: Path(f"/proc/{process.pid}/cmdline").read_bytes().count(b"zookeeper") > 1, "the process")
    assert not server.trace.exists()
    assert not server.data.exists()
    server.hold.unlink()
    until(lambda: server.get("/readyz")[0] == 200, "the server to serve")
    assert (server.data / "myid").read_text() == "1\n"
    (started,) = [json.loads(line) for line in server.trace.read_text().splitlines()]
    assert (started["kind"], started["node"]) == ("node-started", "zookeeper-0")
    assert server.get("/healthz")[0] == 200
    found = dict(line.split() for line in server.get("/metrics")[1].splitlines() if not line.startswith("#"))
    assert (found["highwater_zookeeper_serving"], found["highwater_zookeeper_leading"]) == ("1.0", "1.0")
    assert {*GAUGES, *COUNTERS} <= set(found), "all of them are there in this release"

    # A server that dies takes its process along: the kubelet, and the runner, see that it has ended.
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(child), signal.SIGKILL)
    assert process.wait(60) == 1

    process = server.start()
    until(lambda: server.get("/readyz")[0] == 200, "the server to serve again")
    assert len(server.trace.read_text().splitlines()) == 2
    process.terminate()
    assert process.wait(60) == 0
    assert server.get("/healthz")[0] == 0


@needs_zookeeper
def test_a_paused_server_does_not_count_as_ready(server: Server) -> None:
    process = server.start()
    until(lambda: server.get("/readyz")[0] == 200, "the server to serve")
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(child), signal.SIGSTOP)
    until(lambda: server.get("/readyz")[0] == 503, "the answer to be too old")
    assert "highwater_zookeeper_serving 0.0" in server.get("/metrics")[1]
    os.kill(int(child), signal.SIGCONT)
    until(lambda: server.get("/readyz")[0] == 200, "it to answer again")


def test_the_data_of_another_server_are_left_alone(tmp_path: Path) -> None:
    write_identity(tmp_path, 1)
    assert (tmp_path / "myid").read_text() == "2\n"
    write_identity(tmp_path, 1)
    with pytest.raises(OSError, match="expected 1, found '2': the data of another server"):
        write_identity(tmp_path, 0)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it says nothing"),
        ("This ZooKeeper instance is not currently serving requests\n", "not currently serving"),
        ("mntr is not executed because it is not in the whitelist.\n", "whitelist"),
    ],
)
def test_a_server_without_a_quorum_does_not_serve(text: str, why: str) -> None:
    with pytest.raises(NotServingError, match=why):
        parse_monitored(text)


def test_what_a_leader_says_is_read() -> None:
    found = parse_monitored("zk_version\t3.8.0\nzk_server_state\tleader\nzk_synced_followers\t2\nzk_avg_latency\t0.5\n")
    assert (found.state, found.synced_followers, found.values["zk_avg_latency"]) == ("leader", 2, 0.5)


@pytest.mark.parametrize(
    ("pod", "why"), [("demo-broker-0", "expected the name of a pod"), ("demo-zookeeper-0", "dataDir")]
)
def test_a_wrong_configuration_is_refused(pod: str, why: str, tmp_path: Path, capsys: Any) -> None:
    config = tmp_path / "zoo.cfg"
    config.write_text("clientPort=2181\n")
    assert run([str(config), "--pod", pod]) == 2
    assert why in capsys.readouterr().err
