"""A leader that takes a batch of a producer's former epoch is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.experiment import load_experiment
from highwater_chaos.verdict.checked_run import run_and_forget
from highwater_runtime.log.errors import InvalidProducerEpochError
from highwater_runtime.log.producer_state import ProducerStates

FILE = Path(__file__).parents[2] / "scenarios" / "log" / "requests-of-a-former-epoch.yaml"


@pytest.mark.thorough
def test_a_batch_of_a_former_epoch_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    check = ProducerStates.check
    fenced = 0

    def accept(self: ProducerStates, batch: Any) -> Any:
        nonlocal fenced
        try:
            return check(self, batch)
        except InvalidProducerEpochError:
            fenced += 1
            return None

    monkeypatch.setattr(ProducerStates, "check", accept)
    _, verdict = run_and_forget(load_experiment(FILE), wire=False)
    assert fenced > 0
    assert "sequence-gap" in verdict["anomalies"]
