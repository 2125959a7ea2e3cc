"""Runs small experiments in the simulator, as given or with a bug put into the runtime."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.engine import RunResult, run_experiment
from highwater_chaos.experiment import parse_experiment

FILE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: test}}
spec:
  seed: {seed}
  timeout: 2m
  recovery: {recovery}
  cluster:
    brokers: 3
    controllers: {controllers}
    config:
      min.insync.replicas: {min_isr}
      replica.lag.time.max.ms: 2000
      broker.session.timeout.ms: 3000
      broker.heartbeat.interval.ms: 500
      request.timeout.ms: 3000
      replica.socket.timeout.ms: 3000
    topics: [{topic}]
  workload: {workload}
  schedule: {schedule}
"""

Simulate = Callable[..., RunResult]


@pytest.fixture(scope="session")
def simulate() -> Simulate:
    """Runs an experiment: ``schedule`` and ``workload`` as YAML in flow style, ``topic`` one topic of it."""

    def run(
        schedule: str = "[]",
        *,
        seed: int = 1,
        min_isr: int = 1,
        controllers: int = 3,
        recovery: str = "30s",
        topic: str = "{name: orders, partitions: 1, assignment: [[0, 1]]}",
        workload: str = "{producers: 1, rate: 50/s}",
    ) -> RunResult:
        text = FILE.format(
            seed=seed,
            min_isr=min_isr,
            controllers=controllers,
            recovery=recovery,
            topic=topic,
            workload=workload,
            schedule=schedule,
        )
        return run_experiment(parse_experiment(text, "test.yaml"), SimBackend())

    return run
