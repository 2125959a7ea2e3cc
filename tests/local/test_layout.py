"""Addresses say who it is; ports are ones that a node finds free again."""

from __future__ import annotations

import socket
from pathlib import Path

from highwater_chaos.backends.local.layout import (
    free_ports,
    is_free,
    loopback_endpoints,
    namespace_endpoints,
    voters_text,
)
from highwater_chaos.experiment import Cluster


def test_addresses_in_namespaces() -> None:
    endpoints = namespace_endpoints(Cluster(brokers=2, controllers=3))
    assert {name: str(endpoint) for name, endpoint in endpoints.items()} == {
        "controller-0": "10.77.2.1:9093",
        "controller-1": "10.77.2.2:9093",
        "controller-2": "10.77.2.3:9093",
        "broker-0": "10.77.1.1:9092",
        "broker-1": "10.77.1.2:9092",
    }
    assert next(iter(endpoints)) == "controller-0", "controllers start first"


def test_every_node_has_its_own_port_on_loopback() -> None:
    endpoints = loopback_endpoints(Cluster(brokers=5, controllers=3))
    assert len({endpoint.port for endpoint in endpoints.values()}) == 8
    assert {endpoint.host for endpoint in endpoints.values()} == {"127.0.0.1"}


def test_ports_are_not_those_of_outgoing_connections() -> None:
    with socket.socket() as client:
        client.bind(("127.0.0.1", 0))
        given_by_kernel = client.getsockname()[1]
    low, high = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split())
    assert low <= given_by_kernel <= high
    assert not [port for port in free_ports(50) if low <= port <= high]


def test_a_port_with_a_listener_is_not_free() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        assert not is_free(server.getsockname()[1])


def test_voters() -> None:
    endpoints = namespace_endpoints(Cluster(brokers=1, controllers=2))
    voters = [(1000 + index, endpoints[f"controller-{index}"]) for index in range(2)]
    assert voters_text(voters) == "1000@10.77.2.1:9093,1001@10.77.2.2:9093"
