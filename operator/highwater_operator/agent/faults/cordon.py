"""``cordon``: no new pods on the machine of a pod. Undone by the guardian at the deadline as all faults are."""

from __future__ import annotations

from typing import Final, Literal

from highwater_chaos.machine.kernel.own_program import own_program
from highwater_chaos.machine.process.commands import Command
from highwater_operator.agent.faults.base import Context, Fault, HealContext
from highwater_operator.agent.records import Evidence

_PROGRAM: Final = "highwater_operator.agent.cordon"
_SECONDS: Final = 20.0


class Cordon(Fault):
    """The API server has the node as unschedulable. Confirmed by what it says."""

    kind: Literal["cordon"]

    def inject(self, context: Context) -> list[Evidence]:
        node = context.pod.node

        def program(what: str) -> tuple[str, ...]:
            return own_program(_PROGRAM, what, node, context.id)

        command = Command(
            f"cordon of node {node}",
            heal=program("uncordon"),
            probe=program("look"),
            directory="/",
            seconds=_SECONDS,
            inject=program("cordon"),
        )
        return [_seen(context.make(command), there=True)]

    def observe(self, context: HealContext) -> list[Evidence]:
        return [_seen(one, there=True) for one in context.of(Command)]

    def healed(self, context: HealContext) -> list[Evidence]:
        return [_seen(one, there=False) for one in context.of(Command)]


def _seen(command: Command, *, there: bool) -> Evidence:
    found, _ = command.look()
    saw = f"{command.name}: new pods are {'kept off' if found else 'let onto it'}"
    return Evidence(saw, found == there, "inject" if there else "heal")
