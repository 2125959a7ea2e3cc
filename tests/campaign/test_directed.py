"""Each experiment of ``scenarios/mutants`` passes, and fails with the bug that it is made for."""

from __future__ import annotations

from pathlib import Path

import pytest

from highwater_chaos.campaign import Unit, run_unit, series_of_file
from highwater_chaos.experiment import load_experiment

DIRECTED = Path(__file__).parents[2] / "scenarios/mutants"
FOUND = {
    "broker-and-controller-die": ("sessions-lost-at-failover", "assertion dead-broker-is-fenced"),
    "every-record-flushed": ("flush-without-fsync", "committed-loss"),
    "follower-lags": ("isr-never-shrinks", "assertion lagging-follower-leaves-isr"),
    "leader-without-quorum": ("leader-without-quorum-goes-on", "assertion cut-off-controller-resigns"),
    "epoch-without-records": ("epoch-start-not-noted", "assertion follower-has-longer-log"),
    "epoch-unknown-to-leader": ("epoch-end-names-asked-epoch", "divergence"),
}


def test_every_file_is_tried() -> None:
    assert sorted(path.stem for path in DIRECTED.glob("*.yaml")) == sorted(FOUND)


@pytest.mark.parametrize("name", FOUND)
def test_it_fails_with_its_mutant_alone(name: str) -> None:
    mutant, check = FOUND[name]
    experiment = load_experiment(DIRECTED / f"{name}.yaml")
    series = series_of_file(experiment, {}, until_failure=False)
    unit = Unit(series.experiment, experiment.spec.seed, series.text)
    without = run_unit(unit)
    assert (without.verdict, without.anomalies, without.reasons) == ("pass", (), ())
    found = run_unit(Unit(unit.experiment, unit.seed, unit.text, mutant=mutant))
    assert found.verdict == "fail"
    assert found.mutant_reached
    assert check in found.anomalies
