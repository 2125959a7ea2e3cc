"""What only the simulator sees broken is a reason in the verdict, and can be shrunk."""

from __future__ import annotations

from pathlib import Path

import pytest

from highwater_chaos.cli.recorded import recorded_verdict
from highwater_chaos.cli.shrink import shrink
from highwater_chaos.experiment import load_experiment
from highwater_chaos.verdict.checked_run import run_and_check
from highwater_lab.mutants import applied, mutant_named
from highwater_pipeline.anomalies import MEANINGS

SCENARIOS = Path(__file__).parents[2] / "scenarios"
MUTANT, EXPERIMENT, NAME = "coordinator-of-former-epoch", "coordinator-leads-on", "group-coordinator-epoch"


@pytest.mark.thorough
def test_one_that_no_check_sees_is_a_reason_and_is_shrunk(tmp_path, capsys):
    (file,) = SCENARIOS.rglob(f"{EXPERIMENT}.yaml")
    experiment = load_experiment(file).with_seed_and_switches(1, {})
    with applied(mutant_named(MUTANT)):
        done = run_and_check(experiment, "sim", tmp_path / "runs", lambda *_: None, varied={}, wire=False)
        verdict = recorded_verdict(done.directory)
        assert NAME in verdict["anomalies"]
        assert [reason for reason in verdict["reasons"] if reason.startswith(f"{NAME}: {MEANINGS[NAME]} (")]
        shrink(done.directory, NAME, tmp_path / "small.yaml", 4, as_json=True)
        small = load_experiment(tmp_path / "small.yaml")
    assert [entry.anomalies for entry in small.spec.expect] == [[NAME]]
