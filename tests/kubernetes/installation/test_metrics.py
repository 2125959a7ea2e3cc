"""Dashboards and alerts name only metrics and labels that something exposes; and Kafka's are there from the start."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any, NamedTuple

import promql_parser
import pytest
import yaml
from confluent_kafka.admin import AdminClient, NewTopic
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from highwater_chaos.backends.local.layout import free_ports
from highwater_chaos.monitoring import CampaignMetrics, RunMetrics
from highwater_operator.agent.metrics import REGISTRY as AGENT
from highwater_operator.experiments.metrics import EXPERIMENTS
from highwater_operator.metrics import REGISTRY as OPERATOR
from highwater_operator.zookeeper.metrics import COUNTERS, GAUGES, LEADING, SERVING, SYNCED_FOLLOWERS

from .conftest import CHART, MONITORING

PATIENCE = 60
# What the PodMonitors' relabelling and Prometheus itself put to every series.
GIVEN = {"namespace", "pod", "container", "job", "instance", "endpoint"}
OF_NODES = GIVEN | {"strimzi_io_cluster", "strimzi_io_name", "kubernetes_pod_name", "node_name"}
OF_AGENTS = GIVEN | {"node"}
# design: names as Kafka's JMX exporter rules give them, counters there from the start with 0.
BROKER_COUNTERS = [
    *(f"kafka_server_replicamanager_{name}_total" for name in ("isrshrinks", "isrexpands", "failedisrupdates")),
    *(
        f"kafka_server_brokertopicmetrics_{name}_total"
        for name in (
            "bytesin",
            "bytesout",
            "messagesin",
            "totalproducerequests",
            "failedproducerequests",
            "totalfetchrequests",
            "failedfetchrequests",
        )
    ),
]
BROKER_GAUGES = [
    f"kafka_server_replicamanager_{name}"
    for name in (
        "leadercount",
        "partitioncount",
        "underreplicatedpartitions",
        "underminisrpartitioncount",
        "atminisrpartitioncount",
        "offlinereplicacount",
    )
]
PARTITION_GAUGES = ["kafka_cluster_partition_underminisr", "kafka_cluster_partition_atminisr", "kafka_log_log_size"]
CONTROLLER = [
    *(
        f"kafka_controller_kafkacontroller_{name}"
        for name in ("activecontrollercount", "offlinepartitionscount", "fencedbrokercount", "activebrokercount")
    ),
    "kafka_controller_controllerstats_uncleanleaderelections_total",
]
RAFT = [
    f"kafka_server_raftmetrics_{name}"
    for name in (
        "current_state",
        "current_leader",
        "current_vote",
        "current_epoch",
        "high_watermark",
        "log_end_offset",
        "append_records_rate",
        "fetch_records_rate",
        "commit_latency_avg",
    )
]


class Scraped(NamedTuple):
    """Series of one process: its metrics' label names and values by metric name."""

    labels: dict[str, set[str]]
    values: dict[str, list[float]]


def scraped(text: str) -> Scraped:
    found = Scraped({}, {})
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.labels.setdefault(sample.name, set()).update(sample.labels)
            found.values.setdefault(sample.name, []).append(sample.value)
    return found


class Nodes(NamedTuple):
    """One controller and one broker, before there is a topic and with one."""

    controller: Scraped
    broker: Scraped
    broker_with_topic: Scraped


def page(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""
    except (urllib.error.URLError, ConnectionError):
        return 0, ""


def wait_ready(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while page(port, "/readyz")[0] != 200:
        assert process.poll() is None, "the node ended"
        assert time.monotonic() < deadline, "the node is not ready"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    folder = tmp_path_factory.mktemp("nodes")
    ports = free_ports(4)
    started: list[subprocess.Popen[bytes]] = []

    def start(role: str, node_id: int, listener: str, port: int, admin: int) -> subprocess.Popen[bytes]:
        config = folder / f"{role}.properties"
        config.write_text(
            f"process.roles={role}\nnode.id={node_id}\ncluster.id=highwater-cluster-0001\n"
            f"controller.quorum.voters=1000@127.0.0.1:{ports[0]}\nlisteners={listener}://127.0.0.1:{port}\n"
            f"log.dirs={folder / role}\nhighwater.admin.listener=http://127.0.0.1:{admin}\n"
        )
        with (folder / f"{role}.log").open("wb") as log:
            process = subprocess.Popen([sys.executable, "-m", "highwater_runtime.host.main", config], stderr=log)
        started.append(process)
        wait_ready(process, admin)
        return process

    try:
        start("controller", 1000, "CONTROLLER", ports[0], ports[1])
        start("broker", 0, "PLAINTEXT", ports[2], ports[3])
        broker = scraped(page(ports[3], "/metrics")[1])
        admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{ports[2]}"})
        (made,) = admin.create_topics([NewTopic("orders", 1, 1)]).values()
        made.result(PATIENCE)
        deadline = time.monotonic() + PATIENCE
        while "kafka_log_log_size" not in (with_topic := scraped(page(ports[3], "/metrics")[1])).labels:
            assert time.monotonic() < deadline, "the broker does not lead the topic"
            time.sleep(0.05)
        yield Nodes(scraped(page(ports[1], "/metrics")[1]), broker, with_topic)
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def test_kafkas_metrics_are_there_from_the_start(nodes):
    for name in BROKER_COUNTERS:
        # Metadata is no topic of a broker's: nothing has been produced or fetched yet.
        assert nodes.broker.values.get(name) == [0.0], name
    for name in BROKER_GAUGES:
        assert nodes.broker.values.get(name) == [0.0], name
    for name in RAFT:
        assert name in nodes.broker.values, name
        assert name in nodes.controller.values, name
    for name in CONTROLLER:
        assert name in nodes.controller.values, name
    assert nodes.controller.values["kafka_controller_kafkacontroller_activecontrollercount"] == [1.0]
    assert nodes.controller.values["kafka_controller_controllerstats_uncleanleaderelections_total"] == [0.0]


def test_the_quorum_counts_what_it_appends_fetches_and_commits(nodes):
    leads, follows = nodes.controller.values, nodes.broker_with_topic.values
    assert leads["kafka_server_raftmetrics_append_records_rate"][0] > 0
    assert leads["kafka_server_raftmetrics_commit_latency_avg"][0] > 0
    assert leads["kafka_server_raftmetrics_fetch_records_rate"] == [0.0]
    assert follows["kafka_server_raftmetrics_fetch_records_rate"][0] > 0
    assert follows["kafka_server_raftmetrics_append_records_rate"] == [0.0]


def test_each_partition_says_where_it_stands(nodes):
    found = nodes.broker_with_topic
    for name in PARTITION_GAUGES:
        assert found.labels[name] == {"topic", "partition"}, name
    for name, value in (
        ("kafka_cluster_partition_insyncreplicascount", 1),
        ("kafka_cluster_partition_replicascount", 1),
        ("kafka_cluster_partition_underreplicated", 0),
        ("kafka_log_log_logstartoffset", 0),
        ("kafka_log_log_logendoffset", 0),
        ("highwater_partition_high_watermark", 0),
        ("highwater_partition_leader_epoch", 0),
        ("highwater_partition_leads", 1),
    ):
        assert found.labels[name] == {"topic", "partition"}
        assert found.values[name] == [value], name


# --- what the dashboards and alerts ask for ---


def expressions() -> Iterator[tuple[str, str]]:
    """Every PromQL expression that ships, with where it is."""
    for path in sorted((CHART / "dashboards").glob("*.json")):
        dashboard = json.loads(path.read_text())
        for panel in dashboard["panels"]:
            for target in panel.get("targets", []):
                yield f"{path.name}: {panel['title']}", target["expr"]
        for annotation in dashboard.get("annotations", {}).get("list", []):
            yield f"{path.name}: {annotation['name']}", annotation["expr"]
        for variable in dashboard["templating"]["list"]:
            if variable["type"] == "query":
                asked = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"])
                assert asked, variable["query"]
                yield f"{path.name}: ${variable['name']}", f"max by ({asked[2]}) ({asked[1]})"
    rules = yaml.safe_load((MONITORING / "prometheus-rule.yaml").read_text())
    for group in rules["spec"]["groups"]:
        for rule in group["rules"]:
            yield f"rule {rule['alert']}", rule["expr"]


def parts(expression: Any) -> Iterator[Any]:
    """An expression and all below it."""
    yield expression
    for field in ("expr", "lhs", "rhs", "param", "vector_selector", "vs", "args"):
        below = getattr(expression, field, None)
        for one in below if isinstance(below, list) else [below]:
            if one is not None and not isinstance(one, str):
                yield from parts(one)


def parsed(expression: str) -> Any:
    return promql_parser.parse(expression.replace("$__rate_interval", "1m"))


def exposed(nodes: Nodes) -> dict[str, set[str]]:
    """Label names of every series that Prometheus will have, by metric."""
    found: dict[str, set[str]] = {}
    for scrape in (nodes.controller, nodes.broker_with_topic):
        for name, labels in scrape.labels.items():
            found.setdefault(name, set()).update(labels | OF_NODES)
    for name in (SERVING, LEADING, SYNCED_FOLLOWERS, *GAUGES, *COUNTERS):
        found.setdefault(name, set()).update(OF_NODES)
    harness = ((RunMetrics().registry, set()), (CampaignMetrics("x", ["x"], 1).registry, set()))
    for registry, given in ((OPERATOR, GIVEN), (AGENT, OF_AGENTS), *harness):
        for name, labels in declared(registry).items():
            found.setdefault(name, set()).update(labels | given)
    return found


def declared(registry: CollectorRegistry) -> dict[str, set[str]]:
    """What a registry will expose, series or not yet: with the labels that it was declared with."""
    found: dict[str, set[str]] = {}
    for collector in registry._collector_to_names:  # no public way to the label names of a metric without series
        names, labels = registry._collector_to_names[collector], set(getattr(collector, "_labelnames", ()))
        for name in names:
            found[name] = labels | ({"le"} if name.endswith("_bucket") else set())
    if registry is OPERATOR:  # what it says of experiments is made at each scrape
        kinds = {"kill": {"injected": 1, "healed": 1, "timedHeals": 1, "healSeconds": 1.0}}
        progress = {"faults": kinds, "acknowledgedRecords": 1, "openOperations": 0}
        status = {"verdict": "pass", "progress": progress}
        EXPERIMENTS.remember({"metadata": {"namespace": "a", "name": "b"}, "status": status})
        for family in EXPERIMENTS.collect():
            for sample in family.samples:
                found.setdefault(sample.name, set()).update(sample.labels)
        EXPERIMENTS.forget("a", "b")
    assert set(scraped(generate_latest(registry).decode()).labels) <= set(found)
    return found


def metrics_of(expression: str) -> Iterator[tuple[str, set[str]]]:
    """Metric names, each with the labels that it is selected by."""
    for part in parts(parsed(expression)):
        if isinstance(part, promql_parser.VectorSelector):
            yield part.name, {matcher.name for matcher in part.matchers.matchers}


def test_only_metrics_and_labels_that_exist_are_asked_for(nodes):
    known = exposed(nodes)
    seen = set()
    for where, expression in expressions():
        found = list(metrics_of(expression))
        assert found, where
        for name, labels in found:
            assert name in known, f"{where}: nothing exposes {name}"
            assert labels <= known[name], f"{where}: {name} has no label {labels - known[name]}"
        every = set.union(*(known[name] for name, _ in found))
        for clause in re.findall(r"(?:by|on|group_left|group_right) \(([^)]*)\)", expression):
            assert {word.strip() for word in clause.split(",") if word.strip()} <= every, where
        seen |= {name for name, _ in found}
    # The story that the first dashboard is for.
    assert {
        "kafka_cluster_partition_insyncreplicascount",
        "kafka_server_replicamanager_underreplicatedpartitions",
        "kafka_controller_kafkacontroller_activecontrollercount",
        "kafka_server_raftmetrics_current_epoch",
        "highwater_partition_leader_epoch",
        "highwater_partition_high_watermark",
        "highwater_agent_faults_in_force",
    } <= seen


def test_the_parser_looks_everywhere():
    asked = 'sum(rate(a{x="1"}[5m])) / on (x) group_left () max by (y) (b * c) > 0 or increase(d[$__rate_interval])'
    assert [name for name, _ in metrics_of(asked)] == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="unclosed left parenthesis"):
        parsed("sum(")


def test_dashboards_are_whole():
    for path in sorted((CHART / "dashboards").glob("*.json")):
        dashboard = json.loads(path.read_text())
        ids = [panel["id"] for panel in dashboard["panels"]]
        assert len(ids) == len(set(ids))
        assert dashboard["uid"] == path.stem
        variables = {variable["name"] for variable in dashboard["templating"]["list"]}
        for where, expression in expressions():
            if not where.startswith(path.name):
                continue
            for used in re.findall(r"\$(\w+)", expression):
                assert used in variables | {"__rate_interval"}, where
        taken: set[tuple[int, int]] = set()
        for panel in dashboard["panels"]:
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            assert not cells & taken, panel["title"]
            assert at["x"] + at["w"] <= 24
            taken |= cells
