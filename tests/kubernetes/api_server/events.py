"""Events are one resource under two names: what is written as ``events.k8s.io/v1`` is read as core ``v1`` too."""

from __future__ import annotations

from typing import Final

from .schema import Json

_NAMES: Final = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("reportingComponent", "reportingController"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
)
_TO_CORE: Final = {new: core for core, new in _NAMES}
_FROM_CORE: Final = dict(_NAMES)


def to_core(obj: Json) -> Json:
    """As kept."""
    return {_TO_CORE.get(key, key): value for key, value in obj.items()} | {"apiVersion": "v1"}


def from_core(obj: Json) -> Json:
    """As ``events.k8s.io`` shows it."""
    return {_FROM_CORE.get(key, key): value for key, value in obj.items()} | {"apiVersion": "events.k8s.io/v1"}
