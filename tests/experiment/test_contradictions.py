"""Settings that contradict each other are refused before anything starts."""

from __future__ import annotations

from typing import Any

import pytest

from highwater_chaos.experiment import ExperimentError, parse_experiment
from highwater_chaos.experiment.batches import batch_bytes
from highwater_chaos.records.values import record_of
from highwater_chaos.verdict.checked_run import run_and_forget
from highwater_runtime.broker.groups import offsets_log
from highwater_runtime.log.records import build_batch

_FILE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: contradiction}}
spec:
  timeout: 1m
  cluster:
    {mode}
    config: {{{config}}}
    topics: [{{name: orders, assignment: {assignment}, config: {{{topic}}}}}]
  workload: {{producers: {producers}, groupMembers: {members}, recordSize: {size}}}
  schedule:
    - inject: {{restart: {{target: {{broker: 0}}, config: {{{restarted}}}}}}}
    - {step}
"""
_GOOD = {
    "mode": "mode: kraft",
    "config": "",
    "assignment": "[[0, 1], [1, 2]]",
    "topic": "",
    "producers": 1,
    "members": 1,
    "size": 0,
    "restarted": "",
    "step": "wait: 1s",
}
_BATCH = {"producers": 0, "members": 0, "step": "produce: {partition: orders-0, records: 3}"}
_WAIT = "replica.fetch.wait.max.ms: 900, replica.lag.time.max.ms: 800"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"config": "broker.heartbeat.interval.ms: 9001"}, "to be at most broker.session.timeout.ms, 9000; found 9001"),
        ({"config": "broker.heartbeat.interval.ms: 9000"}, ""),
        ({"config": "broker.heartbeat.interval.ms: 9001", "mode": "mode: zookeeper"}, ""),
        ({"restarted": "broker.session.timeout.ms: 1000"}, "at most broker.session.timeout.ms, 1000; found 2000"),
        ({"config": "replica.socket.timeout.ms: 499"}, "at most replica.socket.timeout.ms, 499; found 500"),
        ({"config": _WAIT}, ""),
        (
            {"config": _WAIT, "restarted": "replica.fetch.min.bytes: 2"},
            "at most replica.lag.time.max.ms, 800; found 900",
        ),
        (
            {"config": "group.max.session.timeout.ms: 11999"},
            "to allow 12000, which the members of workload.groupMembers",
        ),
        ({"config": "group.min.session.timeout.ms: 12001"}, "found 12001 to 1800000: nobody could join"),
        ({"config": "group.max.session.timeout.ms: 11999", "members": 0}, ""),
        ({"size": 1000, "config": "message.max.bytes: 1116"}, ""),
        ({"size": 1000, "config": "message.max.bytes: 1115"}, "message.max.bytes to be at least 1116"),
        ({"size": 1000, "restarted": "message.max.bytes: 1115"}, "found 1115: every such write to 'orders'"),
        ({"size": 1000, "config": "message.max.bytes: 1115", "topic": "max.message.bytes: 1116", "members": 0}, ""),
        ({"topic": "max.message.bytes: 123"}, "expected max.message.bytes of topic 'orders' to be at least 124"),
        ({"config": "log.segment.bytes: 123"}, "found 123: every such write to 'orders' would be refused (RECORD_LIST"),
        ({"topic": "segment.bytes: 123"}, "segment.bytes of topic 'orders' to be at least 124, the bytes of the batch"),
        ({"config": "fetch.max.bytes: 1024, replica.fetch.max.bytes: 1", "size": 4000}, ""),
        ({"config": "min.insync.replicas: 5"}, ""),  # Kafka takes the number of replicas then
        (_BATCH | {"topic": "segment.bytes: 250"}, ""),
        (_BATCH | {"topic": "segment.bytes: 249"}, "to be at least 250, the bytes of the batch of produce.records: 3"),
        (_BATCH | {"size": 1_000_000}, "found 1048588: every such write to 'orders' would be refused"),
        ({"config": "offsets.topic.segment.bytes: 345"}, "at least 346, which a generation of 1 members takes"),
        ({"config": "offsets.topic.segment.bytes: 345", "members": 0}, ""),
        ({"config": "message.max.bytes: 521", "members": 2}, "at least 522, which a generation of 2 members takes"),
        ({"config": "offset.metadata.max.bytes: 15"}, "offset.metadata.max.bytes to be at least 16"),
        (
            {"config": "delete.topic.enable: false", "step": "admin: {deleteTopic: {name: orders}}"},
            "expected delete.topic.enable to be true",
        ),
        ({"config": "delete.topic.enable: false"}, ""),
        ({"assignment": "[[0, 1], [2]]"}, "assignment[1]: expected as many replicas as partition 0 has, 2; found 1"),
    ],
)
def test_what_no_run_can_hold_is_refused(changes: dict[str, str], message: str) -> None:
    text = _FILE.format_map(_GOOD | changes)
    if not message:
        parse_experiment(text, "cx.yaml")
        return
    with pytest.raises(ExperimentError) as refused:
        parse_experiment(text, "cx.yaml")
    assert message in str(refused.value)
    assert len(refused.value.problems) == 1


@pytest.mark.parametrize("size", [0, 63, 64, 1000, 8100, 8192])
@pytest.mark.parametrize("keys", [0, 3])
def test_a_batch_is_as_large_as_it_is_written(size: int, keys: int) -> None:
    for count in (1, 2, 64, 65, 200):
        records = [record_of(2_000_000_000 + each, 1_700_000_000_000, keys=keys, size=size) for each in range(count)]
        written = len(build_batch(records, timestamp_ms=1_700_000_000_000))
        least = batch_bytes(count, max(10, size), keyed=keys > 0)
        assert least <= written <= 1.02 * least  # of some records alone does a length take one more byte


def test_what_is_asked_for_a_group_is_what_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The least that a file may say lies just below the largest batch that its group writes."""
    written = []

    def built(records: list[Any], **named: Any) -> bytes:
        written.append(build_batch(records, **named))
        return written[-1]

    monkeypatch.setattr(offsets_log, "build_batch", built)
    text = _FILE.format_map(_GOOD | {"step": "wait: 12s"})
    run_and_forget(parse_experiment(text, "cx.yaml"), wire=False)
    assert 346 <= max(map(len, written)) <= 352
