"""The network of a run: one bridge in a hub namespace, and a veth pair from each node's namespace to it.

Everything lives inside the run's namespaces; nothing appears in the machine's own, and nothing routes out of it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.network.namespaces import NETNS, in_namespace, with_route

BRIDGE: Final = "hub"
NODE_DEVICE: Final = "eth0"
LONGEST_DEVICE: Final = 15


@dataclass(frozen=True, slots=True)
class Hub:
    """The bridge ``hub`` in ``namespace``, with ``address`` (``10.77.0.1/16``) for the processes there."""

    KIND: ClassVar[str] = "hub"
    ALONE: ClassVar[bool] = True
    namespace: str
    address: str

    def make(self, _held: Sequence[int]) -> Self:
        """Create the bridge, without spanning tree or learning delays, and bring it up."""

        def create(route: Any) -> None:
            interface = ipaddress.ip_interface(self.address)
            route.link("add", ifname=BRIDGE, kind="bridge", br_stp_state=0, br_forward_delay=0, br_mcast_snooping=0)
            index = _index(route, BRIDGE)
            route.addr("add", index=index, address=str(interface.ip), prefixlen=interface.network.prefixlen)
            route.link("set", index=index, state="up")

        _in_route(self.namespace, create)
        return self

    def undo(self) -> None:
        """Delete the bridge; links lose their way to each other."""
        _delete_device(self.namespace, BRIDGE)

    def left(self) -> str | None:
        return f"bridge {BRIDGE} in {self.namespace}" if _device_exists(self.namespace, BRIDGE) else None

    def describe(self) -> str:
        return f"bridge of {self.namespace}"


@dataclass(frozen=True, slots=True)
class Link:
    """``eth0`` with ``address`` in ``namespace``; its other end is ``port`` (at most 15 characters) on the hub's
    bridge."""

    KIND: ClassVar[str] = "link"
    ALONE: ClassVar[bool] = True
    hub: str
    namespace: str
    port: str
    address: str

    def make(self, _held: Sequence[int]) -> Self:
        """Create the pair, put its ends where they belong, bring both up."""
        if len(self.port) > LONGEST_DEVICE:
            raise MachineError(f"network device {self.port!r} is longer than {LONGEST_DEVICE} characters")

        def create(route: Any) -> None:
            peer = {"ifname": NODE_DEVICE, "net_ns_fd": str(NETNS / self.namespace)}
            route.link("add", ifname=self.port, kind="veth", peer=peer)
            route.link("set", index=_index(route, self.port), master=_index(route, BRIDGE), state="up")

        def address(route: Any) -> None:
            interface = ipaddress.ip_interface(self.address)
            index = _index(route, NODE_DEVICE)
            route.addr("add", index=index, address=str(interface.ip), prefixlen=interface.network.prefixlen)
            route.link("set", index=index, state="up")

        _in_route(self.hub, create)
        _in_route(self.namespace, address)
        return self

    def undo(self) -> None:
        _delete_device(self.hub, self.port)

    def left(self) -> str | None:
        """Whether the hub's end exists."""
        return f"device {self.port} in {self.hub}" if _device_exists(self.hub, self.port) else None

    def describe(self) -> str:
        return f"link of {self.namespace} ({self.address}) to {self.hub}"


def _in_route(namespace: str, call: Callable[[Any], None]) -> None:
    in_namespace(namespace, lambda: with_route(call))


def _index(route: Any, device: str) -> int:
    found = route.link_lookup(ifname=device)
    if not found:
        raise MachineError(f"there is no network device {device}")
    return int(found[0])


def _device_exists(namespace: str, device: str) -> bool:
    if not (NETNS / namespace).exists():
        return False
    found: list[int] = []
    _in_route(namespace, lambda route: found.extend(route.link_lookup(ifname=device)))
    return bool(found)


def _delete_device(namespace: str, device: str) -> None:
    if not (NETNS / namespace).exists():
        return

    def delete(route: Any) -> None:
        for index in route.link_lookup(ifname=device):
            route.link("del", index=index)

    _in_route(namespace, delete)
