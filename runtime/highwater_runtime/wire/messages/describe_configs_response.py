from __future__ import annotations

from highwater_runtime.wire.message import Int8, Int16, Int32, Message, Struct, field


class DescribeConfigsSynonym(Struct):
    name: str = field()
    value: str | None = field(nullable="0+")
    source: Int8 = field()


class DescribeConfigsResourceResult(Struct):
    name: str = field()
    value: str | None = field(nullable="0+")
    read_only: bool = field()
    config_source: Int8 = field(default=-1, ignorable=True)
    is_sensitive: bool = field()
    synonyms: list[DescribeConfigsSynonym] = field(ignorable=True)
    config_type: Int8 = field("3+", ignorable=True)
    documentation: str | None = field("3+", nullable="0+", ignorable=True)


class DescribeConfigsResult(Struct):
    error_code: Int16 = field()
    error_message: str | None = field(nullable="0+")
    resource_type: Int8 = field()
    resource_name: str = field()
    configs: list[DescribeConfigsResourceResult] = field()


class DescribeConfigsResponse(Message, kind="response", key=32, versions="1-4", flexible="4+"):
    """One result for each resource."""

    throttle_time_ms: Int32 = field()
    results: list[DescribeConfigsResult] = field()
