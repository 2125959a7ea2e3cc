"""The scenarios of ZooKeeper mode, and about moves, come out as they say, with every switch value they speak of."""

from __future__ import annotations

from pathlib import Path

import pytest

from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import load_experiment
from highwater_chaos.judged_run import run_and_judge

SCENARIOS = Path(__file__).parents[2] / "scenarios"
FILES = sorted(
    path for folder in ("zookeeper", "kafka-7362", "reassignment") for path in (SCENARIOS / folder).glob("*.yaml")
)
CASES = [
    (path, when)
    for path in FILES
    for when in ([entry.when for entry in load_experiment(path).spec.expect] or [dict[str, str]()])
]


@pytest.mark.parametrize("upgraded", [True, False])
def test_a_stray_goes_with_the_upgrade_and_stays_without_it(upgraded: bool) -> None:
    """Controllers of the old protocol know no full lists: it takes the new one to tell broker 2 what it has to have."""
    experiment = load_experiment(SCENARIOS / "zookeeper" / "rolling-upgrade.yaml")
    steps = [
        step for step in experiment.spec.schedule if upgraded or step.inject is None or step.inject.choice != "restart"
    ]
    experiment = experiment.model_copy(update={"spec": experiment.spec.model_copy(update={"schedule": steps})})
    result = run_experiment(experiment, SimBackend())
    assert result.inconclusive_reasons == []
    holders = {row["broker"] for row in result.replica_log if row["partition"] == "orders-0"}
    assert holders == ({0, 1} if upgraded else {0, 1, 2})


@pytest.mark.parametrize(("path", "switches"), CASES, ids=[f"{path.stem}-{when}" for path, when in CASES])
def test_as_expected(path: Path, switches: dict[str, str], tmp_path: Path) -> None:
    experiment = load_experiment(path).with_seed_and_switches(None, switches)
    run = run_and_judge(experiment, "sim", tmp_path, lambda _: None, varied={}, wire=False)
    assert run.verdict["asExpected"], run.verdict["expected"]["whyNot"]
