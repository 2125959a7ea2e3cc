"""How a feature of the cluster did in a run: what ``run.json`` and ``verdict.json`` keep of it."""

from __future__ import annotations

from typing import Literal

import msgspec


class Feature(msgspec.Struct, frozen=True, omit_defaults=True):
    """How one feature did. ``not-asked``: nothing in the run asked for it; ``not-available``: it could not be judged.
    ``why``: what was found, or why it is so."""

    state: Literal["ok", "failed", "not-asked", "not-available"]
    why: str = ""
