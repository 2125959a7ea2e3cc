"""A schedule as a list of steps, each at its time, so that everything before or after a moment can be cut off.

The run up to a moment does not depend on the steps after it, so cutting those off moves nothing. Cutting off the
beginning moves everything, and makes every later run shorter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from highwater_chaos.base.quantities import format_duration, parse_duration

Steps = list[dict[str, Any]]
"""Steps as a file has them."""


class Timed(NamedTuple):
    """A step that acts, at a time (ns) after the schedule began."""

    at_ns: int
    step: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Timeline:
    """Steps by time, and when the schedule ends (ns)."""

    steps: tuple[Timed, ...]
    end_ns: int

    def side_by_side(self) -> Steps:
        """Steps of a file that wait for their times, all beside each other: none moves if another is removed."""
        branches = [[*_wait(one.at_ns), one.step] for one in self.steps]
        if self.end_ns:
            branches.append([*_wait(self.end_ns)])
        return [{"parallel": branches}] if branches else []

    def in_a_row(self) -> Steps:
        """Steps of a file one after the other, as a person would write them. A step that takes time moves the rest."""
        row: Steps = []
        now = 0
        for one in self.steps:
            row += [*_wait(one.at_ns - now), one.step]
            now = one.at_ns
        return row + list(_wait(self.end_ns - now))

    def first_steps(self, count: int) -> Timeline:
        """Without all steps but the first ones."""
        return Timeline(self.steps[:count], self.end_ns)

    def of(self, some: Sequence[Timed]) -> Timeline:
        """Only these steps. It begins with the first of them, and goes on after the last one is over for as long as
        before."""
        moved = tuple(Timed(one.at_ns - some[0].at_ns, one.step) for one in some)
        part = Timeline(moved, 0)
        return Timeline(moved, part.over_ns() + max(0, self.end_ns - self.over_ns()))

    def over_ns(self) -> int:
        """When the last step has been done and every fault that has a length is over."""
        return max(map(_over_ns, self.steps), default=0)

    def since(self, from_ns: int) -> Timeline:
        """Without what is over before this moment, from which the rest begins. What is in force then begins there."""
        kept = [one for one in self.steps if one.at_ns >= from_ns or _over_ns(one) > from_ns]
        moved = tuple(Timed(max(0, one.at_ns - from_ns), _later(one, from_ns)) for one in kept)
        return Timeline(moved, max(0, self.end_ns - from_ns))


def lasts_ns(step: dict[str, Any]) -> int:
    """How long a fault is to last; 0 if the step does not say."""
    return parse_duration(step["inject"]["for"]) if "for" in step.get("inject", {}) else 0


def _over_ns(one: Timed) -> int:
    return one.at_ns + lasts_ns(one.step)


def timeline_of(steps: Steps) -> Timeline:
    """The schedule by time, as if no step took any."""
    found: list[Timed] = []
    end = _walk(steps, 0, found)
    return Timeline(tuple(sorted(found, key=lambda one: one.at_ns)), end)


def _walk(steps: Steps, now: int, found: list[Timed]) -> int:
    for step in steps:
        if "wait" in step:
            now += parse_duration(step["wait"])
        elif "parallel" in step:
            now = max(_walk(branch, now, found) for branch in step["parallel"])
        else:
            found.append(Timed(now, step))
    return now


def _wait(ns: int) -> Iterator[dict[str, Any]]:
    if ns > 0:
        yield {"wait": format_duration(ns)}


def _later(one: Timed, from_ns: int) -> dict[str, Any]:
    """The step for one that begins at ``from_ns``, if it began before: what is left of it."""
    if one.at_ns >= from_ns or not lasts_ns(one.step):
        return one.step
    left = format_duration(lasts_ns(one.step) - (from_ns - one.at_ns))
    return {**one.step, "inject": {**one.step["inject"], "for": left}}
