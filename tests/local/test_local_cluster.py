"""``highwater cluster``: up and ready or not at all, found again, taken down; data kept unless told otherwise."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from highwater_chaos.backends.ensemble.servers import available
from highwater_chaos.backends.local.layout import free_ports, is_free
from highwater_chaos.cli import execute
from highwater_chaos.local_cluster.down import take_down
from highwater_chaos.local_cluster.errors import LocalClusterError
from highwater_chaos.local_cluster.nodes import admin_page
from highwater_chaos.local_cluster.record import ClusterRecord, directory_of, find, names
from highwater_chaos.local_cluster.status import look
from highwater_chaos.local_cluster.up import ClusterOptions, bring_up


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Clusters of the test's own, none of which runs when it ends."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    yield tmp_path
    for name in names():
        take_down(name, wipe=True, patience=5)


def port() -> int:
    """A port with free neighbours."""
    while True:
        (first,) = free_ports(1)
        if all(is_free(first + step) for step in range(4)):
            return first


def pids(cluster: ClusterRecord) -> list[int]:
    return [identity.pid for _, identity in cluster.living()]


def test_a_life(home: Path, capsys: pytest.CaptureFixture[str], await_true: Callable[..., None]) -> None:
    first = port()
    assert execute(["cluster", "up", "--brokers", "2", "--port", str(first), "--config", "num.partitions=3"]) == 0
    said = capsys.readouterr()
    assert f"bootstrap: 127.0.0.1:{first},127.0.0.1:{first + 1}" in said.out
    assert f"kcat -C -b 127.0.0.1:{first}" in said.out
    assert "broker-1 is ready" in said.err

    assert execute(["cluster", "status", "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert (status["state"], status["leader"], status["underReplicated"]) == ("up", "controller-0", 0)
    assert [node["state"] for node in status["nodes"]] == ["ready"] * 3

    # Twice is an error, and the cluster is none the worse for it.
    assert execute(["cluster", "up"]) == 254
    assert "runs already: controller-0 (pid" in capsys.readouterr().err
    with pytest.raises(LocalClusterError, match="runs already"):
        bring_up(ClusterOptions(wipe=True))

    # A node that is gone shows, and its stale pid is nobody's.
    cluster = find("default")
    assert cluster is not None
    running = dict(zip([node.name for node, _ in cluster.living()], [one for _, one in cluster.living()], strict=True))
    running["broker-1"].send(signal.SIGKILL)
    assert running["broker-1"].wait_gone(30)
    assert execute(["cluster", "status"]) == 1
    assert "cluster default is degraded" in capsys.readouterr().out

    # It is started again, if nothing else is asked for; the others are not touched.
    for other in (["--wipe"], ["--brokers", "3"], ["--config", "num.partitions=4"]):
        assert execute(["cluster", "up", *other]) == 254
        assert "runs already, without broker-1" in capsys.readouterr().err
    assert execute(["cluster", "up"]) == 0
    assert "broker-1 is ready" in capsys.readouterr().err
    repaired = find("default")
    assert repaired is not None
    now = {node.name: identity for node, identity in repaired.living()}
    assert {name: one for name, one in now.items() if name != "broker-1"} == {
        name: one for name, one in running.items() if name != "broker-1"
    }
    assert [node.incarnation for node in repaired.nodes] == [1, 1, 2]
    await_true(lambda: look(repaired).state == "up", "all nodes work")

    now["broker-1"].send(signal.SIGKILL)
    assert now["broker-1"].wait_gone(30)
    assert execute(["cluster", "down"]) == 0
    assert "stopped broker-0, controller-0" in capsys.readouterr().out
    assert execute(["cluster", "status"]) == 1
    assert "cluster default is down" in capsys.readouterr().out
    assert execute(["cluster", "down"]) == 0
    assert "did not run" in capsys.readouterr().out

    # As it was before: ports, shape, cluster id and data.
    again = bring_up(ClusterOptions())
    assert (again.cluster_id, again.bootstrap()) == (cluster.cluster_id, cluster.bootstrap())
    assert again.config == {"num.partitions": "3"}
    assert [node.incarnation for node in again.nodes] == [2, 2, 3]
    await_true(lambda: look(again).state == "up", "all nodes work")
    assert execute(["cluster", "down", "--wipe"]) == 0
    assert find("default") is None
    assert not directory_of("default").exists()
    assert not pids(again)


def test_status_shows_partitions_as_the_controller_sees_them(
    home: Path, capsys: pytest.CaptureFixture[str], await_true: Callable[..., None]
) -> None:
    """A partition that nobody leads is in no broker's metrics; ``underReplicated`` was 0 while all were offline."""
    settings = ["broker.session.timeout.ms=2000", "broker.heartbeat.interval.ms=200", "metrics.partition.limit=3"]
    wish = ["cluster", "up", "--brokers", "2", "--port", str(port())]
    assert execute([*wish, *(part for setting in settings for part in ("--config", setting))]) == 0
    cluster = find("default")
    assert cluster is not None
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap()})
    topics = [
        NewTopic("alone", 4, replica_assignment=[[1]] * 4),
        NewTopic("both", 2, replica_assignment=[[1, 0]] * 2, config={"min.insync.replicas": "2"}),
    ]
    for future in admin.create_topics(topics).values():
        future.result(60)
    await_true(lambda: look(cluster).state == "up", "all partitions take writes")
    broker = cluster.of_role("broker")[1]

    def page() -> str:
        found = admin_page(cluster, broker, "metrics")
        assert found is not None
        return found[1]

    # The controller counts a leader when it has elected it; the broker makes its logs after that, one by one.
    await_true(lambda: "\nhighwater_partition_series_left_out 6.0\n" in page(), "broker 1 has all replicas")
    assert 'topic="alone"' not in page()
    logged = cluster.log_path(broker).read_text()
    assert re.search(r"series of single partitions left out replicas=[4-6] limit=3\b", logged)

    running = {node.name: identity for node, identity in cluster.living()}
    running["broker-1"].send(signal.SIGKILL)
    await_true(lambda: (view := look(cluster).view) is not None and view.fenced_brokers == (1,), "broker 1 is fenced")
    capsys.readouterr()
    assert execute(["cluster", "status", "--json"]) == 1
    status = json.loads(capsys.readouterr().out)
    names = ("fencedBrokers", "partitions", "leaderless", "underReplicated", "underMinIsr")
    assert [status[name] for name in names] == [[1], 6, 4, 2, 2]
    assert execute(["cluster", "status"]) == 1
    said = capsys.readouterr().out
    assert "fenced brokers: 1; partitions: 6; without a leader: 4; under-replicated: 2; under min ISR: 2" in said
    log = cluster.log_path(cluster.of_role("controller")[0])
    await_true(lambda: "partitions left without a leader count=4" in log.read_text(), "the controller says so")
    await_true(lambda: "leaders elected count=2 leaders=0:2" in log.read_text(), "the controller says who leads now")


def test_data_elsewhere_and_another_name(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = home / "elsewhere"
    wish = ["cluster", "up", "--name", "other", "--data", str(folder), "--brokers", "1", "--port", str(port())]
    assert execute(wish) == 0
    assert names() == ["other"]
    assert (folder / "broker-0" / "data").is_dir()
    properties = (folder / "broker-0" / "node.properties").read_text()
    assert "highwater.bootstrap" not in properties
    assert "highwater.trace.path" not in properties, "nobody reads along, and the file would grow for ever"
    assert "highwater.control.path" not in properties, "nobody breaks it"
    assert "highwater cluster down --name other" in capsys.readouterr().out
    assert execute(["cluster", "status"]) == 254
    assert "there is no cluster 'default'; there is other" in capsys.readouterr().err
    assert execute(["cluster", "down", "--name", "other", "--wipe"]) == 0
    assert not folder.exists()
    assert names() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--controllers", "2"], "--controllers 2: expected 1, 3 or 5"),
        (["--config", "num.partitions"], "--config 'num.partitions': expected NAME=VALUE"),
        (
            ["--config", "num.partitoins=3"],
            "--config num.partitoins=3: unknown property 'num.partitoins'",
        ),
        (["--config", "num.partitions=many"], "--config num.partitions=many: property 'num.partitions' takes a whole"),
        (["--name", "../x"], "--name '../x': expected letters, digits, - and _"),
    ],
)
def test_what_cannot_be(arguments: list[str], message: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["cluster", "up", "--port", str(port()), *arguments]) == 254
    error = capsys.readouterr().err
    assert message in error
    assert "node.properties" not in error, "the user has not written this file"
    assert names() == []
    assert not list(home.glob("share/highwater/clusters/*")), "nothing is left half-done"


def test_a_port_that_somebody_has(home: Path) -> None:
    first = port()
    with socket.socket() as server:
        server.bind(("127.0.0.1", first + 1))
        server.listen()
        with pytest.raises(LocalClusterError, match=rf"in use by other processes: 127.0.0.1:{first + 1};"):
            bring_up(ClusterOptions(brokers=2, port=first))
    assert names() == []


def test_a_node_that_does_not_come_up_takes_all_with_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that the node cannot lock: something else has it."""
    from highwater_chaos.local_cluster import up

    real, started = up.start, []

    def start(cluster: ClusterRecord, node: object) -> object:
        if node.name == "broker-1":  # type: ignore[attr-defined]
            (cluster.node_path(node) / "data" / ".lock").mkdir(parents=True)  # type: ignore[arg-type]
        begun = real(cluster, node)  # type: ignore[arg-type]
        started.append(begun[1])
        return begun

    monkeypatch.setattr(up, "start", start)
    with pytest.raises(LocalClusterError, match=r"broker-1 ended with status 1; its log ends:\n  broker-1: "):
        bring_up(ClusterOptions(brokers=2, port=port()))
    assert len(started) == 3
    assert all(isinstance(child, subprocess.Popen) and child.poll() is not None for child in started)
    assert names() == []


def test_data_of_another_shape(home: Path) -> None:
    wish = ClusterOptions(brokers=2, port=port())
    bring_up(wish)
    take_down("default", patience=30)
    with pytest.raises(
        LocalClusterError, match="are of 2 brokers, not 1: leave --brokers out, or start with an empty cluster"
    ):
        bring_up(ClusterOptions(brokers=1))
    with pytest.raises(LocalClusterError, match="are of a quorum of 1, not 3"):
        bring_up(ClusterOptions(controllers=3))
    (home / "full").mkdir()
    (home / "full" / "mine.txt").write_text("not a cluster")
    with pytest.raises(LocalClusterError, match="is not empty and holds no cluster of ours"):
        bring_up(ClusterOptions(name="new", directory=home / "full"))
    assert (home / "full" / "mine.txt").exists()


@pytest.mark.thorough
@pytest.mark.skipif(available() is not None, reason="no ZooKeeper here")
def test_a_life_with_zookeeper(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Real servers; records are there again after it was down."""
    first = port()
    up = ["cluster", "up", "--mode", "zookeeper", "--brokers", "2", "--port", str(first)]
    assert execute([*up, "--config", "zookeeper.session.timeout.ms=3000"]) == 0, capsys.readouterr().err
    cluster = find("default")
    assert cluster is not None
    assert [node.name for node in cluster.nodes] == ["zookeeper-0", "broker-0", "broker-1"]
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap()})
    admin.create_topics([NewTopic("orders", 2, 2)])["orders"].result(timeout=30)
    status = look(cluster)
    assert (status.state, status.leader in ("broker-0", "broker-1")) == ("up", True), status
    assert status.view is not None
    assert (status.view.partitions, status.view.under_replicated) == (2, 0)
    capsys.readouterr()
    assert execute(["cluster", "down"]) == 0
    assert "stopped broker-0, broker-1, zookeeper-0" in capsys.readouterr().out
    assert execute(["cluster", "up", "--controllers", "1", "--mode", "zookeeper"]) == 254
    assert "mode zookeeper has none" in capsys.readouterr().err
    assert execute(["cluster", "up", "--mode", "kraft"]) == 254
    assert "are of mode zookeeper, not kraft" in capsys.readouterr().err
    assert execute(["cluster", "up"]) == 0, capsys.readouterr().err
    assert "orders" in AdminClient({"bootstrap.servers": cluster.bootstrap()}).list_topics(timeout=30).topics
