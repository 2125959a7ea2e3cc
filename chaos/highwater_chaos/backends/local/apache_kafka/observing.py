"""The events of an Apache Kafka cluster, put together from what can be seen of it from outside.

There are three sources. The harness knows when a process was started. The metadata log holds what the cluster has
agreed upon (:mod:`.metadata_observer`, on a thread of its own in the clients' network). The nodes' logs show which
process is registered and which controller leads (:mod:`.node_log`), and, of releases whose lines are known, what
brokers do to their replicas (:mod:`.white_box`). Of other releases leaders are asked for their high watermarks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from highwater_chaos.backends.local.apache_kafka.high_watermarks import Report
from highwater_chaos.backends.local.apache_kafka.hosted_observer import HostedObserver
from highwater_chaos.backends.local.apache_kafka.metadata_observer import MetadataObserver, ObserverOptions
from highwater_chaos.backends.local.apache_kafka.node_log import NodeLog
from highwater_chaos.backends.local.apache_kafka.tails import NodeLogs
from highwater_chaos.backends.local.apache_kafka.white_box import WhiteBox
from highwater_chaos.backends.local.program import NodePlace, Observed, Site
from highwater_runtime.host.net.listeners import PLAINTEXT_OUTBOUND, OutboundSecurity
from highwater_runtime.host.node import CoreFactory
from highwater_runtime.ports import Endpoint


def observe_metadata(
    site: Site, *, asks: bool, security: Callable[[Endpoint], OutboundSecurity] = lambda _: PLAINTEXT_OUTBOUND
) -> HostedObserver:
    """Follow the metadata log of a run's cluster. ``asks``: whether leaders are asked for high watermarks;
    ``security``: how nodes are met."""

    def factory_for(report: Report, complain: Callable[[str], None]) -> CoreFactory:
        options = ObserverOptions(
            cluster_id=site.plan.cluster_id,
            voters={place.node_id: place.advertised for place in site.plan.of_role("controller")},
            brokers={place.node_id: place.advertised for place in site.plan.of_role("broker")},
            report=report,
            complain=complain,
            asks=asks,
        )
        return lambda ports: MetadataObserver(options, ports)

    return HostedObserver(site, "Apache Kafka's metadata log", factory_for, security)


class ClusterObserver:
    """An :class:`~highwater_chaos.backends.local.program.Observer` of one run.

    ``log_file`` says where an incarnation of a node logs. ``white_box`` None: that is not known of this release.
    """

    def __init__(
        self, site: Site, log_file: Callable[[NodePlace, int], Path], white_box: WhiteBox | None = None
    ) -> None:
        self.records: Sequence[Path] = ()
        self._logs = NodeLogs(
            site, log_file, lambda place: NodeLog(place.node_id, is_controller=place.role == "controller")
        )

        self._white_box = white_box
        self._metadata = observe_metadata(site, asks=white_box is None)

    def starting(self, node: str, incarnation: int, time_ns: int) -> None:
        self._logs.starting(node, incarnation, time_ns)
        if self._white_box is not None:
            self._white_box.starting(node, incarnation, time_ns)

    def poll(self) -> Sequence[Observed]:
        """What has come up since, by time."""
        # The metadata first: what brokers had written by then of what they knew of it is read afterwards.
        metadata, inside = self._metadata.take(), []
        if self._white_box is not None:
            inside = self._white_box.take()
            metadata = self._white_box.settled(metadata)
        return sorted([*metadata, *inside, *self._logs.take()], key=lambda event: event.time_ns)

    def notes(self) -> Sequence[str]:
        """Records that could not be understood, and an observer that ended before the run."""
        return self._metadata.notes()

    def close(self) -> None:
        self._metadata.close()
        self._logs.close()
        if self._white_box is not None:
            self._white_box.close()
