"""What options with a fixed set of values take; the help page lists them and a wrong value is refused with them."""

from __future__ import annotations

from typing import Literal

Backend = Literal["sim", "local", "kubernetes"]
BackendHere = Literal["sim", "local"]
"""Where the harness itself runs the cluster."""

Model = Literal["log", "register"]

Engine = Literal["process", "spark"]
"""Who runs the seeds of a campaign."""
