"""The files of a run directory that are read for a verdict, by their names in it. Tables have a suffix besides."""

from __future__ import annotations

from collections.abc import Mapping

OPERATIONS_FILE = "history/operations"
NODE_EVENTS_FILE = "events/nodes"
REPLICA_LOG_FILE = "dumps/replica_log"
FAULTS_FILE = "faults"
RECORDED_EVENTS_FILE = "events/recorded.json"
RUN_FILE = "run.json"
UNITS = "units"
"""The directory of a run directory with its tables by partition."""


def run_label(name: str, seed: int, switches: Mapping[str, str]) -> str:
    """Names a run by what determines it, so that equal runs are equal bytes. Its key is in ``run.json``."""
    given = "".join(f" {switch}={value}" for switch, value in sorted(switches.items()))
    return f"{name} seed={seed}{given}"
