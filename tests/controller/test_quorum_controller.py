"""The controller as a node of the quorum: who answers, when, and what survives a change of the active one."""

from __future__ import annotations

from typing import Any

import pytest

from highwater_runtime.controller.kraft import quorum_controller
from highwater_runtime.metadata import NO_LEADER, MetadataVersion
from highwater_runtime.raft import metadata_log
from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from highwater_runtime.wire.messages.api_versions_request import ApiVersionsRequest
from highwater_runtime.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from highwater_runtime.wire.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from highwater_runtime.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from highwater_runtime.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from highwater_runtime.wire.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from highwater_runtime.wire.messages.metadata_request import MetadataRequest
from highwater_runtime.wire.messages.offset_for_leader_epoch_request import OffsetForLeaderEpochRequest
from highwater_runtime.wire.registry import APIS

OWN_KEYS = [key for key in APIS if key in (37, 43, 44, 45, 46, 56, 57, 62, 63, 64, 67)]


def topic(name: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=[CreatableTopic(name=name, num_partitions=1, replication_factor=1)])


# --- Becoming active ----------------------------------------------------------------------------------------------


def test_the_first_active_controller_writes_the_metadata_version(make_cluster: Any) -> None:
    cluster = make_cluster(metadata_version=MetadataVersion.IBP_3_5_IV1)
    assert cluster.controller.is_active
    assert cluster.image.metadata_version is MetadataVersion.IBP_3_5_IV1


def test_a_later_one_does_not(make_cluster: Any) -> None:
    cluster = make_cluster()
    end = cluster.quorum.log_end_offset
    cluster.quorum.lose(1001)
    cluster.quorum.lead()
    cluster.quorum.commit()
    assert cluster.quorum.log_end_offset == end + 1, "the LeaderChange record and nothing else"


def test_metrics_are_there_from_the_start_and_follow(make_cluster: Any) -> None:
    cluster = make_cluster()
    names = ("activebrokercount", "fencedbrokercount", "offlinepartitionscount", "globaltopiccount")
    values = cluster.metrics.values
    prefix = "kafka_controller_kafkacontroller_"
    assert values["kafka_controller_controllerstats_uncleanleaderelections_total"] == 0
    assert [values[prefix + name] for name in names] == [0, 0, 0, 0]
    assert values[prefix + "activecontrollercount"] == 1

    cluster.up(0, 1)
    cluster.create_topic("orders", [0])
    cluster.silence(0)
    assert cluster.partition().leader == NO_LEADER
    assert [values[prefix + name] for name in names] == [1, 1, 1, 1]
    assert values[prefix + "preferredreplicaimbalancecount"] == 1

    cluster.up(0, incarnation=2)
    assert [values[prefix + name] for name in names] == [2, 0, 0, 1]

    cluster.quorum.lose(1001)
    assert values[prefix + "activecontrollercount"] == 0


# --- Who answers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", OWN_KEYS)
def test_a_standby_says_that_it_is_not_the_controller_in_the_response_shape_of_the_request(
    cluster: Any, key: int
) -> None:
    cluster.quorum.lose(1001)
    request: Any
    match key:
        case ApiKey.CREATE_PARTITIONS:
            request = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="a", count=1, assignments=None)])
            errors = [result.error_code for result in cluster.ask(request).results]
        case ApiKey.INCREMENTAL_ALTER_CONFIGS:
            request = IncrementalAlterConfigsRequest(
                resources=[AlterConfigsResource(resource_type=2, resource_name="a")]
            )
            errors = [result.error_code for result in cluster.ask(request).responses]
        case _:
            errors = [cluster.ask(APIS[key].request()).error_code]
    assert errors == [ErrorCode.NOT_CONTROLLER]


def test_a_standby_refuses_topics_one_by_one(cluster: Any) -> None:
    cluster.quorum.lose(None)
    created = cluster.ask(topic("a")).topics
    deleted = cluster.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="a")])).responses
    old = cluster.ask(DeleteTopicsRequest(topic_names=["a"]), version=1).responses
    assert [(r.name, r.error_code) for r in [*created, *deleted, *old]] == [("a", ErrorCode.NOT_CONTROLLER)] * 3


def test_a_leader_that_has_not_been_told_of_its_own_log_yet_is_not_active(cluster: Any) -> None:
    cluster.quorum.lose(1001)
    cluster.quorum.leader_id = 1000
    assert not cluster.controller.is_active
    assert cluster.ask(topic("a")).topics[0].error_code == ErrorCode.NOT_CONTROLLER


def test_api_versions_are_answered_by_everyone(cluster: Any) -> None:
    cluster.quorum.lose(1001)
    response = cluster.ask(ApiVersionsRequest())
    offered = {entry.api_key: (entry.min_version, entry.max_version) for entry in response.api_keys}
    assert offered[ApiKey.ALTER_PARTITION] == (0, 3)
    assert offered[ApiKey.BROKER_REGISTRATION][1] >= 3
    assert ApiKey.PRODUCE not in offered
    assert [(f.name, f.max_version_level) for f in response.finalized_features] == [
        ("metadata.version", int(MetadataVersion.latest()))
    ]


def test_an_unknown_version_of_api_versions_is_told_what_is_known(cluster: Any) -> None:
    from highwater_runtime.ports import InboundRequest

    replies: list[Any] = []
    cluster.controller.on_request(InboundRequest(ApiVersionsRequest(), 99, "c", "p", replies.append))
    assert replies[0].error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [entry.api_key for entry in replies[0].api_keys] == [ApiKey.API_VERSIONS]


def test_what_a_controller_does_not_serve_is_answered_all_the_same(cluster: Any) -> None:
    assert cluster.ask(MetadataRequest(topics=None)).brokers == []
    assert cluster.ask(OffsetForLeaderEpochRequest()).topics == []


# --- When ---------------------------------------------------------------------------------------------------------


def test_a_response_waits_for_the_commit(cluster: Any) -> None:
    cluster.up(0)
    replies = cluster.send(topic("orders"))
    assert replies == []
    assert "orders" not in cluster.image.topics_by_name

    cluster.quorum.commit()

    assert replies[0].topics[0].error_code == ErrorCode.NONE
    assert "orders" in cluster.image.topics_by_name


def test_an_answer_that_rests_on_what_is_not_committed_waits_too(cluster: Any) -> None:
    cluster.up(0)
    first = cluster.send(topic("orders"))
    second = cluster.send(topic("orders"))
    assert (first, second) == ([], [])

    cluster.quorum.commit()

    assert first[0].topics[0].error_code == ErrorCode.NONE
    assert second[0].topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_losing_the_leadership_fails_what_waits_and_forgets_what_was_not_committed(cluster: Any) -> None:
    cluster.up(0)
    lost = cluster.send(topic("orders"))

    cluster.quorum.lose(1001)

    assert lost[0].topics[0].error_code == ErrorCode.NOT_CONTROLLER
    cluster.quorum.lead()
    assert cluster.ask(topic("orders")).topics[0].error_code == ErrorCode.NONE


def test_what_the_quorum_kept_counts_although_its_writer_lost_the_leadership(cluster: Any) -> None:
    cluster.up(0)
    lost = cluster.send(topic("orders"))
    cluster.quorum.lose(1001, survives=True)
    cluster.quorum.commit()
    assert lost[0].topics[0].error_code == ErrorCode.NOT_CONTROLLER

    cluster.quorum.lead()

    assert cluster.ask(topic("orders")).topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_a_leader_deposed_within_the_event_writes_nothing(cluster: Any) -> None:
    cluster.up(0)

    def deposed(records: list[bytes]) -> int:
        from highwater_runtime.raft import NotLeaderError

        raise NotLeaderError(1001, 9)

    cluster.quorum.append = deposed
    replies = cluster.send(topic("orders"))
    assert replies[0].topics[0].error_code == ErrorCode.NOT_CONTROLLER


# --- Fail-over ----------------------------------------------------------------------------------------------------


def test_a_new_active_controller_gives_every_broker_a_fresh_session(cluster: Any) -> None:
    cluster.up(0)
    cluster.pass_ms(8000)
    cluster.quorum.lose(1001)
    cluster.pass_ms(60_000)
    assert not cluster.image.brokers[0].fenced, "a standby fences nobody"

    cluster.quorum.lead()
    cluster.pass_ms(8999)
    assert not cluster.image.brokers[0].fenced
    cluster.pass_ms(1)
    assert cluster.image.brokers[0].fenced


def test_a_standby_follows_and_takes_over_with_the_same_state(cluster: Any, make_cluster: Any) -> None:
    cluster.up(0, 1)
    cluster.create_topic("orders", [0, 1])
    cluster.propose([0])
    standby = make_cluster()
    standby.quorum.lose(None)
    fresh = type(cluster)()
    for base, epoch, records in cluster.quorum.batches:
        fresh.controller.on_commit(base, epoch, records, base + max(1, len(records)) - 1)
    assert not fresh.controller.is_active
    assert fresh.image.brokers == cluster.image.brokers
    assert fresh.image.topics_by_name == cluster.image.topics_by_name
    assert fresh.trace.events == [e for e in cluster.trace.events if type(e).__name__ != "AlterPartitionHandled"]

    fresh.quorum.batches = list(cluster.quorum.batches)
    fresh.quorum.committed = len(fresh.quorum.batches)
    fresh.quorum.epoch = cluster.quorum.epoch
    fresh.quorum.lead()
    assert fresh.propose([0, 1]).error_code == ErrorCode.NONE


def test_stopping_answers_what_waits_and_leaves_the_quorum(cluster: Any) -> None:
    cluster.up(0)
    waiting = cluster.send(topic("orders"))
    stopped: list[bool] = []

    cluster.controller.stop(lambda: stopped.append(True))

    assert waiting[0].topics[0].error_code == ErrorCode.NOT_CONTROLLER
    assert stopped == [True]
    assert cluster.quorum.stopped
    assert cluster.log.closed
    assert not cluster.controller.is_active


def test_heartbeats_go_on_while_a_write_waits(cluster: Any) -> None:
    """A heartbeat keeps the session from when it arrived, though its answer waits for the quorum."""
    cluster.up(0)
    cluster.send(topic("orders"))
    cluster.clock.advance(5_000 * 1_000_000)
    broker = cluster.image.brokers[0]
    cluster.send(BrokerHeartbeatRequest(broker_id=0, broker_epoch=broker.epoch, current_metadata_offset=99))
    cluster.clock.advance(8_999 * 1_000_000)
    cluster.quorum.commit()
    assert not cluster.image.brokers[0].fenced


def test_what_is_too_large_for_a_batch_is_refused_and_nothing_of_it_is_written(cluster: Any, monkeypatch: Any) -> None:
    """The first two records would make a batch of their own, which is not too large."""
    monkeypatch.setattr(quorum_controller, "MOST_RECORDS", 2)
    monkeypatch.setattr(metadata_log, "MAX_BATCH_BYTES", 5000)
    users = [
        ScramCredentialUpsertion(name=name, mechanism=1, iterations=4096, salt=bytes(size), salted_password=b"x")
        for name, size in (("alice", 20), ("bob", 20), ("carol", 5000))
    ]
    end = cluster.quorum.log_end_offset
    answer = cluster.ask(AlterUserScramCredentialsRequest(upsertions=users))
    assert {result.error_code for result in answer.results} == {ErrorCode.RECORD_LIST_TOO_LARGE}
    assert cluster.quorum.log_end_offset == end
    answer = cluster.ask(AlterUserScramCredentialsRequest(upsertions=users[:2]))
    assert {result.error_code for result in answer.results} == {ErrorCode.NONE}
    assert [name for name, _ in cluster.image.scram_credentials] == ["alice", "bob"]
