"""What the operator counts about experiments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, get_args

from prometheus_client import Counter
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from highwater_chaos.kube.kinds import Json
from highwater_operator.metrics import REGISTRY
from highwater_operator.resources import ChaosExperimentStatus

VERDICTS: Final = Counter(
    "highwater_experiments_completed",  # as the command line's own: one name, one query
    "Experiments that were seen to be completed, by verdict.",
    ["verdict"],
    registry=REGISTRY,
)
for _verdict in ("pass", "fail", "inconclusive"):
    VERDICTS.labels(_verdict)


class _Known(NamedTuple):
    cluster: str
    phase: str
    verdict: str
    expected: bool | None
    in_force: int


class Experiments(Collector):
    """Each experiment's phase, verdict and faults in force, from its status as it was last read. Their names are those
    that the command line gives its own runs, so that one dashboard shows both."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], _Known] = {}

    def remember(self, found: Json) -> None:
        """Take what an experiment says."""
        metadata, status, spec = found["metadata"], found.get("status") or {}, found.get("spec") or {}
        counts = status.get("faults") or {}
        self._known[metadata["namespace"], metadata["name"]] = _Known(
            str((spec.get("clusterRef") or {}).get("name") or metadata["name"]),
            str(status.get("phase") or "Pending"),
            str(status.get("verdict") or ""),
            status.get("expected"),
            max(0, int(counts.get("injected") or 0) - int(counts.get("healed") or 0)),
        )

    def forget(self, namespace: str, name: str) -> None:
        """Show an experiment no longer: it has been deleted."""
        self._known.pop((namespace, name), None)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """For each scrape, on another thread."""
        labels = ["namespace", "experiment", "strimzi_io_cluster"]
        phase = _family("phase", "1 for the phase in which the experiment is.", [*labels, "phase"])
        verdict = _family("verdict", "1 for the verdict of an experiment.", [*labels, "verdict", "expected"])
        in_force = _family("faults_in_force", "Faults that were injected, and not yet seen to be healed.", labels)
        phases = dict.fromkeys(_PHASES, 0)
        for (namespace, name), one in list(self._known.items()):
            its = [namespace, name, one.cluster]
            phase.add_metric([*its, one.phase], 1)
            in_force.add_metric(its, one.in_force)
            phases[one.phase] = phases.get(one.phase, 0) + 1
            if one.verdict:
                verdict.add_metric([*its, one.verdict, str(bool(one.expected)).lower()], 1)
        experiments = GaugeMetricFamily("highwater_experiments", "Experiments by phase.", labels=["phase"])
        for name, count in phases.items():
            experiments.add_metric([name], count)
        yield from (phase, verdict, in_force, experiments)


def _family(name: str, what: str, labels: Sequence[str]) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"highwater_experiment_{name}", what, labels=labels)


_PHASES: Final = tuple(one for one in get_args(ChaosExperimentStatus.model_fields["phase"].annotation) if one)
EXPERIMENTS: Final = Experiments()
REGISTRY.register(EXPERIMENTS)
