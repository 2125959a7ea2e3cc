"""A campaign of this process as metrics: ``highwater_campaign_*``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_VERDICTS: Final = ("pass", "fail", "inconclusive", "error")
_BUCKETS: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class CampaignMetrics:
    """One campaign, counted seed by seed. ``seeds``: how many it has, those of an earlier start included."""

    def __init__(self, campaign: str, experiments: Sequence[str], seeds: int) -> None:
        self.registry = CollectorRegistry()
        self._campaign = campaign
        planned = Gauge(
            "highwater_campaign_seeds_planned",
            "Seeds of the campaign, of all experiments.",
            ["campaign"],
            registry=self.registry,
        )
        planned.labels(campaign).set(seeds)
        self._judged = Counter(
            "highwater_campaign_seeds_judged",
            "Seeds that came to a verdict or an error, by experiment, since this process started.",
            ["campaign", "experiment", "verdict"],
            registry=self.registry,
        )
        self._anomalies = Counter(
            "highwater_campaign_anomalies",
            "Seeds that showed an anomaly, by name.",
            ["campaign", "anomaly"],
            registry=self.registry,
        )
        self._faults = Counter(
            "highwater_campaign_faults", "Faults that were injected.", ["campaign"], registry=self.registry
        )
        self._acknowledged = Counter(
            "highwater_campaign_acknowledged_records",
            "Records that were acknowledged.",
            ["campaign"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "highwater_campaign_seed_seconds",
            "Processor time of a seed.",
            ["campaign"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        for experiment in experiments:
            for verdict in _VERDICTS:
                self._judged.labels(campaign, experiment, verdict)
        for counter in (self._faults, self._acknowledged, self._seconds):
            counter.labels(campaign)

    def add(
        self,
        experiment: str,
        verdict: str,
        anomalies: Sequence[str],
        *,
        faults: int,
        acknowledged: int,
        cpu_seconds: float,
    ) -> None:
        """Count a seed that is over."""
        self._judged.labels(self._campaign, experiment, verdict).inc()
        for anomaly in anomalies:
            self._anomalies.labels(self._campaign, anomaly).inc()
        self._faults.labels(self._campaign).inc(faults)
        self._acknowledged.labels(self._campaign).inc(acknowledged)
        self._seconds.labels(self._campaign).observe(cpu_seconds)

    def exposition(self) -> bytes:
        """Everything in Prometheus' text format. Called on other threads."""
        return generate_latest(self.registry)
