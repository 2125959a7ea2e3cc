"""Look-ups of offsets by time stamp: a wrong response is found, and a right one is not blamed."""

from __future__ import annotations

from typing import Any

import pytest

from highwater_chaos.experiment import parse_experiment
from highwater_chaos.verdict.checked_run import run_and_forget
from highwater_chaos.workload.lookups import Dated, contradiction
from highwater_runtime.broker.apis import list_offsets
from highwater_runtime.log.readable_log import ReadableLog
from highwater_runtime.wire.errors import ErrorCode

EXPERIMENT = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: lookups}
spec:
  seed: 1
  timeout: 2m
  cluster:
    brokers: 3
    config: {min.insync.replicas: 1, log.segment.bytes: 2000, log.index.interval.bytes: 200}
    topics:
      - name: orders
        partitions: 1
        replicationFactor: 3
        config: {retention.bytes: 6000, message.timestamp.type: LogAppendTime}
  workload: {producers: 2, rate: 20/s, consumers: 1, lookups: 2}
  schedule:
    - wait: 4s
    - inject: {kill: {target: {leaderOf: orders-0}, restartAfter: 3s}}
    - inject: {clockSkew: {target: {leaderOf: orders-0}, offset: 2s}, for: 4s}
    - wait: 8s
"""


def _verdict() -> dict[str, Any]:
    return run_and_forget(parse_experiment(EXPERIMENT, "lookups.yaml"), wire=False)[1]


def test_a_sound_leader_is_not_blamed() -> None:
    verdict = _verdict()
    assert (verdict["verdict"], verdict["checks"]["wrong-lookup"]) == ("pass", "ok"), verdict["reasons"]
    assert verdict["features"]["look-ups by time stamp"]["state"] == "ok"


def test_a_leader_that_skips_the_first_record_of_that_time(monkeypatch: pytest.MonkeyPatch) -> None:
    look_up = ReadableLog.offset_for_timestamp
    monkeypatch.setattr(ReadableLog, "offset_for_timestamp", lambda self, time: look_up(self, time + 1))
    assert "wrong-lookup" in _verdict()["anomalies"]


def test_a_leader_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = list_offsets._answer

    def refuse(found: Any, asked: Any, *more: Any) -> Any:
        is_special = asked.timestamp < 0
        return (
            answer(found, asked, *more) if is_special else list_offsets._refused(asked, ErrorCode.UNKNOWN_SERVER_ERROR)
        )

    monkeypatch.setattr(list_offsets, "_answer", refuse)
    verdict = _verdict()
    assert "unavailable" in verdict["anomalies"]
    assert verdict["features"]["look-ups by time stamp"]["state"] == "failed"


@pytest.mark.parametrize(
    ("timestamp", "found", "expected"),
    [
        (20, (1, 20), None),
        (16, (1, 20), None),
        (21, (4, 30), None),
        (31, None, None),
        (16, (2, 20), "the record at offset 1 is of 20"),
        (16, None, "the record at offset 1 is of 20"),
        (21, (3, 15), "the record there is of 15"),
        (16, (1, 19), "the record there is of 20, not of 19 as the response says"),
        (31, (7, 31), "the high watermark is 5"),
    ],
)
def test_what_contradicts_a_response(timestamp: int, found: Any, expected: str | None) -> None:
    log = list(enumerate((10, 20, 20, 15, 30)))
    read = [Dated(*one) for one in log]
    answer = None if found is None else Dated(*found)
    assert contradiction(timestamp, answer, read, 5, 0) == expected


def test_what_was_removed_proves_nothing() -> None:
    assert contradiction(16, Dated(2, 20), [Dated(1, 20), Dated(2, 20)], 5, 2) is None, "below the log start by then"
    assert contradiction(16, Dated(2, 20), [Dated(3, 15)], 5, 0) is None, "compaction took it"
