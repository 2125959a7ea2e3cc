"""The state of a partition after every event, as columns: who is in the ISR, who is registered, LEOs and the true HW.

Replaying events one by one is what these columns avoid: a state that an event *sets* holds until the next one that
sets it, so it can be filled forward over all positions at once (``columns.last_known``).
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np

from highwater_pipeline.arrow.arrays import Bools, Ints, distinct
from highwater_pipeline.arrow.view import View
from highwater_pipeline.checks.columns import codes, first_per, ints, is_any, is_zookeeper, last_known


class Replay:
    """One partition's events, cluster events among them, position by position."""

    def __init__(self, events: View) -> None:
        self.events: Final = events

    @cached_property
    def high_watermark(self) -> Ints:
        """The highest HW that any leader has reported so far; 0: none."""
        moved = np.where(is_any(self.events, "kind", "high-watermark"), ints(self.events, "offset"), 0)
        highest: Ints = np.maximum.accumulate(moved)
        return highest

    @cached_property
    def state(self) -> Ints:
        """The position of the committed partition state in force; −1: none."""
        changed = is_any(self.events, "kind", "partition-changed")
        return last_known(first_per(np.where(changed, ints(self.events, "metadata_offset"), -1)))

    @cached_property
    def settled(self) -> Bools:
        """False inside a step, where one node emits several events at one time and the state between them was never
        visible to another node."""
        time = ints(self.events, "time_ns")
        node, _ = codes(self.events, "node")
        settled = np.ones(len(time), np.bool_)
        settled[:-1] = (time[1:] != time[:-1]) | (node[1:] != node[:-1])
        return settled

    def brokers(self) -> list[int]:
        """Every broker that ever was a member of the ISR."""
        members, _ = self.events.where(self._is_state()).lists("isr")
        brokers: list[int] = distinct(members).tolist()
        return brokers

    def member(self, broker: int) -> Bools:
        """Where ``broker`` is a member of the committed ISR."""
        states = np.flatnonzero(self._is_state())
        members, parent = self.events.take(states).lists("isr")
        inside = np.zeros(len(self.state), np.bool_)
        inside[states[parent[members == broker]]] = True
        inside &= ~is_any(self.events, "reason", "deleted")
        member: Bools = np.where(self.state >= 0, inside[self.state], False)
        return member

    def log_end(self, broker: int) -> Ints:
        """Return the position of the event that set the LEO of ``broker``'s replica; −1 while its current incarnation
        has not reported it. :func:`log_end_offset` reads it."""
        mine = self._of_node(broker)
        sets = mine & is_any(self.events, "kind", "log-loaded", "log-appended", "log-truncated", "log-cut")
        at = last_known(sets)
        return np.where(at >= self._began(mine), at, -1)

    def registered(self, broker: int) -> Ints:
        """Position of the registration of ``broker``'s current incarnation; −1 where it has not registered yet. Later
        reports of the same registration, by other controllers, do not count."""
        registered = is_any(self.events, "kind", "broker-registered") & (ints(self.events, "broker") == broker)
        first = first_per(np.where(registered, ints(self.events, "metadata_offset"), -1))
        at = last_known(first)
        return np.where(at >= self._began(self._of_node(broker)), at, -1)

    def instructed(self, broker: int) -> Bools:
        """ZooKeeper mode: where ``broker``'s current incarnation has had its role from a controller. In KRaft mode
        everywhere: a registration and what it means for ISRs are in one step of the metadata."""
        if not is_zookeeper(self.events):
            return np.ones(len(self.state), np.bool_)
        mine = self._of_node(broker)
        at = last_known(mine & is_any(self.events, "kind", "became-leader", "became-follower"))
        instructed: Bools = (at >= 0) & (at >= self._began(mine))
        return instructed

    def _is_state(self) -> Bools:
        is_state: Bools = self.state == np.arange(len(self.state))
        return is_state

    def _of_node(self, broker: int) -> Bools:
        return is_any(self.events, "node", f"broker-{broker}")

    def _began(self, mine: Bools) -> Ints:
        """Position of the first event of the node's current incarnation."""
        incarnation = np.maximum.accumulate(np.where(mine, ints(self.events, "incarnation"), 0))
        rises = np.ones(len(incarnation), np.bool_)
        rises[1:] = incarnation[1:] != incarnation[:-1]
        return last_known(rises)


def log_end_offset(events: View) -> Ints:
    """The LEO that each event of a log sets."""
    truncated = is_any(events, "kind", "log-truncated")
    return np.where(truncated, ints(events, "offset"), ints(events, "end_offset"))
