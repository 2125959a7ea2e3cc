"""Configuration of topics and brokers as clients see and change it, and that it is obeyed."""

from __future__ import annotations

import pytest

from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.alter_configs_request import AlterableConfig as Replacing
from highwater_runtime.wire.messages.alter_configs_request import AlterConfigsRequest
from highwater_runtime.wire.messages.alter_configs_request import AlterConfigsResource as ReplacedResource
from highwater_runtime.wire.messages.create_topics_request import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from highwater_runtime.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from highwater_runtime.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

NONE = ErrorCode.NONE
TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
OWN, THIS_BROKER, ALL_BROKERS, STATIC, DEFAULT = 1, 2, 3, 4, 5


def described(c, kind, name, *keys, to="broker-0", version=4, **fields):
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=list(keys) or None)
    (result,) = c.ask(to, DescribeConfigsRequest(resources=[resource], **fields), version).results
    return result


def one(c, kind, name, key, **options):
    (config,) = described(c, kind, name, key, **options).configs
    return config.value, config.config_source


def alter(c, kind, name, *changes, **fields):
    configs = [AlterableConfig(name=n, config_operation=op, value=value) for n, op, value in changes]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource], **fields)
    (answer,) = c.ask("broker-0", request, 1).responses
    c.run(0.5)  # until every broker has it
    return ErrorCode(answer.error_code), answer.error_message


def replace(c, kind, name, **fields):
    configs = [Replacing(name=n, value=value) for n, value in fields.pop("configs").items()]
    resource = ReplacedResource(resource_type=kind, resource_name=name, configs=configs)
    (answer,) = c.ask("broker-0", AlterConfigsRequest(resources=[resource], **fields), 2).responses
    c.run(0.5)
    return ErrorCode(answer.error_code)


def test_a_value_is_told_with_where_it_is_from_and_what_it_covers(make_cluster):
    c = make_cluster(config={"log.retention.ms": 5000})
    c.create_topic([0, 1], configs={"retention.ms": "1000"})
    assert alter(c, BROKER, "", ("log.retention.ms", SET, "2000")) == (NONE, None)
    assert alter(c, BROKER, "0", ("log.retention.ms", SET, "3000")) == (NONE, None)
    (entry,) = described(c, TOPIC, "orders", "retention.ms", include_synonyms=True, include_documentation=True).configs
    assert (entry.value, entry.config_source, entry.read_only, entry.is_sensitive) == ("1000", OWN, False, False)
    assert [(s.name, s.value, s.source) for s in entry.synonyms] == [
        ("retention.ms", "1000", OWN),
        ("log.retention.ms", "3000", THIS_BROKER),
        ("log.retention.ms", "2000", ALL_BROKERS),
        ("log.retention.ms", "5000", STATIC),
        ("log.retention.ms", "604800000", DEFAULT),
    ]
    assert "kept" in entry.documentation
    (plain,) = described(c, TOPIC, "orders", "retention.ms", version=1).configs
    assert (plain.synonyms, plain.documentation or None) == ([], None)
    assert alter(c, TOPIC, "orders", ("retention.ms", DELETE, None)) == (NONE, None)
    for broker, expected in (("broker-0", ("3000", THIS_BROKER)), ("broker-1", ("2000", ALL_BROKERS))):
        assert one(c, TOPIC, "orders", "retention.ms", to=broker) == expected


def test_brokers_are_described_by_themselves(make_cluster):
    c = make_cluster()
    everything = {e.name: e for e in described(c, BROKER, "0").configs}
    assert everything["broker.session.timeout.ms"].config_source == STATIC, "the tests set it"
    assert everything["num.partitions"].read_only
    assert not everything["log.retention.ms"].read_only
    assert everything["auto.create.topics.enable"].value == "true"
    assert described(c, BROKER, "").configs == [], "nothing is set for all brokers"
    alter(c, BROKER, "", ("min.insync.replicas", SET, "2"))
    assert [(e.name, e.value) for e in described(c, BROKER, "").configs] == [("min.insync.replicas", "2")]
    other = described(c, BROKER, "1")
    assert (other.error_code, other.configs) == (ErrorCode.INVALID_REQUEST, [])
    assert "expected 0" in other.error_message


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [
        (TOPIC, "nothing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "no name", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (8, "0", ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_cannot_be_described(make_cluster, kind, name, error):
    assert described(make_cluster(), kind, name).error_code == error


@pytest.mark.parametrize(("kind", "name"), [(TOPIC, "orders"), (BROKER, ""), (BROKER, "0")])
def test_a_limit_holds_from_the_moment_that_it_is_set_until_it_is_deleted(make_cluster, kind, name):
    c = make_cluster()
    c.create_topic([0, 1])
    limit = "max.message.bytes" if kind == TOPIC else "message.max.bytes"
    assert c.produce(b"x" * 500).error_code == NONE
    assert alter(c, kind, name, (limit, SET, "300")) == (NONE, None)
    assert c.produce(b"x" * 500).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert c.produce(b"x" * 100).error_code == NONE
    assert alter(c, kind, name, (limit, DELETE, None)) == (NONE, None)
    assert c.produce(b"x" * 500).error_code == NONE


def test_a_new_topic_and_a_restarted_broker_obey_what_is_set_for_brokers(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1])
    alter(c, BROKER, "", ("message.max.bytes", SET, "300"))
    c.create_topic([0, 1], name="later")
    c.create_topic([0, 1], name="own", configs={"max.message.bytes": "1000"})
    assert c.produce(b"x" * 500, topic="later").error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert c.produce(b"x" * 500, topic="own").error_code == NONE
    c.sim.stop("broker-0")
    c.until(lambda: c.broker(0) is None or c.sim.node("broker-0").core is None, 40)
    c.until(lambda: c.leads(1), 10)
    c.sim.start("broker-0")
    c.until(lambda: c.unfenced(0), 20)
    assert c.replica(0).log.config.max_message_bytes == 300
    assert c.replica(0, "own-0").log.config.max_message_bytes == 1000


def test_replacing_a_configuration_deletes_what_it_leaves_out(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1], configs={"retention.ms": "1000", "segment.bytes": "1000000"})
    assert replace(c, TOPIC, "orders", configs={"retention.ms": "9"}, validate_only=True) == NONE
    assert one(c, TOPIC, "orders", "retention.ms") == ("1000", OWN)
    assert replace(c, TOPIC, "orders", configs={"retention.ms": "2000", "flush.messages": "1"}) == NONE
    set_by_topic = {e.name: e.value for e in described(c, TOPIC, "orders").configs if e.config_source == OWN}
    assert set_by_topic == {"retention.ms": "2000", "flush.messages": "1"}
    assert replace(c, TOPIC, "orders", configs={"colour": "red"}) == ErrorCode.INVALID_CONFIG
    assert replace(c, TOPIC, "orders", configs={"retention.ms": None}) == ErrorCode.INVALID_CONFIG
    assert replace(c, TOPIC, "nothing", configs={}) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert one(c, TOPIC, "orders", "retention.ms") == ("2000", OWN), "what is refused changes nothing"


@pytest.mark.parametrize(
    ("kind", "name", "change", "error", "why"),
    [
        (BROKER, "", ("num.partitions", SET, "3"), ErrorCode.INVALID_REQUEST, "cannot be altered while"),
        (BROKER, "one", ("log.retention.ms", SET, "3"), ErrorCode.INVALID_REQUEST, "by its id"),
        (BROKER, "0", ("log.retention.ms", SET, "-2"), ErrorCode.INVALID_CONFIG, "at least -1"),
        (8, "0", ("root", SET, "DEBUG"), ErrorCode.INVALID_REQUEST, "only topics"),
        (TOPIC, "orders", ("retention.ms", APPEND, "3"), ErrorCode.INVALID_CONFIG, "not a list"),
        (TOPIC, "orders", ("colour", SUBTRACT, "3"), ErrorCode.INVALID_CONFIG, "not a list"),
        (TOPIC, "orders", ("retention.ms", 7, "3"), ErrorCode.INVALID_CONFIG, "found 7"),
        (
            TOPIC,
            "orders",
            ("unclean.leader.election.enable", SET, "yes"),
            ErrorCode.INVALID_CONFIG,
            "takes false or true",
        ),
        (TOPIC, "orders", ("compression.type", SET, "zstd"), ErrorCode.INVALID_CONFIG, "takes producer"),
        (TOPIC, "orders", ("cleanup.policy", SUBTRACT, "delete"), ErrorCode.INVALID_CONFIG, "cleanup.policy"),
        (TOPIC, "orders", ("message.timestamp.type", SET, "Never"), ErrorCode.INVALID_CONFIG, "LogAppendTime"),
    ],
)
def test_what_cannot_be_set(make_cluster, kind, name, change, error, why):
    c = make_cluster()
    c.create_topic([0, 1])
    found, message = alter(c, kind, name, change)
    assert found is error
    assert why in message


def test_a_list_is_appended_to(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1])
    assert alter(c, TOPIC, "orders", ("cleanup.policy", APPEND, "delete")) == (NONE, None)
    assert one(c, TOPIC, "orders", "cleanup.policy") == ("delete", OWN)


def test_who_creates_a_topic_is_told_how_it_is_configured(make_cluster):
    c = make_cluster(config={"num.partitions": 2, "log.retention.ms": 5000})
    asked = CreatableTopic(
        name="orders",
        num_partitions=-1,
        replication_factor=-1,
        configs=[CreatableTopicConfig(name="segment.ms", value="7")],
    )
    for validate_only in (True, False):
        request = CreateTopicsRequest(topics=[asked], timeout_ms=3000, validate_only=validate_only)
        (created,) = c.ask("broker-0", request, 7).topics
        assert (created.error_code, created.num_partitions, created.replication_factor) == (NONE, 2, 1)
        configs = {e.name: (e.value, e.config_source) for e in created.configs}
        assert configs["segment.ms"] == ("7", OWN)
        assert configs["retention.ms"] == ("5000", STATIC)
        assert configs["segment.bytes"] == ("1073741824", DEFAULT)
