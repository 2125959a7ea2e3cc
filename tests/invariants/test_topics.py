"""A topic that is deleted and created again under its old name is another topic: it owes nothing to the first."""

from __future__ import annotations

from typing import Any

import pytest

RECREATE = """
    - repeat:
        times: 3
        steps:
          - admin: {deleteTopic: {name: orders}}
          - admin: {createTopic: {name: orders, partitions: 2, replicationFactor: 2}}
          - wait: 2s
"""


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in (2, 3))])
def test_a_topic_is_recreated_under_load(simulate: Any, seed: int) -> None:
    run = simulate(
        RECREATE,
        seed=seed,
        topic="{name: orders, partitions: 2, replicationFactor: 2}",
        workload="{producers: 2, rate: 100/s}",
    )
    assert run.result.acknowledged > 500
    assert (run.violations, run.anomalies) == (set(), set())
