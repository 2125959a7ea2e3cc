"""The switch ``truncation-sync`` through the whole harness: a scenario that tells the story, a seed that finds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import load_experiment
from highwater_chaos.judged_run import judge_recordings, write_run
from highwater_chaos.run_summary import read_summary
from highwater_chaos.verdict import verdict_of

SCENARIOS = Path(__file__).parents[2] / "scenarios"


@pytest.mark.parametrize(
    ("file", "value", "verdict", "anomalies"),
    [
        ("log/truncation-not-synced.yaml", "off", "fail", {"divergence", "committed-loss", "lost-write"}),
        ("log/truncation-not-synced.yaml", "on", "pass", set()),
        ("random/truncation-and-power.yaml", "off", "fail", {"committed-loss"}),
    ],
)
def test_what_a_truncation_that_is_not_synced_comes_to(
    tmp_path: Path, file: str, value: str, verdict: str, anomalies: set[str]
) -> None:
    experiment = load_experiment(SCENARIOS / file).with_seed_and_switches(None, {"truncation-sync": value})
    write_run(tmp_path, experiment, run_experiment(experiment, SimBackend()), wire=False)
    summary = read_summary(tmp_path)
    assert summary is not None
    judged = verdict_of(experiment, summary, judge_recordings(experiment, tmp_path))
    assert judged["verdict"] == verdict, judged["inconclusiveReasons"]
    assert anomalies <= set(judged["anomalies"])
