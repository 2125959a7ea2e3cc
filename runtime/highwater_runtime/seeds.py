"""One seed, many independent streams of randomness.

Every consumer of randomness (a node's incarnation, the network, a disk) draws from a stream of its own, so that one
more draw in one place does not shift all the others. Streams are derived by a hash that does not depend on the
process (``hash()`` does).
"""

from __future__ import annotations

from hashlib import blake2b
from random import Random


def derive_seed(seed: int, *path: str | int) -> int:
    """A 64-bit seed for the stream named by ``path`` under ``seed``."""
    text = "\x1f".join([str(seed), *(str(part) for part in path)])
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def derive_random(seed: int, *path: str | int) -> Random:
    """A generator for the stream named by ``path`` under ``seed``."""
    return Random(derive_seed(seed, *path))
