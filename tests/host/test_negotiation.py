"""Clients of servers of any release: each request goes out in a version that the server said it supports.

``recorded/api_versions.json`` has what brokers and controllers of several releases of Apache Kafka answered.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from highwater_runtime.host.net.negotiation import ServerVersions, as_asked, as_of
from highwater_runtime.ports import SECOND, RpcFailure
from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from highwater_runtime.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from highwater_runtime.wire.messages.describe_cluster_request import DescribeClusterRequest
from highwater_runtime.wire.messages.elect_leaders_request import ElectLeadersRequest
from highwater_runtime.wire.messages.fetch_request import FetchRequest, ReplicaState
from highwater_runtime.wire.messages.find_coordinator_request import FindCoordinatorRequest
from highwater_runtime.wire.messages.find_coordinator_response import FindCoordinatorResponse
from highwater_runtime.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from highwater_runtime.wire.messages.metadata_request import MetadataRequest
from highwater_runtime.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from highwater_runtime.wire.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from highwater_runtime.wire.registry import api_of

RECORDED = json.loads(
    (Path(__file__).parents[1] / "apache_kafka" / "recorded" / "api_versions.json").read_text(encoding="utf-8")
)
WANTED = {
    ApiKey.PRODUCE: 10,
    ApiKey.FETCH: 15,
    ApiKey.LIST_OFFSETS: 7,
    ApiKey.METADATA: 12,
    ApiKey.INIT_PRODUCER_ID: 4,
    ApiKey.CREATE_TOPICS: 7,
    ApiKey.FIND_COORDINATOR: 4,
}
"""What the harness's clients ask for."""


def ranges(server: str) -> ServerVersions:
    return ServerVersions({int(key): (low, high) for key, (low, high) in RECORDED[server].items()})


@pytest.mark.parametrize(
    ("server", "chosen"),
    [
        ("1.1.1 broker", (5, 7, 2, 5, 0, 2, 1)),
        ("2.8.2 broker", (9, 12, 6, 11, 4, 7, 3)),  # Metadata has topic ids, Fetch has not
        ("3.4.1 broker", (9, 13, 7, 12, 4, 7, 4)),
        ("4.4.0 broker", tuple(WANTED.values())),
    ],
)
def test_each_api_is_negotiated_by_itself(server: str, chosen: tuple[int, ...]) -> None:
    versions = ranges(server)
    assert tuple(versions.version_of(key, wanted) for key, wanted in WANTED.items()) == chosen


@pytest.mark.parametrize("server", sorted(RECORDED))
def test_every_server_can_be_spoken_to(server: str) -> None:
    """The codec has a version of whatever clients ask it, and the server one of whatever it must have."""
    versions = ranges(server)
    needed = WANTED if server.endswith("broker") else {ApiKey.FETCH: 15}
    for key, wanted in needed.items():
        version = versions.version_of(key, wanted)
        assert version is not None
        assert api_of(key).supports(version)
        low, high = RECORDED[server][str(int(key))]
        assert low <= version <= high


def test_what_a_server_does_not_have_is_not_asked() -> None:
    assert ranges("1.1.1 broker").version_of(ApiKey.ELECT_LEADERS, 2) is None
    assert ServerVersions({int(ApiKey.FETCH): (16, 18)}).version_of(ApiKey.FETCH, 15) is None  # a release to come
    assert ServerVersions({int(ApiKey.FETCH): (0, 3)}).version_of(ApiKey.FETCH, 15) is None  # one of long ago
    assert ServerVersions.of(ApiVersionsResponse(error_code=35)) is None


# --- fields that moved ------------------------------------------------------------------------------------------------


def test_requests_go_out_in_the_form_of_the_older_version() -> None:
    fetch = FetchRequest(replica_state=ReplicaState(replica_id=7))
    assert as_of(fetch, 13) == FetchRequest(replica_id=7)
    assert as_of(fetch, 15) is fetch
    assert FetchRequest.decode(as_of(fetch, 13).encode(13), 13).replica_id == 7
    delete = DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=9)
    assert as_of(delete, 1) == DeleteTopicsRequest(topic_names=["orders"], timeout_ms=9)
    assert delete.topics, "it may be sent again, to another server"
    assert as_of(FindCoordinatorRequest(coordinator_keys=["g"]), 1) == FindCoordinatorRequest(key="g")
    assert as_of(DescribeClusterRequest(include_fenced_brokers=True), 0) == DescribeClusterRequest()
    leave = LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id="m")])
    assert as_of(leave, 1) == LeaveGroupRequest(group_id="g", member_id="m")
    every = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)])
    assert as_of(every, 3) == OffsetFetchRequest(group_id="g", topics=None)
    some = [OffsetFetchRequestTopics(name="orders", partition_indexes=[1])]
    asked = as_of(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=some)]), 3)
    assert [(topic.name, topic.partition_indexes) for topic in asked.topics] == [("orders", [1])]
    for request, version in ((delete, 1), (leave, 1), (every, 3)):
        assert as_of(request, version).encode(version)


def test_responses_are_read_in_the_form_that_was_asked_for() -> None:
    (found,) = as_asked(FindCoordinatorResponse(node_id=2, host="h", port=9), 1).coordinators
    assert (found.node_id, found.host, found.port, found.error_code) == (2, "h", 9, 0)
    refused = as_asked(FindCoordinatorResponse(error_code=15, host=""), 1)
    assert refused.coordinators[0].error_code == 15
    partition = OffsetFetchResponsePartition(partition_index=1, committed_offset=8, metadata="x", error_code=0)
    old = OffsetFetchResponse(topics=[OffsetFetchResponseTopic(name="orders", partitions=[partition])], error_code=14)
    (group,) = as_asked(old, 3).groups
    assert group.error_code == 14
    assert [(one.partition_index, one.committed_offset) for one in group.topics[0].partitions] == [(1, 8)]
    assert as_asked(old, 8) is old


# --- on connections ---------------------------------------------------------------------------------------------------


def answer_as(server, tools):
    """A server of that release that answers ApiVersions and Metadata."""

    def answer(request):
        if request.api_key == ApiKey.API_VERSIONS:
            keys = [
                ApiVersion(api_key=int(key), min_version=low, max_version=high)
                for key, (low, high) in RECORDED[server].items()
            ]
            request.reply(ApiVersionsResponse(api_keys=keys))
        elif request.api_key == ApiKey.FIND_COORDINATOR:
            assert (request.version, request.body.key) == (1, "workload")
            request.reply(FindCoordinatorResponse(node_id=2, host="there", port=9092))
        else:
            request.reply(tools.metadata(f"in version {request.version}"))

    return answer


async def client_of(hosts):
    return await hosts.node("client", listeners=(), negotiates=True)


@pytest.mark.parametrize(("release", "version"), [("1.1.1 broker", 5), ("2.8.2 broker", 11), ("4.4.0 broker", 12)])
def test_a_connection_begins_with_the_question_and_requests_wait_for_the_answer(play, tools, release, version):
    async def story(hosts):
        server, core = await hosts.server()
        held = []
        core.answering = held.append
        client = await client_of(hosts)
        answers = []
        for _ in range(3):
            client.run(
                lambda: client.network.send(
                    server.bound["PLAINTEXT"], MetadataRequest(), 12, answers.append, timeout_ns=10 * SECOND
                )
            )
        await tools.until(lambda: held)
        assert [(request.api_key, request.version) for request in held] == [(ApiKey.API_VERSIONS, 0)]
        core.answering = answer_as(release, tools)
        core.answering(held.pop())
        await tools.until(lambda: len(answers) == 3)
        assert [response.cluster_id for response in answers] == [f"in version {version}"] * 3
        assert [request.api_key for request in core.requests].count(ApiKey.API_VERSIONS) == 1

    play(story)


def test_what_the_server_does_not_support_fails_at_once_and_the_rest_goes_on(play, tools):
    async def story(hosts):
        server, core = await hosts.server()
        core.answering = answer_as("1.1.1 broker", tools)
        client = await client_of(hosts)
        at = server.bound["PLAINTEXT"]
        assert await tools.ask(client, at, ElectLeadersRequest(), 2) is RpcFailure.UNSUPPORTED
        assert (await tools.ask(client, at)).cluster_id == "in version 5"
        assert await tools.ask(client, at, ElectLeadersRequest(), 2) is RpcFailure.UNSUPPORTED
        assert [request.api_key for request in core.requests] == [ApiKey.API_VERSIONS, ApiKey.METADATA]

    play(story)


def test_a_core_reads_and_writes_the_version_that_it_asked_for(play, tools):
    async def story(hosts):
        server, core = await hosts.server()
        core.answering = answer_as("1.1.1 broker", tools)
        client = await client_of(hosts)
        request = FindCoordinatorRequest(coordinator_keys=["workload"])
        response = await tools.ask(client, server.bound["PLAINTEXT"], request, 4)
        assert [(one.node_id, one.host) for one in response.coordinators] == [(2, "there")]

    play(story)


def test_a_server_that_does_not_answer_the_question_fails_what_waits(play, tools):
    async def story(hosts):
        server, core = await hosts.server()
        client = await client_of(hosts)
        at = server.bound["PLAINTEXT"]
        assert await tools.ask(client, at, timeout_ns=SECOND // 4) is RpcFailure.TIMED_OUT
        core.answering = lambda request: request.reply(ApiVersionsResponse(error_code=35))
        assert await tools.ask(client, at) is RpcFailure.DISCONNECTED
        core.answering = answer_as("3.4.1 broker", tools)
        assert (await tools.ask(client, at)).cluster_id == "in version 12"

    play(story)
