"""A feature that never works is ``unavailable``, and the finding names it; one that nobody asked for is not called ok.

One experiment asks for every feature. Each test breaks one of them in memory.
"""

from __future__ import annotations

from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest

from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import ChaosExperiment, parse_experiment
from highwater_chaos.experiment.steps import Admin
from highwater_chaos.liveness.agreement import Agreement
from highwater_chaos.liveness.progress import CONTRACTS
from highwater_chaos.schedule.administration import Asked
from highwater_chaos.verdict.checked_run import check_and_forget
from highwater_chaos.workload.admin import AdminOutcome
from highwater_lab.mutants import Mutant, applied

EXPERIMENT = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: everything}}
spec:
  seed: 1
  timeout: 10m
  recovery: 10s
  cluster:
    mode: {mode}
    brokers: 3
    config:
      min.insync.replicas: 1
      group.initial.rebalance.delay.ms: 100
      log.retention.check.interval.ms: 500
      log.segment.delete.delay.ms: 500
      metadata.log.max.record.bytes.between.snapshots: 150
      offsets.topic.num.partitions: 1
      offsets.topic.segment.bytes: 1000
      controlled.shutdown.timeout.ms: 20000
    topics:
      - {{name: orders, partitions: 1, assignment: [[2, 0, 1]]}}
      - name: payments
        assignment: [[0, 1, 2]]
        config: {{retention.bytes: 2000, segment.bytes: 1000}}
  workload: {{producers: 1, rate: 8/s, consumers: 1, groupMembers: 2, requestTimeout: 500ms{registers}}}
  schedule:
    - await: {{highWatermark: {{partition: orders-0, atLeast: 20}}, within: 30s}}
    - admin: {{createTopic: {{name: moved, assignment: [[0, 1], [1, 2]]}}}}
    - admin: {{addPartitions: {{topic: moved, total: 3}}}}
    - admin: {{reassign: {{partition: moved-0, replicas: [0, 2]}}}}
    - admin: {{deleteRecords: {{partition: orders-0, before: 10}}}}
    - admin: {{createTopic: {{name: doomed, assignment: [[0, 1, 2]]}}}}
    - admin: {{deleteTopic: {{name: doomed}}}}
    - admin: {{createTopic: {{name: wide, partitions: 1, replicationFactor: 3, config: {{segment.ms: 9000}}}}}}
    - admin: {{alterTopic: {{topic: wide, config: {{flush.ms: 5000, segment.ms: null}}}}}}
    - admin: {{addPartitions: {{topic: wide, total: 2}}}}
    - wait: 12s
    - inject: {{stop: {{target: {{broker: 2}}, restartAfter: 1s}}}}
    - wait: 4s
    - await: {{isr: {{partition: orders-0, size: 3}}, within: 30s}}
    - admin: {{electLeaders: {{partitions: [orders-0]}}}}
    - admin: {{cancelReassign: {{partition: moved-1}}}}
"""
REGISTERS = ", metadata: {writers: 1, readers: 1, rate: 5/s}"

EVERY_FEATURE = {
    "administration in time",
    "addition of partitions",
    "alteration of topics",
    "commits of groups",
    "compaction",
    "controlled shutdown",
    "creation of topics",
    "deletion of records",
    "deletion of topics",
    "election of leaders",
    "elections in time",
    "joins of groups",
    "metadata of brokers",
    "metadata in time",
    "metadata of controllers",
    "producer ids",
    "observers in time",
    "reads in time",
    "reads of consumers",
    "reads of registers",
    "reassignment",
    "recovery",
    "removal of deleted directories",
    "retention",
    "sessions in time",
    "snapshots of the metadata",
    "taking back a reassignment",
    "voters in time",
    "writes",
    "writes in time",
    "writes of registers",
}
OF_KRAFT = {"metadata in time", "observers in time", "reads in time", "reads of registers", "writes of registers"}


def _experiment(mode: str = "kraft") -> ChaosExperiment:
    text = EXPERIMENT.format(mode=mode, registers=REGISTERS if mode == "kraft" else "")
    return parse_experiment(text, "everything.yaml")


def _verdict(experiment: ChaosExperiment, *broken: tuple[str, str, str, str]) -> Any:
    with ExitStack() as stack:
        for feature, where, old, new in broken:
            stack.enter_context(applied(Mutant("broken", where, old, new, f"{feature} works")))
        result = run_experiment(experiment, SimBackend())
    return check_and_forget(experiment, result, wire=False)


@pytest.mark.parametrize("mode", ["kraft", "zookeeper"])
def test_what_works_is_ok_and_what_nobody_asked_for_is_not(mode: str) -> None:
    verdict = _verdict(_experiment(mode))
    assert verdict["verdict"] == "pass", verdict["reasons"]
    asked = EVERY_FEATURE if mode == "kraft" else EVERY_FEATURE - OF_KRAFT
    assert {name for name, feature in verdict["features"].items() if feature["state"] == "ok"} == asked
    others = {name: feature["state"] for name, feature in verdict["features"].items() if name not in asked}
    assert set(others.values()) == {"not-asked"}


NEVER = "raise RefusedError(ErrorCode.NOT_CONTROLLER, '')"
TOPICS, LEADERS, GROUPS = "controller.topics", "controller.leadership", "broker.groups"
QUORUM, LOGS = "controller.kraft.quorum_controller:QuorumController", "log.manager:LogManager"
BROKERS = "controller.kraft.cluster_control:next_state"
DELETION = ("deletion of topics", f"{TOPICS}:delete_topics", "decision.records.append(", "(lambda _: 0)(")
BROKEN = [
    (
        ("joins of groups", f"{GROUPS}.membership:Membership.join", "member_id = request.member_id", "return"),
        DELETION,
        ("retention", "log.retention:deletable", "reasons: list[Reason] = []", "return []"),
        ("reassignment", f"{LEADERS}:alter_partition_reassignments", "if record is not None:", "if False:"),
        ("snapshots of the metadata", f"{QUORUM}.on_commit", "if self._bytes_since_snapshot >=", "if 0 >"),
        ("deletion of records", "broker.apis.delete_records:_delete", "else offset\n", "else 0\n"),
        ("producer ids", "controller.kraft.settings:allocate_producer_ids", "= image.next_producer_id", "= 0"),
    ),
    (
        (
            "reads of registers",
            "raft.read_index:ReadIndex.answer_confirmed",
            "while self._reads and",
            "while False and",
        ),
        (
            "commits of groups",
            f"{GROUPS}.coordinator:GroupCoordinator.commit",
            "self._append(group, ",
            "(lambda *_: 0)(group, ",
        ),
        ("deletion of records", "broker.apis.delete_records:low_watermark", "return min(", "return 0 * min("),
        ("removal of deleted directories", f"{LOGS}._remove_dir_later", "self._behind.add(", "id("),
    ),
    (
        (
            "addition of partitions",
            f"{TOPICS}:_more_partitions",
            ".partitions)].replicas)",
            ".partitions)].replicas[1:])",
        ),
        ("creation of topics", f"{TOPICS}:_placed", "place(image, partitions, factor,", "place(image, partitions, 2,"),
        ("compaction", f"{LOGS}._compact_next", "in self.logs.items():", "in ():"),
        ("controlled shutdown", BROKERS, "if broker_state.leads_any(image, broker.id) or", "if True or"),
        ("election of leaders", f"{LEADERS}:elect_leaders", "decision.records.append(record)", "pass"),
    ),
    (("addition of partitions", f"{TOPICS}:create_partitions", "decision.records.extend(records)", "pass"),),
    (("creation of topics", f"{TOPICS}:create_topics", "decision = ", f"{NEVER}; decision = "),),
    (("recovery", BROKERS, "and request.current_metadata_offset >= broker.epoch", "and False"),),
    (("alteration of topics", "controller.configs:_records", "if present.get(name) != value", "if value"),),
    (("writes", "broker.apis.produce:handle", "body: ProduceRequest = request.body", "return"),),
    (("deletion of topics", f"{TOPICS}:delete_topics", "decision = ", f"{NEVER}; decision = "),),
]
"""Features that one run can show, and for each where one text becomes another so that it never works."""


@pytest.mark.quick("joins of groups", "creation of topics", "recovery")
@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: ", ".join(feature for feature, *_ in broken))
def test_a_feature_that_never_works_is_unavailable(broken: tuple[tuple[str, str, str, str], ...]) -> None:
    verdict = _verdict(_experiment(), *broken)
    features = {feature for feature, *_ in broken}
    # The simulator may see the cause, too.
    causes = {"disk-leftover", "group-state", "producer-id-reused", "replica-state"}
    causes |= {"unfencing-refused"} if "recovery" in features else set()
    assert (verdict["verdict"], {*verdict["anomalies"]} - causes) == ("fail", {"unavailable"}), verdict["reasons"]
    failed = {feature for feature, entry in verdict["features"].items() if entry["state"] == "failed"}
    assert failed - {"writes in time", "administration in time"} == features
    stories = [example["story"] for example in verdict["anomalies"]["unavailable"]["examples"]]
    for feature in features:
        says = {"recovery": "is not unfenced", "writes": "no write was acknowledged"}.get(feature, f"{feature}: ")
        assert any(says in story for story in stories), stories


@pytest.mark.quick("isr: {partition: orders-0, includes: [0]}", "activeController: {exists: true}-False")
@pytest.mark.parametrize(
    ("condition", "holds", "fault"),
    [
        ("broker: {id: 2, state: unfenced}", True, ""),
        ("broker: {id: 1, state: unfenced}", False, "sessionExpiry: {target: {broker: 1}}"),
        ("isr: {partition: orders-0, includes: [1]}", False, "kill: {target: {broker: 1}, restartAfter: 4s}"),
        ("isr: {partition: orders-0, includes: [0]}", True, "kill: {target: {broker: 1}, restartAfter: 4s}"),
        ("activeController: {exists: true}", False, "kill: {target: {activeController: true}, restartAfter: 1s}"),
        ("activeController: {exists: true}", True, "kill: {target: {followerController: true}, restartAfter: 1s}"),
        ("underReplicated: 0", False, "kill: {target: {broker: 1}, restartAfter: 4s}"),
    ],
)
def test_a_condition_that_must_hold_and_does_not_is_unavailable(
    condition: str, holds: bool, fault: str, make_experiment: Any
) -> None:
    """Also if it is broken for a moment only, and all is well in the end."""
    happens = f"[{{wait: 1s}}, {{inject: {{{fault}}}}}]" if fault else "[{wait: 1s}]"
    schedule = (
        f"[{{parallel: [[{{holds: {{{condition}, for: 8s}}}}], {happens}]}}, {{admin: {{createTopic: {{name: t}}}}}}]"
    )
    result = run_experiment(make_experiment(schedule), SimBackend())
    assert result.inconclusive_reasons == []
    found = [violation.what for violation in result.violations if violation.name == "unavailable"]
    assert len(found) == (0 if holds else 1)
    assert all(story.startswith(f"{condition.partition(':')[0]} ") for story in found), found
    assert [step for _, step in result.journal][-1] == "admin", "the schedule goes on"


ZK, CLUSTER_IMAGE = "controller.zk.active:ActiveController", "broker.zk.cluster_image:ClusterImage"
ANSWERS = "broker.apis.metadata:PartitionAnswers.of"
DISAGREEING = [
    ("zookeeper", "brokers", f"{ZK}.isrs_changed", "self.isrs_changed)\n", "self.isrs_changed)\n        return\n"),
    ("zookeeper", "brokers", f"{ZK}.isrs_changed", "commands.tell_all(changed)", "pass"),
    (
        "zookeeper",
        "controllers",
        f"{ZK}.isrs_changed",
        "self.tell(commands)",
        "self.tell(commands); [self.context.put(key, state) for key, state in changed.items()]",
    ),
    ("zookeeper", "brokers", f"{CLUSTER_IMAGE}.update", "if known is None or not deleted:", "if True:"),
    ("zookeeper", "brokers", f"{ZK}._live_brokers", "in sorted(self.context.image.brokers.items())", "in ()"),
    ("kraft", "brokers", ANSWERS, "if answer is None or answer[0] is not state:", "if answer is None:"),
    ("kraft", "brokers", ANSWERS, "in sorted(topic.partitions.items()):", "in sorted(topic.partitions.items())[:1]:"),
    (
        "kraft",
        "controllers",
        f"{QUORUM}.on_commit",
        "in enumerate(records):",
        "in enumerate(records * self.is_active):",
    ),
]
"""Mode, whose metadata, and where one text becomes another so that these stay behind what is committed."""


@pytest.mark.quick("kraft-controllers", "zookeeper-brokers-controller.zk.active:ActiveController.isrs_changed-self")
@pytest.mark.parametrize(("mode", "whose", "where", "old", "new"), DISAGREEING)
def test_a_node_that_does_not_come_to_know_what_is_committed_is_unavailable(
    mode: str, whose: str, where: str, old: str, new: str
) -> None:
    verdict = _verdict(_experiment(mode), (f"metadata of {whose}", where, old, new))
    assert verdict["verdict"] == "fail", verdict["reasons"]
    assert verdict["features"][f"metadata of {whose}"]["state"] == "failed", verdict["features"]
    stories = [example["story"] for example in verdict["anomalies"]["unavailable"]["examples"]]
    assert any(f"metadata of {whose}: " in story for story in stories), stories


REBALANCES = {
    "kraft": (f"{LEADERS}:rebalance_leaders", "if record is not None:", "if False:"),
    "zookeeper": (f"{ZK}._rebalance", "keys, Election.PREFERRED", "keys"),
}
"""By mode, where one text becomes another so that no leader ever goes back."""


@pytest.mark.parametrize("mode", REBALANCES)
@pytest.mark.parametrize("broken", [False, True])
def test_leaders_go_back_to_their_preferred_replicas(mode: str, broken: bool) -> None:
    text = EXPERIMENT.format(mode=mode, registers="")
    text = text[: text.index("  schedule:")] + "  schedule:\n    - inject: {stop: {target: {broker: 2}}, for: 3s}\n"
    text = text.replace("config:\n", "config:\n      leader.imbalance.check.interval.ms: 1000\n", 1)
    verdict = _verdict(parse_experiment(text, "back.yaml"), *([("preferred", *REBALANCES[mode])] if broken else ()))
    assert verdict["verdict"] == ("fail" if broken else "pass"), verdict["reasons"]
    assert verdict["features"]["preferred leaders"]["state"] == ("failed" if broken else "ok")


@pytest.mark.thorough
def test_one_moment_at_which_nodes_agree_is_enough_while_another_feature_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moments: list[int] = []

    def differences(self: Agreement, _known: Any) -> Any:
        moments.append(self._backend.now_ns())
        return iter(() if 5.1 < (moments[-1] - moments[0]) / 1e9 < 5.3 else ("another state",))

    monkeypatch.setattr(Agreement, "_differences", differences)
    before = EXPERIMENT.format(mode="kraft", registers="").partition("  schedule:")[0]
    deleted = "  schedule:\n    - admin: {createTopic: {name: doomed}}\n    - admin: {deleteTopic: {name: doomed}}\n"
    features = _verdict(parse_experiment(before + deleted, "deleted.yaml"), DELETION)["features"]
    states = {name: features[name]["state"] for name in (DELETION[0], "metadata of brokers", "metadata of controllers")}
    assert states == {DELETION[0]: "failed", "metadata of brokers": "ok", "metadata of controllers": "ok"}


@pytest.mark.quick("True-kraft", "False-zookeeper")
@pytest.mark.parametrize("mode", ["kraft", "zookeeper"])
@pytest.mark.parametrize("broken", [False, True])
def test_a_move_that_is_taken_back_leaves_the_replicas_of_before(mode: str, broken: bool) -> None:
    steps = """
    - inject: {name: still, pause: {target: {broker: 2}}}
    - admin: {reassign: {partition: moved-0, replicas: [2, 1]}}
    - wait: 1s
    - admin: {cancelReassign: {partition: moved-0}}
    - heal: still
"""
    text = EXPERIMENT.format(mode=mode, registers="")
    text = text[: text.index("  schedule:")] + "  schedule:" + steps
    topic = "      - {name: moved, assignment: [[0, 1]]}\n      - name: payments\n"
    experiment = parse_experiment(text.replace("      - name: payments\n", topic), "moved.yaml")
    where = {
        "kraft": ("reassignment", f"{LEADERS}:_reassign", "target = revert_reassignment(partition)", "return None"),
        "zookeeper": ("reassignment", "controller.zk.admin:Admin._reassign", "elif present:", "elif False:"),
    }[mode]
    verdict = _verdict(experiment, *([where] if broken else ()))
    assert verdict["verdict"] == ("fail" if broken else "pass"), verdict["reasons"]
    feature = verdict["features"]["taking back a reassignment"]
    assert feature["state"] == ("failed" if broken else "ok")
    assert not broken or "moved-0 did not get back the replicas that it had before its move" in feature["why"]


@pytest.mark.parametrize("starts_anew", [False, True])
def test_a_broker_without_a_session_may_keep_what_is_deleted_until_it_starts(starts_anew: bool) -> None:
    """UpdateMetadata of ZooKeeper mode names what there is, and takes away nothing that it does not name."""
    steps = """
    - admin: {createTopic: {name: doomed, assignment: [[0, 1]]}}
    - inject: {name: away, pause: {target: {broker: 2}}}
    - wait: 25s
    - admin: {deleteTopic: {name: doomed}}
    - wait: 2s
    - heal: away
"""
    again = "    - inject: {name: again, kill: {target: {broker: 2}}}\n    - heal: again\n"
    text = EXPERIMENT.format(mode="zookeeper", registers="")
    text = text[: text.index("  schedule:")] + "  schedule:" + steps + again * starts_anew
    keeps: list[bool] = []
    seen = Agreement.of_brokers

    def noting(self: Agreement) -> list[str]:
        answer = self._answers.get(2)
        keeps.extend("doomed-0" in answer.partitions for _ in (0,) if answer is not None)
        return seen(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Agreement, "of_brokers", noting)
        verdict = _verdict(parse_experiment(text, "kept.yaml"))
    assert verdict["verdict"] == "pass", verdict["reasons"]
    assert keeps
    assert all(keeps) is not starts_anew
    assert any(keeps) is not starts_anew


@pytest.mark.parametrize(("may_recur", "stands"), [(False, True), (True, False)])
def test_a_deletion_without_a_first_answer_may_undo_a_later_creation(may_recur: bool, stands: bool) -> None:
    """Its first attempt may arrive after the second was answered, when the topic has been created again."""

    def asked(began_ns: int, **step: dict[str, str]) -> Asked:
        done = AdminOutcome("done", None, may_recur=may_recur)
        return Asked(Admin.model_validate(step), began_ns, frozenset(), (), ended_ns=began_ns + 1, outcome=done)

    deleted, created = asked(10, deleteTopic={"name": "t"}), asked(20, createTopic={"name": "t"})
    view = SimpleNamespace(topics={}, partitions={})
    situation: Any = SimpleNamespace(asked=[deleted, created], asked_again=[], view=view, throttled=())
    (creation,) = [one for one in CONTRACTS if one.feature == "creation of topics"]
    assert bool(creation.owed(situation)) == stands


def test_a_topic_that_was_there_already_may_be_one_that_is_being_deleted() -> None:
    """Nobody promised to create it."""
    step = Admin.model_validate({"createTopic": {"name": "t"}})
    outcomes = [AdminOutcome("done", None, is_presumed=one) for one in (False, True)]
    asked = [Asked(step, 20, frozenset(), (), ended_ns=21, outcome=one) for one in outcomes]
    assert [one.acknowledged for one in asked] == [True, False]


THROTTLES = {
    "kraft": ("controller.configs:_records", "if present.get(name) != value", "if value is not None"),
    "zookeeper": ("controller.zk.admin:Admin._alter_configs", "own.pop(record.name, None)", "pass"),
    "a broker alone": (
        "broker.apis.describe_configs:_described",
        "image.topic_config(name))",
        "image.topic_config(name) | {'leader.replication.throttled.replicas': '0:0'} * (broker_id == 1))",
    ),
    "the rates of one broker": (
        "broker.apis.describe_configs:_described",
        "return describe_broker(image,",
        "return (ErrorCode.UNKNOWN_SERVER_ERROR, '') if broker_id == 2 else describe_broker(image,",
    ),
}
"""Where one text becomes another so that a throttle that was removed stays, or nothing shows that it is gone."""


@pytest.mark.quick("kraft--False", "a broker alone-a broker alone-False")
@pytest.mark.parametrize("throttled_again", [False, True])
@pytest.mark.parametrize(
    ("mode", "broken"), [("kraft", ""), ("zookeeper", ""), *zip(THROTTLES, THROTTLES, strict=True)]
)
def test_a_throttle_that_was_removed_is_gone(mode: str, broken: str, throttled_again: bool) -> None:
    """Unless there is a later one, which the harness removes when the schedule is over."""
    move = "    - admin: {reassign: {partition: moved-0, replicas: [0, %d], throttle: 5000000}}\n    - wait: 3s\n"
    steps = "    - admin: {removeThrottle: {topic: moved}}\n    - wait: 1s\n"
    text = EXPERIMENT.format(mode=mode if mode in ("kraft", "zookeeper") else "kraft", registers="")
    schedule = move % 2 + steps + (move % 1 if throttled_again else "")
    text = text[: text.index("  schedule:")] + "  schedule:\n" + schedule
    topic = "      - {name: moved, assignment: [[0, 1]]}\n      - name: payments\n"
    experiment = parse_experiment(text.replace("      - name: payments\n", topic), "throttled.yaml")
    verdict = _verdict(experiment, *([("configuration", *THROTTLES[broken])] if broken else ()))
    assert verdict["verdict"] == ("fail" if broken else "pass"), verdict["reasons"]
    feature = verdict["features"]["configuration"]
    assert feature["state"] == ("failed" if broken else "ok")
    assert not broken or "though that was acknowledged at" in feature["why"]
