"""``run --against apache-kafka``: what is refused, and what the run on Apache Kafka keeps of its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.backends.local.backend import LocalBackend
from highwater_chaos.cli.plan import Versions, plan
from highwater_chaos.experiment import ChaosExperiment


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], "--against: Apache Kafka runs in real processes only: add --backend local"),
        (["--backend", "local", "--kafka", "9"], "kafka=9: spec.cluster.version: expected a release"),
    ],
)
def test_what_cannot_be_compared_is_refused(highwater: Any, tiny_file: Path, given: list[str], says: str) -> None:
    done = highwater("run", tiny_file, "--against", "apache-kafka", *given)
    assert done.status == 254
    assert says in done.err


def test_a_file_on_apache_kafka_is_compared_with_nothing(highwater: Any, scenarios: Path) -> None:
    file = scenarios / "apache-kafka" / "power-loss.yaml"
    done = highwater("run", file, "--against", "apache-kafka", "--backend", "local")
    assert done.status == 254
    assert "the file runs that already" in done.err


def test_each_run_is_followed_by_the_same_on_each_release(scenarios: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalBackend, "problems", lambda *_: [])  # neither Java nor a download
    file = scenarios / "kafka-7362" / "kraft-moved-away.yaml"
    planned = plan([file], 5, [], Versions(("3.4.1", "4.4.0")), "local", "apache-kafka")
    ran = [(one.cluster.runtime, one.cluster.kafka, one.spec.seed, varied) for one, varied, _ in planned]
    assert ran == [
        ("highwater", None, 5, {}),
        ("apache-kafka", "3.4.1", 5, {"kafka": "3.4.1"}),
        ("apache-kafka", "4.4.0", 5, {"kafka": "4.4.0"}),
    ]
    ours, theirs = (one for one, *_ in planned[:2])
    assert _same(ours) == _same(theirs)
    assert (theirs.cluster.switches, theirs.spec.expect) == ({}, [])


def test_replicas_lie_where_they_lie_in_the_other_run_and_assertions_are_of_our_nodes(
    scenarios: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalBackend, "problems", lambda *_: [])
    for name in ("log/leader-disk-stalls", "kafka-16952/registration-arrives-twice"):
        (ours, *_), (theirs, *_) = plan([scenarios / f"{name}.yaml"], 5, [], Versions(), "local", "apache-kafka")
        assert ours.cluster.topics == theirs.cluster.topics
        assert all(topic.assignment for topic in theirs.cluster.topics)
        assert theirs.spec.assertions == []


@pytest.mark.thorough
def test_a_document_has_the_comparison_too(highwater: Any, scenarios: Path) -> None:
    file = scenarios / "apache-kafka" / "power-loss.yaml"
    own = highwater.write("own.yaml", file.read_text().replace("runtime: apache-kafka", "runtime: highwater"))
    done = highwater("run", own, "--against", "apache-kafka", "--backend", "local", "--json")
    document = done.json
    assert [run.get("software", {}).get("runtime") for run in document["runs"]] == [None, "apache-kafka"]
    (comparison,) = document["comparisons"]
    assert comparison["runs"] == [Path(run["dir"]).name for run in document["runs"]]
    assert "records acknowledged" in {line["what"] for line in comparison["lines"]}


def _same(experiment: ChaosExperiment) -> Any:
    return experiment.spec.schedule, experiment.cluster.topics, experiment.spec.workload.producers
