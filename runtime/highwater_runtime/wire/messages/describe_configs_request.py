from __future__ import annotations

from highwater_runtime.wire.message import Int8, Message, Struct, field


class DescribeConfigsResource(Struct):
    resource_type: Int8 = field()  # 2 topic, 4 broker.
    resource_name: str = field()
    configuration_keys: list[str] | None = field(nullable="0+")  # Null for all.


class DescribeConfigsRequest(Message, kind="request", key=32, versions="1-4", flexible="4+"):
    """Configuration values and where they come from."""

    resources: list[DescribeConfigsResource] = field()
    include_synonyms: bool = field()
    include_documentation: bool = field("3+")
