"""From a request to the code that carries it out."""

from __future__ import annotations

from highwater_operator.agent.faults.base import FaultKind
from highwater_operator.agent.faults.disks import DiskTroubleKind, DiskWipeKind, PowerLossKind
from highwater_operator.agent.faults.network import PartitionKind
from highwater_operator.agent.faults.node_program import ClockSkewKind, DiskStallKind, MessagesKind
from highwater_operator.agent.faults.processes import KillKind, PauseKind, StopKind
from highwater_operator.agent.requests import (
    ClockSkewRequest,
    DiskRequest,
    DiskWipeRequest,
    FaultRequest,
    KillRequest,
    MessagesRequest,
    PartitionRequest,
    PauseRequest,
    PowerLossRequest,
    SessionExpiryRequest,
    StopRequest,
)


def kind_of(request: FaultRequest) -> FaultKind:
    """How this fault begins and ends."""
    match request:
        case PowerLossRequest():
            return PowerLossKind(request)
        case KillRequest():
            return KillKind(request)
        case StopRequest():
            return StopKind(request)
        case DiskWipeRequest():
            return DiskWipeKind(request)
        case PauseRequest():
            return PauseKind(request)
        case DiskRequest(kind="diskStall"):
            return DiskStallKind(request)
        case DiskRequest():
            return DiskTroubleKind(request)
        case PartitionRequest():
            return PartitionKind(request)
        case MessagesRequest() | SessionExpiryRequest():
            return MessagesKind(request)
        case ClockSkewRequest():
            return ClockSkewKind(request)


def restart_after(request: FaultRequest) -> int | None:
    """Nanoseconds for which the node is kept down after a fault that ends it; None: as the kubelet likes."""
    if isinstance(request, PowerLossRequest | KillRequest | StopRequest | DiskWipeRequest):
        return request.restart_after
    return None
