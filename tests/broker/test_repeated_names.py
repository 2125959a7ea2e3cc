"""A client that names much, or one thing many times, gets no more than that is worth, and keeps nobody waiting."""

from __future__ import annotations

from typing import Any

import pytest

from highwater_runtime.broker.apis.api_versions import OFFERED
from highwater_runtime.broker.work_queue import SLICE, answer_in_slices
from highwater_runtime.ports import RpcFailure
from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from highwater_runtime.wire.messages.find_coordinator_request import FindCoordinatorRequest
from highwater_runtime.wire.registry import api_of

MANY = 2000
MEANINGFUL = {
    **{"resource_type": 2, "acks": 1, "timeout_ms": 1000, "replica_id": -1, "replication_factor": 1, "timestamp": -1},
    **{"num_partitions": 1, "max_bytes": 1 << 20, "partition_max_bytes": 1 << 20, "validate_only": True},
}
DATA = {ApiKey.FETCH, ApiKey.PRODUCE}
"""Each part of these is paid for by its own bytes, in a request or on the disk."""
MOST = 16
"""Bytes of a response for each of its request."""


def repeated(struct, version, topic_id, depth=0):
    """A request that names one thing again and again, with everything about it asked for."""

    def value(field):
        match field.type:
            case _ if field.struct is not None:
                return repeated(field.struct, version, topic_id, depth + 1)
            case _ if field.name in MEANINGFUL:
                return MEANINGFUL[field.name]
            case "bool":
                return field.name.startswith("include")
            case "uuid":
                return topic_id
            case "string":
                return "orders"
            case "bytes" | "records":
                return b""
            case _:
                return 0

    fields = {}
    for field in struct.fields:
        if version in field.versions:
            if field.name == "configuration_keys":
                fields[field.name] = None
            elif field.is_array:
                fields[field.name] = [value(field)] * (MANY, 5, 1)[min(depth, 2)]
            else:
                fields[field.name] = value(field)
    return struct.cls(**fields)


def test_no_response_is_out_of_proportion(make_cluster):
    c = make_cluster(controllers=1, config={"auto.create.topics.enable": False})
    topic_id = c.create_topic([0, 1, 2])
    asked = {}
    for key in OFFERED.keys() - DATA:
        version = OFFERED[key][1]
        request = repeated(api_of(key).request.SCHEMA, version, topic_id)
        answers: list[Any] = []
        asked[key] = len(request.encode(version)), version, answers
        c.send("broker-0", request, version, answers.append, channel=f"repeated-{key}")
    c.run(12)
    found = {
        key.name: (size, len(answers[0].encode(version)))
        for key, (size, version, answers) in asked.items()
        if answers and not isinstance(answers[0], RpcFailure)
    }
    assert len(found) > 30
    assert [row for row in found.items() if row[1][1] > max(MOST * row[1][0], 64 * 1024)] == []


def test_a_resource_is_described_once_with_all_keys_that_were_asked_for(make_cluster):
    c = make_cluster(controllers=1)
    c.create_topic([0])

    def described(*keys):
        resources = [
            DescribeConfigsResource(resource_type=2, resource_name="orders", configuration_keys=one) for one in keys
        ]
        answers = []
        c.send("broker-0", DescribeConfigsRequest(resources=resources), 4, answers.append, channel=f"keys-{keys}")
        c.until(lambda: bool(answers))
        (result,) = answers[0].results
        return [config.name for config in result.configs]

    assert described(["retention.ms"], ["cleanup.policy"], ["retention.ms"]) == ["cleanup.policy", "retention.ms"]
    assert len(described(["retention.ms"], None)) > 10
    assert described(None, ["retention.ms"]) == described(None)


@pytest.mark.parametrize("count", [0, SLICE - 1, SLICE, SLICE + 1, 5 * SLICE])
def test_others_have_their_turn_between_two_slices(fake_clock, count):
    done, replies, turns = [], [], []
    answer_in_slices(fake_clock, range(count), lambda one: done.append(one) or -one, replies.append)
    if count < SLICE:
        assert replies == [[-one for one in range(count)]]
        return
    assert (len(done), replies) == (SLICE, [])
    fake_clock.call_later(0, lambda: turns.append(len(done)))
    fake_clock.advance(0)
    assert replies == [[-one for one in range(count)]]
    assert turns == [min(count, 2 * SLICE)]


def test_a_large_request_is_answered_whole_and_each_name_once(make_cluster):
    c = make_cluster(controllers=1)
    c.create_topic([0])
    order = []
    names = [str(number) for number in range(10 * SLICE)]
    resources = [DescribeConfigsResource(resource_type=2, resource_name=name) for name in names]
    large = {
        "configs": DescribeConfigsRequest(resources=resources),
        "groups": FindCoordinatorRequest(key_type=0, coordinator_keys=[*names, *names]),
    }
    for what, request in large.items():
        c.send("broker-0", request, 4, lambda response, what=what: order.append((what, response)), channel=what)
    c.run(5)
    answers = dict(order)
    assert len(answers["configs"].results) == len(answers["groups"].coordinators) == len(names)
