"""How conditions of a status replace each other, whoever writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from highwater_chaos.kube.conditions import Condition, condition_of, with_conditions


def day(number: int) -> datetime:
    return datetime(2026, 1, number, tzinfo=UTC)


def read(generation: int, conditions: list[Any]) -> dict[str, Any]:
    return {"metadata": {"generation": generation}, "status": {"conditions": conditions}}


def test_a_transition_is_a_change_of_status() -> None:
    first = with_conditions(read(1, []), Condition("Ready", "False", "R", "m"), at=day(1))
    again = with_conditions(read(1, first), Condition("Ready", "False", "Other", "m"), at=day(2))
    assert (again[0]["lastTransitionTime"], again[0]["reason"]) == ("2026-01-01T00:00:00Z", "Other")
    (changed,) = with_conditions(read(1, again), Condition("Ready", "True", "R", "m"), at=day(3))
    assert changed["lastTransitionTime"] == "2026-01-03T00:00:00Z"


def test_what_was_not_computed_again_stays_as_it_was() -> None:
    """A condition names the generation that it was computed from, and not the one at which another was written."""
    first = with_conditions(read(1, []), Condition("Accepted", "True", "R", "m"), Condition("Healed", "True", "R", "m"))
    later = read(2, with_conditions(read(2, first), Condition("Healed", "False", "R", "m")))
    assert later["status"]["conditions"][0] == first[0]
    assert condition_of(later, "Accepted")["observedGeneration"] == 1
    assert condition_of(later, "Healed", "False")["observedGeneration"] == 2
    assert condition_of(later, "Healed", "True") is None


def test_what_was_computed_before_a_change_says_so() -> None:
    """The object was changed between the look and the write: the write must not claim to know of the change."""
    (made,) = with_conditions(read(5, []), Condition("Ready", "True", "R", "m"), generation=4)
    assert made["observedGeneration"] == 4
