"""A rolling restart of the ZooKeeper servers is confirmed, as that of brokers and controllers is."""

from __future__ import annotations

from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import parse_experiment

_FILE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: servers-restart}
spec:
  timeout: 2m
  cluster: {mode: zookeeper, brokers: 1, topics: [{name: orders}]}
  workload: {producers: 1, rate: 10/s}
  schedule:
    - inject: {restart: {target: {all: zookeepers}}}
    - wait: 1s
"""


def test_each_server_is_back_before_the_next_one_stops() -> None:
    result = run_experiment(parse_experiment(_FILE, "servers.yaml"), SimBackend())
    assert result.inconclusive_reasons == []
    told = [(one.what, one.ok) for fault in result.faults for one in fault.inject_evidence]
    stages = ("is down", "is back in incarnation 2")
    assert told == [(f"zookeeper-{number} {stage}", True) for number in range(3) for stage in stages]
