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

from highwater_pipeline.linearizability.registers import NEVER, Ints, Register
from highwater_pipeline.linearizability.search import position_in_time, search, with_distinct_values
from highwater_pipeline.linearizability.zones import is_unique, zones_of

Outcome = Literal["linearizable", "nonlinearizable", "unknown"]

_NOTHING: Final = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a decision may cost. Steps are counted, so that they are the same on every machine; seconds (None: any
    number) are for those who wait, and are looked at only where steps are taken.

    ``steps`` + ``steps_per_operation`` × operations is what one register may take altogether.
    """

    steps: int = 1_000_000
    steps_per_operation: int = 200
    seconds: float | None = 120.0


@dataclass(frozen=True, slots=True)
class Decision:
    """What was found out about one register. Rows are those of the key's table (``registers.REGISTER_HISTORY``).

    ``order``: rows in the order in which they may have taken effect: of the whole history, or of the longest prefix
    that is linearizable. ``misfit``: the row whose completion ends that prefix, −1 if there is none; or if the limit
    came before the search for it was through: then ``order`` is of a prefix that fits, and a longer one may.
    """

    outcome: Outcome
    steps: int
    order: Ints = field(default_factory=_NOTHING.copy)
    misfit: int = -1


class _Budget:
    def __init__(self, limits: Limits, operations: int) -> None:
        self.left = limits.steps + limits.steps_per_operation * operations
        self.deadline = None if limits.seconds is None else time.monotonic() + limits.seconds
        self.used = 0


def decide(register: Register, limits: Limits | None = None, *, zones: bool = True) -> Decision:
    """Decide one register; ``zones`` false: by search alone, even where values are unique."""
    budget = _Budget(limits or Limits(), register.size)
    tried = _try(register, budget, zones)
    if tried.outcome != "nonlinearizable":
        return Decision(tried.outcome, budget.used, tried.order)
    return _longest_prefix(register, budget, tried, zones)


def _longest_prefix(register: Register, budget: _Budget, refuted: _Tried, zones: bool) -> Decision:
    completions = np.sort(register.completed[register.known])
    fits, fails = (int(np.searchsorted(completions, time, side="right")) for time in (refuted.reached, NEVER))
    fails -= 1
    # Where the search came to is where it is likely to fail: first there, then in growing steps. Zones just halve.
    guess = int(np.searchsorted(completions, refuted.suspect))
    guesses = [guess, guess - 1] if refuted.suspect >= 0 else []
    stride = 1 if refuted.reached >= 0 else len(completions)
    order, ordered = _NOTHING, 0
    while fits < fails:
        middle = guesses.pop() if guesses else min(fits + stride - 1, (fits + fails) // 2)
        if not fits <= middle < fails:
            continue
        tried = _try(register.until(int(completions[middle])), budget, zones)
        match tried.outcome:
            case "linearizable":
                order, fits, stride = tried.order, middle + 1, stride * 2
                ordered = fits
            case "nonlinearizable":
                fails = middle
            case _:
                break
    if ordered != fits:
        order = _try(register.until(int(completions[fits - 1])), budget, zones).order
    misfit = int(register.row[register.completed == completions[fails]][0]) if fits == fails else -1
    return Decision("nonlinearizable", budget.used, order, misfit)


@dataclass(frozen=True, slots=True)
class _Tried:
    """An answer; a linearization (rows) if there is one; if there is none, a time up to which there is one, and a time
    at which it probably ends (−1: no idea)."""

    outcome: Outcome
    order: Ints = field(default_factory=_NOTHING.copy)
    reached: int = -1
    suspect: int = -1


def _try(register: Register, budget: _Budget, zones: bool) -> _Tried:
    if zones and is_unique(register):
        decided = zones_of(register)
        return _Tried("nonlinearizable") if decided is None else _Tried("linearizable", register.row[decided.order()])
    found = search(register, budget.left, budget.deadline)
    budget.left -= found.steps
    budget.used += found.steps
    if found.linearizable is None:
        return _Tried("unknown")
    if not found.linearizable:
        reached, suspect = (position_in_time(register, event) for event in (found.reached, found.suspect))
        return _Tried("nonlinearizable", reached=reached, suspect=suspect)
    # Check the result of the search: once every value is distinct, zones decide.
    unique = with_distinct_values(register, found.path)
    verified = zones_of(unique)
    if verified is None:
        raise AssertionError("expected the search's linearization to be one, found that it is not")
    return _Tried("linearizable", unique.row[verified.order()])
