"""Writes out what ``random`` steps drew: the faults and the administration, each at its time."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from highwater_chaos.experiment.steps import RandomFaults, Step
from highwater_chaos.experiment.units import format_duration
from highwater_chaos.schedule.runner import RandomPart

Steps = list[dict[str, Any]]
"""Steps as a file has them."""


def explicit_steps(steps: Sequence[Step], parts: Sequence[RandomPart]) -> Steps:
    """``steps`` as a file has them, without ``random``. ``parts``: what a run of these very steps drew."""
    return _Explicit(parts).of(steps)


class _Explicit:
    def __init__(self, parts: Sequence[RandomPart]) -> None:
        # A plan within a repeat has several parts. Its identity counts: two equal plans drew different faults.
        self._parts: dict[int, deque[RandomPart]] = {}
        for part in parts:
            self._parts.setdefault(id(part.plan), deque()).append(part)

    def of(self, steps: Sequence[Step]) -> Steps:
        written: Steps = []
        for step in steps:
            if step.random is not None:
                written += self._drawn(step.random)
            elif step.parallel is not None:
                written.append({"parallel": [self.of(branch) for branch in step.parallel]})
            elif step.repeat is not None and _has_random(step.repeat.steps):
                for _ in range(step.repeat.times):
                    written += self.of(step.repeat.steps)
            else:
                written.append(step.model_dump(mode="json", by_alias=True, exclude_none=True))
        return written

    def _drawn(self, plan: RandomFaults) -> Steps:
        parts = self._parts.get(id(plan))
        if not parts:
            return []  # the run ended before it
        part = parts.popleft()
        branches = [
            [
                {"wait": format_duration(one.after_ns)},
                one.step.model_dump(mode="json", by_alias=True, exclude_none=True),
            ]
            for one in sorted(part.drawn, key=lambda one: one.after_ns)
        ]
        if part.took_ns:
            branches.append([{"wait": format_duration(part.took_ns)}])
        return [{"parallel": branches}] if branches else []


def _has_random(steps: Sequence[Step]) -> bool:
    return any(
        step.random is not None
        or (step.repeat is not None and _has_random(step.repeat.steps))
        or any(_has_random(branch) for branch in step.parallel or ())
        for step in steps
    )
