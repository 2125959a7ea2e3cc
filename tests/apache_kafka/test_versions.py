"""Releases and metadata versions: their order, conditions on them, what a file may ask for, the runs of a command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highwater_chaos.apache_kafka.versions import (
    FIRST_KRAFT,
    FIRST_WITHOUT_ZOOKEEPER,
    TESTED,
    Mode,
    condition_problem,
    meets,
    metadata_parts,
    newest,
    release_parts,
    why_not_in_pods,
)
from highwater_chaos.backends.local.apache_kafka import program
from highwater_chaos.backends.view import ClusterView
from highwater_chaos.cli.exits import UsageError
from highwater_chaos.cli.plan import Versions, plan, versions_of
from highwater_chaos.experiment import Cluster, ExperimentError, parse_experiment
from highwater_chaos.experiment.software import elects_by_znode
from highwater_chaos.schedule.random_administration import RandomAdministration
from highwater_chaos.verdict.verdict import expectation_for
from highwater_runtime.metadata.metadata_version import MetadataVersion

EXPERIMENT = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: on-releases}
spec:
  timeout: 1m
  cluster:
    runtime: apache-kafka
    version: 3.4.1
    topics: [{name: orders, partitions: 1, replicationFactor: 3}]
  schedule:
    - wait: 1s
  expect:
    - {when: {kafka: "<3.5"}, verdict: fail, anomalies: [lost-write]}
    - {when: {kafka: ">=3.5", metadataVersion: "<3.5-IV1"}, verdict: fail}
    - {verdict: pass}
"""


class Jars:
    """An installation whose files are of no matter here."""

    def __init__(self, release: str | None = None) -> None:
        self.release = release

    def first_files(self, metadata_version: str | None = None) -> dict[str, bytes]:
        return {}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(program, "install", Jars)
    path = tmp_path / "on-releases.yaml"
    path.write_text(EXPERIMENT, encoding="utf-8")
    return path


# --- order and conditions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "condition", "expected"),
    [
        ("3.4.1", "<3.5", True),
        ("3.10.0", "<3.9", False),  # by numbers, not by letters
        ("3.10.0", ">3.9", True),
        ("3.4.1", "<=3.4", True),
        ("3.4.1", ">3.4", False),
        ("3.4.1", "3.4", True),
        ("3.4.1", "==3.4.0", False),
        ("3.4.1", ">=3.4.1,<3.5", True),
        ("3.5.0", ">=3.4.1,<3.5", False),
        ("4.0.2", "3", False),
    ],
)
def test_releases_are_compared_number_by_number(value: str, condition: str, expected: bool) -> None:
    assert meets(value, condition, release_parts) is expected


@pytest.mark.parametrize(
    ("value", "condition", "expected"),
    [
        ("3.4-IV0", "<3.5", True),
        ("3.5-IV0", "<3.5-IV1", True),
        ("3.5-IV10", "<3.5-IV9", False),
        ("3.5-IV2", "==3.5", True),
        ("3.5-IV2", ">3.5", False),
        ("3.5", ">=3.5-IV2", True),  # the last one of 3.5, as Kafka's tools take it
    ],
)
def test_so_are_metadata_versions(value: str, condition: str, expected: bool) -> None:
    assert meets(value, condition, metadata_parts) is expected


@pytest.mark.parametrize(
    "text", ["", "<", "<3.5,", "3.4.1.2", "3.x", "=3.4", "<3.4-IV0", "03.4", "3.99999", "<3.5 <3.6"]
)
def test_what_is_no_condition_is_refused(text: str) -> None:
    problem = condition_problem(text, release_parts)
    assert problem is not None
    assert problem.startswith("expected")
    assert repr(text) in problem or "found" in problem


releases = st.tuples(*[st.integers(0, 20)] * 3)


@given(releases, releases)
def test_exactly_one_of_three_comparisons_holds(value: tuple[int, ...], bound: tuple[int, ...]) -> None:
    text, other = (".".join(map(str, one)) for one in (value, bound))
    assert sum(meets(text, f"{sign}{other}", release_parts) for sign in ("<", "==", ">")) == 1
    assert meets(text, f"<={other}", release_parts) is not meets(text, f">{other}", release_parts)


def test_what_was_tested_is_in_order_and_possible() -> None:
    assert list(TESTED) == sorted(TESTED, key=release_parts)
    for release, tested in TESTED.items():
        assert "kraft" not in tested.modes or release_parts(release) >= FIRST_KRAFT, release
        assert "zookeeper" not in tested.modes or release_parts(release) < FIRST_WITHOUT_ZOOKEEPER, release
        assert (tested.metadata_version is not None) == ("kraft" in tested.modes), release
        if tested.metadata_version is not None:
            assert metadata_parts(tested.metadata_version)[:2] == release_parts(release)[:2]
    assert release_parts(newest("zookeeper")) < (4, 0, 0) <= release_parts(newest("kraft"))


# --- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "replacement", "complaint"),
    [
        ("version: 3.4.1", "version: 3.4", "expected text; found 3.4; quote it if it is text: '3.4'"),
        ("version: 3.4.1", 'version: "3.4"', "spec.cluster.version: expected a release of Apache Kafka such as 3.4.1"),
        ("version: 3.4.1", "version: 0.11.0", "expected 1.0.0 or later; found 0.11.0"),
        ("version: 3.4.1", "version: 2.8.2", "mode kraft is not meant for production below 3.3.0"),
        ("version: 3.4.1", "version: 4.0.2\n    mode: zookeeper", "mode zookeeper is in releases below 4.0.0 only"),
        ("runtime: apache-kafka\n", "runtime: highwater\n", "spec.cluster.version: is a release of Apache Kafka"),
        ("version: 3.4.1", "version: 3.4.1\n    metadataVersion: 3.6-IV2", "Apache Kafka 3.4.1 has none that is newer"),
        ("version: 3.4.1", "version: 3.4.1\n    metadataVersion: IV2", "expected a metadata.version such as 3.4-IV0"),
        ('kafka: "<3.5"', 'kafka: "< 3.5.x"', "spec.expect[0].when.kafka: expected a release"),
        ('kafka: "<3.5"', "kafka: 3.5", "expected text; found 3.5; quote it"),
        ('metadataVersion: "<3.5-IV1"', 'metadataVersion: "<3.5.1"', "expected a metadata.version such as 3.4-IV0"),
        ("version: 3.4.1", "version: 3.7.0", "it is not known with which one Apache Kafka 3.7.0 begins"),
        (
            "version: 3.4.1",
            "version: 3.4.1\n    mode: zookeeper",
            "mode zookeeper has no metadata.version: leave it out",
        ),
        ("    - wait: 1s", "    - admin: {electLeaders: {}}", ""),
    ],
)
def test_what_cannot_be_is_refused_in_the_file(found: str, replacement: str, complaint: str) -> None:
    assert found in EXPERIMENT
    text = EXPERIMENT.replace(found, replacement)
    if not complaint:
        assert parse_experiment(text, "x.yaml")
        return
    with pytest.raises(ExperimentError) as refused:
        parse_experiment(text, "x.yaml")
    assert complaint in str(refused.value)


def test_releases_without_a_request_elect_preferred_leaders_by_a_znode() -> None:
    """Our own runtime has the request."""
    found = {version: elects_by_znode(Cluster(version=version, runtime="apache-kafka")) for version in TESTED}
    assert [version for version, by_znode in found.items() if by_znode] == ["1.0.2", "1.1.1", "2.0.1"]
    assert not elects_by_znode(Cluster())


OLD = EXPERIMENT[: EXPERIMENT.index("  expect:")].replace("version: 3.4.1", "version: 1.1.1\n    mode: zookeeper")


@pytest.mark.parametrize(
    ("step", "complaint"),
    [
        (
            "admin: {removeThrottle: {topic: orders}}",
            "admin.removeThrottle: needs IncrementalAlterConfigs, which is in 2.3.0 or later; found 1.1.1",
        ),
        ("admin: {reassign: {partition: orders-0, replicas: [0, 1]}}", "needs AlterPartitionReassignments"),
        ("admin: {createTopic: {name: more}}", "admin.createTopic.replicationFactor: is required below 2.4.0"),
        (
            "repeat: {times: 2, steps: [{admin: {removeThrottle: {topic: orders}}}]}",
            "repeat.steps[0].admin.removeThrottle: needs",
        ),
        ("random: {for: 5s, every: 1s, faults: {reassign: 1}}", "random.faults.reassign: needs"),
    ],
)
def test_what_a_release_has_no_request_for_is_refused(step: str, complaint: str) -> None:
    assert parse_experiment(OLD, "x.yaml")
    text = OLD.replace("    - wait: 1s", f"    - {step}")
    with pytest.raises(ExperimentError) as refused:
        parse_experiment(text, "x.yaml")
    assert complaint in str(refused.value)
    newer = text.replace("version: 1.1.1", "version: 2.8.2")
    assert parse_experiment(newer, "x.yaml")


def test_elections_of_the_quorum_are_judged_as_far_as_a_release_logs_them() -> None:
    text = EXPERIMENT.replace("  schedule:", "  checks: [CHECK]\n  schedule:")
    assert parse_experiment(text.replace("CHECK", "stable-leadership"), "x.yaml")
    inflation = text.replace("CHECK", "epoch-inflation")
    with pytest.raises(ExperimentError, match="needs to know when a follower has given its leader up"):
        parse_experiment(inflation, "x.yaml")
    assert parse_experiment(inflation.replace("version: 3.4.1", "version: 4.0.2"), "x.yaml")


# --- expectations and plans -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kafka", "metadata", "verdict", "anomalies"),
    [
        ("3.4.1", None, "fail", ["lost-write"]),
        ("3.5.2", None, "pass", []),  # it begins with 3.5-IV2
        ("3.5.2", "3.4-IV0", "fail", []),
        ("4.0.2", "3.6-IV2", "pass", []),
    ],
)
def test_the_expected_verdict_is_that_of_the_versions_that_run(
    kafka: str, metadata: str | None, verdict: str, anomalies: list[str]
) -> None:
    experiment = parse_experiment(EXPERIMENT, "x.yaml").with_versions(kafka, metadata)
    expected = expectation_for(experiment.spec, {})
    assert (expected.verdict, expected.anomalies) == (verdict, anomalies)


def test_a_file_runs_once_for_each_combination(file: Path) -> None:
    versions = versions_of("3.5.2, 4.0.2", "3.4-IV0,3.5-IV2")
    planned = plan([file], 5, [], versions, "local")
    assert [varied for _, varied, _ in planned] == [
        {"kafka": kafka, "metadataVersion": metadata}
        for kafka in ("3.5.2", "4.0.2")
        for metadata in ("3.4-IV0", "3.5-IV2")
    ]
    clusters = [experiment.cluster for experiment, *_ in planned]
    assert [(one.version, one.metadata_version) for one in clusters] == [
        tuple(varied.values()) for _, varied, _ in planned
    ]
    assert {experiment.spec.seed for experiment, *_ in planned} == {5}


def test_a_run_writes_down_the_release_that_it_chose(file: Path) -> None:
    file.write_text(EXPERIMENT[: EXPERIMENT.index("  expect:")].replace("    version: 3.4.1\n", ""), encoding="utf-8")
    ((experiment, varied, _),) = plan([file], None, [], Versions(), "local")
    assert (experiment.cluster.version, varied) == (newest("kraft"), {})


@pytest.mark.parametrize(
    ("versions", "complaint"),
    [
        (Versions(["3.4.1", "2.8.2"]), "kafka=2.8.2"),
        (Versions(["3.4.1"], ["3.6-IV2"]), "kafka=3.4.1 metadataVersion=3.6-IV2"),
        (Versions([], ["nonsense"]), "expected a metadata.version such as 3.4-IV0"),
    ],
)
def test_a_version_that_cannot_be_is_refused_before_anything_runs(
    file: Path, versions: Versions, complaint: str
) -> None:
    with pytest.raises(UsageError) as refused:
        plan([file], None, [], versions, "local")
    assert complaint in str(refused.value)


def test_options_that_are_not_of_the_file_are_refused(file: Path) -> None:
    ours = EXPERIMENT[: EXPERIMENT.index("  expect:")].replace("    runtime: apache-kafka\n    version: 3.4.1\n", "")
    file.write_text(ours, encoding="utf-8")
    with pytest.raises(UsageError, match="--kafka needs spec\\.cluster\\.runtime"):
        plan([file], None, [], Versions(["3.4.1"]), "local")
    ((experiment, *_),) = plan([file], None, [], Versions([], ["3.4-IV0"]), "sim")
    assert experiment.cluster.metadata_version == "3.4-IV0"
    for given_twice in ("3.4.1,3.4.1", "3.4.1,", ""):
        with pytest.raises(UsageError, match="--kafka"):
            versions_of(given_twice, None)


@pytest.mark.parametrize(
    ("cluster", "drawn"),
    [
        ({}, []),
        ({"metadata_version": "3.5-IV1"}, ["3.5-IV2", "3.6-IV0"]),
        ({"mode": "zookeeper"}, []),
        ({"runtime": "apache-kafka"}, []),
        ({"runtime": "apache-kafka", "version": "4.0.2", "metadata_version": "3.6-IV2"}, []),  # ours does not know it
        ({"runtime": "apache-kafka", "version": "3.5.2", "metadata_version": "3.5-IV1"}, ["3.5-IV2"]),
        ({"runtime": "apache-kafka", "version": "3.9.2", "mode": "zookeeper"}, []),
    ],
)
def test_upgrades_are_drawn_among_the_versions_that_the_cluster_has(cluster: dict[str, Any], drawn: list[str]) -> None:
    nobody: Any = None
    administration = RandomAdministration(Cluster(**cluster), ClusterView(), nobody, nobody)
    first, last = administration._version, administration._latest_version
    assert [version.version for version in MetadataVersion if first < version <= last] == drawn


@pytest.mark.parametrize(
    ("release", "mode", "why"),
    [
        ("3.3.0", "kraft", None),
        ("3.2.3", "kraft", "from 3.3.0 on"),
        ("1.1.1", "zookeeper", None),
        ("3.9.2", "zookeeper", None),
        ("1.0.2", "zookeeper", "from 1.1.0 to 3.9.x"),
        ("4.0.0", "zookeeper", "from 1.1.0 to 3.9.x"),
        ("2.3.1", "zookeeper", "needs Java 11"),
        ("2.4.0", "zookeeper", None),
        ("3", "kraft", "expected a release"),
    ],
)
def test_which_releases_run_in_pods(release: str, mode: Mode, why: str | None) -> None:
    found = why_not_in_pods(release, mode)
    assert (found is None) if why is None else (found is not None and why in found)
