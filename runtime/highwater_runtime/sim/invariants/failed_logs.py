"""Invariant of logs whose disk fails (KIP-112).

``failed-log-online``: a log one of whose files could not be read, written or flushed goes offline. What its files hold
is known to nobody then, and Linux reports a failed fsync once (``LogDirFailureChannel`` in Apache Kafka).

The trap: a process that is paused hears later than the disk of an fsync that failed. So it is looked at a moment after.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from highwater_runtime.log.names import parent, parse_partition_dir
from highwater_runtime.ports import MS
from highwater_runtime.ports.trace import NodeStarted
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.violation import Violations

_A_MOMENT_NS: Final = 10 * MS


class FailedLogInvariants:
    """Looks at a log after a call on one of its files has failed."""

    def __init__(self, live: LiveCluster, violations: Violations) -> None:
        self._live = live
        self._violations = violations

    def on_start(self, node: str, _incarnation: int, _event: NodeStarted) -> None:
        """Listen to the disk of a node."""
        self._live.disk(node).on_failed = partial(self._failed, node)

    def _failed(self, node: str, path: str) -> None:
        partition = parse_partition_dir(parent(path))
        broker = self._live.broker(node)
        if partition is None or broker is None or (log := broker.logs.get(partition)) is None:
            return

        def lasts() -> bool:
            return self._live.broker(node) is broker and broker.logs.get(partition) is log and log.is_online

        def found() -> None:
            what = f"{node} goes on with a log though a call on {path} has failed"
            self._violations.add("failed-log-online", str(partition), what, (node, path))

        self._live.must_end(0, node, lasts, found, slack_ns=_A_MOMENT_NS)
