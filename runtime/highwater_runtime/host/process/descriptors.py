"""File descriptors of a node process: how many it may have, and how many of them are for connections.

A node that cannot open a file of its log ends, so clients must not be able to take its last descriptors. The soft limit
is raised to the hard one at the start. Of that, a quarter is for files and for the connections that the node opens.
"""

from __future__ import annotations

import resource
from contextlib import suppress
from dataclasses import replace
from typing import Final

from highwater_runtime.host.limits import ServerLimits

_SMALLEST_RESERVE: Final = 64
_RESERVED_PART: Final = 4


def raise_descriptor_limit() -> int:
    """Raise the soft limit of this process to its hard limit; returns the limit in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(ValueError, OSError):  # some systems allow less than they say; what was in force stays in force
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def within_descriptors(limits: ServerLimits, descriptors: int) -> ServerLimits:
    """``limits`` for a process that may have so many ``descriptors``; negative: any number."""
    if descriptors < 0:
        return limits
    reserve = max(descriptors // _RESERVED_PART, min(_SMALLEST_RESERVE, descriptors // 2))
    for_connections = max(1, descriptors - reserve)
    return replace(
        limits,
        max_connections=min(limits.max_connections, for_connections),
        max_descriptor=min(limits.max_descriptor, for_connections),
    )
