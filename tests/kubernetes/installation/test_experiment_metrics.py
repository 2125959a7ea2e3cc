"""What the operator says of experiments, read from their statuses: as many series as there are experiments."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from highwater_chaos.monitoring.run_metrics import RunMetrics
from highwater_operator.experiments.metrics import Experiments, count_verdict
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
        ("highwater_experiment_faults_in_force", frozenset({*its, "unknown"}), 2.0),
        ("highwater_experiments", frozenset({"Injecting"}), 1.0),
    }
    kill = {"injected": 3, "healed": 3, "timedHeals": 2, "healSeconds": 5.0}
    progress = {"faults": {"kill": kill}, "acknowledgedRecords": 70, "openOperations": 2}
    counts = {"injected": 3, "healed": 3}
    experiments.remember(experiment(phase="Completed", verdict="fail", expected=True, faults=counts, progress=progress))
    assert read(registry) == {
        ("highwater_experiment_phase", frozenset({*its, "Completed"}), 1.0),
        ("highwater_experiment_faults_in_force", frozenset({*its, "kill"}), 0.0),
        ("highwater_experiment_faults_injected_total", frozenset({*its, "kill"}), 3.0),
        ("highwater_experiment_fault_heal_seconds_count", frozenset({*its, "kill"}), 2.0),
        ("highwater_experiment_fault_heal_seconds_sum", frozenset({*its, "kill"}), 5.0),
        ("highwater_experiment_acknowledged_records", frozenset(its), 70.0),
        ("highwater_experiment_open_operations", frozenset(its), 2.0),
        ("highwater_experiment_verdict", frozenset({*its, "fail", "true"}), 1.0),
        ("highwater_experiments", frozenset({"Completed"}), 1.0),
    }
    experiments.forget("team", "one")
    assert read(registry) == set()


def test_experiments_have_the_same_metrics_in_the_operator_and_on_the_command_line():
    """One query shows both."""
    operator, run = (
        {family.name for family in registry.collect() if family.name.startswith("highwater_experiment")}
        for registry in (OPERATOR, RunMetrics().registry)
    )
    assert operator == run
    assert "highwater_experiments_completed" in run


def test_the_earlier_name_of_completed_experiments_stays():
    names = ("highwater_experiments_completed_total", "highwater_operator_experiments_completed_total")
    before = [OPERATOR.get_sample_value(name, {"verdict": "fail"}) for name in names]
    count_verdict("fail")
    after = [OPERATOR.get_sample_value(name, {"verdict": "fail"}) for name in names]
    assert after == [one + 1 for one in before]
