"""What a LogCluster with ``spec.security`` is known by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Identity:
    """Certificates, keys and a password; all but the password in PEM.

    ``trusted``: certificates of the authorities. ``keystores``: key and certificate of each node, by its pod's name.
    ``harness``: those of operator and runners. ``password``: of the clients' user. ``batch``: the number of this state
    of it all; pods that were started with another one are behind.
    """

    trusted: bytes
    keystores: Mapping[str, bytes] = field(repr=False)
    harness: bytes = field(repr=False)
    password: str = field(repr=False)
    batch: int
