"""A worker of a campaign runs thousands of seeds, and holds one at a time."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

from highwater_chaos.backends import make_backend
from highwater_chaos.backends.protocol import Backend
from highwater_chaos.campaign.seed import SeedJob, run_seed_job
from highwater_chaos.verdict import checked_run

EXPERIMENT = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: small}
spec:
  seed: 1
  timeout: 30s
  cluster: {brokers: 1, controllers: 1, topics: [{name: orders, partitions: 1, replicationFactor: 1}]}
  workload: {producers: 1, rate: 10/s, acks: all, consumers: 1}
  schedule: [{wait: 1s}]
"""


def test_a_run_is_gone_when_the_next_one_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its nodes, network and disks refer to each other, so only the collector finds them."""
    made: list[weakref.ref[Backend]] = []
    left: list[int] = []

    def remembered(*arguments: Any, **options: Any) -> Backend:
        left.append(sum(one() is not None for one in made))
        backend = make_backend(*arguments, **options)
        made.append(weakref.ref(backend))
        return backend

    monkeypatch.setattr(checked_run, "make_backend", remembered)
    for seed in (1, 2, 3):
        assert run_seed_job(SeedJob("small", seed, text=EXPERIMENT)).verdict == "pass"
    assert left == [0, 0, 0]
