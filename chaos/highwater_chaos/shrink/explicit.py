"""Writes out what the schedule of a run did, each step at its time.

So nothing is drawn any more, no condition is waited for, and nothing is repeated. Each fault has its length instead of
a name and a heal: there is one step less, and none without the other. A fault keeps its name if a target leaves out the
nodes that it hit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

from highwater_chaos.experiment.faults import Inject
from highwater_chaos.experiment.steps import Step
from highwater_chaos.faults import fault_of
from highwater_chaos.run.result import RunResult
from highwater_chaos.schedule.runner import DoneStep
from highwater_chaos.shrink.timeline import Timed, Timeline

_EVERY_FAULT: Final = "all"


def timeline_of_run(result: RunResult) -> Timeline:
    """The schedule of a run that came to the end of it; an empty one if it did not begin with it."""
    fault = next((phase for phase in result.phases if phase.name == "fault"), None)
    if fault is None:
        return Timeline((), 0)
    began_ns, end_ns = fault.start_ns, fault.end_ns
    done = sorted(result.done, key=lambda one: one.at_ns)
    timed: list[Timed] = []
    left_out = {name for one in done for name in _left_out(one.step.model_dump(mode="json", by_alias=True))}
    for number, (at_ns, step) in enumerate((one.at_ns, one.step) for one in done):
        if step.heal is not None:
            continue
        if step.inject is not None:
            over_ns = _healed_ns(step.inject.name, done[number + 1 :], end_ns)
            step = Step(inject=_with_length(step.inject, max(1, over_ns - at_ns), left_out))  # noqa: PLW2901
        timed.append(Timed(at_ns - began_ns, step.model_dump(mode="json", by_alias=True, exclude_none=True)))
    return Timeline(tuple(timed), end_ns - began_ns)


def _healed_ns(name: str | None, later: Sequence[DoneStep], end_ns: int) -> int:
    """When the schedule heals a fault: at its end, if no step does."""
    for one in later:
        heal = one.step.heal or []
        if {name, _EVERY_FAULT} & {*([heal] if isinstance(heal, str) else heal)}:
            return one.at_ns
    return end_ns


def _left_out(value: Any) -> Iterator[str]:
    """The names of faults whose nodes some target leaves out."""
    if isinstance(value, dict):
        if isinstance(name := value.get("not"), str):
            yield name
        for inner in value.values():
            yield from _left_out(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _left_out(inner)


def _with_length(inject: Inject, most_ns: int, left_out: Collection[str]) -> Inject:
    """It ends by itself, if that is sooner: a process that is killed may be started again after some time."""
    length = inject.for_ if inject.for_ is not None else fault_of(inject).lasts_ns
    is_short = length is not None and length <= most_ns
    name = inject.name if inject.name in left_out else None
    return Inject.of(fault_of(inject), for_=inject.for_ if is_short else most_ns, name=name)
