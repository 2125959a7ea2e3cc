"""Assertions with what they look at: the series, the bound, and when it was broken, by a real run's samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from highwater_chaos.assertions.phases import Span, read_phases
from highwater_chaos.assertions.recorded import read_samples
from highwater_chaos.backends.protocol import MetricRow
from highwater_chaos.experiment.load import parse_experiment
from highwater_chaos.promql.parse import parse
from highwater_chaos.report.asserted import series_of_assertions
from highwater_chaos.report.timeline import Series
from highwater_chaos.run.metric_samples import MetricSamples
from highwater_chaos.verdict.checked_run import CheckedRun, run_and_check

OFFLINE = "max(kafka_controller_kafkacontroller_offlinepartitionscount)"
FILE = f"""
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: offline}}
spec:
  seed: 7
  timeout: 3m
  cluster:
    brokers: 2
    controllers: 1
    config: {{broker.session.timeout.ms: 2000}}
    topics: [{{name: orders, assignment: [[0]]}}]
  workload: {{producers: 1, rate: 20/s}}
  schedule:
    - inject: {{kill: {{target: {{broker: 0}}, restartAfter: 8s}}}}
    - wait: 12s
  assertions:
    - {{name: always-led, promql: "{OFFLINE} == 0", during: fault}}
    - {{name: never-more, promql: "{OFFLINE} > 3", during: fault, never: true}}
    - {{use: offline-partitions-recover}}
    - {{name: both, promql: "{OFFLINE} < 5 and sum(kafka_server_replicamanager_leadercount) >= 0", during: fault}}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> CheckedRun:
    """The only replica of a partition is away for eight seconds."""
    experiment = parse_experiment(FILE, "offline.yaml")
    return run_and_check(experiment, "sim", tmp_path_factory.mktemp("runs"), lambda _: None, varied={}, wire=False)


@pytest.fixture(scope="module")
def drawn(run: CheckedRun) -> dict[str, Series]:
    """By the assertion's name."""
    spec = parse_experiment(FILE, "offline.yaml").spec
    return {one.name: one for one in series_of_assertions(spec, run.directory)}


def test_it_is_broken_when_the_verdict_says_so(run: CheckedRun, drawn: dict[str, Series]) -> None:
    outcomes = {one["name"]: one for one in run.verdict["assertions"]}
    series = drawn["always-led"]
    assert outcomes["always-led"]["holds"] is False
    ((start, end),) = series.broken
    assert start == outcomes["always-led"]["example"]["time_ns"]
    assert 3e9 < end - start < 10e9, "from the end of the session until the broker is back"
    assert series.bounds == (0.0,)
    assert {value for _, value in series.lines[OFFLINE]} == {0.0, 1.0, None}
    ones = [time for time, value in series.lines[OFFLINE] if value == 1.0]
    assert start == ones[0]


def test_what_held_is_not_broken(drawn: dict[str, Series]) -> None:
    assert drawn["never-more"].broken == ()
    assert drawn["never-more"].bounds == (3.0,)
    assert drawn["offline-partitions-recover"].broken == ()
    assert "it held first at" in drawn["offline-partitions-recover"].summary
    assert list(drawn["both"].lines) == [OFFLINE, "sum(kafka_server_replicamanager_leadercount)"]
    assert drawn["both"].bounds == (5.0, 0.0)


def test_series_lie_within_their_phase(run: CheckedRun, drawn: dict[str, Series]) -> None:
    phase = read_phases(run.directory)["fault"]
    times = [time for time, _ in drawn["always-led"].lines[OFFLINE]]
    assert phase.start_ms * 1_000_000 <= times[0]
    assert times[-1] == phase.end_ms * 1_000_000
    assert drawn["always-led"].lines[OFFLINE][-1][1] is None, "the line ends there"


def test_a_series_ends_also_if_only_its_metric_is_read(tmp_path: Path) -> None:
    """Broker 0 is asked again a second later and says nothing of the metric: it is gone, whatever else is read."""
    second = 1_000_000_000
    samples = MetricSamples()
    samples.extend(
        [MetricRow(second, "broker-0", 1, "wanted", {}, 4.0), MetricRow(second, "broker-0", 1, "other", {}, 1.0)]
    )
    samples.extend([MetricRow(2 * second, "broker-0", 1, "other", {}, 2.0)])
    samples.write(tmp_path / "metrics" / "samples.parquet")
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "nodes.jsonl").write_text("")
    span = Span(0, 3000)
    for names in (None, ["wanted"]):
        found = read_samples(tmp_path, names)
        assert list(found.rounds_ms) == [1000, 2000]
        assert [one.value for one in found.at(parse("wanted"), span, 1000)] == [4.0]
        assert found.at(parse("wanted"), span, 2000) == []
