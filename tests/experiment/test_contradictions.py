"""Settings that contradict each other are refused before anything starts."""

from __future__ import annotations

import pytest

from highwater_chaos.experiment import ExperimentError, parse_experiment

_FILE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: contradiction}}
spec:
  timeout: 1m
  cluster:
    {mode}
    config: {{{config}}}
    topics: [{{name: orders, assignment: {assignment}}}]
  workload: {{producers: 1, groupMembers: {members}}}
  schedule:
    - inject: {{restart: {{target: {{broker: 0}}, config: {{{restarted}}}}}}}
"""
_GOOD = {"mode": "mode: kraft", "config": "", "assignment": "[[0, 1], [1, 2]]", "members": 1, "restarted": ""}
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
