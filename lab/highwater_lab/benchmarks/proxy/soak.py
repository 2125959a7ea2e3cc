"""Random rules about messages and kills on Apache Kafka, for long, with the memory of the proxies over time."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import psutil

from highwater_chaos.experiment import parse_experiment
from highwater_chaos.verdict.checked_run import run_and_check

_PROGRAM: Final = "highwater_runtime.host.proxy.main"
_EVERY_S: Final = 10.0
_SETTLED_S: Final = 60.0
_MOST_GROWTH: Final = 1.5
_EXPERIMENT: Final = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: proxy-soak}}
spec:
  seed: {seed}
  timeout: {timeout}s
  recovery: 3m
  cluster:
    runtime: apache-kafka
    brokers: 3
    controllers: 3
    config:
      min.insync.replicas: 2
      replica.lag.time.max.ms: 6000
      broker.session.timeout.ms: 4000
      broker.heartbeat.interval.ms: 500
    topics: [{{name: orders, partitions: 3, replicationFactor: 3}}]
  workload: {{producers: 2, rate: 500/s, acks: all, idempotence: true, consumers: 1}}
  schedule:
    - await: {{acked: {{atLeast: 50}}, within: 120s}}
    - random:
        for: {seconds}s
        every: 2s
        lasting: 6s
        faults: {{hold: 4, drop: 4, delay: 4, duplicate: 4, kill: 1}}
        targets: [brokers, controllers]
        spare: lastInSync
  checks: [all]
"""


def soak(minutes: float, seed: int, out: Path) -> int:
    """Run, and print the memory of each proxy every ten seconds; returns the exit status."""
    seconds = round(minutes * 60)
    text = _EXPERIMENT.format(seed=seed, seconds=seconds, timeout=seconds + 600)
    memory = _Memory()
    out.mkdir(parents=True, exist_ok=True)
    done = run_and_check(
        parse_experiment(text, "proxy-soak.yaml"),
        "local",
        out,
        lambda phase: print(phase, flush=True),
        varied={},
        wire=False,
        on_turn=lambda _: memory.look(),
    )
    growth = memory.growth()
    print(f"verdict {done.verdict['verdict']}: {'; '.join(done.verdict['reasons'])}")
    print(f"memory of proxies at the end: {growth:.2f} of that after their first minute; {done.directory}")
    return 0 if done.verdict["verdict"] == "pass" and growth <= _MOST_GROWTH else 1


class _Memory:
    """Of the proxies that this process has started, by pid."""

    def __init__(self) -> None:
        self._began = self._next = time.monotonic()
        self._seen: dict[int, list[tuple[float, float]]] = {}

    def look(self) -> None:
        """Note and print, if it is time."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _EVERY_S
        found = _megabytes()
        for pid, megabytes in found.items():
            self._seen.setdefault(pid, []).append((now, megabytes))
        sizes = " ".join(f"{megabytes:.1f}" for megabytes in found.values())
        print(f"{now - self._began:7.0f} s  {len(found)} proxies, MiB: {sizes}", flush=True)

    def growth(self) -> float:
        """The last sizes of proxies beside their first ones, those of their first minute left out."""
        first = last = 0.0
        for series in self._seen.values():
            settled = [size for time_s, size in series if time_s >= series[0][0] + _SETTLED_S]
            if settled:
                first, last = first + settled[0], last + settled[-1]
        return last / first if first else 1.0


def _megabytes() -> Mapping[int, float]:
    found = {}
    for process in psutil.Process(os.getpid()).children(recursive=True):
        try:
            if _PROGRAM in process.cmdline():
                found[process.pid] = process.memory_info().rss / 2**20
        except psutil.NoSuchProcess:
            continue  # it was killed just now
    return found
