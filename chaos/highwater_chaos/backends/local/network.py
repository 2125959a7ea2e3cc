"""The network of a run: as root a namespace for each node, joined by a bridge in the hub; otherwise loopback.

Cuts are rules in the receiver's namespace. Whether one works is seen by datagrams sent from namespace to namespace; one
that is lost shows only by its absence, so links are probed together: all datagrams are sent before any is waited for.
"""

from __future__ import annotations

import secrets
import select
import time
from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from highwater_chaos.backends.local.layout import (
    CLIENTS_ADDRESS,
    LOOPBACK,
    PEER_PORTS,
    PREFIX_LENGTH,
    loopback_ports,
    namespace_endpoints,
    node_address,
)
from highwater_chaos.backends.local.pacing import remaining_ns
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.nodes import zookeeper_names
from highwater_chaos.machine.faults.cuts import Cut
from highwater_chaos.machine.network.links import Hub, Link
from highwater_chaos.machine.network.namespaces import Namespace, enter_namespace
from highwater_chaos.machine.network.reach import Reach
from highwater_chaos.machine.runs.run import Held, MachineRun
from highwater_runtime.ports import Endpoint

_PROBE_SECONDS: Final = 0.15
"""How long a probe's datagram may take. They travel within one kernel: far less unless the machine is overloaded, and
then a link that was not cut is looked at again."""
_FRESH_NS: Final = 250_000_000
_AGAIN: Final = 0.04

Pair = tuple[str, str]


class NodeNetwork(Protocol):
    """The network namespaces and addresses of nodes."""

    endpoints: Mapping[str, Endpoint]
    peer_ports: Mapping[str, tuple[int, ...]]
    """Further ports of nodes that have some (ZooKeeper servers)."""
    client_namespace: str
    """Where clients live; empty: in the machine's own network."""

    def namespace(self, node: str) -> str | None:
        """The network namespace of a node; None: the machine's own."""

    def enter_as_client(self) -> None:
        """Move the calling thread to where clients live."""

    def close(self) -> None:
        """Close the probes' sockets; what was made goes with the run."""


class NamespaceNetwork:
    """A bridge and a namespace for each node."""

    def __init__(self, run: MachineRun, cluster: Cluster) -> None:
        self.endpoints: Mapping[str, Endpoint] = namespace_endpoints(cluster)
        self.peer_ports: Mapping[str, tuple[int, ...]] = dict.fromkeys(zookeeper_names(cluster), PEER_PORTS)
        self._run = run
        self.client_namespace = run.name("net")
        self._cuts: dict[str, tuple[Pair, Held[Cut]]] = {}
        self._reach = Reach()
        self._unprobed: dict[Pair, None] = {}
        self._seen: dict[Pair, tuple[int, bool]] = {}
        run.make(Namespace(self.client_namespace, run.directory))
        run.make(Hub(self.client_namespace, f"{CLIENTS_ADDRESS}/{PREFIX_LENGTH}"))
        for number, node in enumerate(self.endpoints):
            address = node_address(node)
            run.make(Namespace(run.name(node), run.directory))
            run.make(Link(self.client_namespace, run.name(node), f"node{number}", f"{address}/{PREFIX_LENGTH}"))
            self._reach.add(node, run.name(node), address)

    def namespace(self, node: str) -> str | None:
        """``hw-<run>-broker-0``."""
        return self._run.name(node)

    def enter_as_client(self) -> None:
        """Enter the hub's network namespace."""
        enter_namespace(self.client_namespace)

    def cut(self, cut: str, source: str, destination: str, until_ns: int | None) -> None:
        """A rule in the namespace of ``destination``, until CLOCK_MONOTONIC ``until_ns`` at the latest. One that fails
        leaves nothing behind."""
        rule = Cut(self._run.name(destination), self.endpoints[source].host)
        held = self._run.make(rule, lasts_ns=remaining_ns(until_ns))
        self._cuts[cut] = ((source, destination), held)
        self._unprobed[source, destination] = None

    def uncut(self, cut: str) -> None:
        if cut in self._cuts:
            pair, held = self._cuts[cut]
            self._run.undo(held)
            del self._cuts[cut]
            self._unprobed[pair] = None

    def reachable(self, source: str, destination: str) -> bool:
        """Whether a datagram got through less than a quarter of a second ago. Links that were cut or joined since the
        last look are all looked at now."""
        pair = (source, destination)
        seen = self._seen.get(pair)
        if pair not in self._unprobed and seen is not None and time.monotonic_ns() - seen[0] < _FRESH_NS:
            return seen[1]
        pairs, self._unprobed = list(self._unprobed), {}
        if pair not in pairs:
            pairs.append(pair)
        arrived = self._probe(pairs)
        now = time.monotonic_ns()
        self._seen.update({one: (now, one in arrived) for one in pairs})
        return pair in arrived

    def close(self) -> None:
        self._reach.close()

    def _probe(self, pairs: Iterable[Pair]) -> set[Pair]:
        """The pairs over which a datagram arrives in time."""
        sockets = self._reach.sockets
        tokens = {secrets.token_bytes(16): pair for pair in pairs}
        poll = select.poll()
        by_descriptor = {sockets[destination].fileno(): sockets[destination] for _, destination in tokens.values()}
        for descriptor in by_descriptor:
            poll.register(descriptor, select.POLLIN)
        arrived: set[Pair] = set()
        deadline = time.monotonic() + _PROBE_SECONDS
        send_at = 0.0
        while len(arrived) < len(tokens) and (now := time.monotonic()) < deadline:
            if now >= send_at:
                # More than once: the first datagram may be lost while the address is being resolved.
                send_at = now + _AGAIN
                for token, (source, destination) in tokens.items():
                    if (source, destination) not in arrived:
                        self._send(source, destination, token)
            for descriptor, _ in poll.poll(max(0.0, min(send_at, deadline) - now) * 1000):
                pair = tokens.get(by_descriptor[descriptor].recv(64))
                if pair is not None:
                    arrived.add(pair)
        return arrived

    def _send(self, source: str, destination: str, token: bytes) -> None:
        try:
            self._reach.sockets[source].sendto(token, self._reach.sockets[destination].getsockname())
        except OSError:
            # EHOSTUNREACH and its kin say what the probe asks: there is no way. What it saw is that nothing arrived.
            return


class LoopbackNetwork:
    """All nodes on 127.0.0.1, which cannot be cut."""

    def __init__(self, cluster: Cluster) -> None:
        ports = loopback_ports(cluster)
        self.endpoints: Mapping[str, Endpoint] = {
            name: Endpoint(LOOPBACK, first) for name, (first, *_) in ports.items()
        }
        self.peer_ports: Mapping[str, tuple[int, ...]] = {name: of_node[1:] for name, of_node in ports.items()}
        self.client_namespace = ""

    def namespace(self, node: str) -> str | None:
        """The machine's own."""
        del node
        return None

    def enter_as_client(self) -> None:
        """Do nothing: clients are in the machine's namespace already."""

    def close(self) -> None:
        """Nothing to close."""
