"""A run with a bug, which goes on until it shows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from highwater_chaos.backends.protocol import Backend
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.verdict.checked_run import run_and_forget
from highwater_lab.mutants import CATALOGUE, applied


def _finds(experiment: ChaosExperiment, mutant: str, check: str) -> bool:
    def shown(backend: Backend) -> str | None:
        return "it is found" if any(one.name == check for one in backend.violations()) else None

    with applied(CATALOGUE[mutant]):
        _, verdict = run_and_forget(experiment, wire=False, ends_early=shown)
    failed = {"assertion " + one["name"] for one in verdict["assertions"] if one["holds"] is False}
    return verdict["verdict"] == "fail" and check in {*verdict["anomalies"], *failed}


@pytest.fixture(scope="session")
def finds() -> Callable[[ChaosExperiment, str, str], bool]:
    """``finds(experiment, mutant, check)``: whether the experiment fails by this check with the mutant.

    The run is ended once an invariant has shown it: nothing later takes that back.
    """
    return _finds
