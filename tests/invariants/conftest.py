"""Runs small experiments in the simulator, as given or with a bug put into the runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest

from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import parse_experiment
from highwater_chaos.run.result import RunResult
from highwater_chaos.verdict.check import check_recordings
from highwater_chaos.verdict.checked_run import write_run
from highwater_pipeline.anomalies import INSIDE_CHECKS

FILE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: test}}
spec:
  seed: {seed}
  timeout: 2m
  recovery: {recovery}
  checks: [{checks}]
  cluster:
    brokers: 3
    controllers: {controllers}
    config:
      min.insync.replicas: {min_isr}
      replica.lag.time.max.ms: 2000
      broker.session.timeout.ms: 3000
      broker.heartbeat.interval.ms: 500
      request.timeout.ms: 3000
      controller.socket.timeout.ms: 3000
      replica.socket.timeout.ms: 3000
      log.retention.check.interval.ms: 2000
      log.segment.delete.delay.ms: {delete_delay_ms}
{config}
    topics: [{topic}]
  workload: {workload}
  schedule: {schedule}
"""


@dataclass(frozen=True)
class Simulated:
    """A run, with the names of what the simulator saw while it went on, and of what the recordings show."""

    result: RunResult
    violations: set[str]
    anomalies: set[str]


@pytest.fixture
def simulate(tmp_path: Path) -> Callable[..., Simulated]:
    """Runs an experiment: ``schedule`` and ``workload`` as YAML, ``topic`` one topic of it. Only checks of the inside
    judge its recordings."""

    def run(
        schedule: str = "[]",
        *,
        seed: int = 1,
        min_isr: int = 1,
        controllers: int = 3,
        recovery: str = "30s",
        delete_delay_ms: int = 60_000,
        config: Mapping[str, int] = MappingProxyType({}),
        topic: str = "{name: orders, partitions: 1, assignment: [[0, 1]]}",
        workload: str = "{producers: 1, rate: 20/s}",
    ) -> Simulated:
        text = FILE.format(
            seed=seed,
            min_isr=min_isr,
            controllers=controllers,
            recovery=recovery,
            delete_delay_ms=delete_delay_ms,
            config="\n".join(f"      {name}: {value}" for name, value in config.items()),
            checks=", ".join(INSIDE_CHECKS),
            topic=topic,
            workload=workload,
            schedule=schedule,
        )
        experiment = parse_experiment(text, "test.yaml")
        result = run_experiment(experiment, SimBackend())
        write_run(tmp_path, experiment, result, wire=False)
        run_verdict = check_recordings(experiment, tmp_path)
        without_ids = set() if experiment.spec.workload.idempotence else {"producer-id-reused"}
        assert {name for name, state in run_verdict.checks.items() if state == "not-available"} == without_ids
        return Simulated(result, {violation.name for violation in result.violations}, set(run_verdict.anomalies))

    return run
