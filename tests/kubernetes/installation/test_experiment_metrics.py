"""What the operator says of experiments, read from their statuses: as many series as there are experiments."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from highwater_chaos.monitoring.run_metrics import RunMetrics
from highwater_operator.experiments.metrics import Experiments
from highwater_operator.metrics import REGISTRY as OPERATOR


def read(registry: CollectorRegistry) -> set[tuple[str, frozenset[str], float]]:
    return {
        (sample.name, frozenset(sample.labels.values()), sample.value)
        for family in text_string_to_metric_families(generate_latest(registry).decode())
        for sample in family.samples
        if sample.value or "faults" in sample.name
    }


def experiment(**status: object) -> dict[str, object]:
    return {
        "metadata": {"namespace": "team", "name": "one"},
        "spec": {"clusterRef": {"name": "demo"}},
        "status": status,
    }


def test_a_phase_replaces_the_one_before_and_what_is_deleted_is_gone():
    registry, experiments = CollectorRegistry(), Experiments()
    registry.register(experiments)
    its = {"team", "one", "demo"}
    experiments.remember(experiment(phase="Injecting", faults={"injected": 3, "healed": 1}))
    assert read(registry) == {
        ("highwater_experiment_phase", frozenset({*its, "Injecting"}), 1.0),
        ("highwater_experiment_faults_in_force", frozenset(its), 2.0),
        ("highwater_experiments", frozenset({"Injecting"}), 1.0),
    }
    experiments.remember(
        experiment(phase="Completed", verdict="fail", expected=True, faults={"injected": 3, "healed": 3})
    )
    assert read(registry) == {
        ("highwater_experiment_phase", frozenset({*its, "Completed"}), 1.0),
        ("highwater_experiment_faults_in_force", frozenset(its), 0.0),
        ("highwater_experiment_verdict", frozenset({*its, "fail", "true"}), 1.0),
        ("highwater_experiments", frozenset({"Completed"}), 1.0),
    }
    experiments.forget("team", "one")
    assert read(registry) == set()


def test_experiments_have_one_name_in_the_operator_and_on_the_command_line():
    """One query shows both."""
    names = {family.name for family in OPERATOR.collect() if family.name.startswith("highwater_experiment")}
    assert {"highwater_experiments_completed", "highwater_experiments", "highwater_experiment_phase"} <= names
    assert names <= {family.name for family in RunMetrics().registry.collect()}
    assert not [family.name for family in OPERATOR.collect() if family.name.startswith("highwater_operator_experiment")]
