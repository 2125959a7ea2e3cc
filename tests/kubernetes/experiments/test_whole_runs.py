"""An experiment of each mode from ``create`` to its end, on real nodes: operator, runner, judge, faults that happen.

Each runs once, and is looked at from all sides: what it came to, what was kept of it, what was logged, and what was
exposed meanwhile. Agents are fakes: their series come from the agent's registry.
"""

from __future__ import annotations

import io
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from api_server import ApiServer
from experiments.conftest import KIND, experiment, real_stage, until
from experiments.scrapes import NOT_OF_KAFKA, OF_KAFKA, Scrapes, relabelled
from experiments.test_real_run import CONFIG, LONG
from log_schema import EVENTS, OBJECT, parsed
from prometheus_client import CollectorRegistry, generate_latest

from highwater_chaos.backends.kubernetes import archive
from highwater_chaos.backends.kubernetes.archive import fetch
from highwater_chaos.kube.client import Kube
from highwater_operator.agent import metrics as agent_metrics
from highwater_operator.experiments.context import JudgingSettings
from highwater_operator.main import CHATTY
from highwater_operator.metrics import REGISTRY as OPERATOR
from highwater_operator.zookeeper import java
from highwater_runtime.log_lines import JsonLines

from ...assertions.conftest import start_prometheus
from ..conftest import CRDS

__all__ = ["start_prometheus"]
Json = dict[str, Any]
COMPONENTS = {
    "operator": ("highwater_operator", "kopf"),
    "runner": ("highwater.runner",),
    "judge": ("highwater.judge",),
}


@contextmanager
def logs_of_threads(**context: Any) -> Iterator[dict[str, io.StringIO]]:
    """Lines by component, as its process would have them: here operator, runner and judge are threads."""
    streams = {component: io.StringIO() for component in COMPONENTS}
    handlers = []
    for component, names in COMPONENTS.items():
        handler = logging.StreamHandler(streams[component])
        handler.setFormatter(JsonLines(component, **({} if component == "operator" else context)))
        for name in names:
            logger = logging.getLogger(name)
            logger.addHandler(handler)
            logger.setLevel(logging.INFO)
            handlers.append((logger, handler))
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        yield streams
    finally:
        for logger, handler in handlers:
            logger.removeHandler(handler)
            logger.setLevel(logging.NOTSET)
        for name in CHATTY:
            logging.getLogger(name).setLevel(logging.NOTSET)


ASSERTIONS = [
    {
        "name": "one-controller",
        "promql": 'kafka_controller_kafkacontroller_activecontrollercount{namespace="default"} == 1',
        "during": "fault",
    },
    {
        "name": "a-pod-is-down",
        "promql": 'count(kafka_server_replicamanager_partitioncount{strimzi_io_name="demo-broker"}) == 2',
        "during": "fault",
        "eventually": "4m",  # from the beginning of the phase: the first kill comes late on a busy machine
    },
    {
        "name": "whole-again",
        "promql": "sum by (strimzi_io_cluster) (kafka_server_replicamanager_underreplicatedpartitions) == 0"
        ' and on() count(kafka_server_replicamanager_leadercount{kubernetes_pod_name=~"demo-broker-[0-2]"}) == 3',
        "during": "recovered",
        "eventually": "1m",
    },
]
SCHEDULE = [
    # Its end comes while a node that has the rule is paused: that one is told later.
    {"inject": {"name": "slow", "hold": {"rpc": "BrokerHeartbeat", "from": {"broker": 0}}}},
    {"wait": "1s"},
    {"inject": {"pause": {"target": {"followerOf": "orders-0"}}, "for": "2s"}},
    {"heal": "slow"},
    # Its only node is paused when it begins: it gets the rule when it runs on, or nothing would be caught.
    {"inject": {"pause": {"target": {"controller": 0}}, "for": "1s"}},
    {"inject": {"name": "later", "hold": {"rpc": "BrokerHeartbeat", "to": {"controller": 0}}}},
    {"await": {"caught": {"name": "later", "atLeast": 1}, "within": "20s"}},
    {"heal": "later"},
    {"inject": {"kill": {"target": {"leaderOf": "orders-0"}, "restartAfter": "2s"}}},
    {"wait": "4s"},
    # It may have been the leader that was killed; a node that is down cannot be stopped.
    {"await": {"broker": {"id": 1, "state": "unfenced"}, "within": "60s"}},
    {"inject": {"stop": {"target": {"broker": 1}, "restartAfter": "1s"}}},
    {"wait": "3s"},
]


@dataclass(frozen=True)
class Whole:
    """What is left of runs, by their names. ``events`` are the rows of their nodes."""

    folder: Path
    statuses: dict[str, Json]
    directories: dict[str, Path]
    events: dict[str, list[Json]]
    objects: dict[str, Json]
    """The experiment, and the LogCluster that was there before, when all was over."""
    logs: dict[str, str]
    """By component."""
    faults: tuple[list[str], list[str]] = ([], [])
    """What the agent was asked for, and what it undid."""
    users: frozenset[str] = frozenset()
    threads: int = 0


def text_of(registry: CollectorRegistry) -> str:
    return generate_latest(registry).decode()


@pytest.fixture(scope="module")
def scrapes() -> Scrapes:
    """Of all runs here."""
    return Scrapes()


@contextmanager
def watched(folder: Path, scrapes: Scrapes) -> Iterator[Any]:
    """A stage whose pods and operator are scraped; with definitions, and the rights that are shipped."""
    over, busy = threading.Event(), threading.Lock()

    def scrape() -> None:
        while not over.wait(2.5):  # of eight seconds, over which rates are asked for
            once()

    def once() -> None:
        with busy:
            agent_metrics.HEAL_SECONDS.labels("kill").observe(0.2)
            scrapes.take(text_of(OPERATOR), namespace="highwater-system")
            scrapes.take(text_of(agent_metrics.REGISTRY), namespace="highwater-system", node="node-0")
            for pod in api.objects("v1", "Pod", "default"):
                if (text := real.agents[0].answers(pod["metadata"]["name"], "metrics", 0)) is not None:
                    scrapes.take(text.decode(), **relabelled(pod))

    scraper = threading.Thread(target=scrape)
    with pytest.MonkeyPatch.context() as patch, ApiServer() as api:
        patch.setenv("SSL_CERT_FILE", os.devnull)
        api.apply_file(*CRDS)
        with real_stage(api, folder) as real:
            real.scrape = once
            scraper.start()
            try:
                yield real
            finally:
                over.set()
                scraper.join()


@pytest.fixture(scope="module")
def kraft(tmp_path_factory: pytest.TempPathFactory, scrapes: Scrapes) -> Whole:
    """Recorded by a runner, too large to be handed over but by a claim, and judged by a Job."""
    folder = tmp_path_factory.mktemp("kraft")
    topics = [{"name": "orders", "replicationFactor": 3}]
    cluster = {"brokers": 3, "controllers": 1, "config": CONFIG, "topics": topics}
    workload = {"producers": 1, "rate": "50/s", "consumers": 1}
    about = {"namespace": "default", "kind": "ChaosExperiment", "name": "demo"}
    with (
        pytest.MonkeyPatch.context() as patch,
        logs_of_threads(**about) as streams,
        watched(folder, scrapes) as real,
    ):
        patch.setattr(archive, "LARGEST", 1000)
        real.claim, real.judging = "recordings", JudgingSettings(job=True)
        real.start()
        real.api.create(experiment(cluster=cluster, workload=workload, schedule=SCHEDULE, assertions=ASSERTIONS))
        until(lambda: '"phase": "Completed"' in streams["operator"].getvalue(), "the verdict", 2 * LONG)
        until(lambda: real.api.get("highwater.dev/v1alpha1", "LogCluster", "demo", "default") is None, "its cluster")
        until(lambda: real.accounts() == [], "the accounts of its Jobs to go")
        real.scrape()  # the verdict, which goes with the experiment
        found, threads = real.get(), threading.active_count()
        directory = fetch(Kube(real.api.configuration()), "default", "demo", folder / "fetched")
        assert real.api.delete(*KIND, "demo", "default") in (True, False)
        until(lambda: real.get() is None, "the experiment to go")
        real.stop()
    (file,) = (one for one in (folder / "claim").rglob("*") if one.is_file())
    with ZipFile(file) as kept:
        rows = [json.loads(line) for line in kept.read("events/nodes.jsonl").splitlines()]
    agent = real.agents[0]
    return Whole(
        folder,
        {"demo": found["status"]},
        {"demo": directory},
        {"demo": rows},
        {"demo": found},
        {component: stream.getvalue() for component, stream in streams.items()},
        (agent.injected, agent.undone),
        frozenset(real.users),
        threads,
    )


@pytest.mark.thorough
def test_from_create_to_verdict(kraft: Whole) -> None:
    status = kraft.statuses["demo"]
    assert (status["verdict"], status["expected"]) == ("pass", True), json.dumps(status, indent=1)
    assert status["faults"] == {"planned": 6, "injected": 6, "confirmed": 6, "healed": 6}
    assert {entry["state"] for entry in status["journal"]} == {"undone"}
    conditions = {one["type"]: one["status"] for one in status["conditions"]}
    for kind in ("Accepted", "SteadyState", "Injected", "Healed", "Completed", "Passed", "Recorded"):
        assert conditions[kind] == "True", kind
    injected, undone = kraft.faults
    assert sorted(undone) == sorted(injected)
    assert status["progress"]["acknowledgedRecords"] > 0
    kinds = status["progress"]["faults"]
    assert {kind: one["injected"] for kind, one in kinds.items()} == {"hold": 2, "pause": 2, "kill": 1, "stop": 1}
    assert all(one["timedHeals"] == one["healed"] == one["injected"] for one in kinds.values())
    assert all(0 < one["healSeconds"] < 60 for one in kinds.values())
    verdict = json.loads((kraft.directories["demo"] / "verdict.json").read_text())
    assert (verdict["verdict"], verdict["backend"]) == ("pass", "kubernetes")
    assert [(one["name"], one["holds"]) for one in verdict["assertions"]] == [
        (str(one["name"]), True) for one in ASSERTIONS
    ], json.dumps(verdict["assertions"], indent=1)
    assert {one["reason"] for one in kraft.events["demo"] if one["kind"] == "node-stopped"} == {"kill", "stop"}
    assert kraft.threads < 200


@pytest.mark.thorough
def test_what_is_too_large_to_be_handed_over_goes_by_a_claim(kraft: Whole) -> None:
    status, uid = kraft.statuses["demo"], kraft.objects["demo"]["metadata"]["uid"]
    assert "demo-verdict-0" in status["run"]
    assert "claim highwater-system/recordings, folder default/" in status["run"]
    assert "without recordings" not in status["run"]
    claim = kraft.folder / "claim"
    files = [str(one.relative_to(claim)) for one in claim.rglob("*") if one.is_file()]
    assert files == [f"default/{uid}/{kraft.directories['demo'].name}.zip"]
    assert kraft.users == {"operator", f"highwater-run-{uid}", f"highwater-judge-{uid}"}


def test_every_line_of_an_experiment_is_of_the_schema(kraft: Whole) -> None:
    about = {"namespace": "default", "kind": "ChaosExperiment", "name": "demo"}
    lines = {component: parsed(text.splitlines()) for component, text in kraft.logs.items()}
    nodes = [parsed(path.read_text().splitlines()) for path in kraft.folder.glob("demo-*.log")]
    assert len(nodes) == 4
    for node in nodes:
        assert len(node) > 2
        (name,) = {one["name"] for one in node}
        assert {(one["component"], one["namespace"], one["kind"]) for one in node} == {("node", "default", "Pod")}
        assert {f"demo-{one['node']}" for one in node} == {name}

    said = [one for one in lines["operator"] if one.get("kind") == "ChaosExperiment"]
    phases = [one["phase"] for one in said if one["event"] == "phase changed"]
    assert phases == list(dict.fromkeys(phases)), "one line for each"
    assert {"Pending", "SettingUp", "Judging", "Completed"} <= set(phases)
    (completed,) = [one for one in said if one.get("phase") == "Completed"]
    assert completed["verdict"] == "pass"
    cluster_lines = [one for one in lines["operator"] if one.get("kind") == "LogCluster"]
    ready = [
        one["status"] for one in cluster_lines if one["event"] == "condition changed" and one["condition"] == "Ready"
    ]
    assert "True" in ready
    runner = [one["phase"] for one in lines["runner"] if one["event"] == "phase changed"]
    assert list(dict.fromkeys(runner)) == ["SettingUp", "Steady", "Injecting", "Recovering", "Judging"]
    assert [one["verdict"] for one in lines["judge"] if one["event"] == "verdict"] == ["pass"]
    for component in ("runner", "judge"):
        assert all({name: one[name] for name in OBJECT} == about for one in lines[component])
    transitions = {"phase changed", "condition changed", "verdict"}
    assert {
        (one["component"], one["event"]) for part in lines.values() for one in part if one["event"] in transitions
    } <= EVENTS


def zookeeper_faults(*faults: tuple[str, dict[str, Any]]) -> list[Any]:
    """A schedule: the end of the session of a leader, then these faults."""
    schedule: list[Any] = [{"inject": {"sessionExpiry": {"target": {"leaderOf": "orders-0"}}}}, {"wait": "2s"}]
    for number, (kind, target) in enumerate(faults):
        # A heal ends when the node runs again, however long that takes on a busy machine.
        hit = {"name": f"fault-{number}", kind: {"target": target}}
        schedule += [{"inject": hit}, {"wait": "2s"}, {"heal": f"fault-{number}"}]
    return schedule


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory, scrapes: Scrapes) -> Whole:
    """Two after each other on a LogCluster that was there before.

    A broker's session is ended, a server (at first the leader, most likely) is killed, paused and stopped, the
    controller is killed. Two servers are left alone: where a second one fails before the first is back in sync,
    ZooKeeper 3.8.0 can lose what it had committed (docs/zookeeper.md), and the run is inconclusive, rightly.
    """
    if java.missing():
        pytest.skip("no ZooKeeper here (apt-get install libzookeeper-java)")
    folder = tmp_path_factory.mktemp("zookeeper")
    made = Whole(folder, {}, {}, {}, {}, {})
    with watched(folder, scrapes) as real:
        real.start()
        kind = ("highwater.dev/v1alpha1", "LogCluster", "theirs", "default")
        config = {"zookeeper.session.timeout.ms": 9000, "replica.fetch.wait.max.ms": 200}
        spec = {"mode": "zookeeper", "brokers": 2, "zookeepers": 3, "config": config}
        meta = {"name": "theirs", "namespace": "default"}
        topics = [{"name": "old", "replicationFactor": 2}]
        real.api.create({"apiVersion": kind[0], "kind": kind[1], "metadata": meta, "spec": {**spec, "topics": topics}})
        schedules: dict[str, list[tuple[str, dict[str, Any]]]] = {
            "first": [
                ("kill", {"zookeeper": 2}),
                ("pause", {"zookeeper": 2}),
                ("kill", {"activeController": True}),
                ("stop", {"zookeeper": 2}),
            ],
            "second": [("kill", {"leaderOf": "orders-0"})],
        }
        for name, faults in schedules.items():
            workload = {"producers": 1, "rate": "20/s", "consumers": 1}
            schedule = zookeeper_faults(*faults)
            body = experiment(name, schedule=schedule, workload=workload, timeout="5m", recovery="2m")
            body["spec"].pop("cluster")
            body["spec"]["clusterRef"] = {"name": "theirs", "topics": [{"name": "orders", "replicationFactor": 2}]}
            real.api.create(body)
            until(lambda name=name: real.phase(name) in ("Completed", "Refused"), "the verdict", 4 * LONG)
            made.statuses[name] = real.status(name)
            until(lambda: not real.api.get(*kind)["status"].get("experiment"), "the LogCluster to come back", LONG)
            directory = fetch(Kube(real.api.configuration()), "default", name, folder / name)
            made.directories[name] = directory
            text = (directory / "events" / "nodes.jsonl").read_text()
            made.events[name] = [json.loads(line) for line in text.splitlines()]
        real.stop()
    return made


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "faults"), [("first", 5), ("second", 2)])
def test_two_after_each_other_on_a_cluster_in_zookeeper_mode_that_was_there_before(
    zookeeper: Whole, name: str, faults: int
) -> None:
    """The runner sees it all in what the ensemble commits. The second one joins an ensemble that has committed much
    before it came, the first one's doings among it."""
    status, rows = zookeeper.statuses[name], zookeeper.events[name]
    found = json.loads((zookeeper.directories[name] / "verdict.json").read_text())["anomalies"]
    assert (status["verdict"], found) == ("pass", {}), status["reason"]
    assert status["faults"] == dict.fromkeys(("planned", "injected", "confirmed", "healed"), faults)
    assert {one["partition"] for one in rows if one.get("partition")} == {"orders-0"}
    witnessed = {one["kind"] for one in rows if one["node"].startswith("zookeeper-")}
    restarted = {"node-started", "node-stopped"} if name == "first" else set()
    assert {"broker-registered", "partition-changed", "controller-changed", *restarted} <= witnessed
    # Who was registered when it began is known from the ensemble, though it came about before.
    assert min(one["time_ns"] for one in rows) >= 0
    assert [one for one in rows if one["kind"] == "broker-registration-changed"], "the end of a session was seen"


@pytest.mark.usefixtures("kraft")
def test_no_query_of_a_dashboard_is_empty(
    scrapes: Scrapes, start_prometheus: Callable[..., Any], thorough: bool, request: pytest.FixtureRequest
) -> None:
    """In ``make test`` those of a cluster without ZooKeeper."""
    if thorough:
        request.getfixturevalue("zookeeper")
    asked = lambda query: thorough or "zookeeper" not in query  # noqa: E731
    prometheus = start_prometheus()
    assert [one for one in scrapes.empty(prometheus, "Kubernetes") if asked(one[1])] == []
    # What widely used dashboards ask of metrics that Kafka itself has; and what is documented to be missing is missing.
    counted = {expression: scrapes.count(prometheus, expression) for expression in (*OF_KAFKA, *NOT_OF_KAFKA)}
    assert [one for one in OF_KAFKA if not counted[one] and asked(one)] == []
    assert [expression for expression in NOT_OF_KAFKA if counted[expression]] == []
