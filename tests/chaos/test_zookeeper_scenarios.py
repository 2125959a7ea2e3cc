"""The scenarios of ZooKeeper mode, and those about moves, come out as they say, with every switch value they speak of."""

from __future__ import annotations

from pathlib import Path

import pytest

from highwater_chaos.experiment import load_experiment
from highwater_chaos.judged_run import run_and_judge

SCENARIOS = Path(__file__).parents[2] / "scenarios"
FILES = sorted(path for folder in ("zookeeper", "kafka-7362", "reassignment") for path in (SCENARIOS / folder).glob("*.yaml"))
CASES = [
    (path, when)
    for path in FILES
    for when in ([entry.when for entry in load_experiment(path).spec.expect] or [dict[str, str]()])
]


def test_without_the_last_brokers_the_stray_stays(tmp_path: Path) -> None:
    """Controllers of the old protocol know no full lists: it takes a broker of the new one to send one."""
    experiment = load_experiment(SCENARIOS / "zookeeper" / "rolling-upgrade.yaml")
    kept = [step for step in experiment.spec.schedule if step.inject is None or step.inject.choice != "restart"]
    experiment = experiment.model_copy(update={"spec": experiment.spec.model_copy(update={"schedule": kept})})
    run = run_and_judge(experiment, "sim", tmp_path, lambda _: None, varied={}, wire=False)
    assert set(run.verdict["anomalies"]) == {"stray-partition"}, run.verdict["reasons"]


@pytest.mark.parametrize(("path", "switches"), CASES, ids=[f"{path.stem}-{when}" for path, when in CASES])
def test_as_expected(path: Path, switches: dict[str, str], tmp_path: Path) -> None:
    experiment = load_experiment(path).with_seed_and_switches(None, switches)
    run = run_and_judge(experiment, "sim", tmp_path, lambda _: None, varied={}, wire=False)
    assert run.verdict["asExpected"], run.verdict["expected"]["whyNot"]
