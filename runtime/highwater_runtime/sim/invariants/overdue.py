"""What nodes owe: what a rule has a node do by itself, once its own clock and what it knows say so (``overdue``).

* A leader proposes to take a member out of the ISR that has not caught up for ``replica.lag.time.max.ms``: it looks
  each half of that time (KAFKA-1546).
* A leader moves the HW to what all members of the maximal ISR have. A replica outside it that is caught up and may join
  is waited for, no longer than ``replica.lag.time.max.ms`` (KAFKA-15021).
* An active controller fences a broker that it has not heard for ``broker.session.timeout.ms``, counted from its own
  election at the earliest (KIP-631).
* An active controller writes at least a no-op record in each ``metadata.max.idle.interval.ms`` (KIP-835).
* An active controller keeps no fenced broker in an ISR beside others, has none lead, and leaves no partition without a
  leader of whose ISR a broker may lead (one that is active, and whose log has not failed).

Whether a follower has caught up is taken from the logs, not from what its leader believes. What a proposal, a vote or
an answer comes to depends on others and is not looked at here: a leader without a controller owes its proposal only.

Worked example: a follower fetches each 100 ms, and its disk is so slow that it never comes near the end. A leader that
counts from its last fetch keeps it in the ISR for ever, and each acks=all write waits for it.

The trap: time stands still for a node that is paused, or held by its disk. Afterwards it is late with everything, so
what was known of it begins anew (see :data:`_SLACK_NS`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from highwater_runtime.broker.leadership import Leadership
from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.controller.kraft import QuorumController
from highwater_runtime.controller.placement import is_active
from highwater_runtime.metadata import MetadataImage, PartitionRegistration
from highwater_runtime.ports import MS, SECOND
from highwater_runtime.ports.trace import TransitionTaken
from highwater_runtime.sim.connection import SimRequest
from highwater_runtime.sim.invariants.images import SUBJECT
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.violation import Violations
from highwater_runtime.sim.simulator import Simulator

_EVERY_NS: Final = SECOND
"""Once in this time all nodes are looked at."""
_SLACK_NS: Final = 2 * SECOND
"""A node that was paused between two looks is late by less than this."""


@dataclass(slots=True)
class _Led:
    """What one leadership has been seen to know; times are its node's."""

    leading: Leadership
    seen_ns: int
    ends: deque[tuple[int, int]] = field(default_factory=deque)
    """Its log end offset at each look, with the time."""
    isr_since_ns: int = 0
    """Since when the ISR has been as it is: a member that left and joined again between two looks is a new one."""
    partition_epoch: int = -1
    proposed_ns: int = 0
    """When a proposal was last under way."""
    due: tuple[int, int] | None = None
    """An offset that all members have and the HW has not reached, and since when."""


@dataclass(slots=True)
class _Active:
    """A controller that has been seen active; times are its node's."""

    image: MetadataImage
    """By which it decides: another one is another term."""
    since_ns: int
    seen_ns: int
    end_offset: int = -1
    written_ns: int = 0
    """When the metadata log was first seen to end there."""


class OverdueInvariants:
    """Looks at leaders and active controllers, once a second; the monitor calls it after events."""

    def __init__(self, simulator: Simulator, live: LiveCluster, violations: Violations) -> None:
        self._simulator = simulator
        self._live = live
        self._violations = violations
        self._next_ns = 0
        self._led: dict[tuple[str, PartitionKey], _Led] = {}
        self._ends: dict[tuple[str, PartitionKey], int] = {}
        """The highest log end offset that each replica has been seen with."""
        self._active: dict[str, _Active] = {}
        self._failed: dict[tuple[str, str], int] = {}
        """By broker and partition: the broker epoch in which the log failed."""
        self._heard: dict[tuple[str, int], int] = {}
        """By controller and broker: when the last heartbeat came."""

    def on_event(self, node: str, _incarnation: int, event: TransitionTaken) -> None:
        """Take note of a log that has failed: its broker leads the partition no more before it registers anew."""
        if event.reason == "log-offline":
            broker = self._live.broker(node)
            epoch = self._live.registered_epoch(node) if broker is None else broker.broker_epoch  # None: it died of it
            key = (node, event.partition)
            self._failed[key] = max(epoch, self._failed.get(key, -1))  # -1: it is not registered yet

    def on_heartbeat(self, node: str, call: SimRequest) -> None:
        """A controller has answered a broker's heartbeat."""
        self._heard[node, call.body.broker_id] = self._live.node_time_ns(node)

    def after_event(self) -> None:
        """Look at all nodes if it is time."""
        if self._simulator.now_ns < self._next_ns:
            return
        self._next_ns = self._simulator.now_ns + _EVERY_NS
        for name in self._simulator.nodes:
            broker = self._live.broker(name)
            for key, replica in () if broker is None else broker.partitions.items():
                self._ends[name, key] = max(self._ends.get((name, key), 0), replica.log.log_end_offset)
        for name, host in self._simulator.nodes.items():
            if host.is_paused or host.is_held:
                continue
            broker = self._live.broker(name)
            if broker is not None:
                for replica in broker.partitions.values():
                    if replica.leading is not None and replica.log.is_online:
                        self._leader(name, replica, replica.leading)
            elif host.is_alive and host.process is not None and isinstance(host.process.core, QuorumController):
                self._controller(name, host.process.core)

    def _add(self, subject: str, what: str, key: object) -> None:
        self._violations.add("overdue", subject, what, key)

    # --- leaders ------------------------------------------------------------------------------------------------------

    def _leader(self, node: str, replica: Partition, leading: Leadership) -> None:
        now, lag_max_ns = self._live.node_time_ns(node), replica.context.config.replica_lag_time_max_ms * MS
        led = self._led.get((node, replica.key))
        if led is None or led.leading is not leading or now - led.seen_ns > _EVERY_NS + _SLACK_NS // 2:
            led = self._led[node, replica.key] = _Led(leading, now)
        led.seen_ns = now
        led.ends.append((now, replica.log.log_end_offset))
        if replica.isr.proposal is not None:
            led.proposed_ns = now
        if led.partition_epoch != replica.partition_epoch:
            led.partition_epoch, led.isr_since_ns = replica.partition_epoch, now
        longest_ns = lag_max_ns + lag_max_ns // 2 + _SLACK_NS
        self._shrinks(node, replica, led, longest_ns, lag_max_ns // 2 + _SLACK_NS)
        self._advances(node, replica, led, longest_ns)

    def _shrinks(self, node: str, replica: Partition, led: _Led, longest_ns: int, review_ns: int) -> None:
        now = led.seen_ns
        while len(led.ends) > 1 and led.ends[1][0] <= now - longest_ns:
            led.ends.popleft()
        then, end = led.ends[0]
        if led.isr_since_ns > then or now - then < longest_ns or now - led.proposed_ns < review_ns:
            return
        for broker in replica.committed_isr:
            has = self._ends.get((f"broker-{broker}", replica.key), 0)
            if not self._has_log(broker, replica) and broker in led.leading.followers:
                # What it had between two looks, before it or its log died, only its leader knows.
                has = max(has, led.leading.followers[broker].log_end_offset)
            if has < end:
                what = (
                    f"{node} keeps broker {broker} in the ISR, which ends at {has} and has not had all of the log for"
                    f" {(now - then) // MS} ms: the leader ended at {end} then"
                )
                self._add(replica.name, what, (replica.leader_epoch, broker, "shrink"))

    def _has_log(self, broker: int, leader: Partition) -> bool:
        """Whether a broker lives, and has a log of this partition that has not failed."""
        core = self._live.broker(f"broker-{broker}")
        own = None if core is None else core.partitions.get(leader.key)
        return own is not None and own.log.is_online

    def _advances(self, node: str, replica: Partition, led: _Led, longest_ns: int) -> None:
        known = {broker: follower.log_end_offset for broker, follower in led.leading.followers.items()}
        least = min((known[one] for one in replica.maximal_isr if one in known), default=replica.log.log_end_offset)
        if replica.under_min_isr or replica.high_watermark >= least:
            led.due = None
        elif led.due is None or replica.high_watermark >= led.due[0]:
            led.due = least, led.seen_ns
        elif led.seen_ns - led.due[1] > longest_ns:
            what = (
                f"{node} leaves its HW at {replica.high_watermark}, though all of {[*replica.maximal_isr]} have had the"
                f" log up to {led.due[0]} for {(led.seen_ns - led.due[1]) // MS} ms"
            )
            self._add(replica.name, what, (replica.leader_epoch, "advance"))

    # --- controllers --------------------------------------------------------------------------------------------------

    def _controller(self, node: str, core: QuorumController) -> None:
        image, now = core.latest_image, self._live.node_time_ns(node)
        if image is None:
            self._active.pop(node, None)
            return
        active = self._active.get(node)
        if active is None or active.image is not image or now - active.seen_ns > _EVERY_NS + _SLACK_NS // 2:
            active = self._active[node] = _Active(image, now, now)
        active.seen_ns = now
        if active.end_offset != core.raft.log_end_offset:
            active.end_offset, active.written_ns = core.raft.log_end_offset, now
        idle_ns = core.options.config.metadata_max_idle_interval_ms * MS
        if idle_ns and now - active.written_ns > 2 * idle_ns + _SLACK_NS:
            what = f"{node} has written nothing for {(now - active.written_ns) // MS} ms, not even a no-op record"
            self._add(SUBJECT, what, (core.raft.epoch, "idle"))
        session_ns = core.options.config.broker_session_timeout_ms * MS
        for broker in image.brokers.values():
            silent_ns = now - max(active.since_ns, self._heard.get((node, broker.id), 0))
            if not broker.fenced and silent_ns > session_ns + _SLACK_NS:
                what = f"{node} has not heard of broker {broker.id} for {silent_ns // MS} ms, and does not fence it"
                self._add(f"broker-{broker.id}", what, (broker.epoch, "fence"))
        for topic in image.topics_by_name.values():
            for index, partition in topic.partitions.items():
                name = f"{topic.name}-{index}"
                if what := self._left_undone(image, name, partition):
                    self._add(name, f"{node} {what}", (topic.id, partition.partition_epoch))

    def _left_undone(self, image: MetadataImage, name: str, partition: PartitionRegistration) -> str:
        """What a controller that decides by this image has left undone, as a clause; empty if nothing."""
        isr = partition.isr
        fenced = [one for one in isr if one not in image.brokers or image.brokers[one].fenced]
        if fenced and len(isr) > 1:
            return f"keeps {fenced} in the ISR {[*isr]}, which are fenced"
        if partition.leader >= 0 and partition.leader in fenced:
            return f"has broker {partition.leader} lead, which is fenced"
        able = [
            one
            for one in isr
            if is_active(image, one) and self._failed.get((f"broker-{one}", name)) != image.brokers[one].epoch
        ]
        if partition.leader < 0 and able:
            return f"has nobody lead, though {able} of the ISR may"
        return ""
