"""What the operator counts about itself, as ``highwater_operator_*``. Series exist from the start where they can."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

REGISTRY: Final = CollectorRegistry()

API_REQUESTS: Final = Counter(
    "highwater_operator_api_requests",
    "Requests to the API server by verb and status (ok, an error's number, none: no answer).",
    ["verb", "status"],
    registry=REGISTRY,
)
RECONCILES: Final = Counter(
    "highwater_operator_reconciles",
    "Reconciles by kind and result: steady, again (something is under way), delayed (the API server), failed (a bug).",
    ["kind", "result"],
    registry=REGISTRY,
)
RECONCILE_SECONDS: Final = Histogram(
    "highwater_operator_reconcile_duration_seconds",
    "How long reconciles take.",
    ["kind"],
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
    registry=REGISTRY,
)
KNOWN: Final = Gauge(
    "highwater_operator_known_objects", "Objects that the operator serves, by kind.", ["kind"], registry=REGISTRY
)
WAITING: Final = Gauge(
    "highwater_operator_queue_depth", "Objects that are due and have no worker yet.", ["kind"], registry=REGISTRY
)
REPAIRS: Final = Counter(
    "highwater_operator_repairs",
    "Objects of clusters that had been changed by others, by kind.",
    ["kind"],
    registry=REGISTRY,
)
RESTARTS: Final = Counter(
    "highwater_operator_pod_restarts",
    "Pods deleted so that they come back up to date, by role.",
    ["role"],
    registry=REGISTRY,
)

KNOWN.labels("LogCluster")  # of experiments highwater_experiments tells, by phase
for _kind in ("LogCluster", "ChaosExperiment"):
    WAITING.labels(_kind)
    for _result in ("steady", "again", "delayed", "failed"):
        RECONCILES.labels(_kind, _result)
for _role in ("broker", "controller"):
    RESTARTS.labels(_role)
