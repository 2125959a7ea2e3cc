"""The proxy in front of a node of Apache Kafka, by which rules about messages act on it.

It is the node's launcher (:mod:`highwater_runtime.host.proxy.main`). In a network namespace of its own the node keeps
its address, and what comes for it is redirected; on loopback the proxy has the advertised port, and the node another.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from highwater_chaos.apache_kafka.node_logging import OBSERVER
from highwater_chaos.backends.local.capability import can_isolate
from highwater_chaos.backends.local.program import ClusterPlan, NodePlace
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel.own_program import own_program
from highwater_chaos.machine.network.namespaces import Namespace, in_namespace
from highwater_chaos.machine.runs.run import MachineRun
from highwater_runtime.config import PropertyValue
from highwater_runtime.host.proxy.redirect import redirect
from highwater_runtime.ports import Endpoint

_CONTROL: Final = "control.sock"
_LARGEST_REQUEST: Final = "socket.request.max.bytes"
_BETWEEN_BROKERS: Final = "security.inter.broker.protocol"


def control_socket(place: NodePlace) -> Path:
    """Where the proxy takes rules."""
    return place.files / _CONTROL


def behind_proxy(place: NodePlace) -> Endpoint:
    """Where the node itself listens."""
    return Endpoint(place.bind.host, place.peer_ports[0]) if place.peer_ports else place.bind


def launched_by_proxy(plan: ClusterPlan, place: NodePlace, command: tuple[str, ...]) -> tuple[str, ...]:
    """The command line of the proxy that starts ``command``."""
    control_socket(place).unlink(missing_ok=True)
    largest = plan.config_of(place.name).get(_LARGEST_REQUEST)
    where = ("--listen", str(place.advertised)) if place.peer_ports else ("--redirect",)
    peers = [one for one in plan.places if one.role != "zookeeper"]
    return own_program(
        "highwater_runtime.host.proxy.main",
        *("--node", place.name, "--target", str(behind_proxy(place)), *where),
        *("--control", str(control_socket(place)), "--spare", OBSERVER),
        *(() if largest is None else ("--largest-request", str(largest))),
        *(word for one in peers for word in ("--peer", f"{one.name}={one.node_id}@{one.advertised.host}")),
        "--",
        *command,
    )


def why_no_proxy(config: Mapping[str, PropertyValue]) -> str | None:
    """Why rules about messages cannot act on a cluster of this configuration here; None: they can."""
    protocol = str(config.get(_BETWEEN_BROKERS, "PLAINTEXT"))
    if protocol.upper().endswith("SSL"):
        return f"{_BETWEEN_BROKERS} is {protocol}, and a proxy cannot read TLS: use PLAINTEXT"
    return _why_no_redirection() if can_isolate() else None


@cache
def _why_no_redirection() -> str | None:
    """By trying it, in a namespace that goes away."""
    try:
        with MachineRun.open(label="trial of the proxy") as run:
            name = run.name("proxy")
            run.make(Namespace(name, run.directory))
            in_namespace(name, lambda: redirect(1, 2))
    except (MachineError, OSError) as error:
        return str(error)
    return None
