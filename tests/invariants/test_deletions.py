"""ZooKeeper mode: a topic is not gone before all of its replicas are (``deleted-too-early``)."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Final

import pytest

from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import parse_experiment
from highwater_lab.mutants import Mutant, applied

_EXPERIMENT: Final = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: deletions}
spec:
  seed: 1
  timeout: 2m
  cluster:
    mode: zookeeper
    brokers: 3
    config: {zookeeper.session.timeout.ms: 2000, log.segment.delete.delay.ms: 1000}
    topics: [{name: orders, partitions: 8, replicationFactor: 3}, {name: payments, replicationFactor: 3}]
  workload: {producers: 1, rate: 20/s, topics: [payments]}
  schedule:
    - wait: 2s
    - inject: {name: away, FAULT}
    - wait: 6s
    - parallel:
        - - admin: {deleteTopic: {name: orders}}
        - - wait: 4s
          - heal: away
    - wait: 5s
"""
_Rule = tuple[str, str, str]

_BROKEN: Final[dict[str, _Rule]] = {
    "dead brokers are not waited for": (
        "controller.zk.topic_deletion:begin_deletions",
        "for replica in state.replicas}",
        "for replica in state.isr}",
    ),
    "what waits to be renamed is gone": (
        "log.departures:Departures._is_here",
        "return is_known or (partition, log) in self._leaving.values()",
        "return is_known",
    ),
    "what is being created is gone": ("log.departures:Departures.when_over", "*self._creating.items(), ", ""),
}
_KILL: Final = "kill: {target: {broker: 2}}"
_WIPE: Final = "powerLoss: {target: {broker: 2}, wipe: true}"
CASES: Final = [
    (_KILL, None),
    (_KILL, "dead brokers are not waited for"),
    (_KILL, "what waits to be renamed is gone"),
    (_WIPE, None),
    (_WIPE, "what is being created is gone"),
]


@pytest.mark.parametrize(("fault", "broken"), CASES)
def test_a_deletion_that_is_over_too_early_is_found(fault: str, broken: str | None) -> None:
    """A broker that returns with an empty disk creates what it is about to delete."""
    mutant = None if broken is None else Mutant(broken, *_BROKEN[broken], "a rule of deletions")
    with nullcontext() if mutant is None else applied(mutant):
        result = run_experiment(parse_experiment(_EXPERIMENT.replace("FAULT", fault), "deletions.yaml"), SimBackend())
    assert result.acknowledged > 100
    names = {violation.name for violation in result.violations}
    assert names == (set() if broken is None else {"deleted-too-early"}), result.violations
