"""Whom the administrator's client asks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Literal
from uuid import UUID

import pytest

from highwater_chaos.workload.admin import AdminClient
from highwater_runtime.metadata.registrations import BROKER_RESOURCE, TOPIC_RESOURCE, ConfigResource
from highwater_runtime.ports.network import Endpoint
from highwater_runtime.wire.errors import ErrorCode

BROKERS = {number: Endpoint("127.0.0.1", 9092 + number) for number in range(3)}


@pytest.mark.parametrize("mode", ["kraft", "zookeeper"])
def test_each_broker_is_asked_itself_to_alter_its_configuration(mode: Literal["kraft", "zookeeper"]) -> None:
    """Apache Kafka refuses it elsewhere: "Unexpected broker id, expected 0, but received 1"."""
    asked: dict[Endpoint, list[str]] = {}

    def send(to: Endpoint, request: Any, _version: int, on_response: Any, **_: Any) -> None:
        if request.NAME == "MetadataRequest":
            found = [SimpleNamespace(node_id=2, host=BROKERS[2].host, port=BROKERS[2].port)]
            on_response(SimpleNamespace(controller_id=2, brokers=found))
            return
        asked.setdefault(to, []).extend(one.resource_name for one in request.resources)
        done = [SimpleNamespace(error_code=0, error_message=None) for _ in request.resources]
        on_response(SimpleNamespace(NAME="IncrementalAlterConfigsResponse", responses=done))

    clock = SimpleNamespace(now_ns=lambda: 0, call_later=lambda _delay, then: then())
    ports: Any = SimpleNamespace(clock=clock, network=SimpleNamespace(send=send))
    client = AdminClient([BROKERS[2]], ports, mode=mode, brokers=BROKERS)
    changes = {ConfigResource(BROKER_RESOURCE, str(one)): {"leader.replication.throttled.rate": "1"} for one in BROKERS}
    outcomes: list[Any] = []
    client.alter_configs(
        {**changes, ConfigResource(TOPIC_RESOURCE, "orders"): {"retention.ms": "1"}},
        timeout_ns=10**9,
        on_outcome=outcomes.append,
    )
    assert [one.error for one in outcomes] == [None]
    assert asked == {BROKERS[0]: ["0"], BROKERS[1]: ["1"], BROKERS[2]: ["2", "orders"]}


@pytest.mark.parametrize(("mode", "presumed"), [("kraft", False), ("zookeeper", True)])
def test_that_a_topic_is_there_already_proves_no_creation_in_zookeeper_mode(
    mode: Literal["kraft", "zookeeper"], presumed: bool
) -> None:
    """The first attempt had no answer. A topic of that name may still be there whose deletion has begun."""
    codes = [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.TOPIC_ALREADY_EXISTS]

    def send(_to: Endpoint, request: Any, _version: int, on_response: Any, **_: Any) -> None:
        if request.NAME == "MetadataRequest":
            found = [SimpleNamespace(node_id=2, host=BROKERS[2].host, port=BROKERS[2].port)]
            on_response(SimpleNamespace(controller_id=2, brokers=found))
            return
        topic = SimpleNamespace(error_code=codes.pop(0), error_message=None, topic_id=UUID(int=0))
        on_response(SimpleNamespace(NAME="CreateTopicsResponse", topics=[topic]))

    clock = SimpleNamespace(now_ns=lambda: 0, call_later=lambda _delay, then: then())
    ports: Any = SimpleNamespace(clock=clock, network=SimpleNamespace(send=send))
    outcomes: list[Any] = []
    client = AdminClient([BROKERS[2]], ports, mode=mode, brokers=BROKERS)
    placed: dict[str, Any] = {"partitions": 1, "replication_factor": 1, "assignment": None, "config": {}}
    client.create_topic("t", **placed, timeout_ns=10**9, on_outcome=outcomes.append)
    assert [(one.error, one.is_presumed) for one in outcomes] == [(None, presumed)]
