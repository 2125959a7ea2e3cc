"""State directories of the tests' own, what runs leave on the machine, and small experiments on real processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from waiting import until

from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.experiment.load import parse_experiment
from highwater_chaos.machine.kernel import linux
from highwater_chaos.machine.kernel.proc import pids, variable_of
from highwater_chaos.machine.network.namespaces import NETNS, marked_for
from highwater_chaos.machine.process.processes import RUN_MARK

QUICK = """
      broker.session.timeout.ms: 1500
      broker.heartbeat.interval.ms: 200
      replica.lag.time.max.ms: 2000
      replica.socket.timeout.ms: 1000
      controller.quorum.election.timeout.ms: 300
      controller.quorum.fetch.timeout.ms: 1000
      controller.quorum.election.backoff.max.ms: 200
      controller.quorum.request.timeout.ms: 1000
"""
"""Time-outs that let a cluster notice within seconds; a loaded machine must not miss them."""


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state directory of the test's own; nothing of its runs may be on the machine when the test ends."""
    root = tmp_path / "state"
    root.mkdir(mode=0o755)
    monkeypatch.setenv("HIGHWATER_STATE_DIR", str(root))
    yield root
    assert leftovers(root) == []


@pytest.fixture
def await_true() -> Callable[..., None]:
    """Wait until something holds, generously."""
    return until


@pytest.fixture
def left_behind() -> Callable[[Path], list[str]]:
    """What runs below a state directory have on the machine."""
    return leftovers


def leftovers(root: Path) -> list[str]:
    left = [f"mount {point}" for point in linux.mount_points(root)]
    marked = ((pid, variable_of(pid, RUN_MARK)) for pid in pids())  # of whatever user
    left += [f"process {pid}" for pid, run in marked if run is not None and Path(run).is_relative_to(root)]
    if NETNS.is_dir():
        runs = {path.name: marked_for(path.name) for path in NETNS.glob("hw-*")}
        left += [f"namespace {name}" for name, run in runs.items() if run and Path(run).is_relative_to(root)]
    return left + [f"run {path.name}" for path in (root.iterdir() if root.is_dir() else ()) if path.is_dir()]


@pytest.fixture(scope="session")
def experiment() -> Callable[..., ChaosExperiment]:
    """A small experiment with this schedule (lines of YAML), and other fields of the cluster."""

    def make(
        schedule: str, *, brokers: int = 2, controllers: int = 1, cluster: str = "", **spec: Any
    ) -> ChaosExperiment:
        return parse_experiment(experiment_text(schedule, brokers, controllers, cluster, **spec), "test")

    return make


def experiment_text(schedule: str, brokers: int = 2, controllers: int = 1, cluster: str = "", **spec: Any) -> str:
    """The text of a small experiment; lines of ``schedule`` and ``cluster`` are indented by four."""
    lines = [
        "apiVersion: highwater.dev/v1alpha1",
        "kind: ChaosExperiment",
        "metadata: {name: small}",
        "spec:",
        f"  timeout: {spec.get('timeout', '4m')}",
        f"  recovery: {spec.get('recovery', '60s')}",
        f"  seed: {spec.get('seed', 7)}",
        "  cluster:",
        f"    brokers: {brokers}",
        f"    controllers: {controllers}",
        *cluster.splitlines(),
        "    config:" + QUICK.rstrip(),
        f"    topics: [{{name: orders, partitions: 1, replicationFactor: {brokers}}}]",
        f"  workload: {spec.get('workload', '{producers: 1, rate: 50/s, consumers: 1}')}",
        "  schedule:",
        *(f"    {line}" for line in schedule.strip().splitlines()),
        f"  expect: [{{verdict: {spec.get('verdict', 'pass')}}}]",
    ]
    return "\n".join(lines) + "\n"


@pytest.fixture
def small_file(tmp_path: Path) -> Callable[..., Path]:
    """A small experiment as a file."""

    def write(schedule: str, **options: Any) -> Path:
        path = tmp_path / "small.yaml"
        path.write_text(experiment_text(schedule, **options), encoding="utf-8")
        return path

    return write
