"""Whether a broker at rest obeys the settings that are committed (``replica-state``).

Worked example: a topic gets ``min.insync.replicas`` 2 where the brokers have 1. Nothing fails as long as all replicas
live, whichever of the two a leader obeys. The rule: once a cluster has come to rest, each log, each replica and each
quota of a broker is what follows from the topic's own setting, else that of the broker, else that of all brokers, else
what the node was started with. And no log keeps a segment that retention has to delete, or that lies below the log's
start.

The trap: what a broker's image holds may be wrong itself. So settings come from who has them committed: a controller of
the quorum, or the ensemble.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from highwater_runtime.broker import Broker
from highwater_runtime.broker.replication_quota import ReplicationQuota
from highwater_runtime.log.config import TOPIC_PROPERTIES, LogConfig
from highwater_runtime.log.log import Log
from highwater_runtime.metadata.registrations import (
    ALL_BROKERS_RESOURCE,
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
    ConfigResource,
)
from highwater_runtime.metadata.topic_config import (
    DYNAMIC_BROKER_PROPERTIES,
    FOLLOWER_THROTTLED_RATE,
    FOLLOWER_THROTTLED_REPLICAS,
    LEADER_THROTTLED_RATE,
    LEADER_THROTTLED_REPLICAS,
    MIN_INSYNC_REPLICAS,
    throttled_partitions,
)
from highwater_runtime.metadata.znodes import ALL_BROKERS, BROKER_CONFIGS, TOPIC_CONFIGS, decode_config
from highwater_runtime.sim.invariants.violation import Unrest
from highwater_runtime.zookeeper.tree import DataTree

Configs = Mapping[ConfigResource, Mapping[str, str]]

SOON_MS: Final = 10_000
"""Whoever looks waits for what happens after such a delay, and for no longer one."""
_SECOND_MS: Final = 1000


def configs_in(tree: DataTree) -> Configs:
    """The settings that are written in the nodes of an ensemble."""
    found = {}
    for path, node in tree:
        for parent, kind in ((TOPIC_CONFIGS, TOPIC_RESOURCE), (BROKER_CONFIGS, BROKER_RESOURCE)):
            if path.startswith(f"{parent}/"):
                name = path.removeprefix(f"{parent}/")
                found[ConfigResource(kind, "" if name == ALL_BROKERS else name)] = decode_config(path, node.data)
    return found


def disobeyed(name: str, broker: Broker, configs: Configs, now_ms: int) -> Iterator[Unrest]:
    """Yield what the broker does not obey. ``now_ms``: by its wall clock."""
    node = broker.options.config
    in_force: dict[str, tuple[dict[str, str], LogConfig]] = {}
    topics = (*(topic for topic, _ in broker.logs), *(one.topic for one in broker.partitions.values()))
    for topic in dict.fromkeys(topics):
        own = _in_force(configs, topic, broker.options.node_id)
        numbers = {field: int(own[name]) for name, field in TOPIC_PROPERTIES.items() if name in own}
        in_force[topic] = own, replace(LogConfig.of(node, own), **numbers)  # type: ignore[arg-type]
    for (topic, _), log in broker.logs.items():
        if not log.is_online:
            continue
        wanted = in_force[topic][1]
        if wanted.truncation_sync is not log.config.truncation_sync:
            wanted = replace(wanted, truncation_sync=log.config.truncation_sync)
        if log.config != wanted:
            differing = [one for one in LogConfig.__slots__ if getattr(log.config, one) != getattr(wanted, one)]
            what = f"the log of {name} does not obey the settings in force: {', '.join(differing)}"
            yield Unrest("replica-state", log.partition, what)
    for replica in broker.partitions.values():
        own = in_force[replica.topic][0]
        least = min(int(own.get(MIN_INSYNC_REPLICAS, node.min_insync_replicas)), len(replica.replicas))
        if replica.min_isr != least and replica.log.is_online:
            what = f"{name} obeys min.insync.replicas {replica.min_isr}, and {least} is in force"
            yield Unrest("replica-state", replica.name, what)
        excess = _excess(replica.log, replica.high_watermark, now_ms, 2 * node.log_retention_check_interval_ms)
        if excess and node.log_retention_check_interval_ms <= SOON_MS:
            yield Unrest("replica-state", replica.name, f"{name} keeps the segment at {excess}")
    yield from _throttles(name, broker, configs)


def _in_force(configs: Configs, topic: str, broker: int) -> dict[str, str]:
    """What is set beyond the node's own configuration, by topic property."""
    found: dict[str, str] = {}
    for resource in (ALL_BROKERS_RESOURCE, ConfigResource(BROKER_RESOURCE, str(broker))):
        for name, value in configs.get(resource, {}).items():
            if name in DYNAMIC_BROKER_PROPERTIES:
                found[DYNAMIC_BROKER_PROPERTIES[name]] = value
    return {**found, **configs.get(ConfigResource(TOPIC_RESOURCE, topic), {})}


def _excess(log: Log, high_watermark: int, now_ms: int, patience_ms: int) -> str:
    """The first segment's offset and why retention has to delete it by now, from the bytes in it; empty if it may
    stay."""
    config, bases = log.config, log.segment_bases
    if not log.is_online or len(bases) < 2 or bases[1] > high_watermark:
        return ""
    if bases[1] <= log.log_start_offset:
        return f"{bases[0]}, and its log begins at {log.log_start_offset}"
    if not config.deletes or (config.retention_bytes < 0 and config.retention_ms < 0):
        return ""
    size = latest = rest = 0
    for batch in log.headers(bases[0]):
        if batch.base_offset >= bases[1]:
            rest += batch.size_in_bytes
            if config.retention_bytes < 0 or rest >= config.retention_bytes:
                break
        else:
            size, latest = size + batch.size_in_bytes, max(latest, batch.max_timestamp)
    if size and 0 <= config.retention_bytes <= rest:
        return f"{bases[0]}, and behind it are as many bytes as retention.bytes, {config.retention_bytes}"
    if config.retention_ms >= 0 and 0 < latest < now_ms - config.retention_ms - patience_ms - _SECOND_MS:
        return f"{bases[0]}, whose last record is {now_ms - latest} ms old, and retention.ms is {config.retention_ms}"
    return ""


def _throttles(name: str, broker: Broker, configs: Configs) -> Iterator[Unrest]:
    me = broker.options.node_id
    topics = {replica.topic: None for replica in broker.partitions.values()}
    for quota, replicas, rate in (
        (broker.quotas.leader, LEADER_THROTTLED_REPLICAS, LEADER_THROTTLED_RATE),
        (broker.quotas.follower, FOLLOWER_THROTTLED_REPLICAS, FOLLOWER_THROTTLED_RATE),
    ):
        own = {**configs.get(ALL_BROKERS_RESOURCE, {}), **configs.get(ConfigResource(BROKER_RESOURCE, str(me)), {})}
        if quota.rate != (int(own[rate]) if rate in own else None):
            yield Unrest("replica-state", name, f"{name} obeys {rate} {quota.rate}, and {own.get(rate)} is in force")
        for topic in topics:
            listed = configs.get(ConfigResource(TOPIC_RESOURCE, topic), {}).get(replicas, "")
            if not _throttles_as(quota, topic, throttled_partitions(listed, me), broker):
                yield Unrest("replica-state", name, f"{name} does not obey {replicas} of {topic}, {listed!r}")


def _throttles_as(quota: ReplicationQuota, topic: str, wanted: frozenset[int] | None, broker: Broker) -> bool:
    mine = [replica.index for replica in broker.partitions.values() if replica.topic == topic]
    return all(quota.is_throttled(topic, index) == (wanted is None or index in wanted) for index in mine)
