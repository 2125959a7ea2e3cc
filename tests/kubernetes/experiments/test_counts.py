"""What `kubectl get cx` counts: faults that are in force are counted, and what it says of their end is consistent."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from experiments.conftest import until

from highwater_chaos.backends.kubernetes.conclusion import counts_after, counts_of, healed_condition, unhealed_of

RECORD = {"id": "fault-1", "injected_ns": None, "confirmed": False, "healed": False, "error": None, "intent": ["a"]}
ENTRY = {"id": "x-1", "state": "done", "evidence": "cut"}


def test_a_fault_that_acts_on_many_pods_counts_as_soon_as_the_first_has_it() -> None:
    cuts = [{**ENTRY, "id": f"x-{number}"} for number in range(10)]
    assert counts_of([RECORD], cuts)["injected"] == 1
    assert counts_of([RECORD], [{**ENTRY, "state": "intent"}])["injected"] == 0
    assert counts_of([{**RECORD, "error": "refused"}], [{**ENTRY, "state": "failed"}])["injected"] == 0
    assert counts_of([{**RECORD, "injected_ns": 1}], cuts)["injected"] == 1


def test_no_end_is_taken_for_that_of_another_fault() -> None:
    """``injected - healed`` are in force, for the metric."""
    lives = [
        {**RECORD, "injected_ns": injected, "healed": healed} for injected in (None, 1) for healed in (False, True)
    ]
    for faults in itertools.product(lives, repeat=2):
        counts = counts_of(faults)
        in_force = sum(one["injected_ns"] is not None and not one["healed"] for one in faults)
        assert counts["injected"] - counts["healed"] == in_force, faults


@pytest.mark.parametrize("state", ["undone", "failed", "done", "intent"])
@pytest.mark.parametrize("healed", [False, True])
def test_healed_says_what_is_counted(state: str, healed: bool) -> None:
    fault = {**RECORD, "injected_ns": 1, "healed": healed}
    condition = healed_condition([{**ENTRY, "state": state}], unhealed=unhealed_of([fault]))
    counts = counts_of([fault])
    assert (condition.status == "True") == (counts["healed"] == counts["injected"] and state in ("undone", "failed"))


def test_after_an_abort_all_columns_say_something(stage: Any) -> None:
    stage.begin()
    stage.inject(stage.agents[0], 1)
    seen: list[Any] = []

    def over() -> bool:
        status = stage.status()
        if any((one["type"], one["status"]) == ("Healed", "True") for one in status.get("conditions", [])):
            seen.append(status["faults"])
        return bool(status["phase"] == "Completed")

    stage.end_runner()
    until(over, "the end")
    status = stage.status()
    assert (status["verdict"], status["expected"]) == ("inconclusive", False)
    assert status["faults"] == counts_after(status) == {"planned": 1, "injected": 1, "confirmed": 0, "healed": 1}
    assert all(one["healed"] == 1 for one in seen), "never HEALED 0 beside Healed=True"
