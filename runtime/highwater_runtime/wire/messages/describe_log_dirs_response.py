from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Int64, Message, Struct, field


class DescribeLogDirsPartition(Struct):
    partition_index: Int32 = field()
    partition_size: Int64 = field()  # Bytes of all segments.
    # How far the log is behind the high watermark (or, for a future log, behind the current one).
    offset_lag: Int64 = field()
    is_future_key: bool = field()


class DescribeLogDirsTopic(Struct):
    name: str = field()
    partitions: list[DescribeLogDirsPartition] = field()


class DescribeLogDirsResult(Struct):
    error_code: Int16 = field()
    log_dir: str = field()
    topics: list[DescribeLogDirsTopic] = field()
    total_bytes: Int64 = field("4+", default=-1, ignorable=True)  # Of the file system (KIP-827); -1 if unknown.
    usable_bytes: Int64 = field("4+", default=-1, ignorable=True)


class DescribeLogDirsResponse(Message, kind="response", key=35, versions="1-4", flexible="2+"):
    """One result for each log directory."""

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field("3+", ignorable=True)
    results: list[DescribeLogDirsResult] = field()
