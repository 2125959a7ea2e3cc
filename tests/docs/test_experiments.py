"""docs/experiments.md says what the model has: every name, no more and no less."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest

from highwater_chaos.assertions.recorded import LOOKBACK_MS
from highwater_chaos.base.quantities import format_duration
from highwater_chaos.cli import execute
from highwater_chaos.experiment import PHASES, Assertion, Cluster, PrometheusServer, Workload, parse_experiment
from highwater_chaos.experiment.conditions import Await, BrokerCondition
from highwater_chaos.experiment.faults import fault_kinds, with_all_kinds
from highwater_chaos.experiment.model import REGISTER_TOPIC
from highwater_chaos.experiment.steps import Admin, CreateTopic, RandomFaults, Step
from highwater_chaos.experiment.targets import Target
from highwater_chaos.experiment.workload import MetadataWorkload
from highwater_chaos.promql.language import AGGREGATIONS, FUNCTIONS, PromqlError
from highwater_chaos.promql.parse import parse


def fields(model: Any, *, without: frozenset[str] = frozenset()) -> dict[str, Any]:
    """A model's fields by the name that a file uses."""
    return {field.alias or name: field for name, field in model.model_fields.items() if name not in without}


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def test_every_experiment_shown_is_valid(document: Any) -> None:
    if document.path.name == "CONTRIBUTING.md":
        return  # its fault is its own, so ``test_contributing`` validates and runs it
    for number, block in enumerate(document.blocks("yaml")):
        if "kind: ChaosExperiment" in block:
            parse_experiment(block, f"{document.path.name}, block {number}", references=True)


def test_fields_of_the_cluster(experiments: Any) -> None:
    named = {name for row in experiments.table("The cluster") for name in quoted(row)}
    assert named == set(fields(Cluster)) - {"attached"}  # no file says it


def test_fields_of_a_topic(experiments: Any) -> None:
    _, text = experiments.table("The cluster")["`topics`"]
    assert set(quoted(text)) == set(fields(CreateTopic))


def test_fields_of_the_workload_and_their_defaults(experiments: Any) -> None:
    rows = experiments.table("The workload")
    named = [name for row in rows for name in quoted(row)]
    assert sorted(named) == sorted(fields(Workload))
    workload = Workload()
    assert rows["`producers`"][0] == str(workload.producers)
    assert rows["`consumers`"][0] == str(workload.consumers)
    assert rows["`rate`"][0] == f"`{workload.rate:g}/s`"
    assert rows["`acks`"][0] == f"`{workload.acks}`"
    assert rows["`idempotence`"][0] == str(workload.idempotence).lower()
    timeouts = [format_duration(one) for one in (workload.request_timeout, workload.delivery_timeout)]
    assert rows["`requestTimeout`, `deliveryTimeout`"][0] == ", ".join(f"`{one}`" for one in timeouts)


def test_steps(experiments: Any) -> None:
    first, *_ = experiments.tables("The schedule")
    named = [re.match(r"`(\w+)", row[0]) for row in first[1:]]
    assert [match[1] for match in named if match] == list(fields(Step))


def test_options_of_random(experiments: Any) -> None:
    first, *_ = experiments.tables("The schedule")
    (row,) = [row[0] for row in first if row[0].startswith("`random")]
    inside = row[row.index("{") + 1 :]
    assert re.findall(r"(\w+): ", re.sub(r"\{KIND: WEIGHT\}", "", inside)) == list(fields(RandomFaults))
    section = experiments.section("The schedule")
    defaults = fields(RandomFaults)
    assert f"({format_duration(defaults['lasting'].default).removesuffix('s')} seconds by default)" in section
    assert defaults["spare"].default == "lastInSync"
    assert "spares the last in-sync replica by default" in section


def test_administration(experiments: Any) -> None:
    first, *_ = experiments.tables("The schedule")
    (row,) = [row for row in first if row[0].startswith("`admin")]
    assert sorted(quoted(row[1])) == sorted(fields(Admin))


def test_faults_and_their_fields(experiments: Any) -> None:
    rows = experiments.table("Faults")
    assert [name for row in rows for name in quoted(row)] == list(fault_kinds())
    models = fields(with_all_kinds())
    for row, (listed, _) in rows.items():
        (kind,) = quoted(row)
        (model,) = [part for part in models[kind].annotation.__args__ if part is not type(None)]
        named = [name.partition(":")[0] for name in quoted(listed)]
        assert sorted(named) == sorted(fields(model)), kind


def test_targets(experiments: Any) -> None:
    section = experiments.section("Targets").split("A target is resolved")[0]
    named = [name.partition(":")[0] for name in quoted(section)]
    assert sorted(set(named)) == sorted({*fields(Target), "brokers", "controllers", "zookeepers"})


def test_conditions(experiments: Any) -> None:
    section = experiments.section("Conditions")
    shown = dict(re.findall(r"`(\w+): (\{[^`]*\}|N)`", section))
    models = fields(Await, without=frozenset({"within"}))
    assert sorted(shown) == sorted(models)
    for name, form in shown.items():
        model = next((part for part in models[name].annotation.__args__ if hasattr(part, "model_fields")), None)
        named = set(re.findall(r"\w+", form))
        if name == "broker":
            states = set(re.findall(r"\w+", form.partition("state:")[2]))
            assert states == set(get_args(BrokerCondition.model_fields["state"].annotation))
            named = set(re.findall(r"(\w+)[,:]", form))
        if model is not None:
            assert named == set(fields(model)), name


def test_assertions(experiments: Any) -> None:
    fields_of_an_assertion, _ = experiments.tables("Assertions")
    rows = {row[0]: row[1:] for row in fields_of_an_assertion[1:]}
    assert [name for row in rows for name in quoted(row)] == [
        name for name in fields(Assertion) if name not in ("use", "within")
    ]
    assert set(PHASES) <= set(quoted(rows["`during`"][0]))
    section = " ".join(experiments.section("Assertions").split())
    asked = section[section.index("Supported are") : section.index("The semantics are those")]
    aggregations, functions = asked.split("the aggregations")[1].split("and the functions")
    assert quoted(aggregations.partition(", with")[0]) == sorted(AGGREGATIONS)
    assert quoted(functions) == sorted(FUNCTIONS)
    assert "its series stay for five seconds" in section
    assert LOOKBACK_MS == 5_000
    (shown,) = re.findall(r"prometheus: (\{.*?\})", section)
    assert {name for name, _ in re.findall(r"(\w+): (\S+)", shown)} == set(fields(PrometheusServer))


def test_what_promql_refuses_is_listed(experiments: Any) -> None:
    text = experiments.section("Assertions")
    rows = dict(re.findall(r"^\| ([^|]+) \| (`.*`) \|$", text, re.MULTILINE))
    functions = [name for kind, names in rows.items() if kind.startswith("functions") for name in quoted(names)]
    assert set(functions).isdisjoint(FUNCTIONS)
    for name in functions:
        arguments = ("(m)", "(m[1m])", "()", "(1, m)", "(1, m[1m])", "(m, 1)", "(m[1m], 1)", "(m, 1, 2)", "(1, 2, m)")
        texts = ('(m, "a")', '(m, "a", "b", "c")', '(m, "a", "b", "c", "d")')
        messages = [refusal(name + given) for given in arguments + texts]
        assert any(f"function '{name}'" in message for message in messages), messages
    assert set(quoted(rows["aggregations"])).isdisjoint(AGGREGATIONS)
    for name in quoted(rows["aggregations"]):
        given = {"count_values": '("v", m)', "stddev": "(m)", "stdvar": "(m)"}.get(name, "(1, m)")
        assert refusal(name + given).startswith(f"aggregation {name} is not supported here")
    assert refusal(f"m {quoted(rows['operator'])[0]} m").startswith("operator atan2")


def refusal(promql: str) -> str:
    with pytest.raises(PromqlError) as refused:
        parse(promql)
    return str(refused.value)


def test_the_assertions_shown_are_valid(
    experiments: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, thorough: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = [block for block in experiments.blocks("yaml") if "  assertions:" in block]
    for block, count in zip(shown, (3, 2), strict=True):
        text = experiments.blocks("yaml")[0].replace("  expect:", f"{block.rstrip()}\n  expect:")
        (tmp_path / "shown.yaml").write_text(text, encoding="utf-8")
        assert len(parse_experiment(text, "shown").spec.assertions) == count
        if thorough:
            assert execute(["run", "shown.yaml"]) == 0


def test_what_a_run_leaves(experiments: Any, document_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shown.yaml").write_text(experiments.blocks("yaml")[0], encoding="utf-8")
    assert execute(["run", "shown.yaml"]) == 0, "the first experiment does what it expects"
    (run,) = (tmp_path / "runs").iterdir()
    named = {name for row in document_of("command-line").table("A run directory") for name in quoted(row)}
    assert named == {str(path.relative_to(run)) for path in run.rglob("*") if path.is_file()}


def test_clients_of_registers(experiments: Any) -> None:
    section = experiments.section("Registers")
    (shown,) = re.findall(r"`metadata: \{([^}]*)\}`", section)
    workload = MetadataWorkload()
    told = dict(part.split(": ") for part in shown.split(", "))
    assert told == {
        "writers": str(workload.writers),
        "readers": str(workload.readers),
        "rate": f"{workload.rate:g}/s",
        "reads": workload.reads,
    }
    assert list(told) == list(fields(MetadataWorkload))
    assert f"the topic `{REGISTER_TOPIC}`" in section
