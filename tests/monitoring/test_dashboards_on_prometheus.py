"""Every query of every dashboard, asked of a real Prometheus that scraped runs with faults in both modes.

Runs and the campaign are real commands. What operator and agents say comes from their registries, served by this
process: no Kubernetes is here. Here Prometheus itself scrapes; ``kubernetes/experiments/test_dashboards_everywhere.py``
asks the same queries of each place, and more. This one writes the table of docs/dashboards.md.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from prometheus_client import start_http_server

from highwater_chaos.backends.local.layout import free_ports
from highwater_operator.agent import metrics as agent
from highwater_operator.experiments.metrics import EXPERIMENTS
from highwater_operator.metrics import REGISTRY as OPERATOR
from highwater_operator.objects.config_map import zoo_cfg
from highwater_operator.objects.naming import Owner
from highwater_operator.resources import LogClusterSpec
from highwater_operator.zookeeper import java

pytestmark = pytest.mark.thorough
ROOT = Path(__file__).parents[2]
DASHBOARDS = ROOT / "helm" / "highwater" / "dashboards"
CLUSTER = {
    "brokers": 3,
    "topics": [{"name": "orders", "partitions": 2, "replicationFactor": 3}],
    "config": {"replica.lag.time.max.ms": 1500},
}
MODES = {
    "kraft": {"controllers": 1, "config": {"broker.session.timeout.ms": 1500, "broker.heartbeat.interval.ms": 300}},
    "zookeeper": {"mode": "zookeeper", "zookeepers": 1, "config": {"zookeeper.session.timeout.ms": 4000}},
}
SCHEDULE = [
    {"inject": {"kill": {"target": {"followerOf": "orders-0"}, "restartAfter": "4s"}}},
    {"wait": "7s"},
    {"inject": {"pause": {"target": {"leaderOf": "orders-0"}}, "for": "3s"}},
    {"wait": "7s"},
]


class Recorded(NamedTuple):
    """A Prometheus, and the time in which it scraped."""

    url: str
    began: float
    ended: float

    def series(self, expression: str) -> int:
        """How many series a panel would show, of all that the dashboard's variables can choose."""
        promql = re.sub(r"\$__rate_interval", "8s", expression)
        promql = re.sub(r"\$\w+", ".*", promql)  # All, in every variable
        query = urllib.parse.urlencode({"query": promql, "start": self.began, "end": self.ended, "step": "2s"})
        with urllib.request.urlopen(f"{self.url}/api/v1/query_range?{query}", timeout=60) as answer:
            return len(json.load(answer)["data"]["result"])


def experiment(mode: str) -> dict[str, Any]:
    cluster = {**CLUSTER, **MODES[mode], "config": {**CLUSTER["config"], **MODES[mode]["config"]}}
    spec = {
        "seed": 3,
        "timeout": "3m",
        "cluster": cluster,
        "workload": {"producers": 1, "rate": "30/s", "consumers": 1},
        "schedule": SCHEDULE,
        "expect": [{"verdict": "pass"}],
    }
    metadata = {"name": f"watched-{mode}"}
    return {"apiVersion": "highwater.dev/v1alpha1", "kind": "ChaosExperiment", "metadata": metadata, "spec": spec}


def highwater(*arguments: str, folder: Path) -> subprocess.Popen[str]:
    code = "import sys; from highwater_chaos.cli import main; sys.exit(main())"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, start_prometheus: Callable[..., Any]) -> Iterator[Recorded]:
    if java.missing():
        pytest.skip("no ZooKeeper here (apt-get install libzookeeper-java)")
    folder = tmp_path_factory.mktemp("watched")
    run, campaign, operator, agents, admin, *ensemble = free_ports(8)
    scraped = {"namespace": "local", "strimzi_io_cluster": "watched-zookeeper", "kubernetes_pod_name": "z-zookeeper-0"}
    targets: list[tuple[str, int, dict[str, str]]] = [
        ("run", run, {}),
        ("campaign", campaign, {}),
        ("operator", operator, {}),
        ("agent", agents, {"node": "machine"}),
        ("zookeeper", admin, scraped),
    ]
    jobs = [
        {
            "job_name": name,
            "honor_labels": True,
            "static_configs": [{"targets": [f"127.0.0.1:{port}"], "labels": labels}],
        }
        for name, port, labels in targets
    ]
    config = yaml.safe_dump({"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": jobs})
    server = start_prometheus(config=config)
    for mode in MODES:
        (folder / f"{mode}.yaml").write_text(yaml.safe_dump(experiment(mode)))
    text = (ROOT / "scenarios" / "kip-903" / "kafka-14139.yaml").read_text()
    assert "rate: 200/s" in text
    (folder / "loses.yaml").write_text(text.replace("rate: 200/s", "rate: 40/s"))
    EXPERIMENTS.remember({"metadata": {"namespace": "team", "name": "one"}, "status": {"verdict": "pass"}})
    served = [
        start_http_server(operator, "127.0.0.1", OPERATOR),
        start_http_server(agents, "127.0.0.1", agent.REGISTRY),
    ]
    agent.IN_FORCE.set(1)
    started: list[subprocess.Popen[Any]] = []
    began = time.time()
    try:
        started.append(zookeeper(folder, admin, *ensemble))
        seeds = highwater(
            *("campaign", "loses.yaml", "--switch", "replica-epoch-check=off", "--seeds", "1..6"),
            *("--jobs", "1", "--keep", "0", "--metrics", f"127.0.0.1:{campaign}", "--out", "campaign"),
            folder=folder,
        )
        started.append(seeds)
        healing = threading.Event()
        threading.Thread(target=heal_now_and_then, args=(healing,), daemon=True).start()
        assert seeds.wait(300) == 0, seeds.stdout.read() if seeds.stdout else ""
        runs = highwater(
            "run", "kraft.yaml", "zookeeper.yaml", "--backend", "local", "--metrics", f"127.0.0.1:{run}", folder=folder
        )
        started.append(runs)
        said, _ = runs.communicate(timeout=300)
        assert runs.returncode == 0, said
        healing.set()
        yield Recorded(server.url, began, time.time())
    finally:
        EXPERIMENTS.forget("team", "one")
        for process in started:
            if process.poll() is None:
                process.terminate()
                process.wait(60)
        for one in served:
            if isinstance(one, tuple):  # older releases return nothing
                one[0].shutdown()


def heal_now_and_then(over: threading.Event) -> None:
    while not over.wait(0.5):
        agent.HEAL_SECONDS.labels("kill").observe(0.2)


def zookeeper(folder: Path, admin: int, client: int, quorum: int, election: int) -> subprocess.Popen[bytes]:
    """A real server, alone in its ensemble, as the process of a pod."""
    spec = LogClusterSpec.model_validate({"mode": "zookeeper", "zookeepers": 1})
    text = zoo_cfg(Owner("z", "ns", "uid", spec))
    for pattern, found in (
        (r"^server\.1=.*$", f"server.1=127.0.0.1:{quorum}:{election}"),
        (r"^clientPort=.*$", f"clientPort={client}"),
        (r"^dataDir=.*$", f"dataDir={folder / 'zookeeper-data'}"),
    ):
        text = re.sub(pattern, found, text, flags=re.MULTILINE)
    (folder / "z.cfg").write_text(text)
    command = [sys.executable, "-m", "highwater_operator.zookeeper.main", str(folder / "z.cfg")]
    command += ["--pod", "z-zookeeper-0", "--admin", f"http://127.0.0.1:{admin}"]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL)


def questions() -> Iterator[tuple[str, str]]:
    """Each query that a dashboard asks, with where."""
    for path in sorted(DASHBOARDS.glob("*.json")):
        dashboard = json.loads(path.read_text())
        for panel in dashboard["panels"]:
            for target in panel.get("targets", []):
                yield f"{dashboard['title'].removeprefix('Highwater / ')}: {panel['title']}", target["expr"]
        for annotation in dashboard.get("annotations", {}).get("list", []):
            yield (
                f"{dashboard['title'].removeprefix('Highwater / ')}: annotation {annotation['name']}",
                annotation["expr"],
            )


def test_every_query_of_every_dashboard_returns_data(recorded):
    found = [(where, expression, recorded.series(expression)) for where, expression in questions()]
    assert len(found) > 60
    if table := os.environ.get("HIGHWATER_DASHBOARD_TABLE"):
        lines = [f"| {where} | `{expression}` | {count} |".replace(" || ", " ") for where, expression, count in found]
        Path(table).write_text("\n".join(["| panel | query | series |", "|---|---|---|", *lines]) + "\n")
    assert not [one for one in found if not one[2]]
    assert recorded.series("kafka_server_replicamanager_leadercounts") == 0, "what is not there is seen not to be"
