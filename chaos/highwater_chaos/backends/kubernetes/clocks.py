"""How far each machine's clock is ahead of the runner's, and how far that may be off.

Events have the time of ``CLOCK_MONOTONIC`` of their pod's machine: all pods of one machine share it, and neither a step
of the wall clock nor the fault ``clockSkew`` touches it. It counts from the machine's boot. So the runner asks the
agent of each machine for it, again and again through the run, as NTP asks a server: the agent read its clock at some
time between the request and the response. An event's run time follows from the reading that is best for it: the one
with the least sum of its own error and what two clocks may drift apart until the event.

A machine that boots counts from 0 again. Agents say which boot it is. Of a boot in which no agent was asked (events
from before the run, or of an agent that does not tell), the wall clocks must do: a node's first event has both clocks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from highwater_chaos.backends.kubernetes.agents import AgentClient, AgentError, MachineClock
from highwater_chaos.backends.local.program import Observed
from highwater_chaos.machine.kernel.proc import boot_id
from highwater_pipeline.tables.settings import ASSUMED_CLOCK_ERROR_NS
from highwater_runtime.host.clock_pairs import how_far_ahead
from highwater_runtime.ports import SECOND

_AGAIN_AFTER_NS: Final = 2 * SECOND
_DRIFT_PPM: Final = 500
"""What the kernel slews a clock by at most, when NTP corrects it."""
_LATEST: Final = 3
_SAME_BOOT_NS: Final = 60 * SECOND
"""By how much wall minus monotonic clock differs at most within one boot, if the wall clock is not set by more."""


class RunnersTime(NamedTuple):
    """A time of the runner's ``CLOCK_MONOTONIC``, and how far it may be off."""

    at_ns: int
    error_ns: int


class Counts(Protocol):
    """One machine's ``CLOCK_MONOTONIC``, from one boot to its end."""

    def time_of(self, time_ns: int) -> RunnersTime:
        """Return the run time at which a node's clock showed ``time_ns``."""


class _Reading(NamedTuple):
    at_ns: int
    ahead_ns: int
    error_ns: int

    def error_at(self, at_ns: int) -> int:
        return self.error_ns + abs(at_ns - self.at_ns) * _DRIFT_PPM // 1_000_000


@dataclass(slots=True)
class Boot:
    """A clock that agents were asked for. ``wall_ahead_ns``: how far the machine's wall clock is ahead of it."""

    wall_ahead_ns: int
    _readings: list[_Reading] = field(default_factory=list)

    def read(self, at_ns: int, clock: MachineClock) -> None:
        """Take in a reading. Kept are the latest ones, as events come some seconds late, and those that are better."""
        new = _Reading(at_ns, clock.ahead_ns, clock.error_ns)
        earlier, latest = self._readings[:-_LATEST], self._readings[-_LATEST:]
        self._readings = [*(one for one in earlier if one.error_at(at_ns) < new.error_ns), *latest, new]
        self.wall_ahead_ns = clock.wall_ahead_ns

    def time_of(self, time_ns: int) -> RunnersTime:
        times = (RunnersTime(time_ns - one.ahead_ns, one.error_at(time_ns - one.ahead_ns)) for one in self._readings)
        return min(times, key=lambda found: found.error_ns)


class ByWall(NamedTuple):
    """A clock of which only the machine's wall clock is known. ``ahead_ns``: how far it is ahead of the runner's clock,
    if the wall clocks of both are right."""

    ahead_ns: int

    def time_of(self, time_ns: int) -> RunnersTime:
        return RunnersTime(time_ns - self.ahead_ns, ASSUMED_CLOCK_ERROR_NS)


class MachineClocks:
    """The clocks of all machines of one run. Safe to use from several threads.

    Args:
        since_ns: when the run began, by ``now``.
        now: the runner's clock.
    """

    def __init__(self, since_ns: int, now: Callable[[], int] = time.monotonic_ns) -> None:
        self._since_ns = since_ns
        self._now = now
        self._locks: dict[AgentClient, threading.Lock] = {}
        self._looked: dict[AgentClient, int] = {}
        self._boots: dict[AgentClient, dict[str, Boot]] = {}
        self._own_boot = boot_id()

    def look(self, agent: AgentClient) -> None:
        """Ask an agent for its machine's clock, if the last time was some seconds ago. Raises ``AgentError``."""
        with self._locks.setdefault(agent, threading.Lock()):
            looked = self._looked.get(agent)
            if looked is not None and self._now() - looked < _AGAIN_AFTER_NS:
                return
            try:
                clock = agent.clock()
            except AgentError as error:
                if error.status != 404:
                    raise
                self._looked[agent] = self._now()  # it is of a version that does not tell
                return
            if clock.boot == self._own_boot and abs(clock.ahead_ns) <= clock.error_ns:
                clock = clock._replace(ahead_ns=0, error_ns=0)  # one kernel has one clock
            boots = self._boots.setdefault(agent, {})
            boots.setdefault(clock.boot, Boot(clock.wall_ahead_ns)).read(self._now(), clock)
            self._looked[agent] = self._now()

    def of(self, agent: AgentClient, started: Observed) -> Counts:
        """The clock by which an incarnation counts that has this first event."""
        wall_ahead = started.node_time_ns - started.time_ns
        boots = [*self._boots.get(agent, {}).values()]
        if boots:
            boot = min(boots, key=lambda one: abs(one.wall_ahead_ns - wall_ahead))
            is_of_run = self._since_ns <= boot.time_of(started.time_ns).at_ns <= self._now() + SECOND
            if abs(boot.wall_ahead_ns - wall_ahead) <= _SAME_BOOT_NS or is_of_run:
                return boot
        return ByWall(_own_wall_ahead(self._now) - wall_ahead)

    def time_of_wall(self, agent: AgentClient, wall_ns: int) -> int:
        """The runner's time at a time of the wall clock of the agent's machine, and no time in the future."""
        boots = [*self._boots.get(agent, {}).values()]
        if boots:
            found = boots[-1].time_of(wall_ns - boots[-1].wall_ahead_ns).at_ns
        else:
            found = wall_ns - _own_wall_ahead(self._now)
        return min(found, self._now())


def _own_wall_ahead(now: Callable[[], int]) -> int:
    return how_far_ahead(time.time_ns, of=now).by_ns
