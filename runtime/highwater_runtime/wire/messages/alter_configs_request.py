from __future__ import annotations

from highwater_runtime.wire.message import Int8, Message, Struct, field


class AlterableConfig(Struct):
    name: str = field()
    value: str | None = field(nullable="0+")


class AlterConfigsResource(Struct):
    resource_type: Int8 = field()  # 2 topic, 4 broker.
    resource_name: str = field()
    configs: list[AlterableConfig] = field()


class AlterConfigsRequest(Message, kind="request", key=33, versions="0-2", flexible="2+"):
    """Replace the whole configuration of resources; what is not named goes back to its default."""

    resources: list[AlterConfigsResource] = field()
    validate_only: bool = field()
