"""All kinds of faults, and how one is read."""

from __future__ import annotations

from typing import Annotated, Any, Final, Union, get_args

import msgspec
from pydantic import Field, TypeAdapter, ValidationError

from highwater_operator.agent.faults.base import Fault
from highwater_operator.agent.faults.cordon import Cordon
from highwater_operator.agent.faults.derived import MACHINE_FAULTS
from highwater_operator.agent.faults.disks import DiskWipe, PowerLoss
from highwater_operator.agent.faults.node_program import ClockSkew, DiskStall, Messages
from highwater_operator.agent.faults.node_reboot import NodeReboot
from highwater_operator.agent.faults.processes import Kill, Stop
from highwater_operator.agent.requests import refusal_of

_CLASSES: Final[tuple[type[Fault], ...]] = (
    *(PowerLoss, DiskWipe, Kill, Stop, Messages, DiskStall, ClockSkew, Cordon, NodeReboot),
    *MACHINE_FAULTS,
)
KINDS: Final = {kind: one for one in _CLASSES for kind in get_args(one.model_fields["kind"].annotation)}
_ANY_KIND: Any = Annotated[Union[_CLASSES], Field(discriminator="kind")]  # noqa: UP007 - of classes found above
_FAULT: Final[TypeAdapter[Fault]] = TypeAdapter(_ANY_KIND)


def read_fault(body: bytes) -> Fault:
    """Raises ``RefusalError`` (400) that says what is wrong where."""
    try:
        return _FAULT.validate_json(body)
    except ValidationError as error:
        raise refusal_of(error) from error


def read_stored(row: dict[str, Any] | None) -> Fault:
    """What :meth:`~.base.Fault.plain` gave. A request that an agent of another version kept, and this one cannot read,
    is of no kind: it can be undone, and not be looked at."""
    assert row is not None, "a fault that was never asked for has no request"
    try:
        return _FAULT.validate_json(msgspec.json.encode(row))
    except ValidationError:
        return Fault.model_construct(kind=str(row.get("kind")))
