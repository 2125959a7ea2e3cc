"""Metrics and annotations of runs and campaigns for Prometheus and Grafana."""

from highwater_chaos.monitoring.campaign_metrics import CampaignMetrics
from highwater_chaos.monitoring.grafana import Annotations, grafana_url
from highwater_chaos.monitoring.run_metrics import RunMetrics
from highwater_chaos.monitoring.server import Address, MetricsServer, address_of

__all__ = [
    "Address",
    "Annotations",
    "CampaignMetrics",
    "MetricsServer",
    "RunMetrics",
    "address_of",
    "grafana_url",
]
