"""The channel to controllers: whom it asks, how often, and until when."""

from __future__ import annotations

from typing import Any

import pytest
from controller_channel import channel_of

from highwater_runtime.broker.controller_channel import RETRY_BACKOFF_NS, says_not_controller
from highwater_runtime.ports import MS, SECOND, RpcFailure
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.alter_partition_response import (
    AlterPartitionResponse,
    TopicData,
)
from highwater_runtime.wire.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from highwater_runtime.wire.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from highwater_runtime.wire.messages.elect_leaders_response import ElectLeadersResponse


def test_only_the_known_leader_is_asked(ports, wire, fake_clock):
    """Another voter may be a deposed controller: what it refuses says nothing about what the leader has done."""
    leader: list[int | None] = [None]
    answers: list[Any] = []
    channel_of(ports, leader).ask(lambda: ("request", 0), answers.append)
    fake_clock.advance(SECOND)
    assert wire.sent == [], "while no leader is known, nobody is"
    leader[0] = 1001
    fake_clock.advance(RETRY_BACKOFF_NS)
    wire.answer(BrokerHeartbeatResponse(error_code=ErrorCode.NOT_CONTROLLER))
    assert len(wire.sent) == 1, "not before the back-off"
    fake_clock.advance(RETRY_BACKOFF_NS)
    wire.answer(RpcFailure.DISCONNECTED)
    fake_clock.advance(RETRY_BACKOFF_NS)
    assert [s[0] for s in wire.sent] == ["controller-1"] * 3
    done = BrokerHeartbeatResponse()
    wire.answer(done)
    assert answers == [done]


def test_a_new_belief_is_followed_at_the_next_attempt(ports, wire, fake_clock):
    hint: list[int | None] = [1000]
    channel_of(ports, hint).ask(lambda: ("request", 0), lambda _: None)
    hint[0] = 1001
    wire.answer(RpcFailure.TIMED_OUT)
    fake_clock.advance(RETRY_BACKOFF_NS)
    assert wire.sent[-1][0] == "controller-1"


def test_each_attempt_is_built_afresh(ports, wire, fake_clock):
    versions = iter([2, 3])
    channel_of(ports, [1000]).ask(lambda: ("request", next(versions)), lambda _: None)
    wire.answer(RpcFailure.DISCONNECTED)
    fake_clock.advance(RETRY_BACKOFF_NS)
    assert [s[2] for s in wire.sent] == [2, 3]


def test_patience_has_an_end_where_one_is_given(ports, wire, fake_clock):
    answers: list[Any] = []
    give_up = fake_clock.now + 120 * MS
    channel_of(ports, [1000]).ask(lambda: ("request", 0), answers.append, give_up_at_ns=give_up)
    assert wire.sent[-1][4] == 120 * MS
    for _ in range(2):
        wire.answer(RpcFailure.DISCONNECTED)
        fake_clock.advance(RETRY_BACKOFF_NS)
    assert answers == []
    wire.answer(RpcFailure.DISCONNECTED)
    fake_clock.advance(0)
    assert answers == [RpcFailure.TIMED_OUT]
    assert len(wire.sent) == 3


def test_a_closed_channel_is_silent(ports, wire, fake_clock):
    answers: list[Any] = []
    closing = channel_of(ports, [1000])
    closing.ask(lambda: ("request", 0), answers.append)
    closing.close()
    wire.answer(BrokerHeartbeatResponse())
    closing.ask(lambda: ("request", 0), answers.append)
    assert (answers, len(wire.sent)) == ([], 1)


@pytest.mark.parametrize(
    ("response", "refused"),
    [
        (ElectLeadersResponse(error_code=ErrorCode.NOT_CONTROLLER), True),
        (ElectLeadersResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR), False),
        (CreateTopicsResponse(topics=[CreatableTopicResult(name="a", error_code=ErrorCode.NOT_CONTROLLER)]), True),
        (CreateTopicsResponse(topics=[CreatableTopicResult(name="a")]), False),
        (CreateTopicsResponse(topics=[]), False),
        (AlterPartitionResponse(topics=[TopicData()]), False),
    ],
)
def test_who_says_that_it_is_not_the_controller(response, refused):
    assert says_not_controller(response) is refused
