"""Faults drawn by the seed: what ``random`` injects next.

Drawing is a pure function of the randomness, the view and what is touched already; the runner does the rest. How a kind
is drawn is in the fault's own file (:meth:`highwater_chaos.faults.base.Fault.draw`), administration in
:mod:`highwater_chaos.schedule.random_administration`.
"""

from __future__ import annotations

from random import Random
from typing import Final, NamedTuple

from highwater_chaos.experiment.faults import Inject
from highwater_chaos.experiment.steps import RandomFaults
from highwater_chaos.faults import Drawing, kind_named
from highwater_chaos.schedule.spare import FaultEffect
from highwater_runtime.ports import MS

_SHORTEST_NS: Final = 200 * MS


class DrawnFault(NamedTuple):
    """A fault to inject, and what it would do to which nodes."""

    kind: str
    inject: Inject
    effect: FaultEffect


def draw_kind(plan: RandomFaults, random: Random) -> tuple[str, int]:
    """Draw a kind of fault or of administration by its weight, and a length (ns)."""
    kinds = sorted(plan.faults)
    kind = random.choices(kinds, [plan.faults[name] for name in kinds])[0]
    # Many short faults and a few long ones: the interesting schedules need both at once.
    return kind, max(min(_SHORTEST_NS, plan.lasting), int(plan.lasting * random.random() ** 2))


def draw_fault(kind: str, length_ns: int, drawing: Drawing) -> DrawnFault | None:
    """Draw the fault itself. Returns None if the kind can hit nothing now."""
    drawn = kind_named(kind).draw(drawing)
    if drawn is None:
        return None
    fault = drawn.fault
    effect = FaultEffect(drawn.nodes, fault.disturbs(drawing.cluster), fault.LOSES_CACHE)
    return DrawnFault(kind, Inject.of(fault, for_=None if fault.lasts_ns == 0 else length_ns), effect)
