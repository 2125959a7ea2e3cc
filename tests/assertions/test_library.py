"""Assertions that are ready by name: each holds in a run with a fault in either mode, and each can fail."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from highwater_chaos.assertions.check import judge
from highwater_chaos.assertions.phases import Span
from highwater_chaos.assertions.recorded import RecordedSamples
from highwater_chaos.experiment import Assertion, ExperimentError
from highwater_chaos.experiment.assertion_library import LIBRARY
from highwater_chaos.experiment.load import parse_experiment
from highwater_chaos.promql.parse import parse
from highwater_chaos.promql.series import Series, SeriesStore
from highwater_chaos.verdict.checked_run import run_and_forget

DOCS = Path(__file__).parents[2] / "docs" / "experiments.md"
FILE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: library}}
spec:
  seed: 7
  timeout: 3m
  cluster: {{mode: {mode}, brokers: 3, topics: [{{name: orders, partitions: 2, replicationFactor: 3}}]}}
  workload: {{producers: 1, rate: 50/s, acks: all, consumers: 1}}
  schedule:
    - inject: {{kill: {{target: {{broker: 1}}, restartAfter: 3s}}}}
    - wait: 8s
  assertions: [{assertions}]
"""


@pytest.mark.quick("zookeeper")
@pytest.mark.parametrize("mode", ["kraft", "zookeeper"])
def test_all_hold_in_a_healthy_run(mode: str) -> None:
    text = FILE.format(mode=mode, assertions=", ".join(f"{{use: {name}}}" for name in LIBRARY))
    experiment = parse_experiment(text, "library.yaml")
    _, verdict = run_and_forget(experiment, wire=False)
    found = {one["name"]: (one["holds"], one["reason"]) for one in verdict["assertions"]}
    assert found == dict.fromkeys(LIBRARY, (True, ""))
    assert verdict["verdict"] == "pass"


def series_of(promql: str, rising: bool, value: float) -> Iterator[Series]:
    """One series for each metric that the condition names: constant, or rising by a half of ``value`` a second."""
    for metric in sorted(set(re.findall(r"kafka_\w+", promql))):
        times = list(range(0, 30_000, 1000))
        values = [value + (index * value / 2 if rising else 0) for index in range(len(times))]
        yield Series((("__name__", metric), ("node", "broker-0")), times, list(values))


@pytest.mark.parametrize("name", LIBRARY)
def test_each_fails_where_its_condition_is_broken(name: str) -> None:
    """Gauges that are wrong by one, counters that rise though they may not, or do not though they must."""
    ready = LIBRARY[name]
    counts = "increase(" in ready.promql
    for good in (True, False):
        must_rise = counts and ready.promql.endswith("> 0") and ready.must == "eventually"
        rising = counts and (must_rise == good)
        wanted = 1.0 if ready.promql.endswith("== 1") else 0.0
        value = (1.0 if counts else wanted) if good else (1.0 if counts else wanted + 1)
        store = SeriesStore(list(series_of(ready.promql, rising, value)))
        source = RecordedSamples(store, list(range(12_000, 30_000, 1000)))
        assertion = Assertion.model_validate({"use": name, **({"within": "10s"} if ready.within else {})})
        outcome = judge(assertion, parse(assertion.promql), Span(12_000, 29_000), source)
        assert outcome.holds is good, (name, good, outcome)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("{use: nothing}", "there is no assertion 'nothing' to use; there are: one-active-controller"),
        ("{use: isr-stable, within: 5s}", "isr-stable must hold never: it takes no `within`"),
        ("{use: isr-stable, promql: up}", "`use` has its own condition: leave out promql"),
        ("{name: a, promql: up}", "expected `use`, or name, promql and during; missing: during"),
        ("{name: a, promql: up, during: steady, within: 5s}", "`within` goes with `use` only"),
        ("{use: isr-stable}, {use: isr-stable}", "assertion 'isr-stable' is given twice"),
    ],
)
def test_what_cannot_be_used_is_refused(given: str, said: str) -> None:
    with pytest.raises(ExperimentError, match=re.escape(said)):
        parse_experiment(FILE.format(mode="kraft", assertions=given), "library.yaml")


def test_one_may_have_another_time_and_name() -> None:
    made = Assertion.model_validate({"use": "isr-settles", "within": "5s"})
    assert (made.name, made.during, made.must) == ("isr-settles", "recovered", "eventually 5s")
    twice = parse_experiment(FILE.format(mode="kraft", assertions="{use: isr-stable, name: a}, {use: isr-stable}"), "x")
    assert [one.name for one in twice.spec.assertions] == ["a", "isr-stable"]


def test_the_docs_list_them() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (.*) \| `(.*)` \| (.*) \|$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    listed = {name: rest for name, *rest in rows if name in LIBRARY}
    assert listed == {
        name: [one.meaning, one.promql, f"{one.during}, {one.must if one.within is None else 'within ' + one.within}"]
        for name, one in LIBRARY.items()
    }


@pytest.mark.parametrize("beside", [{"promql": ""}, {"typo": 0}, {"always": False}])
def test_nothing_beside_use_is_left_unsaid(beside: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=f"leave out {next(iter(beside))}"):
        Assertion.model_validate({"use": "isr-stable", **beside})


def test_a_time_of_zero_is_not_the_usual_time() -> None:
    found = Assertion.model_validate({"use": "controller-recovers", "within": 0})
    assert found.eventually == 0
