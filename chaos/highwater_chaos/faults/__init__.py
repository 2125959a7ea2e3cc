"""Faults: what an experiment's ``inject`` does to a cluster. One fault a file, inject and heal side by side."""

from __future__ import annotations

from highwater_chaos.experiment.faults import (
    ClockSkew,
    Delay,
    DiskError,
    DiskFull,
    DiskStall,
    DiskWipe,
    Drop,
    Duplicate,
    Hold,
    Inject,
    Kill,
    Partition,
    Pause,
    PowerLoss,
    Restart,
    SessionExpiry,
    Stop,
)
from highwater_chaos.faults.base import Evidence, Fault, FaultContext, FaultRecord
from highwater_chaos.faults.clock_skew import ClockSkewFault
from highwater_chaos.faults.disk_trouble import DiskErrorFault, DiskFullFault, DiskStallFault
from highwater_chaos.faults.disk_wipe import DiskWipeFault
from highwater_chaos.faults.kill import KillFault
from highwater_chaos.faults.messages import MessageFault
from highwater_chaos.faults.partition import PartitionFault
from highwater_chaos.faults.pause import PauseFault
from highwater_chaos.faults.power_loss import PowerLossFault
from highwater_chaos.faults.restart import RestartFault
from highwater_chaos.faults.rules import Rules
from highwater_chaos.faults.session_expiry import SessionExpiryFault
from highwater_chaos.faults.stop import StopFault
from highwater_chaos.faults.targets import TargetError

__all__ = ["Evidence", "Fault", "FaultContext", "FaultRecord", "MessageFault", "TargetError", "fault_of"]


def fault_of(inject: Inject) -> Fault:
    """The fault that an ``inject`` step asks for, ready to be injected once."""
    match inject.chosen:
        case PowerLoss() as model:
            return PowerLossFault(model)
        case Kill() as model:
            return KillFault(model)
        case Stop() as model:
            return StopFault(model)
        case Restart() as model:
            return RestartFault(model)
        case DiskWipe() as model:
            return DiskWipeFault(model)
        case DiskFull() as model:
            return DiskFullFault(model)
        case DiskError() as model:
            return DiskErrorFault(model)
        case DiskStall() as model:
            return DiskStallFault(model)
        case Pause() as model:
            return PauseFault(model)
        case SessionExpiry() as model:
            return SessionExpiryFault(model, Rules())
        case Partition() as model:
            return PartitionFault(model)
        case Hold() as model:
            return MessageFault("hold", model, Rules())
        case Drop() as model:
            return MessageFault("drop", model, Rules())
        case Delay() as model:
            return MessageFault("delay", model, Rules())
        case Duplicate() as model:
            return MessageFault("duplicate", model, Rules())
        case ClockSkew() as model:
            return ClockSkewFault(model)
        case other:
            raise AssertionError(f"no fault for {other!r}")
