from __future__ import annotations

from highwater_runtime.wire.message import Int8, Int16, Int32, Message, Struct, field


class FeatureUpdateKey(Struct):
    feature: str = field()
    max_version_level: Int16 = field()  # The level to go to; 0 removes the feature.
    allow_downgrade: bool = field("0")  # Whether the level may go down.
    upgrade_type: Int8 = field("1+", default=1)  # 1 upgrade only, 2 safe downgrade, 3 unsafe downgrade.


class UpdateFeaturesRequest(Message, kind="request", key=57, versions="0-1", flexible="0+"):
    """Raise or lower finalized feature levels, metadata.version above all (KIP-584, KIP-778)."""

    timeout_ms: Int32 = field(default=60000)
    feature_updates: list[FeatureUpdateKey] = field()
    validate_only: bool = field("1+")
