"""``kubectl apply -f`` takes the files that ``highwater run`` takes, and they mean the same there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from resources.conftest import as_kubectl_reads

from highwater_chaos.apache_kafka.versions import why_not_in_pods
from highwater_chaos.experiment import ChaosExperiment, load_experiment, parse_experiment
from highwater_operator.experiments.acceptance import Rejection, examine
from highwater_operator.objects.config_map import config_map
from highwater_operator.objects.naming import Owner
from highwater_operator.reconcile.problems import problem_of, read_spec
from highwater_operator.resources import LogClusterSpec

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / "scenarios").rglob("*.yaml"))
SAMPLES = sorted((ROOT / "manifests" / "samples").glob("*.yaml"))
FILE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: odd}
spec:
  timeout: 2m
  cluster: {topics: [{name: orders}]}
"""


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def put(text: str, path: str, value: Any) -> str:
    """The file with one field set otherwise; ``value`` as the file writes it."""
    at = data = yaml.safe_load(text)
    *outer, last = path.split("/")
    for part in outer:
        at = at.setdefault(part, {})
    at[last] = "@@"
    return yaml.safe_dump(data).replace("'@@'", value)


def test_kubectl_reads_files_otherwise_than_our_own_reader() -> None:
    text = "{a: off, b: y, c: 1_000, d: 0777, e: 1:30, f: 1e3, g: 2001-01-01, h: .5, i: 0x10, k: 0o7, l: +1, m: 1.,"
    text += ' 5: "6", on: 5, p: 0b11, q: 1e-3, r: "on", s: ~, t: none}'
    # As kubectl 1.34 prints it with --dry-run=client -o json.
    assert as_kubectl_reads(text) == {
        **{"a": False, "b": True, "c": 1000, "d": 511, "e": "1:30", "f": 1000, "g": "2001-01-01", "h": 0.5, "i": 16},
        **{"k": 7, "l": 1, "m": 1, "5": "6", "true": 5, "p": 3, "q": 0.001, "r": "on", "s": None, "t": "none"},
    }


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_scenario_can_be_applied_as_it_is(path: Path, submit: Any) -> None:
    code, made = submit(as_kubectl_reads(path.read_text("utf-8")))
    assert code == 201, made["message"]
    judged = examine(made)
    software = load_experiment(path).cluster
    if software.kafka is not None and why_not_in_pods(software.kafka, software.mode) is not None:
        assert isinstance(judged, Rejection)
        assert judged.reason == "NotSupported"
        return
    if path.stem == "rolling-upgrade" and path.parent.name == "zookeeper":
        assert isinstance(judged, Rejection)
        assert "needs configuration of a single node, which kubernetes does not have" in judged.message
        return
    if "atWrite" in path.read_text("utf-8"):
        assert isinstance(judged, Rejection)
        assert "only the simulator stops a node between two writes" in judged.message
        return
    assert isinstance(judged, ChaosExperiment), judged
    # The API server's defaults are the model's: the experiment is the one that runs elsewhere.
    assert judged.spec == load_experiment(path).spec


@pytest.mark.parametrize("path", SAMPLES, ids=name_of)
def test_every_sample_can_be_applied(path: Path, submit: Any) -> None:
    for made in yaml.load_all(path.read_text("utf-8"), yaml.CSafeLoader):
        code, answer = submit(as_kubectl_reads(yaml.safe_dump(made)))
        assert code == 201, answer["message"]
        if made["kind"] == "ChaosExperiment":
            assert isinstance(examine(answer), ChaosExperiment)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec/cluster/switches", "{replica-epoch-check: off}"),
        ("spec/cluster/switches", "{replica-epoch-check: on, pre-vote: no}"),
        ("spec/cluster/switches", '{replica-epoch-check: "off"}'),
        ("spec/expect", "[{when: {pre-vote: off}, verdict: fail}, {when: {pre-vote: on}, verdict: pass}]"),
        ("spec/workload", "{acks: 1, idempotence: off}"),
        ("spec/workload", "{acks: -1, idempotence: yes}"),
        ("spec/workload", '{acks: "0", idempotence: false}'),
        ("spec/cluster/config", "{auto.leader.rebalance.enable: on, min.insync.replicas: 1_0}"),
        ("spec/cluster/config", "{log.segment.bytes: 0x100000, log.retention.ms: 0777}"),
        ("spec/schedule", "[{wait: 0}, {inject: {pause: {target: {broker: 0}}, for: 0}}]"),
        ("spec/schedule", "[{await: {leader: {partition: orders-0, none: yes}, within: 1s}}]"),
        ("spec/schedule", "[{await: {activeController: {exists: off}, within: 1s}}]"),
        ("spec/schedule", "[{inject: {clockSkew: {target: {broker: 0}, rate: 2}}}]"),
        ("spec/schedule", "[{inject: {name: a, partition: {shape: halves}}}, {heal: [a]}, {heal: all}]"),
        ("spec/schedule", "[{inject: {powerLoss: {target: {broker: 0}, keep: none}}}]"),
        ("spec/schedule", "[{random: {for: 1s, every: 1s, faults: {kill: 1, pause: 0.5}, spare: none}}]"),
        ("spec/assertions", "[{name: one, promql: up == 1, during: steady, always: yes}]"),
        ("spec/assertions", "[{name: back, promql: up == 1, during: recovered, eventually: 0}]"),
        ("spec/schedule", "[{parallel: [[{wait: 0}], [{repeat: {times: 2, steps: [{wait: 1s}]}}]]}]"),
    ],
)  # fmt: skip
def test_what_yaml_writes_in_more_than_one_way_means_the_same(path: str, value: str, submit: Any) -> None:
    text = put(FILE, path, value)
    code, made = submit(as_kubectl_reads(text))
    assert code == 201, made["message"]
    judged = examine(made)
    assert isinstance(judged, ChaosExperiment), judged
    assert judged.spec == parse_experiment(text, "odd.yaml").spec


def test_quantities_are_written_as_everywhere_in_kubernetes(submit: Any) -> None:
    spec = as_kubectl_reads("{resources: {cpu: 1, memory: 536870912}, storage: {size: 2_000_000_000}}")
    made = {"apiVersion": "highwater.dev/v1alpha1", "kind": "LogCluster", "metadata": {"name": "demo"}, "spec": spec}
    code, answer = submit(made)
    assert code == 201, answer["message"]
    found = read_spec(answer["spec"])
    assert isinstance(found, LogClusterSpec), found
    assert (found.resources.cpu, found.resources.memory, found.storage.size) == ("1", "536870912", "2000000000")


def test_a_switch_of_a_cluster_may_be_written_bare(submit: Any) -> None:
    spec = as_kubectl_reads(
        "{switches: {replica-epoch-check: off, pre-vote: on}, config: {auto.leader.rebalance.enable: no}}"
    )
    made = {"apiVersion": "highwater.dev/v1alpha1", "kind": "LogCluster", "metadata": {"name": "demo"}, "spec": spec}
    code, answer = submit(made)
    assert code == 201, answer["message"]
    found = read_spec(answer["spec"])
    assert isinstance(found, LogClusterSpec), found
    assert found.switches == {"replica-epoch-check": "off", "pre-vote": "on"}
    owner = Owner("demo", "default", "uid", found)
    assert problem_of(owner) is None
    text = config_map(owner, "broker")["data"]["demo-broker-0.properties"]
    assert "replica-epoch-check=off" in text
    assert "auto.leader.rebalance.enable=false" in text
