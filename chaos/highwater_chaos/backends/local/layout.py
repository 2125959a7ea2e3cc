"""Who lives at which address.

As root every node has a network namespace of its own on one bridge, and the addresses say who it is: brokers
``10.77.1.<id + 1>:9092``, controllers ``10.77.2.<index + 1>:9093``, ZooKeeper servers ``10.77.3.<index + 1>:2181``
(and 2888, 3888 among themselves), the harness's clients ``10.77.0.1``. These
addresses exist inside the run's namespaces only, so that any number of runs can go on side by side.

Without root everything is on 127.0.0.1 and differs by port.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from highwater_chaos.backends.ensemble.servers import CLIENT_PORT, ELECTION_PORT, QUORUM_PORT
from highwater_chaos.experiment.nodes import (
    CONTROLLER_ID_BASE,
    broker_names,
    controller_names,
    node_id,
    quorum_names,
    zookeeper_names,
)
from highwater_runtime.ports import Endpoint

if TYPE_CHECKING:
    from highwater_chaos.experiment import Cluster

BROKER_PORT: Final = 9092
CONTROLLER_PORT: Final = 9093
LOOPBACK: Final = "127.0.0.1"
CLIENTS_ADDRESS: Final = "10.77.0.1"
PREFIX_LENGTH: Final = 16
_PORT_RANGE: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST_PORT: Final = 10_240


def node_address(name: str) -> str:
    """The address of a node in a namespace of its own."""
    kind, index = divmod(node_id(name), CONTROLLER_ID_BASE)
    return f"10.77.{kind + 1}.{index + 1}"


def namespace_endpoints(cluster: Cluster) -> dict[str, Endpoint]:
    """Where every node listens when each has a namespace of its own; controllers, or ZooKeeper servers, first."""
    return {
        **{name: Endpoint(node_address(name), CONTROLLER_PORT) for name in controller_names(cluster)},
        **{name: Endpoint(node_address(name), CLIENT_PORT) for name in zookeeper_names(cluster)},
        **{name: Endpoint(node_address(name), BROKER_PORT) for name in broker_names(cluster)},
    }


PEER_PORTS: Final = (QUORUM_PORT, ELECTION_PORT)
"""Of a ZooKeeper server in a namespace of its own: for learners, and for elections."""


def loopback_endpoints(cluster: Cluster) -> dict[str, Endpoint]:
    """Where every node listens when all share 127.0.0.1; controllers, or ZooKeeper servers, first. The ports are free
    now."""
    return {name: Endpoint(LOOPBACK, first) for name, (first, *_) in loopback_ports(cluster).items()}


def loopback_ports(cluster: Cluster) -> dict[str, tuple[int, ...]]:
    """All ports of every node on 127.0.0.1, that of its clients first. They are free now."""
    counts = dict.fromkeys((*quorum_names(cluster), *broker_names(cluster)), 1)
    if cluster.runtime != "highwater":
        counts = dict.fromkeys(counts, 2)  # one more for the node itself, if a proxy stands in front of it
    counts |= dict.fromkeys(zookeeper_names(cluster), 1 + len(PEER_PORTS))
    ports = iter(free_ports(sum(counts.values())))
    return {name: tuple(next(ports) for _ in range(count)) for name, count in counts.items()}


def free_ports(count: int) -> list[int]:
    """Return ports of 127.0.0.1 without a listener, none of which the kernel gives to outgoing connections.

    A node that is down for a while must find its port free when it comes back, so it is not taken from the range from
    which any connection on the machine may be given one.

    Raises:
        OSError: where so many cannot be found.
    """
    low, high = _outside_ephemeral()
    candidates = random.sample(range(low, high), min(high - low, 50 * count + 1000))
    found: list[int] = []
    for port in candidates:
        if len(found) == count:
            return found
        if is_free(port):
            found.append(port)
    raise OSError(f"no {count} free ports on {LOOPBACK} between {low} and {high}")


def is_free(port: int, host: str = LOOPBACK) -> bool:
    """Whether a server could listen on ``port`` now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: what lingers of closed connections is no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def _outside_ephemeral() -> tuple[int, int]:
    """The larger range of unprivileged ports outside of the kernel's own."""
    try:
        low, high = (int(word) for word in _PORT_RANGE.read_text(encoding="ascii").split())
    except (OSError, ValueError):
        low, high = 32_768, 60_999
    below, above = (_LOWEST_PORT, low), (high + 1, 65_536)
    return max(below, above, key=lambda span: span[1] - span[0])


def voters_text(controllers: Sequence[tuple[int, Endpoint]]) -> str:
    """``controller.quorum.voters``: ``1000@10.77.2.1:9093,…``."""
    return ",".join(f"{number}@{endpoint}" for number, endpoint in controllers)
