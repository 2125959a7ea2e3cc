"""Settings that contradict each other, so that no run of the file could come to anything.

*Example.* ``broker.heartbeat.interval.ms`` is above ``broker.session.timeout.ms``: the controllers fence each broker
between two of its heartbeats. Such a run says ``unavailable``, and nothing was wrong but the file.

Each rule is about the properties that nodes have at first, and about those that they have after a ``restart``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from highwater_chaos.experiment.batches import groups_too_large, too_large
from highwater_chaos.experiment.errors import Problem
from highwater_chaos.experiment.model import ExperimentSpec
from highwater_chaos.experiment.properties import Properties, every_step, properties_of_nodes
from highwater_runtime.config import ConfigError, NodeConfig

GROUP_SESSION_MS: Final = 12_000
"""The session time-out that members of the group ask for."""


def contradictions(spec: ExperimentSpec) -> Iterator[Problem]:
    """Yield what settings make impossible together. Most are of our own nodes: other software says itself what it
    takes."""
    nodes = properties_of_nodes(spec)
    if nodes is None or spec.cluster is None or spec.cluster.attached is not None:
        return
    yield from too_large(spec)
    if spec.cluster.runtime != "highwater":
        return
    found: dict[str, None] = {}
    for restarted in nodes:
        properties: Properties = {**nodes[0], **restarted}
        try:
            config = NodeConfig.of(properties)
        except ConfigError:
            return  # said of the property itself
        found |= dict.fromkeys([*_between(config, spec), *groups_too_large(spec, properties)])
    yield from (Problem("spec.cluster.config", one) for one in found)


def _between(config: NodeConfig, spec: ExperimentSpec) -> Iterator[str]:
    heartbeat, session = config.broker_heartbeat_interval_ms, config.broker_session_timeout_ms
    wait, socket, lag = (
        config.replica_fetch_wait_max_ms,
        config.replica_socket_timeout_ms,
        config.replica_lag_time_max_ms,
    )
    if spec.cluster is not None and spec.cluster.mode == "kraft" and heartbeat > session:
        yield (
            f"expected broker.heartbeat.interval.ms to be at most broker.session.timeout.ms, {session}; found"
            f" {heartbeat}: every broker would be fenced between two heartbeats"
        )
    if wait > socket:
        yield (
            f"expected replica.fetch.wait.max.ms to be at most replica.socket.timeout.ms, {socket}; found {wait}: a"
            " follower would give up every fetch that waits (Apache Kafka does not start either)"
        )
    if wait > lag and config.replica_fetch_min_bytes > 1:
        yield (
            f"expected replica.fetch.wait.max.ms to be at most replica.lag.time.max.ms, {lag}; found {wait}: a"
            " follower that waits for replica.fetch.min.bytes would leave the ISR (Apache Kafka does not start either)"
        )
    if not config.delete_topic_enable and _deletes_topics(spec):
        yield (
            "expected delete.topic.enable to be true, for the schedule has deleteTopic; found false: every deletion"
            " would be refused (TOPIC_DELETION_DISABLED)"
        )
    least, most = config.group_min_session_timeout_ms, config.group_max_session_timeout_ms
    if spec.workload.group_members and not least <= GROUP_SESSION_MS <= most:
        yield (
            f"expected group.min.session.timeout.ms and group.max.session.timeout.ms to allow {GROUP_SESSION_MS}, which"
            f" the members of workload.groupMembers ask for; found {least} to {most}: nobody could join"
        )


def _deletes_topics(spec: ExperimentSpec) -> bool:
    return any(
        (step.admin is not None and step.admin.delete_topic is not None)
        or (step.random is not None and "deleteTopic" in step.random.faults)
        for step in every_step(spec.schedule)
    )
