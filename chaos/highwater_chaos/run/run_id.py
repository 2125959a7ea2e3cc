"""The key of a run: a UUID of version 7 (RFC 9562), unique, and in order of time.

It is made by the command that runs an experiment, and is in ``run.json`` alone: the tables of a run are the same bytes
whenever the same seed is simulated.
"""

from __future__ import annotations

import secrets
import time
from hashlib import sha256
from uuid import UUID

_RANDOM_BITS = 74


def new_run_id() -> str:
    """A new key."""
    return _uuid7(time.time_ns() // 1_000_000, secrets.randbits(_RANDOM_BITS))


def run_id_within(campaign: str, *key: object) -> str:
    """The key of one run of a campaign, which has a key of its own: always the same, for a seed may be tried again."""
    digest = sha256(repr((campaign, *key)).encode()).digest()
    return _uuid7(UUID(campaign).int >> 80, int.from_bytes(digest, "big") % (1 << _RANDOM_BITS))


def _uuid7(unix_ms: int, bits: int) -> str:
    return str(UUID(int=unix_ms << 80 | 7 << 76 | bits >> 62 << 64 | 2 << 62 | bits % (1 << 62)))
