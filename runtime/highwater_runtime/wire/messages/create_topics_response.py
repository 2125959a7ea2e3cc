from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int8, Int16, Int32, Message, Struct, field


class CreatableTopicConfigs(Struct):
    name: str = field("5+")
    value: str | None = field("5+", nullable="5+")
    read_only: bool = field("5+")
    config_source: Int8 = field("5+", default=-1, ignorable=True)
    is_sensitive: bool = field("5+")


class CreatableTopicResult(Struct):
    name: str = field()
    topic_id: UUID = field("7+", ignorable=True)
    error_code: Int16 = field()
    error_message: str | None = field(nullable="0+", ignorable=True)
    topic_config_error_code: Int16 = field("5+", tag=0, ignorable=True)  # Why the configs are not shown.
    num_partitions: Int32 = field("5+", default=-1, ignorable=True)
    replication_factor: Int16 = field("5+", default=-1, ignorable=True)
    configs: list[CreatableTopicConfigs] | None = field("5+", nullable="5+", ignorable=True)


class CreateTopicsResponse(Message, kind="response", key=19, versions="2-7", flexible="5+"):
    """One result for each topic."""

    throttle_time_ms: Int32 = field(ignorable=True)
    topics: list[CreatableTopicResult] = field()
