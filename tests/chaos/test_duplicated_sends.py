"""Copies of Produce requests: a send is ``fail`` only if none of them can be appended any more."""

from __future__ import annotations

from typing import Any

import pytest

from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.experiment.load import parse_experiment
from highwater_chaos.verdict.checked_run import run_and_forget
from highwater_chaos.workload import clients
from highwater_chaos.workload.clients import may_duplicate
from highwater_chaos.workload.producer import RecordingProducer
from highwater_runtime.ports import SECOND
from highwater_runtime.sim.arrivals import detached_arrives
from highwater_runtime.sim.connection import Connection, SimRequest
from highwater_runtime.sim.network import Fabric

TOO_FEW_REPLICAS = """
- inject: {name: twice, duplicate: {rpc: Produce}}
- inject: {name: cut, partition: {between: [{broker: 0}, {broker: 1}]}}
- wait: 4s
- heal: cut
- await: {underReplicated: 0, within: 20s}
- wait: 10s
"""
DISTURBED = """
- repeat:
    times: 3
    steps:
      - inject: {name: cut, partition: {between: [{broker: 0}, {broker: 1}]}, for: 1200ms}
      - inject: {name: twice, duplicate: {rpc: Produce}, for: 2s}
      - wait: 900ms
      - inject: {name: stopped, pause: {target: {one: brokers}}, for: 900ms}
      - wait: 1300ms
      - inject: {name: late, delay: {rpc: Produce, by: 700ms}, for: 600ms}
      - inject: {name: cut, partition: {between: [{broker: 0}, {broker: 1}]}, for: 900ms}
      - wait: 700ms
      - inject: {name: held, hold: {rpc: Produce}, for: 600ms}
      - wait: 1500ms
- heal: all
"""


def experiment(schedule: str, seed: int = 1, idempotence: bool = True, **timeouts: str) -> ChaosExperiment:
    text = f"""
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: copies}}
spec:
  seed: {seed}
  timeout: 3m
  cluster:
    brokers: 2
    controllers: 1
    config: {{broker.session.timeout.ms: 3000, broker.heartbeat.interval.ms: 300, replica.lag.time.max.ms: 500,
      min.insync.replicas: 2}}
    topics: [{{name: orders, partitions: 1, assignment: [[0, 1]]}}]
  workload: {{producers: 6, rate: 40/s, idempotence: {str(idempotence).lower()}, requestTimeout: 500ms,
    deliveryTimeout: 1s{"".join(f", {name}: {value}" for name, value in timeouts.items())}}}
  schedule:
{"".join(f"    {line}{chr(10)}" for line in schedule.strip().splitlines())}
"""
    return parse_experiment(text, "test")


def verdict_of(run: ChaosExperiment) -> dict[str, Any]:
    return run_and_forget(run, wire=False)[1]


@pytest.fixture
def late_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies take eight seconds: longer than a producer tries."""

    def send_duplicate(self: Fabric, connection: Connection, call: SimRequest) -> None:
        twin = SimRequest(call.body, call.version, call.client_id, None, None, call.deadline)
        self.loop.push(self.loop.now + 8 * SECOND, detached_arrives, (connection, twin))

    monkeypatch.setattr(Fabric, "send_duplicate", send_duplicate)


def test_a_copy_that_is_appended_after_its_send_was_given_up(late_copies: None) -> None:
    """Refused for too few replicas, given up, and then a copy finds enough of them."""
    run = experiment(TOO_FEW_REPLICAS, idempotence=False)
    assert "aborted-read" not in verdict_of(run)["anomalies"]


@pytest.mark.thorough
def test_which_shows_if_a_producer_takes_every_refusal_for_definite(
    late_copies: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the test above is known to be able to fail."""
    monkeypatch.setattr(clients, "may_duplicate", lambda _: False)
    run = experiment(TOO_FEW_REPLICAS, idempotence=False)
    assert "aborted-read" in verdict_of(run)["anomalies"]


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in (2, 3, 4))])
def test_no_send_that_failed_is_read_whatever_happens_to_requests(seed: int) -> None:
    verdict = verdict_of(experiment(DISTURBED, seed=seed))
    assert (verdict["verdict"], verdict["anomalies"]) == ("pass", {}), verdict["reasons"]


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ([{"inject": {"duplicate": {"rpc": "Produce"}}}], True),
        (
            [{"parallel": [[{"wait": "1s"}], [{"repeat": {"times": 2, "steps": [{"inject": {"duplicate": {}}}]}}]]}],
            True,
        ),
        ([{"random": {"for": "1m", "faults": {"kill": 1, "duplicate": 1}}}], True),
        ([{"random": {"for": "1m"}}], True),
        ([{"random": {"for": "1m", "faults": {"kill": 1}}}, {"inject": {"delay": {"rpc": "Produce"}}}], False),
    ],
)
def test_which_schedules_may_duplicate_requests(schedule: list[Any], expected: bool) -> None:
    assert may_duplicate(schedule) is expected


@pytest.mark.quick("300ms")
@pytest.mark.parametrize(("ack_timeout", "expires"), [("300ms", True), ("2s", False)])
def test_the_broker_gives_up_first_only_if_its_timeout_is_the_shorter(
    ack_timeout: str, expires: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A follower that does not fetch: ``ackTimeout`` decides who ends the wait, the broker or the client."""
    answers: list[int] = []
    judge = RecordingProducer._judge

    def listen(self: RecordingProducer, partition: Any, send: Any, answer: Any) -> None:
        answers.append(answer.error_code)
        judge(self, partition, send, answer)

    monkeypatch.setattr(RecordingProducer, "_judge", listen)
    held = "- inject: {name: held, hold: {rpc: Fetch, from: {broker: 1}}}\n- wait: 450ms\n- heal: held"
    verdict_of(experiment(held, ackTimeout=ack_timeout))
    assert (7 in answers) is expires, "REQUEST_TIMED_OUT is error 7"
