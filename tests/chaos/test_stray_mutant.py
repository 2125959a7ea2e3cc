"""KAFKA-7362, the mutant: a broker that confuses what it should keep and what it should delete. The run finds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import load_experiment
from highwater_chaos.run.summary import read_summary
from highwater_chaos.verdict.check import check_recordings
from highwater_chaos.verdict.checked_run import write_run
from highwater_chaos.verdict.verdict import verdict_of
from highwater_runtime.broker import strays

SCENARIOS = Path(__file__).parents[2] / "scenarios/kafka-7362"


@pytest.mark.quick("zookeeper")
@pytest.mark.parametrize("mode", ["kraft", "zookeeper"])
def test_the_inverted_predicate_is_found(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_assigned = strays.is_assigned
    monkeypatch.setattr(strays, "is_assigned", lambda topic_id, assigned: not is_assigned(topic_id, assigned))
    experiment = load_experiment(SCENARIOS / f"{mode}-moved-away.yaml")
    write_run(tmp_path, experiment, run_experiment(experiment, SimBackend()), wire=False)
    summary = read_summary(tmp_path)
    assert summary is not None
    judged = verdict_of(experiment, summary, check_recordings(experiment, tmp_path))
    assert judged["verdict"] == "fail"
    assert "live-partition-deleted" in judged["anomalies"]
