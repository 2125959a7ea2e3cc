"""What was exposed while something ran, as Prometheus would have it, and every query of every dashboard."""

from __future__ import annotations

import functools
import json
import re
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from experiments.conftest import MANIFESTS
from prometheus_client.parser import text_string_to_metric_families

from highwater_chaos.promql.series import Series

ROOT = Path(__file__).parents[3]
DASHBOARDS = sorted((ROOT / "helm" / "highwater" / "dashboards").glob("*.json"))


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


@functools.cache
def relabelings() -> list[Any]:
    monitors = yaml.safe_load_all((MANIFESTS / "components" / "monitoring" / "pod-monitors.yaml").read_text())
    (nodes,) = [one for one in monitors if one["metadata"]["name"] == "highwater-nodes"]
    return list(nodes["spec"]["podMetricsEndpoints"][0]["relabelings"])


def relabelled(pod: Any) -> dict[str, str]:
    """The labels that the PodMonitor gives to a pod's series."""
    about = {"namespace": pod["metadata"]["namespace"], "pod_name": pod["metadata"]["name"], "pod_node_name": "node-0"}
    for name, value in pod["metadata"]["labels"].items():
        about["pod_label_" + re.sub(r"[^a-zA-Z0-9_]", "_", name)] = value
    given = {}
    for rule in relabelings():
        if rule["action"] == "labelmap":
            for name, value in about.items():
                if matched := re.fullmatch(rule["regex"], f"__meta_kubernetes_{name}"):
                    given[matched[1]] = value
        else:
            (source,) = rule["sourceLabels"]
            given[rule["targetLabel"]] = about[source.removeprefix("__meta_kubernetes_")]
    return given
