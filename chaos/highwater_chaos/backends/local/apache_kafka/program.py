"""Apache Kafka as the software that the backend ``local`` runs (``cluster.runtime: apache-kafka``).

One JVM a node, controllers and brokers apart, as our own runtime does it; in ZooKeeper mode, brokers alone. Faults that
the machine commits work on it as on any process; rules about messages act in a proxy (:mod:`.proxying`), which is there
if the schedule has any; what needs our host (a skewed clock, stalled flushes) is refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from highwater_chaos.apache_kafka.disks import format_disk, is_formatted
from highwater_chaos.apache_kafka.fetching import ApacheKafkaUnavailableError
from highwater_chaos.apache_kafka.installation import Installation, install
from highwater_chaos.apache_kafka.node_config import (
    CONTROLLERS_ADVERTISE,
    jvm_options,
    log4j_properties,
    misplaced,
    node_properties,
    zookeeper_mode_properties,
)
from highwater_chaos.apache_kafka.node_logging import events_file, lines_known, log4j2_properties
from highwater_chaos.apache_kafka.versions import LOGS_BY_SLF4J, release_parts
from highwater_chaos.backends.local.apache_kafka.event_lines import EventLines
from highwater_chaos.backends.local.apache_kafka.evidence import Declaration
from highwater_chaos.backends.local.apache_kafka.observing import ClusterObserver
from highwater_chaos.backends.local.apache_kafka.proxying import (
    behind_proxy,
    control_socket,
    launched_by_proxy,
    why_no_proxy,
)
from highwater_chaos.backends.local.apache_kafka.white_box import WhiteBox
from highwater_chaos.backends.local.apache_kafka.zookeeper_observing import ZooKeeperModeObserver
from highwater_chaos.backends.local.program import ClusterPlan, Launch, NodePlace, Observer, Site
from highwater_chaos.backends.local.properties import render_properties
from highwater_chaos.backends.primitives import AppliesRpcRules, Primitive
from highwater_chaos.experiment import Cluster
from highwater_pipeline.tables.recordings import RECORDED_EVENTS_FILE
from highwater_runtime.ports import Endpoint

_CONFIG: Final = "server.properties"
_LOG4J: Final = "log4j.properties"
_RECORDED: Final = "recorded.json"


class ApacheKafkaProgram:
    """See :class:`~highwater_chaos.backends.local.program.NodeProgram`."""

    name = "apache-kafka"
    stopped_status = 143
    """A JVM that SIGTERM has ended says so, however cleanly it went."""
    memory_mib = 420
    says_why_it_ends = False
    done_by_nodes = frozenset[Primitive]({AppliesRpcRules})
    """By the proxy in front of each."""

    def __init__(self, release: str | None = None) -> None:
        """``release``: None for the newest that was tested."""
        self._release = release
        self._installed: Installation | None = None

    def problems(self, cluster: Cluster) -> list[str]:
        """What is missing, and what Apache Kafka does not have. Fetches it where that has not been done yet."""
        problems = misplaced(cluster.config, cluster.switches)
        try:
            installation = self._installation()
            if cluster.mode == "kraft":
                installation.first_files(cluster.metadata_version)
        except ApacheKafkaUnavailableError as error:
            problems.append(str(error))
        return problems

    def launch(self, plan: ClusterPlan, place: NodePlace, incarnation: int) -> Launch:
        """Write the node's properties; format its disk where that is empty (in ZooKeeper mode it does so itself)."""
        properties = self._kraft_node(plan, place) if plan.cluster.mode == "kraft" else _zookeeper_node(plan, place)
        config, log = place.files / _CONFIG, log_file(place, incarnation)
        config.write_text(render_properties(properties), encoding="utf-8")
        log4j, tells = place.files / _LOG4J, lines_known(self._installation().release, plan.cluster.mode)
        if release_parts(self._installation().release) < LOGS_BY_SLF4J:
            log4j.write_text(log4j_properties(log), encoding="utf-8")
            configured = f"-Dlog4j.configuration={log4j.as_uri()}"
        else:
            log4j.write_text(log4j2_properties(log, place.role if tells else None), encoding="utf-8")
            configured = f"-Dlog4j2.configurationFile={log4j.as_uri()}"
        options = (*jvm_options(log), configured)
        command = self._installation().command("kafka.Kafka", str(config), options=options)
        return Launch(
            argv=launched_by_proxy(plan, place, command) if plan.interferes else command,
            paths={
                f"config/{place.name}.properties": config,
                f"logs/{place.name}.{incarnation}.log": log,
                f"logs/{place.name}.{incarnation}.log.crash": Path(f"{log}.crash"),  # if the JVM itself dies
                RECORDED_EVENTS_FILE: place.files / _RECORDED,  # the same of every node
            },
            log=log,
            control=control_socket(place) if plan.interferes else None,
        )

    def why_no_rules(self, cluster: Cluster) -> str | None:
        """Return why no message fault is possible: TLS, or no redirection; None: they are."""
        return why_no_proxy(cluster.config)

    def _kraft_node(self, plan: ClusterPlan, place: NodePlace) -> dict[str, str | int | bool]:
        is_controller = place.role == "controller"
        if not is_formatted(place.data):
            files = self._installation().first_files(plan.cluster.metadata_version)
            format_disk(place.data, plan.cluster_id, place.node_id, files, is_controller=is_controller)
        return node_properties(
            role="controller" if is_controller else "broker",
            node_id=place.node_id,
            bind=_bind(plan, place),
            advertised=place.advertised,
            names_controllers=release_parts(self._installation().release) >= CONTROLLERS_ADVERTISE,
            voters=[(one.node_id, one.advertised) for one in plan.of_role("controller")],
            data=place.data,
            brokers=plan.cluster.brokers,
            config=plan.config_of(place.name),
        )

    def observer(self, site: Site) -> Observer:
        """Follows the metadata log or the ensemble's transactions, and the nodes' logs."""
        release, mode = self._installation().release, site.plan.cluster.mode
        nodes = [place for place in site.plan.places if place.role != "zookeeper"]
        declaration = Declaration(release, mode, [place.files / _RECORDED for place in nodes])
        declaration.write()
        if mode == "zookeeper":
            return ZooKeeperModeObserver(site, log_file)
        known = lines_known(release, mode)
        return ClusterObserver(site, log_file, WhiteBox(site, _event_lines, declaration.lose) if known else None)

    def _installation(self) -> Installation:
        if self._installed is None:
            self._installed = install(self._release)
        return self._installed


def _zookeeper_node(plan: ClusterPlan, place: NodePlace) -> dict[str, str | int | bool]:
    return zookeeper_mode_properties(
        node_id=place.node_id,
        bind=_bind(plan, place),
        advertised=place.advertised,
        servers=[one.advertised for one in plan.of_role("zookeeper")],
        data=place.data,
        brokers=plan.cluster.brokers,
        config=plan.config_of(place.name),
    )


def _bind(plan: ClusterPlan, place: NodePlace) -> Endpoint:
    return behind_proxy(place) if plan.interferes else place.bind


def log_file(place: NodePlace, incarnation: int) -> Path:
    """Where one incarnation of a node logs."""
    return place.files / f"kafka.{incarnation}.log"


def _event_lines(place: NodePlace, incarnation: int) -> EventLines:
    return EventLines(events_file(log_file(place, incarnation)))
