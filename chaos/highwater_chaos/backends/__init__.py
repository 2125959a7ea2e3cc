"""Where an experiment runs. One protocol, so that schedule, faults and workload do not know which it is."""

from __future__ import annotations

from typing import Final

from highwater_chaos.backends.protocol import Backend
from highwater_chaos.backends.sim import SimBackend

BACKENDS: Final = {"sim": SimBackend}
"""Backends that this version has, by the name that ``--backend`` takes."""

NOT_BUILT: Final = ("local", "kubernetes")
"""Backends of the contract that are not built yet."""


def make_backend(name: str, *, wire: bool = False) -> Backend:
    """A fresh backend for one run; ``wire``: every message goes through the codec. Raises ``KeyError``."""
    return BACKENDS[name](codec="all" if wire else "some")
