"""Clients are told where brokers listen for them: by the listener that they came by."""

from __future__ import annotations

from uuid import UUID

from highwater_runtime.broker.apis import metadata
from highwater_runtime.metadata import BrokerListener, BrokerRegistration, MetadataImage, reachable
from highwater_runtime.ports import Endpoint, InboundRequest
from highwater_runtime.wire.messages.describe_cluster_request import DescribeClusterRequest


class Request(InboundRequest):
    """One that came by a listener."""

    __slots__ = ("answers", "listener")

    def __init__(self, body, version, listener):
        self.answers = []
        super().__init__(body, version, "client", "peer", self.answers.append)
        self.listener = listener


def broker(broker_id: int, *listeners: str) -> BrokerRegistration:
    known = tuple(
        BrokerListener(name, Endpoint(f"{name.lower()}-{broker_id}", 9092 + n)) for n, name in enumerate(listeners)
    )
    return BrokerRegistration(
        id=broker_id, epoch=broker_id, incarnation_id=UUID(int=broker_id), endpoint=known[0].endpoint, listeners=known
    )


INTERNAL, SECURE = broker(1, "INTERNAL", "SECURE"), broker(2, "INTERNAL")


def test_the_endpoint_of_a_listener():
    assert INTERNAL.endpoint_for("SECURE") == ("secure-1", 9093)
    assert INTERNAL.endpoint_for("INTERNAL") == INTERNAL.endpoint_for("") == ("internal-1", 9092)
    assert SECURE.endpoint_for("SECURE") is None
    assert reachable([INTERNAL, SECURE], "SECURE") == [(INTERNAL, ("secure-1", 9093))]
    nameless = BrokerRegistration(id=3, epoch=3, incarnation_id=UUID(int=3), endpoint=Endpoint("here", 1))
    assert nameless.endpoint_for("ANY") == ("here", 1)


def test_describing_the_cluster():
    image = MetadataImage()
    image.brokers = {1: INTERNAL, 2: SECURE}
    for listener, expected in (("SECURE", {1: "secure-1"}), ("INTERNAL", {1: "internal-1", 2: "internal-2"})):
        request = Request(DescribeClusterRequest(include_fenced_brokers=True), 2, listener)
        metadata.describe_cluster(request, image, "cluster", 1)
        (response,) = request.answers
        assert {b.broker_id: b.host for b in response.brokers} == expected
