"""What an experiment sees of a cluster that had lived before it, and what of that it is judged by.

The harness has to know how the cluster is: who is registered, who leads. That follows from everything that nodes have
told, from long before the experiment on. It is judged by what happened since it began, and on its own topics alone:

* events of partitions count where the topic was not there before, and from the beginning on;
* events about nodes and registrations count from ever, as what the partitions' events mean follows from them; those of
  before stand at the run's beginning;
* of the quorum, what controllers did before is not judged. What their logs held then they have not told, so that they
  are looked at as one that has lost its power is: by what it tells from now on.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Final

from highwater_chaos.backends.local.program import Observed
from highwater_chaos.backends.local.quorum_events import QuorumJudge
from highwater_chaos.backends.protocol import InvariantViolation, TimedEvent
from highwater_chaos.backends.view import ClusterView
from highwater_runtime.ports.trace import (
    BatchCommitted,
    BrokerRegistered,
    BrokerRegistrationChanged,
    BrokerStateChanged,
    HighWatermarkAdvanced,
    LogAppended,
    NodeEvent,
    NodeStarted,
    NodeStopped,
    RaftAppended,
    RaftHighWatermark,
    RaftStateChanged,
)

_BULK: Final = (LogAppended, BatchCommitted, HighWatermarkAdvanced, RaftAppended, RaftHighWatermark)
_OF_CLUSTER: Final = (NodeStarted, NodeStopped, BrokerRegistered, BrokerRegistrationChanged, BrokerStateChanged)


class Past:
    """What had happened when the experiment began.

    Args:
        began_ns: wall clock.
        observed: all of it, and perhaps a little more.
    """

    def __init__(self, began_ns: int, observed: Iterable[Observed]) -> None:
        self._began_ns = began_ns
        before = sorted((one for one in observed if one.time_ns < began_ns), key=lambda one: one.time_ns)
        then = ClusterView()
        then.observe(
            TimedEvent(seq, one.time_ns, one.node, one.incarnation, one.event) for seq, one in enumerate(before)
        )
        self._topics = {partition.rpartition("-")[0] for partition in then.partitions}

    def view(self, observed: Iterable[Observed]) -> list[Observed]:
        """Events by which the cluster is known, other people's topics included."""
        return [
            one
            for one in observed
            if not isinstance(one.event, _BULK)
            or (one.time_ns >= self._began_ns and _topic(one.event) not in self._topics)
        ]

    def judged(self, observed: Iterable[Observed]) -> list[Observed]:
        """Events by which the run is judged."""
        kept = []
        for one in observed:
            topic = _topic(one.event)
            if one.time_ns >= self._began_ns and not (topic and topic in self._topics):
                kept.append(one)
            elif one.time_ns < self._began_ns and isinstance(one.event, _OF_CLUSTER):
                kept.append(one._replace(time_ns=self._began_ns))
        return kept

    def is_own(self, partition: str) -> bool:
        """Whether a partition's topic was made since."""
        return partition.rpartition("-")[0] not in self._topics


def judge_quorum(
    voters: dict[int, str], wiped: Container[tuple[str, int]], events: Sequence[TimedEvent]
) -> list[InvariantViolation]:
    """Violations since run time 0; ``events`` with those of before, by time."""
    judge = QuorumJudge(voters, wiped)
    told = (RaftStateChanged, NodeStarted, NodeStopped)
    unknown = [
        TimedEvent(0, 0, name, 0, event)
        for name in voters.values()
        for event in (NodeStopped(reason="power-loss"), NodeStarted())
    ]
    judge.judge([*unknown, *(one for one in events if one.time_ns < 0 and isinstance(one.event, told))])
    judge.violations.clear()
    return judge.judge(one for one in events if one.time_ns >= 0)


def _topic(event: NodeEvent) -> str:
    return str(getattr(event, "partition", "") or "").rpartition("-")[0]
