"""A run in progress, for screens and metrics: they only read it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from highwater_chaos.backends.protocol import MetricRow, NodeState
from highwater_chaos.backends.view import ClusterView
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.faults import FaultRecord
from highwater_chaos.workload.client_group import ClientStatus
from highwater_runtime.ports import SECOND

_REMEMBERED_NS: Final = 30 * SECOND
_MOST_SAMPLES: Final = 50_000


@dataclass(slots=True)
class LiveRun:
    """The state of one run at this moment. Times in ns of run time."""

    experiment: ChaosExperiment
    backend: str
    view: ClusterView
    now_ns: Callable[[], int]
    node_state: Callable[[str], NodeState]
    clients: Callable[[], ClientStatus]
    deadline_ns: int
    faults: Sequence[FaultRecord] = ()
    phase: str = ""
    phase_began_ns: int = 0
    samples: deque[MetricRow] = field(default_factory=lambda: deque(maxlen=_MOST_SAMPLES))
    """Of the last half minute, or fewer if there are very many."""
    latest: Sequence[MetricRow] = ()
    """What was sampled last; nodes that have not answered yet are missing."""

    def sampled(self, rows: Iterable[MetricRow]) -> None:
        """Take further samples, and forget old ones."""
        self.latest = rows = tuple(rows)
        self.samples.extend(rows)
        oldest = self.now_ns() - _REMEMBERED_NS
        while self.samples and self.samples[0].time_ns < oldest:
            self.samples.popleft()
