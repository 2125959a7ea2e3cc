"""All kinds of resources by name, so that a journal's line finds the code that undoes it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

import msgspec

from highwater_chaos.machine.disk.power_loss import PowerLoss
from highwater_chaos.machine.disk.volumes import Volume
from highwater_chaos.machine.disk.wipe import Wipe
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.network.links import Hub, Link
from highwater_chaos.machine.network.namespaces import Namespace
from highwater_chaos.machine.primitives import MACHINE_PRIMITIVES
from highwater_chaos.machine.process.commands import Command
from highwater_chaos.machine.process.frozen_group import FrozenGroup
from highwater_chaos.machine.process.instructions import Instruction
from highwater_chaos.machine.process.processes import Process
from highwater_chaos.machine.process.start_barrier import StartBarrier
from highwater_chaos.machine.resource import Resource

_OTHERS: Final[tuple[type[Any], ...]] = (
    Namespace,
    Hub,
    Link,
    Volume,
    PowerLoss,
    Wipe,
    Process,
    Instruction,
    StartBarrier,
    FrozenGroup,
    Command,
)
_NODE_FAULTS: Final = [one.fault for one in MACHINE_PRIMITIVES.values()]
KINDS: Final[dict[str, type[Any]]] = {kind.KIND: kind for kind in (*_OTHERS, *_NODE_FAULTS)}


def to_journal(resource: Resource) -> dict[str, Any]:
    """What is needed to undo a resource, as plain data."""
    kept = {item.name: getattr(resource, item.name) for item in fields(resource) if item.metadata.get("journal", True)}
    plain = msgspec.to_builtins(kept)
    assert isinstance(plain, dict)
    return plain


def from_journal(kind: str, row: dict[str, Any]) -> Resource:
    """The resource that a journal's line speaks of.

    Raises:
        MachineError: of a kind, or with fields, that this version does not know.
    """
    if kind not in KINDS:
        raise MachineError(
            f"the journal has a {kind!r}, which this version does not know; heal with the one that made it"
        )
    try:
        resource: Resource = msgspec.convert(row, type=KINDS[kind])
    except msgspec.ValidationError as error:
        raise MachineError(f"the journal's {kind!r} cannot be read: {error}") from error
    return resource
