"""What an experiment sets for topics, from when on, and what holds while it changes that."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from highwater_chaos.experiment import parse_experiment
from highwater_chaos.experiment.model import ClusterRef
from highwater_chaos.experiment.steps import CreateTopic
from highwater_chaos.faults import FaultRecord
from highwater_chaos.faults.base import Evidence, FaultTarget
from highwater_chaos.run.promised import Changes
from highwater_chaos.run.settings import settings_of
from highwater_pipeline.tables.settings import Settings

LEAST = "min.insync.replicas"
WEEK_MS = 604_800_000
KNOWN = ("min_isr", "retention_ms", "retention_bytes", "deletes", "deletes_records")


def experiment(config: dict[str, Any], *steps: Any, topic: dict[str, Any] | None = None, **workload: Any) -> Any:
    data = {
        "apiVersion": "highwater.dev/v1alpha1",
        "kind": "ChaosExperiment",
        "metadata": {"name": "test"},
        "spec": {
            "seed": 1,
            "timeout": "2m",
            "cluster": {"brokers": 2, "config": config, "topics": [{"name": "orders", "config": topic or {}}]},
            "workload": {"producers": 1, **workload},
            "schedule": list(steps),
        },
    }
    return parse_experiment(yaml.safe_dump(data), "a test")


def at(settings: Settings, topic: str, time_ns: int = 0) -> tuple[Any, ...]:
    promise = settings.promises(f"{topic}-0").at(time_ns)
    return tuple(getattr(promise, name) for name in KNOWN)


def test_a_topics_own_properties_are_before_those_of_nodes_and_before_the_defaults() -> None:
    none = settings_of(experiment({}))
    assert at(none, "orders") == at(none, "random-1") == (1, WEEK_MS, -1, True, False)
    own = {"retention.ms": -1, "cleanup.policy": "compact"}
    of_nodes = {"min.insync.replicas": 2, "log.retention.ms": 7000, "log.retention.bytes": 500}
    delete = {"admin": {"deleteRecords": {"partition": "orders-0"}}}
    given = settings_of(experiment(of_nodes, delete, topic=own))
    assert at(given, "orders") == (2, -1, 500, False, True)
    assert at(given, "others") == (2, 7000, 500, True, False)
    assert at(given, "__consumer_offsets") == (2, 7000, 500, False, False)
    assert at(settings_of(experiment({"log.cleanup.policy": "compact"})), "orders") == (1, WEEK_MS, -1, False, False)


def test_of_a_cluster_that_is_borrowed_only_what_the_experiment_sets_is_known() -> None:
    topic = CreateTopic(name="orders", config={LEAST: 2})
    file = experiment({})
    spec = file.spec.model_copy(update={"cluster": None, "cluster_ref": ClusterRef(name="theirs", topics=[topic])})
    resolved = experiment({LEAST: 3}, topic={LEAST: 2})
    for given in (
        settings_of(file.model_copy(update={"spec": spec})),
        settings_of(resolved, Changes([], [], borrowed=True)),
    ):
        assert at(given, "orders") == (2, None, None, None, None)
        assert at(given, "others") == at(Settings(), "orders") == (None,) * 5


def restart(broker: int, config: dict[str, Any], began: int, ended: int | None) -> FaultRecord:
    node = f"broker-{broker}"
    return FaultRecord(
        "fault-1", None, "restart", {"config": config}, (node,), began, ended,
        intent=[FaultTarget("node", node, (node,))],
        inject_evidence=[Evidence(began, "it is back", ended is not None, {}, node)],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("first", "restarts", "expected"),
    [
        (2, [(0, 1, 10, 20)], {9: 2, 10: 1, 30: 1}),
        (1, [(0, 2, 10, 20), (1, 2, 30, 40)], {0: 1, 20: 1, 39: 1, 40: 2}),
        (1, [(0, 2, 10, 20), (1, 2, 30, None)], {40: 1}),
        (1, [(0, 2, 10, 30), (1, 2, 10, 40), (0, 3, 20, 35)], {39: 1, 40: 1}),
        (1, [(0, 2, 10, 20), (1, 3, 10, 20)], {20: 2}),
    ],
)
def test_while_nodes_restart_with_others_the_least_is_promised(
    first: int, restarts: list[tuple[int, int, int, int | None]], expected: dict[int, int]
) -> None:
    steps = [{"inject": {"restart": {"target": {"broker": one[0]}, "config": {LEAST: one[1]}}}} for one in restarts]
    file = experiment({LEAST: first}, *steps)
    records = [restart(broker, {LEAST: value}, began, ended) for broker, value, began, ended in restarts]
    timed = Settings(exact_order=True, promised=settings_of(file, Changes(records, [])).promised)
    assert {ns: at(timed, "orders", ns)[0] for ns in expected} == expected
    assert at(settings_of(file), "orders", 0)[0] == min(first, *(one[1] for one in restarts))


def test_a_topic_that_is_created_anew_may_have_either_from_then_on() -> None:
    again = {"admin": {"createTopic": {"name": "orders", "config": {LEAST: 1}}}}
    file = experiment({}, {"admin": {"deleteTopic": {"name": "orders"}}}, again, topic={LEAST: 2})
    timed = Settings(exact_order=True, promised=settings_of(file, Changes([], [(5, "wait"), (7, "admin")])).promised)
    assert [at(timed, "orders", ns)[0] for ns in (6, 7, 99)] == [2, 1, 1]
    assert at(settings_of(file), "orders")[0] == 1
    untimed = Settings(promised=timed.promised)
    assert at(untimed, "orders", 0)[0] == 1, "on real machines clocks are read in several processes"


def test_producers_of_librdkafka_may_create_a_topic_that_was_deleted() -> None:
    deletion = {"admin": {"deleteTopic": {"name": "orders"}}}
    for driver, least in (("highwater", 2), ("confluent-kafka", 1)):
        file = experiment({}, deletion, topic={LEAST: 2}, driver=driver)
        assert at(settings_of(file), "orders")[0] == least
