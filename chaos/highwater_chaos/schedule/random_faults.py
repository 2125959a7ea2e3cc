"""Faults drawn by the seed: what ``random`` injects next.

Drawing is a pure function of the randomness, the view and what is touched already; the runner does the rest. How a kind
is drawn is in the fault's own file (:meth:`highwater_chaos.faults.base.Fault.draw`).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from highwater_chaos.experiment.faults import Inject
from highwater_chaos.experiment.steps import RandomFaults
from highwater_chaos.faults import Drawing, kind_named
from highwater_runtime.ports import MS

_SHORTEST_NS: Final = 200 * MS


class DrawnFault(NamedTuple):
    """A fault to inject, and the nodes it would touch (in the sense of :mod:`~highwater_chaos.schedule.spare`)."""

    kind: str
    inject: Inject
    nodes: tuple[str, ...]


def draw_fault(plan: RandomFaults, drawing: Drawing) -> DrawnFault | None:
    """Draw kind, length and the fault itself. Returns None if the drawn kind can hit nothing now."""
    random = drawing.random
    kinds = sorted(plan.faults)
    kind = random.choices(kinds, [plan.faults[name] for name in kinds])[0]
    # Many short faults and a few long ones: the interesting schedules need both at once.
    length = max(min(_SHORTEST_NS, plan.lasting), int(plan.lasting * random.random() ** 2))
    drawn = kind_named(kind).draw(drawing)
    if drawn is None:
        return None
    lasts = None if drawn.fault.lasts_ns == 0 else length
    return DrawnFault(kind, Inject.of(drawn.fault, for_=lasts), drawn.nodes)
