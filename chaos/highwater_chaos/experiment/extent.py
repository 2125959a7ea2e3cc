"""How long a schedule takes at least, and how many steps it has when each is counted as often as it is done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from highwater_chaos.experiment.steps import Step

MOST_STEPS: Final = 100_000
"""A fault a second for a day is within it; what is above it keeps a simulator busy for hours, or for ever."""


def least_ns(steps: Sequence[Step]) -> int:
    """Nanoseconds that these steps take if no condition has to be waited for."""
    total = 0
    for step in steps:
        if step.parallel is not None:
            total += max(least_ns(branch) for branch in step.parallel)
        elif step.repeat is not None:
            total += step.repeat.times * least_ns(step.repeat.steps)
        elif step.random is not None:
            total += step.random.for_
        elif step.holds is not None:
            total += step.holds.for_
        else:
            total += step.wait or 0
    return total


def steps_done(steps: Sequence[Step]) -> int:
    """How many steps these are, each repetition and each fault that is drawn (on average) counted."""
    total = len(steps)
    for step in steps:
        if step.parallel is not None:
            total += sum(steps_done(branch) for branch in step.parallel)
        elif step.repeat is not None:
            total += step.repeat.times * steps_done(step.repeat.steps)
        elif step.random is not None:
            total += step.random.for_ // max(1, step.random.every)
    return total
