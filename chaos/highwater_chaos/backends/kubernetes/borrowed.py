"""What an experiment sees of a cluster that had lived before it, and what of that it is judged by.

The harness has to know the state of the cluster: who is registered, who leads. That follows from all events of the
nodes, also from long before the experiment. The experiment is judged only by its own time and its own topics:

* events of partitions count if the topic is the experiment's own, from the beginning of the experiment;
* events about nodes, registrations and the controller of ZooKeeper mode always count, because events of partitions
  refer to them; earlier ones get the time of the run's beginning;
* what controllers did before is not judged. The contents of their logs at that time are not known. So they are judged
  like controllers that have lost power: by what they report from now on;
* in ZooKeeper mode the ensemble tells the harness what its transactions have come to, or, if it has them all, how:
  registrations and the controller as above, and no partition of the experiment's, which has none yet.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Sequence
from typing import Final

from highwater_chaos.backends.local.program import Observed
from highwater_chaos.backends.local.quorum_events import QuorumJudge
from highwater_chaos.backends.protocol import InvariantViolation, TimedEvent
from highwater_runtime.ports.trace import (
    BatchCommitted,
    BrokerRegistered,
    BrokerRegistrationChanged,
    BrokerStateChanged,
    ControllerChanged,
    HighWatermarkAdvanced,
    LogAppended,
    NodeStarted,
    NodeStopped,
    RaftAppended,
    RaftHighWatermark,
    RaftStateChanged,
)

_BULK: Final = (LogAppended, BatchCommitted, HighWatermarkAdvanced, RaftAppended, RaftHighWatermark)
_OF_CLUSTER: Final = (
    NodeStarted,
    NodeStopped,
    BrokerRegistered,
    BrokerRegistrationChanged,
    BrokerStateChanged,
    ControllerChanged,
)


class Past:
    """What lies before the experiment, and beside it.

    Args:
        began_ns: when it began, by the runner's clock.
        topics: its own.
    """

    def __init__(self, began_ns: int, topics: Collection[str]) -> None:
        self._began_ns = began_ns
        self._topics = frozenset(topics)

    def view(self, observed: Iterable[Observed]) -> list[Observed]:
        """Events by which the cluster is known, other people's topics included."""
        return [one for one in observed if not isinstance(one.event, _BULK) or self._counts(one)]

    def judged(self, observed: Iterable[Observed]) -> list[Observed]:
        """Events by which the run is judged."""
        kept = []
        for one in observed:
            if self._counts(one):
                kept.append(one)
            elif one.time_ns < self._began_ns and isinstance(one.event, _OF_CLUSTER):
                kept.append(one._replace(time_ns=self._began_ns))
        return kept

    def is_own(self, partition: str) -> bool:
        """Whether a partition is of the experiment's topics."""
        return partition.rpartition("-")[0] in self._topics

    def _counts(self, one: Observed) -> bool:
        partition = str(getattr(one.event, "partition", "") or "")
        return one.time_ns >= self._began_ns and (not partition or self.is_own(partition))


def judge_quorum(
    voters: dict[int, str], wiped: Container[tuple[str, int]], events: Sequence[TimedEvent]
) -> list[InvariantViolation]:
    """Return the violations since run time 0. ``events`` are in order of time and include earlier ones."""
    judge = QuorumJudge(voters, wiped)
    lifecycle = (RaftStateChanged, NodeStarted, NodeStopped)
    unknown = [
        TimedEvent(0, 0, name, 0, event)
        for name in voters.values()
        for event in (NodeStopped(reason="power-loss"), NodeStarted())
    ]
    judge.judge([*unknown, *(one for one in events if one.time_ns < 0 and isinstance(one.event, lifecycle))])
    judge.violations.clear()
    return judge.judge(one for one in events if one.time_ns >= 0)
