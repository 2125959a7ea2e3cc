"""The files of a run directory that are read for a verdict, by their names in it. Tables have a suffix besides."""

from __future__ import annotations

OPERATIONS_FILE = "history/operations"
NODE_EVENTS_FILE = "events/nodes"
REPLICA_LOG_FILE = "dumps/replica_log"
FAULTS_FILE = "faults"
RECORDED_EVENTS_FILE = "events/recorded.json"
RUN_FILE = "run.json"
UNITS = "units"
"""The directory of a run directory that is a store of it."""
