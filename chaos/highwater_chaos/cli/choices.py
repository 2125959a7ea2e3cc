"""What options with a fixed set of values take; the help page lists them and a wrong value is refused with them."""

from __future__ import annotations

from typing import Literal

Backend = Literal["sim", "local", "kubernetes", "attach"]
BackendHere = Literal["sim", "local"]
"""Where the harness itself runs the cluster."""

Model = Literal["log", "register"]

Engine = Literal["process", "spark"]
"""What judges, or runs the seeds of a campaign: processes of this machine, or Spark."""

Format = Literal["highwater", "jepsen-edn"]
"""How a history is written: as runs record it, or as Jepsen does."""
