"""The methods that a backend has because they are in the list of :mod:`highwater_chaos.machine.primitives`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, Protocol, TypeVar

from highwater_chaos.machine.faults.node_fault import NodeFault, Part
from highwater_chaos.machine.primitives import MACHINE_PRIMITIVES, Begins, Ends, Probes, Role


class OnMachines(Protocol):
    """A backend whose nodes live on machines. Methods raise ``KeyError`` for an unknown node, and
    :class:`~highwater_chaos.backends.protocol.BackendError`."""

    def begin_fault(self, node: str, begins: Begins, parameters: Mapping[str, Any], until_ns: int | None) -> None:
        """Bring a fault about on a node; it ends by itself at run time ``until_ns``."""

    def end_faults(self, node: str, *faults: type[NodeFault]) -> None:
        """Undo those of these kinds that the node has, in this order. Idempotent."""

    def probe_node(self, node: str, declared: Callable[..., Any], probe: Probes, parameters: Mapping[str, Any]) -> Any:
        """Return what a probe sees of a node. ``declared``: the method, with the type of what it returns."""


B = TypeVar("B", bound=OnMachines)


def with_machine_methods(*parts: Part) -> Callable[[type[B]], type[B]]:
    """Give a class the methods of all primitives of these parts of a node; those that it has already stay."""

    def complete(backend: type[B]) -> type[B]:
        for primitive, one in MACHINE_PRIMITIVES.items():
            if one.fault.ACTS_ON in parts:
                for name, role in one.methods.items():
                    if not hasattr(backend, name):
                        setattr(backend, name, _method(getattr(primitive, name), role))
        return backend

    return complete


def _method(declared: Callable[..., Any], role: Role) -> Callable[..., Any]:
    shape = signature(declared)

    @wraps(declared)
    def method(self: OnMachines, *args: Any, **kwargs: Any) -> Any:
        parameters = shape.bind(self, *args, **kwargs).arguments
        del parameters["self"]
        node, until_ns = parameters.pop("node"), parameters.pop("until_ns", None)
        match role:
            case Begins():
                return self.begin_fault(node, role, parameters, until_ns)
            case Ends():
                return self.end_faults(node, role.fault)
            case Probes():
                return self.probe_node(node, declared, role, parameters)

    return method
