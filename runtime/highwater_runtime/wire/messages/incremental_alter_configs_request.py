from __future__ import annotations

from highwater_runtime.wire.message import Int8, Message, Struct, field


class AlterableConfig(Struct):
    name: str = field()
    config_operation: Int8 = field()  # 0 set, 1 delete, 2 append, 3 subtract.
    value: str | None = field(nullable="0+")


class AlterConfigsResource(Struct):
    resource_type: Int8 = field()  # 2 topic, 4 broker.
    resource_name: str = field()  # Name of the topic, or id of the broker ("" for all brokers).
    configs: list[AlterableConfig] = field()


class IncrementalAlterConfigsRequest(Message, kind="request", key=44, versions="0-1", flexible="1+"):
    """Change single configuration values (KIP-339)."""

    resources: list[AlterConfigsResource] = field()
    validate_only: bool = field()
