"""One register's answer: linearizable, not linearizable (and how far it is), or unknown within the limits.

A history that is linearizable up to one moment is so up to every earlier one. So what does not fit is found by halving:
the first completion with which the history so far is not linearizable any more. Writes always fit: one can take effect
when it completes. It is a read or a cas that does not.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np

from highwater_pipeline.linearizability.registers import Ints, Register
from highwater_pipeline.linearizability.search import position_in_time, search, told_apart
from highwater_pipeline.linearizability.zones import is_unique, zones_of

Answer = Literal["linearizable", "nonlinearizable", "unknown"]

_NOTHING: Final = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a decision may cost. Steps are counted, so that they are the same on every machine; seconds (None: any
    number) are for those who wait, and are looked at only where steps are taken.

    ``steps`` + ``steps_per_operation`` × operations is what one register may take altogether.
    """

    steps: int = 1_000_000
    steps_per_operation: int = 100
    seconds: float | None = 60.0


@dataclass(frozen=True, slots=True)
class Decision:
    """What was found out about one register. Rows are those of the key's table (``registers.REGISTER_HISTORY``).

    ``order``: rows in the order in which they may have taken effect: of the whole history, or of the longest prefix
    that is linearizable. ``misfit``: the row whose completion ends that prefix, −1 if there is none; where
    ``is_longest`` is false the limit came before the search for it was through, and a longer prefix may fit.
    """

    answer: Answer
    steps: int
    order: Ints = field(default_factory=_NOTHING.copy)
    misfit: int = -1
    is_longest: bool = True


class _Budget:
    def __init__(self, limits: Limits, operations: int) -> None:
        self.left = limits.steps + limits.steps_per_operation * operations
        self.deadline = None if limits.seconds is None else time.monotonic() + limits.seconds
        self.used = 0


def decide(register: Register, limits: Limits | None = None, *, zones: bool = True) -> Decision:
    """Decide one register; ``zones`` false: by search alone, even where values are unique."""
    budget = _Budget(limits or Limits(), register.size)
    answer, order, reached = _try(register, budget, zones)
    if answer != "nonlinearizable":
        return Decision(answer, budget.used, order)
    completions = np.sort(register.completed[register.known])
    fits, fails = int(np.searchsorted(completions, reached, side="right")), len(completions) - 1
    # The search comes close to the end of what fits, so from there steps grow; zones know nothing, and halve.
    stride = 1 if reached >= 0 else len(completions)
    order, is_longest = _NOTHING, True
    prefix_of = -1
    while fits < fails:
        middle = min(fits + stride - 1, (fits + fails) // 2)
        found, tried, _ = _try(register.until(int(completions[middle])), budget, zones)
        match found:
            case "linearizable":
                fits, order, prefix_of, stride = middle + 1, tried, middle, stride * 2
            case "nonlinearizable":
                fails = middle
            case _:
                is_longest = False
                break
    if prefix_of != fits - 1 and fits:
        _, order, _ = _try(register.until(int(completions[fits - 1])), budget, zones)
    misfit = int(register.row[register.completed == completions[fails]][0])
    return Decision("nonlinearizable", budget.used, order, misfit, is_longest)


def _try(register: Register, budget: _Budget, zones: bool) -> tuple[Answer, Ints, int]:
    """The answer, a linearization (rows) if there is one, and a time up to which there is one (−1: no idea)."""
    if zones and is_unique(register):
        decided = zones_of(register)
        if decided is None:
            return "nonlinearizable", _NOTHING, -1
        return "linearizable", register.row[decided.order()], -1
    found = search(register, budget.left, budget.deadline)
    budget.left -= found.steps
    budget.used += found.steps
    if found.linearizable is None:
        return "unknown", _NOTHING, -1
    if not found.linearizable:
        return "nonlinearizable", _NOTHING, position_in_time(register, found.reached)
    # What the search says it found is checked: with every value told apart, zones decide.
    unique = told_apart(register, found.path)
    verified = zones_of(unique)
    if verified is None:
        raise AssertionError("expected the search's linearization to be one, found that it is not")
    return "linearizable", unique.row[verified.order()], -1
