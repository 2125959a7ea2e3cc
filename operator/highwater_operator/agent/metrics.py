"""What the agent counts about itself, as ``highwater_agent_*``. Series exist from the start where they can."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

REGISTRY: Final = CollectorRegistry()

INJECTIONS: Final = Counter(
    "highwater_agent_injections",
    "Faults asked for, by kind and result: injected, refused (the pod or the machine as it is), failed.",
    ["kind", "result"],
    registry=REGISTRY,
)
INJECTION_SECONDS: Final = Histogram(
    "highwater_agent_injection_duration_seconds",
    "From the request until the fault was in force and its evidence taken.",
    ["kind"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
    registry=REGISTRY,
)
HEALS: Final = Counter(
    "highwater_agent_heals",
    "Faults that ended, by kind and by what: request, deadline, restart (of the agent).",
    ["kind", "by"],
    registry=REGISTRY,
)
HEAL_SECONDS: Final = Histogram(
    "highwater_agent_heal_duration_seconds",
    "From the request until a fault was gone and its evidence taken.",
    ["kind"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
    registry=REGISTRY,
)
IN_FORCE: Final = Gauge("highwater_agent_faults_in_force", "Faults in force on this node.", registry=REGISTRY)
OVERDUE: Final = Gauge(
    "highwater_agent_faults_overdue", "Faults past their deadline that could not be undone yet.", registry=REGISTRY
)
VOLUMES: Final = Gauge("highwater_agent_volumes", "Crashable volumes on this node.", registry=REGISTRY)
VOLUME_FAILURES: Final = Counter(
    "highwater_agent_volume_failures", "Crashable volumes that could not be made or mounted.", registry=REGISTRY
)
VOLUME_REMOVALS: Final = Counter(
    "highwater_agent_volume_removals",
    "Removals of crashable volumes whose LogCluster was deleted, by result: removed, failed (in use; tried again).",
    ["result"],
    registry=REGISTRY,
)
for _result in ("removed", "failed"):
    VOLUME_REMOVALS.labels(_result)
WATCH_FAILURES: Final = Counter(
    "highwater_agent_watch_failures", "Times that the watch on pods was lost.", registry=REGISTRY
)
REQUESTS: Final = Counter(
    "highwater_agent_http_requests", "Requests answered, by method and status.", ["method", "status"], registry=REGISTRY
)
UNAUTHORIZED: Final = Counter("highwater_agent_unauthorized", "Requests without the right token.", registry=REGISTRY)
CERTIFICATE_EXPIRES: Final = Gauge(
    "highwater_agent_certificate_expires_timestamp_seconds",
    "When the certificate that callers are shown ends, in seconds since 1970.",
    registry=REGISTRY,
)
