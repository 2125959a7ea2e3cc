"""``produce`` steps: one batch at a known offset, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import ExperimentError


def log_of(result: Any) -> list[tuple[int, int]]:
    """Offset and size of each batch that the leader of orders-0 appended."""
    events = map(json.loads, result.event_lines)
    return [
        (event["offset"], event["end_offset"] - event["offset"])
        for event in events
        if event["kind"] == "log-appended" and event["partition"] == "orders-0" and event["reason"] == "leader"
    ]


def test_each_step_is_one_batch_with_all_its_records(make_experiment: Any) -> None:
    schedule = "[{produce: {partition: orders-0, records: 37}}, {produce: {partition: orders-0}}, "
    schedule += "{produce: {partition: orders-0, records: 1000}}]"
    for size in (0, 200):
        workload = f"{{producers: 0, consumers: 0, recordSize: {size}}}"
        result = run_experiment(make_experiment(schedule, workload=workload), SimBackend())
        *steps, probe = log_of(result)
        assert steps == [(0, 37), (37, 1), (38, 1000)]
        assert probe == (1038, 1), "the engine's probe of the recovered cluster"
        assert (result.acknowledged, result.inconclusive_reasons) == (1039, [])


def test_a_topic_that_a_step_created_is_read_at_the_end(make_experiment: Any) -> None:
    """Else its records were `unseen`, though nothing was lost."""
    schedule = """[{admin: {createTopic: {name: later, partitions: 1, replicationFactor: 3}}},
      {produce: {partition: later-0, records: 5}}]"""
    result = run_experiment(make_experiment(schedule, workload="{producers: 0, consumers: 0}"), SimBackend())
    read = [
        element["offset"]
        for operation in map(json.loads, result.history)
        if (operation["type"], operation["f"], operation.get("client")) == ("ok", "poll", "final-reader")
        for element in operation["value"] or ()
        if element["key"] == "later-0"
    ]
    assert set(read) >= {0, 1, 2, 3, 4}


def test_a_batch_that_nobody_acknowledges_ends_the_schedule(make_experiment: Any) -> None:
    schedule = """[
      {inject: {kill: {target: {broker: 0}}}}, {inject: {kill: {target: {broker: 1}}}},
      {inject: {kill: {target: {broker: 2}}}},
      {produce: {partition: orders-0, records: 3}}, {produce: {partition: orders-0, records: 5}}]"""
    result = run_experiment(make_experiment(schedule, workload="{producers: 0, consumers: 0}"), SimBackend())
    assert "produce: the batch for orders-0 was not acknowledged in time" in result.inconclusive_reasons
    sizes = [size for _, size in log_of(result)]
    assert 5 not in sizes, "the second step never began"


@pytest.mark.parametrize(
    ("step", "workload", "message"),
    [
        ("{partition: orders-0}", "{producers: 1}", "needs workload.producers: 0; found 1"),
        ("{partition: orders-0}", "{producers: 0, acks: '0'}", "waits for the acknowledgement; found workload.acks: 0"),
        ("{partition: orders-9}", "{producers: 0}", "topic 'orders' has partitions"),
        ("{partition: order-0}", "{producers: 0}", "there is no topic 'order'"),
        ("{partition: orders-0, records: 0}", "{producers: 0}", "greater than or equal to 1"),
        ("{partition: orders-0, records: 1001}", "{producers: 0}", "less than or equal to 1000"),
        ("{records: 1}", "{producers: 0}", "is required"),
    ],
)
def test_what_a_produce_step_refuses(make_experiment: Any, step: str, workload: str, message: str) -> None:
    with pytest.raises(ExperimentError) as refused:
        make_experiment(f"[{{produce: {step}}}]", workload=workload)
    assert "spec.schedule[0].produce" in str(refused.value)
    assert message in str(refused.value)


def test_a_produce_step_within_parallel_is_refused(make_experiment: Any) -> None:
    """Which of two batches comes first would not be known, nor whose records were acknowledged."""
    branch = "[{produce: {partition: orders-0}}]"
    with pytest.raises(ExperimentError, match="cannot be within parallel"):
        make_experiment(f"[{{parallel: [{branch}, {branch}]}}]", workload="{producers: 0}")
