"""The topic whose properties are registers: what experiments, and clients in processes of their own, agree upon.
Imports nothing, so that a process of clients need not read experiments."""

from __future__ import annotations

from typing import Final

REGISTER_TOPIC: Final = "registers"
"""The topic whose properties are the registers of ``workload.metadata``; the harness creates it."""
