"""Every query of every dashboard, in each place where docs/watching.md says that the dashboard is used.

The expositions are those of real commands; a real Prometheus answers. Those of a cluster are in ``test_whole_runs.py``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from experiments.conftest import experiment
from experiments.scrapes import DASHBOARDS, ROOT, Scrapes, used_with

from highwater_chaos.backends.local.layout import free_ports
from highwater_operator.zookeeper import java

from ...assertions.conftest import start_prometheus

__all__ = ["start_prometheus"]
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


@pytest.mark.thorough
@pytest.mark.parametrize("backend", ["sim", pytest.param("local", marks=needs_zookeeper)])
def test_of_a_run_no_query_is_empty(backend: str, tmp_path: Path, start_prometheus: Callable[..., Any]) -> None:
    scrapes = Scrapes()
    for mode in MODES:
        # Enough to do that the simulator's seconds are not over before anybody looks.
        made = experiment(f"watched-{mode}", **spec(mode, "60/s" if backend == "sim" else "30/s"))
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
