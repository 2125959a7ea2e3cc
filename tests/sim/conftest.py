"""Toy cores and messages: small enough to see through, so that what a test observes is the simulator."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from highwater_runtime.ports import SECOND, Endpoint
from highwater_runtime.sim import Simulator


class Echo:
    API_KEY = 10900
    NAME = "EchoRequest"

    def __init__(self, value=0):
        self.value = value

    def encode(self, version):
        return self.value.to_bytes(8, "big")

    @classmethod
    def decode(cls, data, version):
        return cls(int.from_bytes(data, "big"))


class EchoAnswer(Echo):
    NAME = "EchoResponse"


class Other(Echo):
    API_KEY = 10901
    NAME = "OtherRequest"


class Node:
    """Notes what it hears, answers at once unless told otherwise, and lets tests use its ports."""

    def __init__(self, ports):
        self.ports = ports
        self.heard = []  # (time, peer, value)
        self.requests = []
        self.results = []  # (time, value sent, response value or failure)
        self.answers = True
        self.on_start = None
        self.on_stop = None

    def start(self):
        if self.on_start is not None:
            self.on_start(self)

    def on_request(self, request):
        self.heard.append((self.ports.clock.now_ns(), request.peer, request.body.value))
        self.requests.append(request)
        if self.answers:
            request.reply(EchoAnswer(request.body.value + 1000))

    def stop(self, on_stopped):
        if self.on_stop is not None:
            self.on_stop(on_stopped)
        else:
            on_stopped()

    def send(self, to, value, *, timeout_ns=5 * SECOND, channel="", message=Echo):
        def heard(answer):
            result = answer.value if isinstance(answer, Echo) else answer
            self.results.append((self.ports.clock.now_ns(), value, result))

        endpoint = Endpoint(to, 9092)
        self.ports.network.send(endpoint, message(value), 0, heard, timeout_ns=timeout_ns, channel=channel)

    @property
    def values_heard(self):
        return [value for _, _, value in self.heard]

    @property
    def outcomes(self):
        return [(value, result) for _, value, result in self.results]


def make_cluster(*names, seed=1, configure=None, **options):
    """A simulator with running nodes, and the nodes' cores by name (of their current incarnations)."""
    simulator = Simulator(seed, **options)
    cores = {}

    def factory(name):
        def build(ports):
            cores[name] = Node(ports)
            if configure is not None:
                configure(name, cores[name])
            return cores[name]

        return build

    for name in names:
        simulator.add_node(name, 9092, factory(name))
        simulator.start(name)
    simulator.run_until(0)
    return simulator, cores


@pytest.fixture(scope="session")
def toys():
    return SimpleNamespace(Echo=Echo, EchoAnswer=EchoAnswer, Other=Other, Node=Node, cluster=make_cluster)
