"""What an assertion compared, over the whole run: as a report draws it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.assertions import PhaseRow, assertions_over_time, write_phases
from highwater_chaos.backends.protocol import MetricRow
from highwater_chaos.experiment import parse_experiment
from highwater_chaos.metric_samples import MetricSamples

SECOND = 1_000_000_000
EXPERIMENT = """\
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: by-hand}
spec:
  timeout: 1m
  cluster: {brokers: 2, topics: [{name: orders, partitions: 1, replicationFactor: 2}]}
  assertions:
    - ASSERTION
"""


def over_time(folder: Path, assertion: str) -> Any:
    """Of a run whose first broker counts up by ten a second, and whose second stays at 5."""
    samples = MetricSamples()
    for second in range(1, 21):
        for node, value in (("broker-0", 10.0 * second), ("broker-1", 5.0)):
            samples.extend([MetricRow(second * SECOND, node, 1, "level", {}, value)])
            samples.extend([MetricRow(second * SECOND, node, 1, "other", {}, value)])
    samples.write(folder / "metrics" / "samples.parquet")
    write_phases(folder, [PhaseRow("steady", 0, 5 * SECOND), PhaseRow("fault", 5 * SECOND, 21 * SECOND)])
    (folder / "events").mkdir()
    (folder / "events" / "nodes.jsonl").write_bytes(b"")
    experiment = parse_experiment(EXPERIMENT.replace("ASSERTION", assertion), "by-hand")
    (found,) = assertions_over_time(experiment.spec, folder)
    return found


def test_values_of_the_whole_run_the_bound_and_where_it_broke(tmp_path: Path) -> None:
    found = over_time(tmp_path, '{name: low, promql: "max(level) < 180", during: fault}')
    assert (found.bound, found.within) == (180.0, (5 * SECOND, 21 * SECOND))
    (series,) = found.series
    assert (series.name, series.points[0], series.points[-1]) == ("max(level)", (SECOND, 10.0), (20 * SECOND, 200.0))
    assert found.broken == [18 * SECOND, 19 * SECOND, 20 * SECOND]


def test_each_side_of_each_comparison(tmp_path: Path) -> None:
    found = over_time(tmp_path, '{name: both, promql: "level > 3 or 1000 > sum(level)", during: fault}')
    assert found.bound is None, "there are two"
    assert [one.name for one in found.series] == ['level{node="broker-0"}', 'level{node="broker-1"}', "sum(level)"]
    assert found.broken == []


@pytest.mark.parametrize(
    "assertion",
    [
        '{name: gone, promql: "nothing > 3", during: fault}',
        '{name: never-came, promql: "level > 3", during: recovered}',
    ],
)
def test_what_was_not_sampled_is_not_drawn(tmp_path: Path, assertion: str) -> None:
    found = over_time(tmp_path, assertion)
    assert found.series == [] or found.within is None


def test_torn_samples_draw_nothing(tmp_path: Path) -> None:
    over_time(tmp_path, '{name: low, promql: "max(level) < 180", during: fault}')
    (tmp_path / "metrics" / "samples.parquet").write_bytes(b"PAR1")
    experiment = parse_experiment(
        EXPERIMENT.replace("ASSERTION", '{name: a, promql: "up > 0", during: fault}'), "by-hand"
    )
    assert assertions_over_time(experiment.spec, tmp_path) == []
