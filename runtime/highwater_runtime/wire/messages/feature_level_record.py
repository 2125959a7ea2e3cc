from __future__ import annotations

from highwater_runtime.wire.message import Int16, Message, field


class FeatureLevelRecord(Message, kind="metadata", key=12, versions="0", flexible="0+"):
    """The finalized level of a feature, ``metadata.version`` above all."""

    name: str = field()
    feature_level: Int16 = field()  # 0 removes the feature.
