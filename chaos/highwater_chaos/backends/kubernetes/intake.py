"""Events of all pods, taken in while the run goes on, and kept as those by which it is judged."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Sequence
from concurrent.futures import Executor, Future, wait
from pathlib import Path
from typing import Final

from highwater_chaos.backends.kubernetes.agents import AgentError
from highwater_chaos.backends.kubernetes.borrowed import Past, judge_quorum
from highwater_chaos.backends.kubernetes.clocks import MachineClocks
from highwater_chaos.backends.kubernetes.cluster import ClusterError
from highwater_chaos.backends.kubernetes.faults import PodPlace
from highwater_chaos.backends.kubernetes.kafka_pods import KafkaPods
from highwater_chaos.backends.kubernetes.observing import EventPolls, PodEvents
from highwater_chaos.backends.kubernetes.quorum_order import in_causal_order
from highwater_chaos.backends.local.event_files import parse_line
from highwater_chaos.backends.local.program import Observed
from highwater_chaos.backends.local.quorum_events import QUORUM_KINDS, QuorumJudge
from highwater_chaos.backends.local.recording import EventLog
from highwater_chaos.backends.protocol import InvariantViolation, TimedEvent
from highwater_chaos.records.dump import Dumped
from highwater_pipeline.tables.settings import ASSUMED_CLOCK_ERROR_NS

_ANSWERS_WITHIN: Final = 2.0
_PAST_WITHIN: Final = 120.0
_AGAIN_AFTER: Final = 0.1
_MUCH: Final = 1 << 20
"""Bytes of events at once: there is more where they come from."""


class Intake:
    """The run's clock begins when this is made.

    Args:
        threads: on which agents are asked.
        borrowed: the cluster was there before the run, and is judged by the run's own part of it.
        spool: a directory for what it records.
    """

    def __init__(self, threads: Executor, *, borrowed: bool, spool: Path | None = None) -> None:
        self.start_ns = time.monotonic_ns()
        self.observed_until_ns = 0
        """Run time up to which all events of all pods have been taken in."""
        self._threads = threads
        self._log = EventLog(self.start_ns, spool=None if borrowed else spool)
        self._judged = EventLog(self.start_ns, spool=spool) if borrowed else self._log
        self._clocks = MachineClocks(self.start_ns)
        self._past: Past | None = None
        self._pods: dict[str, PodEvents] = {}
        self._polls: EventPolls
        self._is_kafka = False
        self._fetching: dict[str, tuple[int, Future[bytes]]] = {}
        self._ends: dict[str, Future[bytes]] = {}

    def follow(
        self, pods: Sequence[PodEvents], crashed: Callable[[str, int], None], kafka: KafkaPods | None = None
    ) -> None:
        """Begin to read these event files. ``crashed``: is called for a node that ended by itself, with its
        incarnation. ``kafka``: who reads lines of Apache Kafka in them."""
        self._pods = {pod.name: pod for pod in pods}
        self._polls = EventPolls(pods, self._clocks, crashed, kafka)
        self._is_kafka = kafka is not None

    def learn_the_past(self, own_topics: Sequence[str]) -> None:
        """Read all earlier events of the cluster's nodes. From now on the run sees only its own topics. Raises
        ``ClusterError`` if they cannot be read."""
        deadline = time.monotonic() + _PAST_WITHIN
        known: list[Observed] = []
        while True:
            taken, much = self._fetch()
            known += taken
            if not much and all(pod.up for pod in self._pods.values()):
                break
            if self._polls.gone is not None:
                raise ClusterError(f"what the cluster's nodes did before the run is not known: {self._polls.gone}")
            if time.monotonic() > deadline:
                silent = ", ".join(name for name, pod in self._pods.items() if not pod.up)
                raise ClusterError(f"events of {silent or 'the cluster'} could not be read in {_PAST_WITHIN:g} s")
            time.sleep(_AGAIN_AFTER)
        self._past = Past(self.start_ns, own_topics)
        for pod in self._pods.values():
            pod.clock_error_ns = 0  # so far it was that of times long ago
        self.add(known)

    def take(self) -> list[Observed]:
        """What has come up since the last time."""
        taken, _ = self._fetch()
        self.add(taken)
        return taken

    def stopped(self, pod: PodEvents, reason: str, at_ns: int | None, lost_bytes: int = 0) -> None:
        """Note the end of the pod's incarnation, behind all of its events. ``at_ns``: when its machine saw the end, by
        its wall clock."""
        self.add(self._polls.stopped(pod, reason, at_ns, lost_bytes))

    def pod_is_gone(self, pod: PodEvents) -> None:
        """Its pod is gone: read what its node wrote last, on another thread. Its end is noted with that."""
        pod.presence = "going"
        self._fetching.pop(pod.name, None)  # it is read again
        self._ends[pod.name] = self._threads.submit(self._polls.last_of, pod.place, pod.offset)

    def next_pod(self, pod: PodEvents, place: PodPlace) -> None:
        """Read the file of its next pod from now on. Not before all of the one before is known."""
        self._polls.next_pod(pod, place)

    def _take_ends(self) -> None:
        for name, end in list(self._ends.items()):
            if end.done():
                del self._ends[name]
                self.add(self._polls.pod_is_gone(self._pods[name], _answer(end)))

    def since(self, seq: int) -> Sequence[TimedEvent]:
        """A slice of what has been taken in."""
        return self._log.since(seq)

    def lines(self) -> Iterable[bytes]:
        """All by which the run is judged, by time."""
        return self._judged.lines()

    def quorum_violations(
        self, voters: dict[int, str], wiped: Container[tuple[str, int]]
    ) -> Sequence[InvariantViolation]:
        """What the controllers' events show. ``wiped``: incarnations that began on an empty disk."""
        events: Iterable[TimedEvent] = self._log.by_time(parse_line, QUORUM_KINDS)
        errors = self.clock_errors_ns()
        if any(errors.values()):
            events = in_causal_order([*events], voters, lambda node: errors.get(node, 0))
        if self._past is not None:
            return judge_quorum(voters, wiped, [*events])
        return QuorumJudge(voters, wiped).judge(events)

    def clock_errors_ns(self) -> dict[str, int]:
        """By node, how far the run times of its events may be off. A decision of Kafka's controllers has the time at
        which any of the brokers knew it."""
        if self._is_kafka:
            return dict.fromkeys(self._pods, max(pod.clock_error_ns for pod in self._pods.values()))
        return {
            name: max(pod.clock_error_ns, ASSUMED_CLOCK_ERROR_NS if name.startswith("zookeeper-") else 0)
            for name, pod in self._pods.items()
        }

    def own_logs(self, dumped: list[Dumped]) -> list[Dumped]:
        """Of what is on disks, that by which the run is judged."""
        return dumped if self._past is None else [one for one in dumped if self._past.is_own(one.replica.partition)]

    def notes(self) -> list[str]:
        """Lines that could not be read, and agents that were silent for long."""
        return self._polls.notes()

    def add(self, observed: Sequence[Observed]) -> None:
        """Take in what was seen of the cluster otherwise than by its pods' files, too."""
        if self._past is None:
            self._log.add(observed)
        else:
            self._log.add(self._past.view(observed))
            self._judged.add(self._past.judged(observed))

    def _fetch(self) -> tuple[list[Observed], bool]:
        """Return new events of the pods, and whether many more are waiting. Waits once, and briefly, for a slow agent:
        until it answers its pod counts as one that cannot be read."""
        self._take_ends()
        now = time.monotonic_ns()
        for name, pod in self._pods.items():
            if name not in self._fetching and pod.presence == "here":
                self._fetching[name] = (now, self._threads.submit(self._polls.fetch, pod.place, pod.offset))
        heard = [one for name, (_, one) in self._fetching.items() if self._pods[name].silent_since is None]
        wait(heard, _ANSWERS_WITHIN)
        fetched: list[tuple[PodEvents, bytes | AgentError]] = []
        # An answer covers the time up to its request, not up to now.
        horizon = min((at for at, _ in self._fetching.values()), default=now)
        fetched += [(pod, AgentError("its pod is gone", 0)) for pod in self._pods.values() if pod.presence == "going"]
        for name, (_, future) in list(self._fetching.items()):
            if future.done():
                del self._fetching[name]
                fetched.append((self._pods[name], _answer(future)))
            else:
                fetched.append((self._pods[name], AgentError("its agent has not answered yet", 0)))
        much = any(isinstance(found, bytes) and len(found) > _MUCH for _, found in fetched)
        taken = self._polls.take(fetched, horizon)
        if self._polls.is_complete and not much:
            self.observed_until_ns = max(self.observed_until_ns, horizon - self.start_ns)
        return taken, much


def _answer(future: Future[bytes]) -> bytes | AgentError:
    try:
        return future.result()
    except AgentError as error:
        return error
