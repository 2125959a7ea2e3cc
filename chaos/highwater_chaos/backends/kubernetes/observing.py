"""Node events from pods: polled from the agents, put on one clock, numbered by incarnation.

Each machine's CLOCK_MONOTONIC counts from its own boot; :mod:`.clocks` says how far it is ahead of the runner's, and
how far that may be off. So the order of events across machines is as exact as that, and the order within one pod is
exact. Local runs have one clock and no such limit.

A pod's container is restarted by the kubelet, in the same pod and with the same event file: each ``NodeStarted`` is a
new incarnation. One that was not requested means that the node ended by itself: a finding if it reported a crash
(``node-crashed``), else an inconclusive reason, since the kubelet may have ended it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic_ns
from typing import Final, Literal

import msgspec

from highwater_chaos.backends.kubernetes.agents import GONE, REPLACED, AgentError
from highwater_chaos.backends.kubernetes.clocks import Counts, MachineClocks, RunnersTime
from highwater_chaos.backends.kubernetes.faults import PodPlace
from highwater_chaos.backends.kubernetes.kafka_pods import LINE_BEGINS, KafkaPods
from highwater_chaos.backends.local.event_files import parse_line, take_until
from highwater_chaos.backends.local.program import Observed
from highwater_runtime.ports import SECOND
from highwater_runtime.ports.trace import NodeCrashed, NodeStarted, NodeStopped

_SILENT_NS: Final = 30 * SECOND
_SHOWN: Final = 120
_LONGEST_LINE: Final = 1 << 20
_MOST_LAST: Final = 256 << 20
_LONG_AGO: Final = -(1 << 62)
_LINE_BEGINS: Final = b'{"time_ns":'


@dataclass(slots=True)
class PodEvents:
    """One pod's event file, read up to some byte, and what its node's life was so far.

    ``ending``: why the incarnation that runs is about to end, where that is the harness's doing.
    """

    name: str
    place: PodPlace
    offset: int = 0
    partial: bytes = b""
    waiting: list[Observed] = field(default_factory=list)
    incarnation: int = 0
    up: bool = False
    clock: Counts | None = None
    """That of its machine, in the boot in which the present incarnation began."""
    clock_error_ns: int = 0
    """How far the times of its events may be off."""
    last_ns: int = _LONG_AGO
    ended_ns: int = _LONG_AGO
    """When the last incarnation that has ended was seen to end. What is read of it later came about before that."""
    ending: str | None = None
    presence: Literal["here", "going", "gone"] = "here"
    """Of its pod. ``going``: the pod is gone, and what its node wrote last is being read; ``gone``: that is known, and
    there is no next pod yet."""
    begins: bool = True
    """Whether its pod's node has not been seen to start: it may have no file."""
    crashed: bool = False
    """Whether the present incarnation has reported that it ended by an exception."""
    silent_since: int | None = None
    away: bool = False
    """Whether its machine boots: its agent does not answer meanwhile, and has all events afterwards."""


class EventPolls:
    """Takes in events of all pods.

    Args:
        pods: their event files.
        clocks: those of their machines.
        crashed: is called with the name and incarnation of a node that ended by itself without a crash.
        kafka: who reads lines of Apache Kafka; None: the nodes are our own.
    """

    def __init__(
        self,
        pods: Sequence[PodEvents],
        clocks: MachineClocks,
        crashed: Callable[[str, int], None],
        kafka: KafkaPods | None = None,
    ) -> None:
        self._clocks = clocks
        self._kafka = kafka
        self._pods = {pod.name: pod for pod in pods}
        self._crashed = crashed
        self.is_complete = False
        """Whether the last :meth:`take` had the events of every pod."""
        self._notes: list[str] = []
        self.gone: AgentError | None = None
        """Why events that were not read yet are not there any more; None: all are."""

    def fetch(self, place: PodPlace, offset: int) -> bytes:
        """What has come up since; may be called on any thread, for one pod at a time. Raises ``AgentError``."""
        self._clocks.look(place.agent)
        return place.agent.events(place.namespace, place.name, place.uid, offset)

    def last_of(self, place: PodPlace, offset: int) -> bytes:
        """All that a pod that is gone had written from a byte on, as far as its agent still has it; may be called on
        any thread. Raises ``AgentError``: there is more, or it is not known whether."""
        found = b""
        while more := self.fetch(place, offset + len(found)):
            found += more
            if len(found) > _MOST_LAST:
                raise AgentError(f"more than {_MOST_LAST >> 20} MiB", 0)
        return found

    def pod_is_gone(self, pod: PodEvents, last: bytes | AgentError) -> list[Observed]:
        """Return the waiting events of the incarnation in a pod that is gone, ``last`` among them, and its end."""
        if isinstance(last, AgentError):
            self._notes.append(f"what {pod.name} did last is not known, since its pod was replaced: {last}")
        else:
            self._read(pod, last)
        pod.presence, pod.ending = "gone", "pod-gone"
        # The next pod may have begun before it was seen that this one is gone.
        return self._end(pod, "pod-gone", pod.last_ns + 1)

    def next_pod(self, pod: PodEvents, place: PodPlace) -> None:
        """Its node is in another pod from now on, with another file."""
        pod.place, pod.offset, pod.partial = place, 0, b""
        pod.presence, pod.begins, pod.silent_since = "here", True, None

    def take(self, fetched: Sequence[tuple[PodEvents, bytes | AgentError]], horizon_ns: int) -> list[Observed]:
        """Events up to ``horizon_ns`` (a time before any was fetched) in the order of their times.

        While one pod's cannot be had, no pod's later ones are handed out: they may be effects of those.
        """
        complete = True
        for pod, found in fetched:
            if isinstance(found, AgentError):
                # Before its first start a node has no file.
                complete = complete and (found.status == 404 and pod.begins)
                self._note_silence(pod, found)
            else:
                pod.silent_since = None
                self._read(pod, found)
        self._take_lines()
        self.is_complete = complete
        if not complete:
            return []
        ready = [one for pod in self._pods.values() for one in take_until(pod.waiting, horizon_ns)]
        if self._kafka is not None:
            ready += self._kafka.decided(horizon_ns)
        ready.sort(key=lambda one: one.time_ns)
        return ready

    def stopped(self, pod: PodEvents, reason: str, at_ns: int | None, lost_bytes: int = 0) -> list[Observed]:
        """Return the waiting events of the running incarnation, for the log, and its end behind them. Leaves the end
        out if it has been reported already. ``at_ns``: when its machine saw the end, by its wall clock."""
        ended_at = monotonic_ns() if at_ns is None else self._clocks.time_of_wall(pod.place.agent, at_ns)
        return self._end(pod, reason, ended_at, lost_bytes)

    def _end(self, pod: PodEvents, reason: str, ended_at: int, lost_bytes: int = 0) -> list[Observed]:
        self._take_lines()
        events, pod.waiting = pod.waiting, []
        # A node that is down may still lose its page cache, with its machine.
        already_reported = pod.ending is None or (not pod.up and reason != "power-loss") or pod.incarnation == 0
        pod.ending = None
        if already_reported:
            return events
        pod.up = False
        pod.ended_ns = max(pod.last_ns + 1, ended_at)
        end = NodeStopped(reason=reason, offset=lost_bytes)
        return [*events, Observed(pod.ended_ns, pod.ended_ns, pod.name, pod.incarnation, end)]

    def notes(self) -> list[str]:
        """Lines that could not be read, and agents that were silent for long."""
        return list(self._notes)

    def _note_silence(self, pod: PodEvents, error: AgentError) -> None:
        if error.status == 404 and pod.begins:
            return
        now = monotonic_ns()
        if error.status == REPLACED:
            if pod.silent_since != -1:
                self._notes.append(f"what {pod.name} did last is not known, since its pod was replaced: {error}")
            pod.silent_since = -1
        elif error.status == GONE:
            self.gone = error
            if pod.silent_since != -1:
                self._notes.append(f"events of {pod.name} were not read in time, and are gone: {error}")
            pod.silent_since = -1
        elif pod.silent_since is None:
            pod.silent_since = now
        elif pod.silent_since >= 0 and not pod.away and now - pod.silent_since > _SILENT_NS:
            pod.silent_since = -1  # noted once
            self._notes.append(f"events of {pod.name} could not be read for {_SILENT_NS // SECOND} s: {error}")

    def _read(self, pod: PodEvents, data: bytes) -> None:
        pod.offset += len(data)
        *lines, pod.partial = (pod.partial + data).split(b"\n")
        if len(pod.partial) > _LONGEST_LINE:
            self._notes.append(f"events of {pod.name}: a line has more than {_LONGEST_LINE} bytes: {data[:_SHOWN]!r}")
            pod.partial = b""
        for line in lines:
            # A node that was killed in the middle of a line is followed by the next incarnation's on the same one.
            whole = line[max(0, line.rfind(_LINE_BEGINS)) :]
            if not whole:
                continue
            if self._kafka is not None and whole.startswith(LINE_BEGINS):
                pod.waiting += self._kafka.read(pod.name, whole, lambda ns: self._run_time(pod, ns))
                continue
            try:
                self._add(pod, parse_line(whole))
            except msgspec.DecodeError as error:
                self._notes.append(f"events of {pod.name}: {error}: {whole[:_SHOWN]!r}")

    def _add(self, pod: PodEvents, event: Observed) -> None:
        if isinstance(event.event, NodeStarted):
            pod.clock = self._clocks.of(pod.place.agent, event)
        at, error_ns = self._converted(pod, event.time_ns)
        if isinstance(event.event, NodeStarted):
            if pod.up:
                ended_at = max(pod.last_ns, min(at - 1, monotonic_ns()))
                reason = pod.ending or "crash"
                if pod.ending is None and not pod.crashed:
                    self._crashed(pod.name, pod.incarnation)
                end = NodeStopped(reason=reason, offset=0)
                pod.waiting.append(Observed(ended_at, ended_at, pod.name, pod.incarnation, end))
                pod.ending = None
            pod.incarnation += 1
            pod.up, pod.crashed, pod.begins = True, False, False
            at = max(pod.ended_ns, at)
            if self._kafka is not None:
                self._kafka.starting(pod.name, pod.incarnation, at)
        elif pod.up and isinstance(event.event, NodeCrashed):
            pod.crashed = True
        at = self._in_order(pod, at, error_ns)
        pod.waiting.append(event._replace(time_ns=at, incarnation=pod.incarnation, node=pod.name))

    def _run_time(self, pod: PodEvents, time_ns: int) -> int:
        return self._in_order(pod, *self._converted(pod, time_ns))

    def _converted(self, pod: PodEvents, time_ns: int) -> RunnersTime:
        return RunnersTime(time_ns, 0) if pod.clock is None else pod.clock.time_of(time_ns)

    def _in_order(self, pod: PodEvents, at: int, error_ns: int) -> int:
        if not pod.up:
            at = min(at, pod.ended_ns - 1)  # its agent was slow, and the end is recorded already
        pod.clock_error_ns = max(pod.clock_error_ns, error_ns)
        # What lies before an earlier event is as late as that one, which may be off as well.
        pod.last_ns = max(pod.last_ns, at)
        return pod.last_ns

    def _take_lines(self) -> None:
        """Put what Kafka's lines say of replicas among the events of their nodes."""
        if self._kafka is None:
            return
        for one in self._kafka.of_replicas():
            self._pods[one.node].waiting.append(one)
        for pod in self._pods.values():
            pod.waiting.sort(key=lambda one: one.time_ns)
