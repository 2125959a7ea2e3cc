from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Int64, Message, Struct, field


class ApiVersion(Struct):
    api_key: Int16 = field()
    min_version: Int16 = field()
    max_version: Int16 = field()


class SupportedFeatureKey(Struct):
    name: str = field("3+")
    min_version: Int16 = field("3+")
    max_version: Int16 = field("3+")


class FinalizedFeatureKey(Struct):
    name: str = field("3+")
    max_version_level: Int16 = field("3+")
    min_version_level: Int16 = field("3+")


class ApiVersionsResponse(Message, kind="response", key=18, versions="0-4", flexible="3+"):
    """The APIs and version ranges of the broker. Its header is always version 0, so that any client can read it."""

    error_code: Int16 = field()
    api_keys: list[ApiVersion] = field()  # One entry for each API.
    throttle_time_ms: Int32 = field("1+", ignorable=True)
    # Features that the broker could run with (KIP-584).
    supported_features: list[SupportedFeatureKey] = field("3+", tag=0, ignorable=True)
    # Epoch of the finalized features; -1 if unknown.
    finalized_features_epoch: Int64 = field("3+", tag=1, default=-1, ignorable=True)
    # Cluster-wide levels; valid if the epoch is not negative.
    finalized_features: list[FinalizedFeatureKey] = field("3+", tag=2, ignorable=True)
    zk_migration_ready: bool = field("3+", tag=3, ignorable=True)
