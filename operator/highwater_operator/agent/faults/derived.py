"""What a node agent takes and looks at because it is in :mod:`highwater_chaos.machine.primitives`.

A method that begins a fault there is a kind of faults here, with the method's parameters as fields of the request; one
that looks at a node is a probe. A parameter whose type has no bounds is an error when the agent starts.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, Literal, Self

from highwater_chaos.machine.faults.node_fault import NodeFault, Seen
from highwater_chaos.machine.primitives import MACHINE_PRIMITIVES, Begins, Probes
from highwater_operator.agent.faults.base import Context, Fault, HealContext
from highwater_operator.agent.records import Evidence
from highwater_operator.agent.requests import model_of


class MachineFault(Fault):
    """A fault that a machine makes, and undoes, as one resource. Confirmed by what the resource's probe sees."""

    FAULT: ClassVar[type[NodeFault]]

    @classmethod
    def of(cls, begins: Begins) -> type[Self]:
        """The kind of faults that a method begins."""
        literal: Any = Literal
        made = model_of(begins.kind, begins.fault.on, cls, kind=(literal[begins.kind], ...))
        made.FAULT, made.ON_DISK = begins.fault, begins.fault.ACTS_ON == "volume"
        return made

    def inject(self, context: Context) -> list[Evidence]:
        parameters = {name: getattr(self, name) for name in type(self).model_fields.keys() - Fault.model_fields.keys()}
        return [_in_force(context.make(self.FAULT.on(context, **parameters)).seen())]

    def observe(self, context: HealContext) -> list[Evidence]:
        return [_in_force(one.seen(closely=False)) for one in context.of(self.FAULT)]

    def healed(self, context: HealContext) -> list[Evidence]:
        seen = []
        for one in context.of(self.FAULT):
            if self.ON_DISK:
                context.ensure_data(one)
            seen.append(one.seen())
        return [Evidence(look.what, look.gone, "heal", details=dict(look.details)) for look in seen]


def _in_force(seen: Seen) -> Evidence:
    return Evidence(seen.what, seen.in_force, details=dict(seen.details))


_LIST: Final = [one.methods for one in MACHINE_PRIMITIVES.values()]
MACHINE_FAULTS: Final = [MachineFault.of(role) for one in _LIST for role in one.values() if isinstance(role, Begins)]
MACHINE_PROBES: Final = {name: role.look for one in _LIST for name, role in one.items() if isinstance(role, Probes)}
