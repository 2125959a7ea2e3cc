"""How a run directory has the tables that grow with the run."""

from __future__ import annotations

from typing import Literal

TableFormat = Literal["jsonl", "parquet"]
