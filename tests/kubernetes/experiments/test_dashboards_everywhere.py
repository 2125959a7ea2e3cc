"""Every query of every dashboard, in each place where docs/watching.md says that the dashboard is used.

The expositions are those of real commands, real nodes and the operator's own registry while an experiment goes on; a
real Prometheus answers. The agents of this stage are fakes: their series come from the agent's registry.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from experiments.conftest import MANIFESTS, experiment, until
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from highwater_chaos.backends.local.layout import free_ports
from highwater_chaos.promql import Series
from highwater_operator.agent import metrics as agent
from highwater_operator.metrics import REGISTRY as OPERATOR
from highwater_operator.zookeeper import java

from ...assertions.conftest import start_prometheus

__all__ = ["start_prometheus"]
ROOT = Path(__file__).parents[3]
DASHBOARDS = sorted((ROOT / "helm" / "highwater" / "dashboards").glob("*.json"))
FAST = {"replica.lag.time.max.ms": 1500, "replica.fetch.wait.max.ms": 200}
MODES: dict[str, dict[str, Any]] = {
    "kraft": {
        "controllers": 1,
        "config": {**FAST, "broker.session.timeout.ms": 1500, "broker.heartbeat.interval.ms": 300},
    },
    "zookeeper": {"mode": "zookeeper", "zookeepers": 1, "config": {**FAST, "zookeeper.session.timeout.ms": 4000}},
}
SCHEDULE = [
    {"inject": {"kill": {"target": {"followerOf": "orders-0"}, "restartAfter": "4s"}}},
    {"wait": "7s"},
    {"inject": {"pause": {"target": {"leaderOf": "orders-0"}}, "for": "3s"}},
    {"wait": "7s"},
]
needs_zookeeper = pytest.mark.skipif(bool(java.missing()), reason="no ZooKeeper (apt-get install libzookeeper-java)")

_C = 'namespace=~".+",strimzi_io_cluster=~".+"'
_P = f'{_C},kubernetes_pod_name=~".+"'
# Written by us from the metric names, labels and functions that Strimzi's dashboards of Kafka and of KRaft use.
OF_KAFKA = [
    f"count(kafka_server_replicamanager_leadercount{{{_C}}})",
    f"sum(kafka_controller_kafkacontroller_activecontrollercount{{{_C}}})",
    f"sum(kafka_controller_kafkacontroller_offlinepartitionscount{{{_C}}})",
    f"sum(irate(kafka_controller_controllerstats_uncleanleaderelections_total{{{_C}}}[8s]))",
    f"sum(kafka_server_replicamanager_partitioncount{{{_C}}})",
    f"sum(kafka_server_replicamanager_underreplicatedpartitions{{{_C}}})",
    f"sum(kafka_cluster_partition_atminisr{{{_C}}})",
    f"sum(kafka_cluster_partition_underminisr{{{_C}}})",
    f"count(kafka_cluster_partition_replicascount{{{_P}}}) by (topic)",
    *(
        f"sum(irate(kafka_server_brokertopicmetrics_{name}_total{{{_P}}}[8s]))"
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
    f'kafka_log_log_size{{{_P},topic=~".+",partition=~".+"}}',
    *(
        f"sum(kafka_server_raftmetrics_{name}{{{_P}}}) by (kubernetes_pod_name)"
        for name in (
            "append_records_rate",
            "fetch_records_rate",
            "commit_latency_avg",
            "current_leader",
            "current_vote",
            "current_epoch",
            "high_watermark",
            "log_end_offset",
        )
    ),
    "max(kafka_server_raftmetrics_current_state) by (kubernetes_pod_name, current_state)",
    f"zookeeper_outstandingrequests{{{_C}}}",
    f"zookeeper_numaliveconnections{{{_C}}}",
    f"zookeeper_avgrequestlatency{{{_C}}}",
    f"zookeeper_inmemorydatatree_nodecount{{{_C}}}",
]
NOT_OF_KAFKA = [
    f'kafka_server_brokertopicmetrics_bytesin_total{{{_P},topic!=""}}',
    f"kafka_network_socketserver_networkprocessoravgidle_percent{{{_C}}}",
    f"kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent{{{_C}}}",
    f"kafka_server_kafkaserver_linux_disk_write_bytes{{{_C}}}",
    f"kafka_server_socket_server_metrics_connection_count{{{_C}}}",
    f"kafka_server_raftchannelmetrics_incoming_byte_total{{{_C}}}",
    f'process_open_fds{{{_C},container="kafka"}}',
    f"jvm_memory_used_bytes{{{_C}}}",
]
"""docs/watching.md lists these."""


def used_with() -> dict[str, set[str]]:
    """Places by the title of a dashboard, as the docs say."""
    rows = re.findall(r"^\| Highwater / (.+?) \| .* \| (.+?) \|$", (ROOT / "docs" / "watching.md").read_text(), re.M)
    return {title: set(places.split(", ")) for title, places in rows}


def questions(place: str) -> Iterator[tuple[str, str]]:
    """Each query of the dashboards that are used in a place, and where it stands."""
    documented = used_with()
    for path in DASHBOARDS:
        board = json.loads(path.read_text())
        title = board["title"].removeprefix("Highwater / ")
        if place not in documented[title]:
            continue
        for panel in board["panels"]:
            for target in panel.get("targets", []):
                yield f"{title}: {panel['title']}", target["expr"]
        for annotation in board.get("annotations", {}).get("list", []):
            yield f"{title}: annotation {annotation['name']}", annotation["expr"]
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                metric, label = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"]).groups()
                yield f"{title}: ${variable['name']}", f"count by ({label}) ({metric})"


class Scrapes:
    """What was exposed, by series, as Prometheus would have it."""

    def __init__(self) -> None:
        self._series: dict[tuple[tuple[str, str], ...], Series] = {}
        self.began = time.time()

    def take(self, text: str, **given: str) -> None:
        """Take one exposition; a label that it has stays."""
        now = int(time.time() * 1000)
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                labels = {**given, **sample.labels, "__name__": sample.name}
                key = tuple(sorted((name, value) for name, value in labels.items() if value))
                one = self._series.setdefault(key, Series(key))
                if not one.times_ms or now > one.times_ms[-1]:
                    one.times_ms.append(now)
                    one.values.append(sample.value)

    def url(self, port: int) -> None:
        """Scrape a command, if it listens."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                self.take(answer.read().decode())
        except OSError:  # it has not begun, or is over
            return

    def empty(self, prometheus: Any, place: str) -> list[tuple[str, str]]:
        """The queries that return nothing at any time."""
        prometheus.write(self._series.values())
        found = list(questions(place))
        assert found
        assert self.count(prometheus, "kafka_server_replicamanager_leadercounts") == 0, "there is no such metric"
        return [one for one in found if not self.count(prometheus, one[1])]

    def count(self, prometheus: Any, expression: str) -> int:
        """How many series a query returns, of all that the dashboard's variables can choose."""
        promql = re.sub(r"\$\w+", ".*", expression.replace("$__rate_interval", "8s"))
        asked = {"query": promql, "start": self.began, "end": time.time(), "step": "100ms"}
        with urllib.request.urlopen(
            f"{prometheus.url}/api/v1/query_range?{urllib.parse.urlencode(asked)}", timeout=60
        ) as answer:
            return len(json.load(answer)["data"]["result"])


def command(scrapes: Scrapes, folder: Path, *arguments: str, every: float = 0.2) -> None:
    """Run ``highwater`` with metrics, and scrape it with so many seconds in between."""
    (port,) = free_ports(1)
    code = "import sys; from highwater_chaos.cli import main; sys.exit(main())"
    with (folder / "said").open("w+") as said:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments, "--metrics", f"127.0.0.1:{port}"],
            cwd=folder,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        try:
            while process.poll() is None:
                scrapes.url(port)
                time.sleep(every)
        finally:
            process.kill()
    assert process.returncode == 0, (folder / "said").read_text()


def spec(mode: str, rate: str = "30/s") -> dict[str, Any]:
    """A run with faults."""
    topics = [{"name": "orders", "partitions": 2, "replicationFactor": 3}]
    return {
        "timeout": "3m",
        "cluster": {"brokers": 3, "topics": topics, **MODES[mode]},
        "workload": {"producers": 1, "rate": rate, "consumers": 1},
        "schedule": SCHEDULE,
    }


def test_the_docs_name_every_dashboard():
    titles = {json.loads(path.read_text())["title"].removeprefix("Highwater / ") for path in DASHBOARDS}
    assert set(used_with()) == titles
    assert set.union(*used_with().values()) == {"simulator", "local", "Kubernetes", "campaign"}


@pytest.mark.quick("sim")
@pytest.mark.parametrize("backend", ["sim", pytest.param("local", marks=needs_zookeeper)])
def test_of_a_run_no_query_is_empty(backend: str, tmp_path: Path, start_prometheus: Callable[..., Any]) -> None:
    scrapes = Scrapes()
    for mode in MODES:
        # Enough to do that the simulator's seconds are not over before anybody looks.
        made = experiment(f"watched-{mode}", **spec(mode, "150/s" if backend == "sim" else "30/s"))
        made["metadata"] = {"name": f"watched-{mode}"}
        (tmp_path / f"{mode}.yaml").write_text(yaml.safe_dump(made))
    files = [f"{mode}.yaml" for mode in MODES]
    command(scrapes, tmp_path, "run", *files, "--backend", backend, every=0.05 if backend == "sim" else 0.2)
    place = "simulator" if backend == "sim" else backend
    assert scrapes.empty(start_prometheus(), place) == []


@pytest.mark.thorough
def test_of_a_campaign_no_query_is_empty(tmp_path: Path, start_prometheus: Callable[..., Any]) -> None:
    scrapes = Scrapes()
    text = (ROOT / "scenarios" / "kip-903" / "kafka-14139.yaml").read_text()
    (tmp_path / "loses.yaml").write_text(text.replace("rate: 200/s", "rate: 40/s"))
    seeds = ("--switch", "replica-epoch-check=off", "--seeds", "1..6", "--jobs", "1", "--keep", "0")
    command(scrapes, tmp_path, "campaign", "loses.yaml", *seeds, "--out", "campaign")
    assert scrapes.empty(start_prometheus(), "campaign") == []


def relabelled(pod: Any) -> dict[str, str]:
    """The labels that the PodMonitor gives to a pod's series."""
    monitors = yaml.safe_load_all((MANIFESTS / "components" / "monitoring" / "pod-monitors.yaml").read_text())
    (nodes,) = [one for one in monitors if one["metadata"]["name"] == "highwater-nodes"]
    about = {"namespace": pod["metadata"]["namespace"], "pod_name": pod["metadata"]["name"], "pod_node_name": "node-0"}
    for name, value in pod["metadata"]["labels"].items():
        about["pod_label_" + re.sub(r"[^a-zA-Z0-9_]", "_", name)] = value
    given = {}
    for rule in nodes["spec"]["podMetricsEndpoints"][0]["relabelings"]:
        if rule["action"] == "labelmap":
            for name, value in about.items():
                if matched := re.fullmatch(rule["regex"], f"__meta_kubernetes_{name}"):
                    given[matched[1]] = value
        else:
            (source,) = rule["sourceLabels"]
            given[rule["targetLabel"]] = about[source.removeprefix("__meta_kubernetes_")]
    return given


def text_of(registry: CollectorRegistry) -> str:
    return generate_latest(registry).decode()


@needs_zookeeper
def test_on_kubernetes_no_query_is_empty(real: Any, start_prometheus: Callable[..., Any]) -> None:
    scrapes, over = Scrapes(), threading.Event()

    def scrape() -> None:
        while not over.wait(0.5):
            agent.HEAL_SECONDS.labels("kill").observe(0.2)
            scrapes.take(text_of(OPERATOR), namespace="highwater-system")
            scrapes.take(text_of(agent.REGISTRY), namespace="highwater-system", node="node-0")
            for pod in real.api.objects("v1", "Pod", "default"):
                if (text := real.agents[0].answers(pod["metadata"]["name"], "metrics", 0)) is not None:
                    scrapes.take(text.decode(), **relabelled(pod))

    real.start()
    scraper = threading.Thread(target=scrape)
    scraper.start()
    try:
        for mode in MODES:
            real.api.create(experiment(f"watched-{mode}", **spec(mode)))
            until(lambda mode=mode: real.phase(f"watched-{mode}") == "Completed", "the verdict", 300)
            status = real.status(f"watched-{mode}")
            assert status["verdict"] == "pass", json.dumps(status, indent=1)
            assert status["progress"]["acknowledgedRecords"] > 0
            kinds = status["progress"]["faults"]
            assert {kind: one["injected"] - one["healed"] for kind, one in kinds.items()} == {"kill": 0, "pause": 0}
            assert all(one["timedHeals"] == 1 and 0 < one["healSeconds"] < 60 for one in kinds.values())
        time.sleep(1)  # the last values are scraped
    finally:
        over.set()
        scraper.join()
    prometheus = start_prometheus()
    assert scrapes.empty(prometheus, "Kubernetes") == []
    # What widely used dashboards ask of metrics that Kafka itself has; and what is documented to be missing is missing.
    counted = {expression: scrapes.count(prometheus, expression) for expression in (*OF_KAFKA, *NOT_OF_KAFKA)}
    assert [expression for expression in OF_KAFKA if not counted[expression]] == []
    assert [expression for expression in NOT_OF_KAFKA if counted[expression]] == []
