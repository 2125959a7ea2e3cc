"""``highwater init`` writes a file that runs; ``highwater schema`` prints what editors need."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from highwater_chaos.cli import init
from highwater_chaos.experiment import load_experiment
from highwater_chaos.experiment.faults import fault_kinds

SCENARIOS = Path(__file__).parents[2] / "scenarios"


@pytest.fixture
def schema(highwater: Any) -> Draft202012Validator:
    shown = highwater("schema").json
    Draft202012Validator.check_schema(shown)
    return Draft202012Validator(shown)


def test_each_fault_and_mode_gives_a_right_file(highwater: Any, schema: Draft202012Validator) -> None:
    faults = init._faults()
    assert {"kill", "powerLoss", "partition", "diskFull"} <= set(faults) <= set(fault_kinds())
    for fault in faults:
        for mode in ("kraft", "zookeeper"):
            name = f"new/{fault} {mode}.yaml"
            done = highwater("init", name, "--fault", fault, "--mode", mode, "--acks", "1")
            assert (done.status, done.out) == (0, f"{name}: written; now: highwater run '{name}'\n"), done.err
            experiment = load_experiment(Path(name))
            assert (experiment.cluster.mode, experiment.spec.workload.acks) == (mode, "1")
            assert not [*schema.iter_errors(yaml.safe_load(Path(name).read_text(encoding="utf-8")))]


def test_a_file_for_apache_kafka_says_where_it_runs(highwater: Any) -> None:
    done = highwater("init", "of.yaml", "--runtime", "apache-kafka", "--fault", "restart")
    assert (done.status, done.out) == (0, "of.yaml: written; now: highwater run of.yaml --backend local\n"), done.err
    assert load_experiment(Path("of.yaml")).cluster.runtime == "apache-kafka"
    assert highwater("validate", "of.yaml").status == 0


def test_what_it_wrote_runs_and_is_not_written_over(highwater: Any) -> None:
    assert highwater("init").status == 0
    assert highwater("run", "experiment.yaml").status == 0
    before = Path("experiment.yaml").read_bytes()
    again = highwater("init")
    assert (again.status, "there is such a file already" in again.err) == (254, True)
    assert Path("experiment.yaml").read_bytes() == before
    wrong = highwater("init", "other.yaml", "--fault", "meteor")
    assert (wrong.status, "--fault meteor: expected one of powerLoss, kill" in wrong.err) == (254, True)
    assert not Path("other.yaml").exists()
    Path("link.yaml").symlink_to("nowhere")
    assert "there is such a file already" in highwater("init", "link.yaml").err
    assert "expected a name of printable characters" in highwater("init", "a\nb.yaml").err
    for name in ("random", "123", "null", "2024-01-01", "-x"):
        assert highwater("init", "--", f"{name}.yaml").status == 0, name
        assert highwater("campaign", f"./{name}.yaml", "--for", "1ns", "--out", f"of{name}").status == 2, name


def test_on_a_terminal_it_asks(highwater: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = io.StringIO("zookeeper\nmeteor\npause\n\n")
    monkeypatch.setattr(answers, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", answers)
    monkeypatch.setattr(init, "_is_terminal", lambda: True)
    done = highwater("init", "asked.yaml")
    assert done.status == 0, done.err
    assert done.err.count("Which fault does the leader get?") == 2, "once more after an answer that is none"
    experiment = load_experiment(Path("asked.yaml"))
    assert (experiment.cluster.mode, experiment.spec.workload.acks) == ("zookeeper", "all")
    assert "pause: {target:" in Path("asked.yaml").read_text(encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert highwater("init", "ended.yaml").status == 2, "the end of input is an interruption"


def test_the_schema_takes_every_file_that_ships_and_no_wrong_one(highwater: Any, schema: Draft202012Validator) -> None:
    """Editors find it beside the files: ``highwater schema > scenarios/experiment.schema.json`` after a change."""
    beside = SCENARIOS / "experiment.schema.json"
    assert beside.read_text(encoding="utf-8") == highwater("schema").out
    for file in SCENARIOS.rglob("*.yaml"):
        first = file.read_text(encoding="utf-8").partition("\n")[0]
        assert (file.parent / first.removeprefix("# yaml-language-server: $schema=")).resolve() == beside
        for document in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            assert not [*schema.iter_errors(document)], file
    (whole,) = yaml.safe_load_all((SCENARIOS / "kip-903" / "kafka-14139.yaml").read_text(encoding="utf-8"))
    for wrong in ({"brokers": "three"}, {"brokerz": 3}, {"mode": "raft"}):
        spec = {**whole["spec"], "cluster": {**whole["spec"]["cluster"], **wrong}}
        assert [*schema.iter_errors({**whole, "spec": spec})], wrong
