"""Configuration of nodes, by Kafka's property names.

Each property is declared once, with its type, bounds and default. Values come as strings (files) or as YAML scalars
(experiments); an unknown name, a wrong type or a value out of bounds is a :class:`ConfigError` that says which.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any, Final

PropertyValue = str | int | bool


class ConfigError(ValueError):
    """A property that cannot be accepted; the message names it, what was found and what is allowed."""


def _prop(
    name: str,
    default: PropertyValue,
    *,
    least: int | None = None,
    most: int | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    return field(default=default, metadata={"property": name, "least": least, "most": most, "choices": choices})


_INT32_MAX: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeConfig:
    """Properties of brokers and controllers. Times in milliseconds, sizes in bytes, as their names say."""

    # --- raft (KIP-595) ---
    quorum_election_timeout_ms: int = _prop("controller.quorum.election.timeout.ms", 1000, least=10)
    quorum_fetch_timeout_ms: int = _prop("controller.quorum.fetch.timeout.ms", 2000, least=10)
    quorum_election_backoff_max_ms: int = _prop("controller.quorum.election.backoff.max.ms", 1000, least=1)
    quorum_request_timeout_ms: int = _prop("controller.quorum.request.timeout.ms", 2000, least=10)
    metadata_snapshot_bytes: int = _prop("metadata.log.max.record.bytes.between.snapshots", 20_971_520, least=1)
    metadata_max_idle_interval_ms: int = _prop("metadata.max.idle.interval.ms", 500, least=0)

    # --- controller ---
    broker_session_timeout_ms: int = _prop("broker.session.timeout.ms", 9000, least=10)
    zookeeper_session_timeout_ms: int = _prop("zookeeper.session.timeout.ms", 18_000, least=10)
    default_replication_factor: int = _prop("default.replication.factor", 1, least=1, most=32767)
    num_partitions: int = _prop("num.partitions", 1, least=1, most=_INT32_MAX)
    leader_imbalance_check_ms: int = _prop("leader.imbalance.check.interval.ms", 300_000, least=100)
    auto_leader_rebalance: bool = _prop("auto.leader.rebalance.enable", True)
    unclean_leader_election: bool = _prop("unclean.leader.election.enable", False)

    delete_topic_enable: bool = _prop("delete.topic.enable", True)
    controller_socket_timeout_ms: int = _prop("controller.socket.timeout.ms", 30_000, least=10)

    # --- broker ---
    broker_heartbeat_interval_ms: int = _prop("broker.heartbeat.interval.ms", 2000, least=10)
    controlled_shutdown_timeout_ms: int = _prop("controlled.shutdown.timeout.ms", 30_000, least=0)
    request_timeout_ms: int = _prop("request.timeout.ms", 30_000, least=10)
    inter_broker_protocol: str = _prop("inter.broker.protocol.version", "3.5", choices=("3.5", "2.7", "2.6"))
    min_insync_replicas: int = _prop("min.insync.replicas", 1, least=1)
    message_max_bytes: int = _prop("message.max.bytes", 1_048_588, least=0)
    replica_lag_time_max_ms: int = _prop("replica.lag.time.max.ms", 30_000, least=10)
    replica_fetch_max_bytes: int = _prop("replica.fetch.max.bytes", 1_048_576, least=1)
    replica_fetch_response_max_bytes: int = _prop("replica.fetch.response.max.bytes", 10_485_760, least=1)
    replica_fetch_min_bytes: int = _prop("replica.fetch.min.bytes", 1, least=0)
    replica_fetch_wait_max_ms: int = _prop("replica.fetch.wait.max.ms", 500, least=0)
    replica_fetch_backoff_ms: int = _prop("replica.fetch.backoff.ms", 1000, least=0)
    replica_socket_timeout_ms: int = _prop("replica.socket.timeout.ms", 30_000, least=10)
    high_watermark_checkpoint_interval_ms: int = _prop("replica.high.watermark.checkpoint.interval.ms", 5000, least=10)

    auto_create_topics: bool = _prop("auto.create.topics.enable", True)
    fetch_max_bytes: int = _prop("fetch.max.bytes", 57_671_680, least=1024)
    fetch_session_slots: int = _prop("max.incremental.fetch.session.cache.slots", 1000, least=0)
    request_partition_limit: int = _prop("max.request.partition.size.limit", 2000, least=1)

    metrics_partition_limit: int = _prop("metrics.partition.limit", 500, least=0)

    # --- consumer groups ---
    group_min_session_timeout_ms: int = _prop("group.min.session.timeout.ms", 6000, least=1)
    group_max_session_timeout_ms: int = _prop("group.max.session.timeout.ms", 1_800_000, least=1)
    group_initial_rebalance_delay_ms: int = _prop("group.initial.rebalance.delay.ms", 3000, least=0)
    group_max_size: int = _prop("group.max.size", _INT32_MAX, least=1, most=_INT32_MAX)
    offset_metadata_max_bytes: int = _prop("offset.metadata.max.bytes", 4096, least=0)
    offsets_commit_timeout_ms: int = _prop("offsets.commit.timeout.ms", 5000, least=1)
    offsets_retention_minutes: int = _prop("offsets.retention.minutes", 10_080, least=1, most=_INT32_MAX)
    offsets_retention_check_interval_ms: int = _prop("offsets.retention.check.interval.ms", 600_000, least=1)
    offsets_topic_num_partitions: int = _prop("offsets.topic.num.partitions", 50, least=1, most=_INT32_MAX)
    offsets_topic_replication_factor: int = _prop("offsets.topic.replication.factor", 3, least=1, most=32767)
    offsets_topic_segment_bytes: int = _prop("offsets.topic.segment.bytes", 104_857_600, least=14, most=_INT32_MAX)

    # --- log ---
    log_cleanup_policy: str = _prop(
        "log.cleanup.policy", "delete", choices=("delete", "compact", "compact,delete", "delete,compact")
    )
    compression_type: str = _prop("compression.type", "producer", choices=("producer",))
    log_timestamp_type: str = _prop("log.message.timestamp.type", "CreateTime", choices=("CreateTime", "LogAppendTime"))
    log_cleaner_delete_retention_ms: int = _prop("log.cleaner.delete.retention.ms", 86_400_000, least=0)
    log_segment_bytes: int = _prop("log.segment.bytes", 1_073_741_824, least=14)
    log_roll_ms: int = _prop("log.roll.ms", 604_800_000, least=1)
    log_index_interval_bytes: int = _prop("log.index.interval.bytes", 4096, least=0)
    log_flush_messages: int = _prop("log.flush.interval.messages", 2**63 - 1, least=1)
    log_flush_ms: int = _prop("log.flush.interval.ms", 2**63 - 1, least=0)
    log_flush_checkpoint_interval_ms: int = _prop("log.flush.offset.checkpoint.interval.ms", 60_000, least=10)
    log_retention_ms: int = _prop("log.retention.ms", 604_800_000, least=-1)
    log_retention_bytes: int = _prop("log.retention.bytes", -1, least=-1)
    log_retention_check_interval_ms: int = _prop("log.retention.check.interval.ms", 300_000, least=1)
    log_segment_delete_delay_ms: int = _prop("log.segment.delete.delay.ms", 60_000, least=0)
    producer_id_expiration_ms: int = _prop("producer.id.expiration.ms", 86_400_000, least=1)

    @property
    def has_topic_ids(self) -> bool:
        """Whether topics have ids in ZooKeeper mode (Kafka: from 2.8 on)."""
        return self.inter_broker_protocol == "3.5"

    @property
    def leader_and_isr_version(self) -> int:
        """The version of LeaderAndIsr that a controller of ZooKeeper mode sends: full lists are known from v5 on."""
        return {"3.5": 6, "2.7": 5, "2.6": 4}[self.inter_broker_protocol]

    @classmethod
    def of(cls, properties: Mapping[str, PropertyValue]) -> NodeConfig:
        """From property names and values.

        Raises:
            ConfigError: for an unknown name, a wrong type or a value out of bounds.
        """
        known = {f.metadata["property"]: f for f in fields(cls)}
        values: dict[str, PropertyValue] = {}
        for name, found in properties.items():
            prop = known.get(name)
            if prop is None:
                near = get_close_matches(name, known, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise ConfigError(f"unknown property {name!r}{hint}")
            values[prop.name] = _parse(name, type(prop.default), found, prop.metadata)
        return cls(**values)  # type: ignore[arg-type]


def _parse(name: str, kind: type, found: PropertyValue, bounds: Mapping[str, Any]) -> PropertyValue:
    if kind is bool:
        if isinstance(found, bool):
            return found
        if str(found).lower() in ("true", "false"):
            return str(found).lower() == "true"
        raise ConfigError(f"property {name!r} takes true or false, not {found!r}")
    if kind is str:
        if found in bounds["choices"]:
            return found
        raise ConfigError(f"property {name!r} takes {' or '.join(bounds['choices'])}, not {found!r}")
    if isinstance(found, bool):
        raise ConfigError(f"property {name!r} takes a whole number, not {found!r}")
    try:
        value = int(found)
    except ValueError:
        raise ConfigError(f"property {name!r} takes a whole number, not {found!r}") from None
    least, most = bounds["least"], bounds["most"]
    if (least is not None and value < least) or (most is not None and value > most):
        allowed = f"at least {least}" if most is None else f"between {least} and {most}"
        raise ConfigError(f"property {name!r} must be {allowed}, not {value}")
    return value
