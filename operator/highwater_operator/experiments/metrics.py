"""What the operator counts about experiments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, get_args

from prometheus_client import Counter
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from highwater_chaos.kube.kinds import Json
from highwater_operator.metrics import REGISTRY
from highwater_operator.resources import ChaosExperimentStatus

_COMPLETED: Final = "Experiments that were seen to be completed, by verdict."
VERDICTS: Final = Counter("highwater_experiments_completed", _COMPLETED, ["verdict"], registry=REGISTRY)
_EARLIER_VERDICTS: Final = Counter(
    "highwater_operator_experiments_completed",
    f"{_COMPLETED} The earlier name of highwater_experiments_completed_total.",
    ["verdict"],
    registry=REGISTRY,
)
for _verdict in ("pass", "fail", "inconclusive"):
    VERDICTS.labels(_verdict)
    _EARLIER_VERDICTS.labels(_verdict)


def count_verdict(verdict: str) -> None:
    """Count an experiment that was completed."""
    VERDICTS.labels(verdict).inc()
    _EARLIER_VERDICTS.labels(verdict).inc()


class _Known(NamedTuple):
    cluster: str
    phase: str
    verdict: str
    expected: bool | None
    in_force: int
    progress: Json


class Experiments(Collector):
    """Each experiment's phase, verdict and progress, from its status as it was last read. Their names and labels are
    those that the command line gives its own runs, so that one dashboard shows both."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], _Known] = {}

    def remember(self, found: Json) -> None:
        """Take what an experiment says."""
        metadata, status, spec = found["metadata"], found.get("status") or {}, found.get("spec") or {}
        counts, reference = status.get("faults") or {}, spec.get("clusterRef") or {}
        self._known[metadata["namespace"], metadata["name"]] = _Known(
            str(reference.get("name") or reference.get("strimzi") or metadata["name"]),
            str(status.get("phase") or "Pending"),
            str(status.get("verdict") or ""),
            status.get("expected"),
            max(0, int(counts.get("injected") or 0) - int(counts.get("healed") or 0)),
            status.get("progress") or {},
        )

    def forget(self, namespace: str, name: str) -> None:
        """Show an experiment no longer: it has been deleted."""
        self._known.pop((namespace, name), None)

    def collect(self) -> Iterator[Metric]:
        """For each scrape, on another thread."""
        phase = _family("phase", "1 for the phase in which the experiment is.", "phase")
        verdict = _family("verdict", "1 for the verdict of an experiment.", "verdict", "expected")
        in_force = _family("faults_in_force", "Faults that were injected, and not yet seen to be healed.", "kind")
        injected = CounterMetricFamily(
            "highwater_experiment_faults_injected", "Faults that were injected, by kind.", labels=[*_LABELS, "kind"]
        )
        heals = SummaryMetricFamily(
            "highwater_experiment_fault_heal_seconds",
            "From the begin of a heal until a probe saw everything healed.",
            labels=[*_LABELS, "kind"],
        )
        acknowledged = _family("acknowledged_records", "Records that were acknowledged so far.")
        unfinished = _family("open_operations", "Operations of clients without an outcome yet.")
        phases = dict.fromkeys(_PHASES, 0)
        for (namespace, name), one in list(self._known.items()):
            its = [namespace, name, one.cluster]
            phase.add_metric([*its, one.phase], 1)
            phases[one.phase] = phases.get(one.phase, 0) + 1
            if one.verdict:
                verdict.add_metric([*its, one.verdict, str(bool(one.expected)).lower()], 1)
            rest = one.in_force
            for kind, counts in (one.progress.get("faults") or {}).items():
                rest -= counts["injected"] - counts["healed"]
                in_force.add_metric([*its, kind], max(0, counts["injected"] - counts["healed"]))
                injected.add_metric([*its, kind], counts["injected"])
                if counts["timedHeals"]:
                    heals.add_metric([*its, kind], counts["timedHeals"], counts["healSeconds"])
            if rest > 0:  # the runner ended before it had said of which kind
                in_force.add_metric([*its, "unknown"], rest)
            for family, field in ((acknowledged, "acknowledgedRecords"), (unfinished, "openOperations")):
                if (value := one.progress.get(field)) is not None:
                    family.add_metric(its, value)
        experiments = GaugeMetricFamily("highwater_experiments", "Experiments by phase.", labels=["phase"])
        for name, count in phases.items():
            experiments.add_metric([name], count)
        yield from (phase, verdict, in_force, injected, heals, acknowledged, unfinished, experiments)


def _family(name: str, what: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"highwater_experiment_{name}", what, labels=[*_LABELS, *labels])


_LABELS: Final = ("namespace", "experiment", "strimzi_io_cluster")
_PHASES: Final = tuple(one for one in get_args(ChaosExperimentStatus.model_fields["phase"].annotation) if one)
EXPERIMENTS: Final = Experiments()
REGISTRY.register(EXPERIMENTS)
