"""docs/kubernetes-reference.md: the experiment that it shows, and the rights that healing asks for."""

from __future__ import annotations

import re
from pathlib import Path

from highwater_chaos.backends.kubernetes.namespace_heal import needed_rights
from highwater_chaos.experiment.load import parse_experiment

TEXT = (Path(__file__).parents[3] / "docs" / "kubernetes-reference.md").read_text()


def test_the_experiment_on_a_cluster_that_runs() -> None:
    shown = re.findall(r"^```yaml\n(apiVersion.*?)^```$", TEXT, flags=re.M | re.S)
    experiments = [one for one in shown if "kind: ChaosExperiment" in one]
    references = [parse_experiment(one, "docs", references=True).spec.cluster_ref for one in experiments]
    assert [one is not None and (one.name, one.strimzi) for one in references] == [("demo", None), (None, "my-cluster")]


def test_rights_of_healing() -> None:
    section = TEXT[TEXT.index("## Undo everything") : TEXT.index("(From Kubernetes 1.35")]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")][2:]
    told = {
        (verb, resource, where == "the agents'")
        for verbs, resources, where in rows
        for verb in verbs.split(", ")
        for resource in re.findall(r"`([^`]+)`", resources)[:1]
    }
    needed = needed_rights("ours", "theirs", "token", "trust")
    assert told == {(one.verb, one.resource, one.namespace == "theirs") for one in needed}
