"""Faults: what an experiment's ``inject`` does to a cluster. A new fault is one new file here, or an entry point of the
group ``highwater.faults`` in any other distribution (:mod:`highwater_chaos.experiment.faults`)."""

from __future__ import annotations

from highwater_chaos.experiment.faults import FaultKindError, FaultModel, Inject, fault_kinds
from highwater_chaos.faults.base import (
    Drawn,
    Evidence,
    Fault,
    FaultContext,
    FaultRecord,
    FaultTarget,
    ProbeResult,
)
from highwater_chaos.faults.drawing import Drawing
from highwater_chaos.faults.targets import TargetError

__all__ = [
    "Drawing",
    "Drawn",
    "Evidence",
    "Fault",
    "FaultContext",
    "FaultRecord",
    "FaultTarget",
    "ProbeResult",
    "TargetError",
    "fault_of",
    "kind_named",
]


def fault_of(inject: Inject) -> Fault:
    """The fault that an ``inject`` step holds."""
    return _as_fault(inject.chosen)


def kind_named(name: str) -> type[Fault]:
    """The class of a kind of fault. Raises ``KeyError`` for an unknown kind."""
    return _as_fault_class(fault_kinds()[name])


def _as_fault(value: object) -> Fault:
    assert isinstance(value, FaultModel)
    _as_fault_class(type(value))
    assert isinstance(value, Fault)
    return value


def _as_fault_class(kind: type[FaultModel]) -> type[Fault]:
    if not issubclass(kind, Fault):
        raise FaultKindError(f"{kind.__module__}.{kind.__name__} is no subclass of highwater_chaos.faults.Fault")
    return kind
