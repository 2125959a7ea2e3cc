"""Which process of a broker in a pod is registered, in ZooKeeper mode.

The ensemble names a session for each registration, and a broker's process logs the session that it has begun: the two
together say whose the registration is. They come by two ways, and either may be first. So registrations are kept for a
process whose lines are still to come.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from highwater_chaos.backends.local.apache_kafka.event_lines import Line
from highwater_chaos.backends.local.apache_kafka.node_log import SessionLog
from highwater_runtime.ports.trace import BrokerStateChanged, NodeEvent

_KEPT: Final = 64
"""Registrations of one broker. Those of an earlier process are of no use."""


class Registration(NamedTuple):
    """When the ensemble had committed it, by the runner's clock, and under which broker epoch."""

    broker_epoch: int
    time_ns: int


class BrokerSessions:
    """Those of the processes of one broker, one after the other."""

    def __init__(self, broker: int) -> None:
        self._broker = broker
        self._registrations: Mapping[int, Registration] = {}
        """By session, the latest last."""
        self._log = SessionLog(broker)
        self._last_ns = 0

    def starting(self) -> None:
        """Another process begins, and so another log."""
        self._log = SessionLog(self._broker)
        for session, one in self._registrations.items():
            self._log.registered(session, one.broker_epoch)

    def registered(self, session: int, broker_epoch: int, at_ns: int) -> tuple[int, NodeEvent] | None:
        """A session has registered the broker; returns that it is the present process's, and when, if that is known."""
        kept = [*self._registrations.items(), (session, Registration(broker_epoch, at_ns))]
        self._registrations = dict(kept[-_KEPT:])
        event = self._log.registered(session, broker_epoch)
        return None if event is None else (max(at_ns, self._last_ns), event)

    def read(self, line: Line) -> tuple[int, NodeEvent] | None:
        """The event that a line of the present process reports, and when: a registration as soon as it is committed."""
        event = self._log.event_in(line.logger, line.text)
        self._last_ns = max(self._last_ns, line.ns)
        if event is None:
            return None
        at = line.ns
        if isinstance(event, BrokerStateChanged) and event.reason == "registered":
            times = [one.time_ns for one in self._registrations.values() if one.broker_epoch == event.broker_epoch]
            at = max([at, *times])
        return at, event

    @property
    def is_mute(self) -> bool:
        """Whether sessions registered the broker, and the present process has logged none."""
        return self._log.is_mute
