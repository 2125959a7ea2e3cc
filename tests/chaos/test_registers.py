"""Clients of registers: what they may claim to know, and whole runs with them, judged."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from highwater_chaos.experiment import ExperimentError, parse_experiment
from highwater_chaos.verdict.checked_run import run_and_forget
from highwater_chaos.workload.history import HistoryRecorder
from highwater_chaos.workload.registers import PROPERTIES, RegisterClient, RegisterOptions
from highwater_runtime.metadata.topic_config import check_topic_property
from highwater_runtime.ports import MS, Endpoint
from highwater_runtime.sim import Simulator
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from highwater_runtime.wire.messages.metadata_read_response import MetadataReadResponse, TopicProperty, TopicState

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "raft"
NODES = ("broker-0", "controller-0", "controller-1")


class Scripted:
    """Answers each request with what the test puts in ``answers``, the last one again and again; None: not at all."""

    def __init__(self, asked):
        self.asked = asked
        self.answers = []

    def start(self): ...

    def stop(self, on_stopped):
        on_stopped()

    def on_request(self, request):
        self.asked.append(request.body)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is not None:
            request.reply(answer)


@pytest.fixture
def world():
    """Scripted nodes and one client; ``world.run(role, {node: answers}, operations)`` returns the history."""
    simulator = Simulator(1)
    recorder = HistoryRecorder(lambda: simulator.now_ns)
    asked = {name: [] for name in NODES}
    nodes = {name: Scripted(asked[name]) for name in NODES}
    for name in NODES:
        simulator.add_node(name, 9092, lambda _, name=name: nodes[name], disk=False)
        simulator.start(name)

    def run(role, answers, operations=1, **options):
        for name in NODES:
            nodes[name].answers = list(answers.get(name, answers.get("all", [None])))
        made = []

        def make(ports):
            made.append(
                RegisterClient(
                    RegisterOptions(
                        name="client-0",
                        index=0,
                        role=role,
                        brokers=[Endpoint("broker-0", 9092)],
                        controllers=[Endpoint("controller-0", 9092), Endpoint("controller-1", 9092)],
                        interval_ns=10 * MS,
                        request_timeout_ns=400 * MS,
                        **options,
                    ),
                    ports,
                    recorder,
                )
            )
            return made[0]

        simulator.add_node("client-0", 9092, make, disk=False)
        simulator.start("client-0")

        def enough():
            return sum(row.type != "invoke" for row in recorder.operations) >= operations

        assert simulator.run_for(10_000 * MS, predicate=enough)
        made[0].finish()
        simulator.run_for(2000 * MS)
        assert made[0].idle
        return recorder.operations

    return SimpleNamespace(run=run, asked=asked, simulator=simulator)


def altered(error=ErrorCode.NONE):
    return IncrementalAlterConfigsResponse(
        responses=[AlterConfigsResourceResponse(error_code=error, resource_type=2, resource_name="registers")]
    )


def told(value):
    configs = [TopicProperty(name=name, value=str(value)) for name in PROPERTIES]
    return MetadataReadResponse(topics=[TopicState(name="registers", configs=configs)])


def outcomes(history):
    return [(row.type, row.error) for row in history if row.type != "invoke"]


@pytest.mark.parametrize("value", [10**15 + 1, 10**15 + 10**11])
def test_every_register_takes_every_value(value):
    for name in PROPERTIES:
        check_topic_property(name, str(value))


def test_values_are_unique_and_each_is_tried_once(world):
    history = world.run("write", {"all": [altered()]}, operations=20)
    written = [row.value[0].value for row in history if row.type == "invoke"]
    assert len(set(written)) == len(written) >= 20
    sent = [body.resources[0].configs[0] for body in world.asked["controller-0"]]
    assert [int(config.value) for config in sent] == written
    assert world.asked["controller-1"] == world.asked["broker-0"] == []
    assert {row.value[0].key for row in history} == {f"registers/{name}" for name in PROPERTIES}


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (altered(), ("ok", None)),
        (altered(ErrorCode.INVALID_CONFIG), ("fail", "INVALID_CONFIG")),
        (altered(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), ("fail", "UNKNOWN_TOPIC_OR_PARTITION")),
        (altered(ErrorCode.NOT_CONTROLLER), ("info", "NOT_CONTROLLER")),
        (altered(ErrorCode.UNKNOWN_SERVER_ERROR), ("info", "UNKNOWN_SERVER_ERROR")),
        (None, ("info", "NETWORK_EXCEPTION")),
    ],
)
def test_what_a_writer_knows(world, answer, outcome):
    assert outcomes(world.run("write", {"all": [answer]}))[0] == outcome


def test_a_writer_that_was_refused_turns_to_another_controller(world):
    world.run("write", {"controller-0": [altered(ErrorCode.NOT_CONTROLLER)], "controller-1": [altered()]}, operations=5)
    assert len(world.asked["controller-0"]) == 1
    assert len(world.asked["controller-1"]) >= 4


def test_a_reader_goes_to_every_node(world):
    history = world.run("read", {"all": [told(7)]}, operations=30)
    assert all(world.asked.values())
    assert {row.value[0].value for row in history if row.type == "ok"} == {7}
    assert all(body.linearizable and body.timeout_ms == 200 for bodies in world.asked.values() for body in bodies)


def test_a_reader_may_be_content_with_what_is_old(world):
    world.run("read", {"all": [told(7)]}, linearizable=False)
    assert not any(body.linearizable for bodies in world.asked.values() for body in bodies)


@pytest.mark.parametrize(
    "answer", [MetadataReadResponse(topics=[TopicState(name="registers")]), MetadataReadResponse(topics=[])]
)
def test_a_register_that_was_never_written_is_read_as_nothing(world, answer):
    history = world.run("read", {"all": [answer]})
    assert next(row.value[0].value for row in history if row.type == "ok") is None


def test_a_read_that_was_held_too_long_is_tried_at_another_node(world):
    late = MetadataReadResponse(error_code=ErrorCode.REQUEST_TIMED_OUT)
    history = world.run("read", {"broker-0": [late], "all": [told(7)]}, operations=20)
    assert world.asked["broker-0"]
    assert {row.type for row in history} == {"invoke", "ok"}
    assert sum(map(len, world.asked.values())) > sum(row.type == "ok" for row in history)


def test_a_read_that_nobody_answers_has_failed(world):
    late = MetadataReadResponse(error_code=ErrorCode.REQUEST_TIMED_OUT)
    history = world.run("read", {"all": [late]})
    ((kind, error),) = outcomes(history)[:1]
    assert kind == "fail"
    assert error.startswith("REQUEST_TIMED_OUT at ")
    assert sum(map(len, world.asked.values())) == 3 * len(outcomes(history))


# --- whole runs -----------------------------------------------------------------------------------------------------

METADATA = "{producers: 1, rate: 20/s, metadata: {writers: 2, readers: 4, rate: 60/s, reads: READS}}"
LAGGING = '[{"inject": {"for": "4s", "delay": {"rpc": "Fetch", "to": {"all": "controllers"}, "of": "response", "by": "300ms"}}}, {"wait": "4s"}]'  # noqa: E501


@pytest.mark.quick("stale-fail")
@pytest.mark.parametrize(("reads", "verdict"), [("linearizable", "pass"), ("stale", "fail")])
def test_reads_at_nodes_that_lag(make_experiment, reads, verdict):
    """And every operation has its outcome when the run ends."""
    experiment = make_experiment(LAGGING, workload=METADATA.replace("READS", reads))
    result, judged = run_and_forget(experiment, wire=False)
    assert result.inconclusive_reasons == []
    assert judged["verdict"] == verdict
    assert list(judged["anomalies"]) == ([] if verdict == "pass" else ["stale-read"])
    assert judged["checks"]["stale-read"] == ("ok" if verdict == "pass" else "failed")
    assert judged["checks"]["lost-write"] == "ok", "the log is judged beside the registers"
    kinds = Counter((row.f, row.type) for row in result.operations)
    for f in ("read", "write"):
        begun = kinds[f, "invoke"]
        assert kinds[f, "ok"] > 0
        assert begun == sum(count for (of, what), count in kinds.items() if of == f and what != "invoke") > 50


def test_without_clients_of_registers_nothing_is_said_of_them(make_experiment):
    assert "stale-read" not in run_and_forget(make_experiment(), wire=False)[1]["checks"]


FILE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: test}
spec:
  timeout: 1m
  cluster: {topics: [{name: TOPIC, partitions: 1, replicationFactor: 1}]}
  workload: WORKLOAD
  checks: [CHECK]
"""


@pytest.mark.parametrize(
    ("topic", "workload", "check", "problem"),
    [
        ("orders", "{}", "stale-read", r"spec.checks\[0\].*needs clients of registers"),
        ("registers", "{metadata: {}}", "all", r"spec.cluster.topics.*'registers'"),
        ("orders", "{metadata: {reads: dirty}}", "all", r"spec.workload.metadata.reads"),
    ],
)
def test_what_is_refused(topic, workload, check, problem):
    text = FILE.replace("TOPIC", topic).replace("WORKLOAD", workload).replace("CHECK", check)
    with pytest.raises(ExperimentError, match=f"(?s){problem}"):
        parse_experiment(text, "test.yaml")


@pytest.mark.parametrize("check", ["stale-read", "nonlinearizable", "all"])
def test_what_is_accepted(check):
    text = FILE.replace("TOPIC", "orders").replace("WORKLOAD", "{metadata: {}}").replace("CHECK", check)
    assert parse_experiment(text, "test.yaml").spec.workload.metadata.reads == "linearizable"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("deposed-leader-answers-reads", "confirmed"),
        ("deposed-leader-answers-reads", "unconfirmed"),
        ("read-held-on-slow-follower", "confirmed"),
        pytest.param("read-held-on-slow-follower", "unconfirmed", marks=pytest.mark.thorough),
        ("read-times-out", "confirmed"),
        pytest.param("read-times-out", "unconfirmed", marks=pytest.mark.thorough),
    ],
)
def test_the_scenarios_of_reads_come_out_as_they_say(name, value, thorough):
    """In ``make test`` one of them with a third of its reads."""
    text = (SCENARIOS / f"{name}.yaml").read_text()
    text = text if thorough else text.replace("readers: 6, rate: 200/s", "readers: 6, rate: 60/s")
    experiment = parse_experiment(text, name).with_seed_and_switches(None, {"read-offset": value})
    result, verdict = run_and_forget(experiment, wire=False)
    assert verdict["asExpected"], verdict["expected"]["whyNot"]
    stale = name == "deposed-leader-answers-reads" and value == "unconfirmed"
    assert list(verdict["anomalies"]) == (["stale-read"] if stale else [])
    if name == "read-held-on-slow-follower" and value == "confirmed":
        took_as_long_as_the_node_lags(result.operations)


def took_as_long_as_the_node_lags(operations):
    begun, took = {}, []
    for row in operations:
        if row.f == "read" and row.type == "invoke":
            begun[row.process] = row.time
        elif row.f == "read":
            assert row.type != "fail"
            took.append(row.time - begun[row.process])
    assert sum(time < 10 * MS for time in took) > 100, "most nodes do not lag"
    assert sum(200 * MS < time < 700 * MS for time in took) > 20, "and some do: held, then answered"
