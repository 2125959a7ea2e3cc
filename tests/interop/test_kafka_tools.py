"""Kafka's command line tools: what ``kafka-topics.sh`` and its kin start."""

from __future__ import annotations

import json
import re
import subprocess

import pytest


@pytest.fixture
def tool(cluster, kafka_tool):
    def run(name, *arguments, stdin=""):
        done = subprocess.run(
            kafka_tool(name, "--bootstrap-server", cluster.bootstrap, *arguments),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.mark.thorough
def test_topics_and_configs(cluster, tool, wait_until):
    name = "by-command-line"
    tool("TopicCommand", "--create", "--topic", name, "--partitions", "2", "--replication-factor", "3")
    assert name in tool("TopicCommand", "--list").split()
    described = tool("TopicCommand", "--describe", "--topic", name)
    assert "PartitionCount: 2" in described
    assert "ReplicationFactor: 3" in described
    tool(
        "kafka.admin.ConfigCommand",
        "--alter",
        "--entity-type",
        "topics",
        "--entity-name",
        name,
        "--add-config",
        "retention.ms=5000",
    )
    wait_until(
        lambda: (
            "retention.ms=5000"
            in tool("kafka.admin.ConfigCommand", "--describe", "--entity-type", "topics", "--entity-name", name)
        ),
        "the new retention",
    )
    tool("TopicCommand", "--delete", "--topic", name)
    wait_until(lambda: name not in cluster.metadata().topics, "the topic to go")


@pytest.mark.thorough
def test_console_producer_and_consumer_groups_and_offsets(tool, topic):
    group = f"group-{topic}"
    tool("ConsoleProducer", "--topic", topic, stdin="a\nb\nc\n")
    consume = ("consumer.ConsoleConsumer", "--topic", topic, "--group", group, "--from-beginning")
    assert tool(*consume, "--max-messages", "3").split() == ["a", "b", "c"]
    assert f"{topic}:0:3" in tool("GetOffsetShell", "--topic", topic)
    described = tool("consumer.group.ConsumerGroupCommand", "--describe", "--group", group)
    (row,) = [line.split() for line in described.splitlines() if line.startswith(group)]
    assert row[:6] == [group, topic, "0", "3", "3", "0"]


@pytest.mark.thorough
def test_replicas_are_moved(cluster, tool, topic_of, tmp_path, wait_until):
    topic = topic_of(replicas=2)
    before = list(cluster.partitions(topic)[0].replicas)
    (outsider,) = {0, 1, 2} - set(before)
    plan = {"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": [outsider, before[0]]}]}
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan))
    command = ("reassign.ReassignPartitionsCommand", "--reassignment-json-file", str(file))
    tool(*command, "--execute")
    wait_until(lambda: list(cluster.partitions(topic)[0].replicas) == [outsider, before[0]], "the reassignment")
    assert f"Reassignment of partition {topic}-0 is completed." in tool(*command, "--verify")


def test_the_quorum_and_what_brokers_speak(tool):
    status = tool("MetadataQuorumCommand", "describe", "--status")
    assert re.search(r"^LeaderId: +1000$", status, re.MULTILINE)
    versions = tool("BrokerApiVersionsCommand")
    assert versions.count("Produce(0): ") == 3
    assert versions.count("ApiVersions(18): ") == 3
