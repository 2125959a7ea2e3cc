"""Apache Kafka as the software that the backend ``local`` runs (``cluster.runtime: apache-kafka``).

One JVM a node, controllers and brokers apart, as our own runtime does it. Faults that the machine commits work on it as
on any process; those that need our host (interference by RPC, a skewed clock, stalled flushes) are refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from highwater_chaos.backends.local.apache_kafka.disks import format_disk, is_formatted
from highwater_chaos.backends.local.apache_kafka.installation import ApacheKafkaUnavailableError, Installation, install
from highwater_chaos.backends.local.apache_kafka.node_config import jvm_options, misplaced, node_properties
from highwater_chaos.backends.local.apache_kafka.observing import ClusterObserver
from highwater_chaos.backends.local.program import ClusterPlan, Launch, NodePlace, Observer, Site
from highwater_chaos.backends.local.properties import render_properties
from highwater_chaos.experiment import Cluster
from highwater_pipeline.recorded_events import RecordedEvents
from highwater_pipeline.recordings import RECORDED_EVENTS_FILE
from highwater_runtime.ports.trace import (
    BrokerRegistered,
    BrokerRegistrationChanged,
    BrokerStateChanged,
    NodeCrashed,
    NodeEvent,
    NodeStarted,
    NodeStopped,
    PartitionChanged,
    RaftStateChanged,
)

OBSERVED: Final[tuple[type[NodeEvent], ...]] = (
    NodeStarted,
    NodeStopped,
    NodeCrashed,
    BrokerRegistered,
    BrokerRegistrationChanged,
    BrokerStateChanged,
    PartitionChanged,
    RaftStateChanged,
)
"""The kinds of events of which none is missed. High watermarks are sampled, and so are not among them."""

RECORDED: Final = RecordedEvents(
    kinds=tuple(str(kind.__struct_config__.tag) for kind in OBSERVED),
    why="Apache Kafka's nodes do not report what they append and commit",
)

_CONFIG: Final = "server.properties"
_RECORDED: Final = "recorded.json"


class ApacheKafkaProgram:
    """See :class:`~highwater_chaos.backends.local.program.NodeProgram`."""

    name = "apache-kafka"
    stopped_status = 143
    """A JVM that SIGTERM has ended says so, however cleanly it went."""
    says_why_it_ends = False

    def __init__(self) -> None:
        self._installed: Installation | None = None

    def problems(self, cluster: Cluster) -> list[str]:
        """What is missing, and what Apache Kafka does not have. Fetches it where that has not been done yet."""
        problems = misplaced(cluster.config)
        if cluster.switches:
            problems.append(
                "apache-kafka has none of the switches of our own runtime: leave spec.cluster.switches out; found"
                f" {', '.join(sorted(cluster.switches))}"
            )
        try:
            self._installation().bootstrap_checkpoint(cluster.metadata_version)
        except ApacheKafkaUnavailableError as error:
            problems.append(str(error))
        return problems

    def launch(self, plan: ClusterPlan, place: NodePlace, incarnation: int) -> Launch:
        """Write the node's properties; format its disk where that is empty."""
        if not is_formatted(place.data):
            bootstrap = self._installation().bootstrap_checkpoint(plan.cluster.metadata_version)
            format_disk(place.data, plan.cluster_id, place.node_id, bootstrap)
        config, log = place.files / _CONFIG, log_file(place, incarnation)
        properties = node_properties(
            role="controller" if place.role == "controller" else "broker",
            node_id=place.node_id,
            bind=place.bind,
            advertised=place.advertised,
            voters=[(one.node_id, one.advertised) for one in plan.of_role("controller")],
            data=place.data,
            brokers=plan.cluster.brokers,
            config=plan.config_of(place.name),
        )
        config.write_text(render_properties(properties), encoding="utf-8")
        recorded = place.files / _RECORDED
        recorded.write_bytes(msgspec.json.encode(RECORDED))
        return Launch(
            argv=self._installation().command("kafka.Kafka", str(config), options=jvm_options(log)),
            paths={
                f"config/{place.name}.properties": config,
                f"logs/{place.name}.{incarnation}.log": log,
                f"logs/{place.name}.{incarnation}.log.crash": Path(f"{log}.crash"),  # if the JVM itself dies
                RECORDED_EVENTS_FILE: recorded,  # the same of every node
            },
            log=log,
        )

    def observer(self, site: Site) -> Observer:
        """Follows the metadata log and the nodes' logs."""
        return ClusterObserver(site, log_file)

    def _installation(self) -> Installation:
        if self._installed is None:
            self._installed = install()
        return self._installed


def log_file(place: NodePlace, incarnation: int) -> Path:
    """Where one incarnation of a node logs."""
    return place.files / f"kafka.{incarnation}.log"
