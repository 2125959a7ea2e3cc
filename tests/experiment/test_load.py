"""A good file is read whole; a bad one is refused with path and line, what was found and what is allowed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from highwater_chaos.base.quantities import _DURATION_PATTERN, _RATE_PATTERN
from highwater_chaos.experiment import ExperimentError, dump_experiment, load_experiment, parse_experiment
from highwater_chaos.experiment.base import EXPECTED
from highwater_chaos.experiment.properties import keys_of

BAD = [
    ("timeout: 3m", "timout: 3m", "cx.yaml:6: spec.timout: unknown field; did you mean 'timeout'?"),
    ("timeout: 3m", "timeout: 0s", "cx.yaml:6: spec.timeout: expected more than 0: the schedule has to have time"),
    ("timeout: 3m  ", "#", "cx.yaml:4: spec.timeout: is required"),
    ("brokers: 3", "brokers: three", "cx.yaml:9: spec.cluster.brokers: expected a whole number; found 'three'"),
    (
        "brokers: 3",
        "brokers: 0",
        "cx.yaml:9: spec.cluster.brokers: input should be greater than or equal to 1; found 0",
    ),
    (
        "broker: 1}, wipe",
        "broker: 7}, wipe",
        "inject.powerLoss.target.broker: there is no broker 7: the cluster has brokers 0 to 2",
    ),
    ("heal: held", "heal: helt", "cx.yaml:22: spec.schedule[6].heal: no fault is named 'helt'; named are: cut, held"),
    (
        "rpc: AlterPartition",
        "rpc: AlterPartitio",
        "inject.hold.rpc: unknown RPC 'AlterPartitio'; known are AlterPartition",
    ),
    ("wait: 5s", "wait: 5", "cx.yaml:18: spec.schedule[2].wait: expected a duration such as 500ms, 20s or 1m30s"),
    ("kill: {target", "kil: {target", "spec.schedule[7].inject.kil: unknown field; did you mean 'kill'?"),
    ("anomalies: [", "anomalies: [lost-wrote, ", "expect[0].anomalies[0]: unknown anomaly 'lost-wrote'; known are"),
    (
        "min.insync.replicas: 1",
        "min.insync.replica: 1",
        "unknown property 'min.insync.replica'; did you mean 'min.insync.replicas'?",
    ),
    ("min.insync.replicas: 1", "min.insync.replicas: 0", "property 'min.insync.replicas' must be at least 1, not 0"),
    ("mode: kraft ", "mode: raft ", "spec.cluster.mode: expected 'kraft' or 'zookeeper'"),
    ("mode: kraft ", "zookeepers: 5 ", "spec.cluster.zookeepers: mode kraft has no ZooKeeper servers"),
    (
        "switches: {replica-epoch-check: off}",
        "switches: {replica-epoch-check: maybe}",
        "expected on or off, found 'maybe'",
    ),
    ("- wait: 5s", "- {wait: 5s, heal: all}", "spec.schedule[2]: expected exactly one of inject, heal, wait, await"),
    ("orders-0, equals", "order-0, equals", "there is no topic 'order' (partition 'order-0'); topics are: orders"),
    ("orders-0, equals", "orders-3, equals", "topic 'orders' has partitions 0 to 0; found 'orders-3'"),
    ("checks: [all]", "checks: [al]", "spec.checks[0]: unknown check 'al'"),
    (
        "checks: [all]",
        "assertions: [{name: x}]",
        "cx.yaml:24: spec.assertions[0]: expected `use`, or name, promql and during; missing: promql, during",
    ),
    *(
        ("checks: [all]", f"assertions: [{{name: x, promql: '{promql}', during: steady{more}}}]", message)
        for promql, more, message in (
            ("sum(a) ==", "", "spec.assertions[0].promql: syntax error at line 1, column 10: something is missing at"),
            ("sum(a) = 1", "", "spec.assertions[0].promql: syntax error at line 1, column 8, at '='"),
            ("rote(a[5s]) > 1", "", "spec.assertions[0].promql: unknown function 'rote'; supported functions: abs,"),
            ("deriv(a[5s]) > 1", "", "spec.assertions[0].promql: function 'deriv' is not supported here; supported"),
            ("topk(1, a)", "", "spec.assertions[0].promql: aggregation topk is not supported here; supported: "),
            ("a[5s]", "", "spec.assertions[0].promql: expected a vector or a number, found a range of samples"),
            ("rate(a) > 1", "", "expected type matrix in call to function 'rate', got vector"),
            ("sum(a) == bool 1", "", "spec.assertions[0].promql: with bool its result is never empty"),
            ("1 == bool 1", "", "spec.assertions[0].promql: names no metric"),
            (
                "a",
                ", never: true, always: true",
                "expected at most one of always, never, eventually; found always, never",
            ),
            ("a", ", never: false", "spec.assertions[0].never: expected True; found False"),
            (
                "a",
                ", eventually: soon",
                "spec.assertions[0].eventually: expected a duration such as 500ms",
            ),
            ("a", ", evntually: 5s", "spec.assertions[0].evntually: unknown field; did you mean 'eventually'?"),
        )
    ),
    (
        "checks: [all]",
        "assertions: [{name: x, promql: a, during: later}]",
        "spec.assertions[0].during: expected 'steady', 'fault' or 'recovered'; found 'later'",
    ),
    (
        "checks: [all]",
        "assertions: [{name: x, promql: a, during: fault}, {name: x, promql: b, during: fault}]",
        "spec.assertions[1].name: assertion 'x' is given twice",
    ),
    ("checks: [all]", "prometheus: {url: 'http://p:9090'}", "spec.prometheus: is asked for assertions only"),
    (
        "checks: [all]",
        "assertions: [{name: x, promql: a, during: fault}]\n  prometheus: {url: 'http://p', labels: {a-b: c}}",
        "spec.prometheus.labels.a-b: is no name of a label: letters, digits and underscores",
    ),
    (
        "checks: [all]",
        "assertions: [{name: x, promql: a, during: fault}]\n  prometheus: {url: 'http://p', timeout: 0}",
        "spec.prometheus.timeout: expected more than 0",
    ),
    ("checks: [all]", "prometheus: {url: 'p:9090'}", "spec.prometheus.url: expected an address such as http://"),
    ("orders-0, equals", "orders, equals", "partition: expected a topic and its partition, such as orders-0; found"),
    (
        "anomalies: [",
        "assertions: [y], anomalies: [",
        "expect[0].assertions[0]: there is no assertion 'y'; there are: none",
    ),
    ("seed: 7", "seed: 7\n  seed: 8", "cx.yaml:6: spec.seed: is given twice"),
    (
        "equals: [0]}",
        "equals: [0], size: 1}",
        "expected exactly one of equals, includes, excludes, size; found equals, size",
    ),
    ("kind: Chaos", "kind: Caos", "cx.yaml:2: kind: expected 'ChaosExperiment'; found 'CaosExperiment'"),
    (
        "[{broker: 0}, {broker: 1}]",
        "[{broker: 0}, [{brok: 2}]]",
        "between[1][0].brok: unknown field; did you mean 'broker'?",
    ),
    ("assignment: [[0, 1]]", "assignment: [[0, 5]]", "topics[0].assignment[0]: there is no broker 5"),
    ("partitions: 1", "partitions: 2", "topics[0].assignment: has 1 entries for 2 partitions"),
    ("acks: all", "acks: one", "spec.workload.acks: expected '0', '1' or 'all'; found 'one'"),
    ("acks: all", "acks: 1", "spec.workload.acks: idempotence needs acks: all; found '1'"),
    (
        "acks: all",
        "acks: all, minimumRate: 201/s",
        "spec.workload.minimumRate: expected at most the rate, 200/s; found 201/s",
    ),
    ("acks: all", "driver: confluent-kafka, recordsAtOnce: 2", "recordsAtOnce: confluent-kafka decides itself"),
    ("rate: 200/s", "rate: 200", "spec.workload.rate: expected a rate such as 200/s or 30/m; found 200"),
    ("id: 1, state", "id: 9, state", "await.broker.id: there is no broker 9"),
    (
        "schedule:",
        "schedule:\n    - holds: {broker: {id: 9, state: unfenced}, for: 1s}",
        "holds.broker.id: there is no broker 9",
    ),
    (
        "schedule:",
        "schedule:\n    - holds: {underReplicated: 0, within: 1s}",
        "holds.within: unknown field",
    ),
    (
        "committed-loss]}",
        "committed-loss], logged: [{node: broker-7, line: x}]}",
        "expect[0].logged[0].node: there is no node 'broker-7'; there are: broker-0, broker-1",
    ),
    (
        "committed-loss]}",
        "committed-loss], logged: [{line: ' * '}]}",
        "expect[0].logged[0].line: every line has it: give a part of the line; found ' * '",
    ),
    ("kind: Chaos", "kind: [", "is not YAML"),
]


ZOOKEEPER = [
    ("brokers: 3", "brokers: 3, controllers: 3", "spec.cluster.controllers: mode zookeeper has none"),
    ("brokers: 3", "brokers: 3, metadataVersion: 3.5-IV1", "spec.cluster.metadataVersion: mode zookeeper has none"),
    ("brokers: 3", "brokers: 3, switches: {pre-vote: off}", "switch 'pre-vote' means nothing in mode zookeeper"),
    *(
        (
            "mode: zookeeper, brokers: 3",
            f"mode: kraft, switches: {{{name}: {value}}}",
            f"switch '{name}' means nothing in",
        )
        for name, value in (
            ("controller-epoch-fencing", "off"),
            ("init-leaderless-isr", "on"),
        )
    ),
    ("{zookeeper: 2}", "{zookeeper: 3}", "there is no ZooKeeper server 3: the cluster has servers 0 to 2"),
    ("{zookeeper: 2}", "{controller: 0}", "mode zookeeper has no controllers of their own"),
    ("{one: zookeepers}", "{one: controllers}", "mode zookeeper has no controllers; groups are brokers and zookeepers"),
    ("targets: [zookeepers]", "targets: [controllers]", "targets[0]: mode zookeeper has no controllers"),
    ("{is: 1}", "{is: 3}", "await.activeController.is: there is no broker 3"),
    ("{producers: 0}", "{producers: 0, metadata: {}}", "spec.workload.metadata: reads registers"),
    (
        "{wait: 1s}",
        "{admin: {upgradeMetadata: {version: 3.5-IV1}}}",
        "mode zookeeper has no metadata.version to upgrade",
    ),
]

ZOOKEEPER_FILE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: zk}
spec:
  timeout: 3m
  cluster: {mode: zookeeper, brokers: 3}
  workload: {producers: 0}
  schedule:
    - inject: {kill: {target: {zookeeper: 2}}}
    - inject: {pause: {target: {one: zookeepers}}}
    - inject: {sessionExpiry: {target: {activeController: true}}}
    - await: {activeController: {is: 1}, within: 5s}
    - random: {for: 1s, every: 1s, faults: {kill: 1}, targets: [zookeepers]}
    - {wait: 1s}
"""


@pytest.mark.parametrize(("good", "bad", "expected"), ZOOKEEPER)
def test_what_zookeeper_mode_does_not_have_is_refused(good: str, bad: str, expected: str) -> None:
    assert good in ZOOKEEPER_FILE
    with pytest.raises(ExperimentError) as refused:
        parse_experiment(ZOOKEEPER_FILE.replace(good, bad), "zk.yaml")
    assert expected in str(refused.value)


def test_an_experiment_in_zookeeper_mode_survives_being_written() -> None:
    experiment = parse_experiment(ZOOKEEPER_FILE, "zk.yaml")
    assert experiment.cluster.zookeepers == 3
    written = dump_experiment(experiment)
    assert "controllers" not in written
    assert parse_experiment(written, "again.yaml") == experiment


def test_the_format_is_read(kafka_14139: str) -> None:
    experiment = parse_experiment(kafka_14139, "cx.yaml")
    assert experiment.spec.timeout == 180 * 10**9
    assert experiment.cluster.switches == {"replica-epoch-check": "off"}, "YAML 1.1 reads a bare off as false"
    assert [step.choice for step in experiment.spec.schedule][:3] == ["await", "inject", "wait"]


@pytest.mark.parametrize("topic", ["partitions: 1, assignment: [[0, 1]]", "assignment: [[0, 1], [1, 0]]"])
def test_what_is_written_is_read_back_the_same(kafka_14139: str, topic: str) -> None:
    """An assignment says how many partitions there are, and the default of that is written all the same."""
    experiment = parse_experiment(kafka_14139.replace("partitions: 1, assignment: [[0, 1]]", topic), "cx.yaml")
    assert parse_experiment(dump_experiment(experiment), "dump") == experiment


@pytest.mark.parametrize(("found", "instead", "message"), BAD, ids=[bad[1][:30] for bad in BAD])
def test_a_bad_file_is_refused_with_path_and_line(kafka_14139: str, found: str, instead: str, message: str) -> None:
    assert found in kafka_14139
    with pytest.raises(ExperimentError) as refused:
        parse_experiment(kafka_14139.replace(found, instead, 1), "cx.yaml")
    assert message in str(refused.value)


def test_every_problem_of_a_file_is_told_at_once(kafka_14139: str) -> None:
    text = kafka_14139.replace("heal: held", "heal: helt").replace("orders-0, equals", "order-0, equals")
    with pytest.raises(ExperimentError) as refused:
        parse_experiment(text, "cx.yaml")
    assert len(refused.value.problems) == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, None),
        ({"inject": []}, "external.inject: "),
        ({"inject": "touch a"}, "external.inject: expected a list; found 'touch a'"),
        ({"heal": ["a\x1b[2J"]}, r"external.heal[0]: expected an argument without control characters"),
        ({"heal": ["a\0"]}, "external.heal[0]: expected an argument without control characters"),
        ({"probe": ["a"] * 65}, "external.probe: "),
        ({"probe": ["a" * 2001]}, "external.probe[0]: "),
        ({"probe": [""]}, "external.probe[0]: "),
        ({"probe": None}, "external.probe: "),
        ({"timeout": "31s"}, "external.timeout: expected more than 0s and at most 30s"),
        ({"timeout": "0s"}, "external.timeout: expected more than 0s and at most 30s"),
        ({"target": {"broker": 7}}, "there is no broker 7"),
        ({"random": 1}, "spec.schedule[0].random.faults.external: unknown kind of fault or administration; known are"),
    ],
)
def test_an_external_fault(changes: dict[str, Any], message: str | None) -> None:
    fault = {"inject": ["./a"], "heal": ["./a", "-h"], "probe": ["./a", "-p"], **changes}
    step = {"inject": {"external": fault}}
    if "random" in changes:
        step = {"random": {"for": "1s", "every": "1s", "faults": {"external": 1}}}
    spec = {"timeout": "1m", "cluster": {"topics": [{"name": "orders"}]}, "schedule": [step]}
    head = {"apiVersion": "highwater.dev/v1alpha1", "kind": "ChaosExperiment", "metadata": {"name": "demo"}}
    text = yaml.safe_dump({**head, "spec": spec})
    if message is None:
        experiment = parse_experiment(text, "cx.yaml")
        assert parse_experiment(dump_experiment(experiment), "again.yaml") == experiment
        return
    with pytest.raises(ExperimentError) as refused:
        parse_experiment(text, "cx.yaml")
    assert message in str(refused.value)
    assert all(one.isprintable() or one == "\n" for one in str(refused.value))
    assert len(str(refused.value)) < 2000


@pytest.mark.parametrize("text", ["", "a: b\n---\nc: d\n", "- list\n", "just text\n"])
def test_what_is_not_one_experiment_is_refused(text: str) -> None:
    with pytest.raises(ExperimentError, match="expected"):
        parse_experiment(text, "cx.yaml")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"missing\.yaml: expected an experiment file, found: No such file"):
        load_experiment(tmp_path / "missing.yaml")


def test_a_schedule_that_is_nested_too_deeply_is_refused():
    """At a depth of its own, not where the caller's stack happens to end."""
    step = "{wait: 1s}"
    for _ in range(40):
        step = f"{{parallel: [[{step}]]}}"
    text = f"apiVersion: highwater.dev/v1alpha1\nkind: ChaosExperiment\nspec:\n  schedule: [{step}]\n"
    with pytest.raises(ExperimentError, match="nested too deeply: expected at most 100"):
        parse_experiment(text, "deep.yaml")


@pytest.mark.parametrize(
    ("schedule", "least"),
    [
        ("[{wait: 90s}, {wait: 90s}]", "3m"),
        ("[{repeat: {times: 10, steps: [{wait: 19s}]}}]", "3m10s"),
        ("[{parallel: [[{wait: 1m}, {wait: 2m1s}], [{wait: 1s}]]}]", "3m1s"),
        ("[{wait: 1m}, {random: {for: 2m, every: 5s, faults: {kill: 1}}}]", "3m"),
    ],
)
def test_a_schedule_that_takes_longer_than_its_timeout_is_refused(schedule: str, least: str) -> None:
    text = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: demo}
spec: {timeout: %s, cluster: {topics: [{name: orders}]}, schedule: %s}
"""
    with pytest.raises(ExperimentError, match=f"spec.timeout: the waits of the schedule alone take {least}: expected"):
        parse_experiment(text % ("3m", schedule), "cx.yaml")
    parse_experiment(text % ("3m11s", schedule), "cx.yaml")


@pytest.mark.parametrize(
    ("schedule", "found"),
    [
        ("[{random: {for: 100s, every: 0.000000001ms, faults: {kill: 1}}}]", "100,000,000,001"),
        ("[{random: {for: 100s, every: 0s, faults: {kill: 1}}}]", "100,000,000,001"),
        ("[{repeat: {times: 10000, steps: [{repeat: {times: 10000, steps: [{wait: 0s}]}}]}}]", "100,010,001"),
        ("[{repeat: {times: 10000, steps: [" + "{heal: all}, " * 10 + "]}}]", "100,001"),
        ("[{parallel: [[{repeat: {times: 10000, steps: [" + "{heal: all}, " * 10 + "]}}]]}]", "100,002"),
    ],
)
def test_a_schedule_that_would_not_end_is_refused(schedule: str, found: str) -> None:
    text = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: demo}
spec: {timeout: 3m, cluster: {topics: [{name: orders}]}, schedule: %s}
"""
    with pytest.raises(ExperimentError, match=f"spec.schedule: expected at most 100,000 steps.*; found {found}"):
        parse_experiment(text % schedule, "cx.yaml")
    parse_experiment(text % "[{random: {for: 100s, every: 1001us, faults: {kill: 1}}}]", "cx.yaml")


@pytest.mark.parametrize(
    ("members", "partition", "config", "found"),
    [
        (2, 49, "{}", ""),
        (2, 1, "{offsets.topic.num.partitions: 2}", ""),
        (2, 2, "{offsets.topic.num.partitions: 2}", "topic '__consumer_offsets' has partitions 0 to 1; found"),
        (0, 0, "{}", "with workload.groupMembers above 0; found '__consumer_offsets-0'"),
    ],
)
def test_internal_topics_are_targets_where_they_are_created(members, partition, config, found, tmp_path):
    text = f"""
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: groups}}
spec:
  timeout: 2m
  cluster: {{config: {config}, topics: [{{name: orders, partitions: 1, replicationFactor: 3}}]}}
  workload: {{groupMembers: {members}}}
  schedule:
    - await: {{isr: {{partition: __consumer_offsets-{partition}, size: 3}}, within: 20s}}
    - inject: {{kill: {{target: {{leaderOf: __consumer_offsets-{partition}}}, restartAfter: 1s}}}}
"""
    (tmp_path / "groups.yaml").write_text(text)
    if not found:
        load_experiment(tmp_path / "groups.yaml")
        (tmp_path / "groups.yaml").write_text(
            text + f"    - admin: {{deleteRecords: {{partition: __consumer_offsets-{partition}, before: 1}}}}\n"
        )
        found = "expected a topic of clients"
    with pytest.raises(ExperimentError) as refused:
        load_experiment(tmp_path / "groups.yaml")
    assert found in str(refused.value)


def problem_of(text: str, found: str, instead: str) -> list[str]:
    assert found in text
    try:
        parse_experiment(text.replace(found, instead, 1), "cx.yaml")
    except ExperimentError as error:
        return [problem.message for problem in error.problems]
    return []


@pytest.mark.parametrize(
    ("found", "instead", "message"),
    [
        (
            "config: {}",
            "config: {retention.msx: 5}",
            "'retention.msx'; did you mean 'retention.ms'?",
        ),
        ("config: {}", "config: {foo: 5}", "unknown topic property 'foo'; known are cleanup.policy, "),
        ("config: {}", "config: {cleanup.policy: comapct}", "takes delete or compact or "),
        ("config: {}", "config: {segment.bytes: 3}", "must be at least 14, not 3"),
        (
            "config: {}",
            "config: {min.insync.replicas: 1.5}",
            "text or a whole number or true or false; found 1.5",
        ),
        (
            "mode: kraft",
            "mode: kraft\n    metadataVersion: 3.7",
            "expected text; found 3.7; quote it if",
        ),
        (
            "mode: kraft",
            "mode: kraft\n    metadataVersion: off",
            "expected text; found False; quote it if it is text: YAML reads on, yes, off and no",
        ),
        ("timeout: 3m", "timeout: 3.0", "expected a duration such as 500ms, 20s or 1m30s"),
        (
            "cleanup.polcy: delete",
            "cleanup.polcy: delete ",
            "did you mean 'cleanup.policy'?",
        ),
    ],
)
def test_files_that_cannot_work_are_refused_with_one_message(found: str, instead: str, message: str) -> None:
    """Properties of topics wherever a topic is made, and floats that were meant as text."""
    text = TOPICS if "polcy" in found else TOPICS.replace("cleanup.polcy", "cleanup.policy")
    (told,) = problem_of(text, found, instead)
    assert message in told


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ([], 0),
        ([("config: {}", "config: {cleanup.policy: 'compact,delete'}")], 100),
        ([("mode: kraft", "mode: kraft\n    config: {log.cleanup.policy: compact}")], 100),
        (
            [
                ("mode: kraft", "mode: kraft\n    config: {log.cleanup.policy: compact}"),
                ("{}", "{cleanup.policy: delete}"),
            ],
            0,
        ),
        ([("cleanup.polcy: delete", "cleanup.policy: compact")], 100),
        ([("cleanup.polcy: delete", "cleanup.policy: compact"), ("producers: 1", "producers: 1, topics: [orders]")], 0),
        ([("producers: 1", "producers: 1, keys: 7")], 7),
        (
            [
                ("cleanup.polcy: delete", "cleanup.policy: compact"),
                ("producers: 1}\n  schedule:", "producers: 0, topics: [orders]}\n  schedule:\n    - produce: PRODUCED"),
                ("PRODUCED", "{partition: later-0}"),
            ],
            100,
        ),
    ],
)
def test_records_have_keys_where_a_topic_to_which_they_go_is_compacted(changes: Any, keys: int) -> None:
    text = TOPICS
    for found, instead in [*changes, ("cleanup.polcy", "cleanup.policy")]:
        text = text.replace(found, instead)
    assert keys_of(parse_experiment(text, "x").spec) == keys


TOPICS = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: topics}
spec:
  timeout: 3m
  cluster:
    mode: kraft
    topics: [{name: orders, config: {}}]
  workload: {producers: 1}
  schedule:
    - repeat:
        times: 1
        steps:
          - admin: {createTopic: {name: later, config: {cleanup.polcy: delete}}}
"""


def test_each_pattern_of_a_field_is_said_in_words() -> None:
    schema = Path(__file__).parents[2] / "scenarios" / "experiment.schema.json"
    patterns = {json.loads(one) for one in re.findall(r'"pattern": (".*")', schema.read_text(encoding="utf-8"))}
    quantities = {_DURATION_PATTERN, _RATE_PATTERN}  # these say in their own errors what they expect
    assert patterns - quantities == set(EXPECTED)
