"""Which names a topic may have, and which names are the cluster's own (Kafka's ``Topic``)."""

from __future__ import annotations

import re
from typing import Final

METADATA_TOPIC: Final = "__cluster_metadata"
"""The quorum's own log: never a topic of the image."""

GROUP_OFFSETS_TOPIC: Final = "__consumer_offsets"

INTERNAL_TOPICS: Final = (GROUP_OFFSETS_TOPIC, "__transaction_state")
"""Topics in which the cluster keeps its own records: clients may read them, and write to them only through the APIs
that they belong to."""

_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def is_legal(name: str) -> bool:
    """Whether a topic may have this name: 1 to 249 of ASCII letters, digits, ``.``, ``_`` and ``-``, and not ``.`` or
    ``..``."""
    return name not in (".", "..") and _LEGAL.fullmatch(name) is not None


def is_internal(name: str) -> bool:
    """Whether the topic is one of the cluster's own."""
    return name in INTERNAL_TOPICS


def collision_key(name: str) -> str:
    """Equal for names that metric names cannot tell apart: those know no '.', only '_'."""
    return name.replace(".", "_")
