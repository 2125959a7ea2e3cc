"""Real runs in which what was not promised happens: none may be a fail. What was promised is still held to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

HEAD = """\
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: promises}
spec:
  seed: 3
  timeout: 1m
  cluster:
    brokers: 2
    controllers: 1
    config: {broker.session.timeout.ms: 1000, broker.heartbeat.interval.ms: 200, replica.lag.time.max.ms: 1000}
    topics: [{name: orders, partitions: 1, replicationFactor: 2}]
"""

RECREATED = """\
  workload: {producers: 2, rate: 100/s, consumers: 2}
  checks: [lost-write, unseen, inconsistent-offsets, duplicate, nonmonotonic-send, nonmonotonic-poll, poll-skip]
  schedule:
    - wait: 2s
    - admin: {deleteTopic: {name: orders}}
    - admin: {createTopic: {name: orders, partitions: 1, replicationFactor: 2}}
    - wait: 2s
"""
"""Other values stand at the same offsets then, and sends go back to 0."""

DEPOSED = """\
  workload: {producers: 2, rate: 300/s, consumers: 1, idempotence: false, acks: ACKS}
  schedule:
    - inject: {name: away, pause: {target: {followerOf: orders-0}}}
    - wait: 300ms
    - inject: {name: dead, powerLoss: {target: {leaderOf: orders-0}}}
    - heal: away
    - wait: 5s
    - heal: all
    - wait: 2s
"""
"""The leader is gone with records that its follower had not fetched: with ``acks=1`` they had been acknowledged."""

TWICE = """\
  workload: {producers: 1, rate: 100/s, consumers: 1, idempotence: IDEMPOTENCE}
  schedule:
    - inject: {name: twice, duplicate: {rpc: Produce}}
    - wait: 1s
    - heal: all
"""
"""Every Produce request arrives twice."""


def run(highwater: Any, text: str, *options: str) -> tuple[dict[str, Any], Path]:
    (found,) = highwater("run", highwater.write("promises.yaml", HEAD + text), "--json", *options).json["runs"]
    directory = Path(found["dir"])
    return json.loads((directory / "verdict.json").read_bytes()), directory


@pytest.mark.thorough
def test_a_topic_deleted_and_created_under_load(highwater: Any) -> None:
    verdict, directory = run(highwater, RECREATED)
    assert verdict["verdict"] == "pass", verdict["reasons"]
    rows = [json.loads(line) for line in (directory / "history" / "operations.jsonl").read_bytes().splitlines()]
    read = [one for row in rows if row["f"] == "poll" and row["type"] == "ok" for one in row["value"]]
    assert len({one["topic_id"] for one in read}) == 2, "both topics were read"
    assert len({one["offset"] for one in read}) < len({one["value"] for one in read}), "at the same offsets"


@pytest.mark.quick("0")
@pytest.mark.parametrize("acks", ["1", "0"])
def test_what_never_passed_the_high_watermark_may_be_lost(highwater: Any, acks: str) -> None:
    verdict, directory = run(highwater, DEPOSED.replace("ACKS", acks))
    assert verdict["verdict"] == "pass", verdict["reasons"]
    rows = [json.loads(line) for line in (directory / "history" / "operations.jsonl").read_bytes().splitlines()]
    read = {one["value"] for row in rows if row["f"] == "poll" and row["type"] == "ok" for one in row["value"]}
    sent = {
        one["value"] for row in rows if row["f"] == "send" and row["type"] in ("ok", "info") for one in row["value"]
    }
    assert sent - read, "records were lost"
    if acks == "0":
        assert (verdict["checks"]["lost-write"], verdict["checks"]["duplicate"]) == ("not-available", "ok")


def test_what_passed_the_high_watermark_may_not_be_lost_with_acks_1(highwater: Any, kafka_14139: str) -> None:
    """KAFKA-14139 loses records that a consumer could have read, whatever its producer asked for."""
    strict = "acks: all, idempotence: true"
    assert strict in kafka_14139
    text = kafka_14139.replace(strict, "acks: 1, idempotence: false")
    file = highwater.write("kafka-14139.yaml", text)
    (found,) = highwater("run", file, "--switch", "replica-epoch-check=off", "--json").json["runs"]
    assert {"lost-write", "unseen", "committed-loss"} <= set(found["anomalies"])


@pytest.mark.parametrize(("idempotence", "expected"), [("false", "pass"), ("true", "pass")])
def test_requests_that_arrive_twice(highwater: Any, idempotence: str, expected: str) -> None:
    """Without idempotence the second copy is appended, which nobody promised it would not be."""
    verdict, directory = run(highwater, TWICE.replace("IDEMPOTENCE", idempotence))
    assert verdict["verdict"] == expected, verdict["reasons"]
    rows = [json.loads(line) for line in (directory / "dumps" / "replica_log.jsonl").read_bytes().splitlines()]
    values = [row["value"] for row in rows if row["broker"] == 0]
    assert (len(values) > len(set(values))) == (idempotence == "false")
