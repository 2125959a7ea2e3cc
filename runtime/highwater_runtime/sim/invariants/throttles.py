"""Whether throttles hold back as much as was set (``throttle``, KIP-73).

A broker counts the traffic of its throttled partitions in at most eleven windows of a second, over the time since the
oldest began. Here it is counted from requests and responses, and compared with the settings in the broker's metadata.

* A leader sends no records to a replica outside the ISR while its rate is exceeded.
* A follower that is behind does not fetch while its rate is exceeded.

Worked example: a throttle of 500 bytes a second on the copy of a log. A broker that never obeys it copies all at once,
and clients are slow for as long.

The trap: where the windows begin is not known, nor when a response was sent, but for two times between which that was.
So a rate counts as exceeded only if the last ten seconds brought more than eleven may bring, of partitions that were
throttled at both times: a throttle of another partition of the topic ends theirs. A single response may go beyond any
rate. That a broker holds back too much cannot be told so: what it has sent is known only when it was asked
again, by each of its followers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from highwater_runtime.broker import Broker
from highwater_runtime.broker.apis.fetch import REPLICA_STATE_SINCE
from highwater_runtime.broker.fetch_sessions import TOPIC_IDS_SINCE
from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.replication_quota import WINDOWS
from highwater_runtime.metadata.effective_config import ALL_BROKERS
from highwater_runtime.metadata.registrations import BROKER_RESOURCE, ConfigResource
from highwater_runtime.metadata.topic_config import (
    FOLLOWER_THROTTLED_RATE,
    FOLLOWER_THROTTLED_REPLICAS,
    LEADER_THROTTLED_RATE,
    LEADER_THROTTLED_REPLICAS,
    throttled_partitions,
)
from highwater_runtime.ports import SECOND
from highwater_runtime.sim.connection import Connection, ConnectionState, SimRequest
from highwater_runtime.sim.invariants.asked import AskedKey, replica_asked
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.violation import Violations
from highwater_runtime.sim.simulator import Simulator
from highwater_runtime.wire.errors import ErrorCode

_MANY: Final = 100
"""Connections that are remembered before those that were closed are forgotten."""


@dataclass(slots=True)
class _Traffic:
    """Bytes of throttled partitions, each with two times (ns) between which they were counted."""

    seen: deque[tuple[int, int, int]]

    def add(self, earliest: int, latest: int, size: int) -> None:
        """Count bytes."""
        self.seen.append((earliest, latest, size))
        while self.seen[0][1] < latest - 2 * WINDOWS * SECOND:
            self.seen.popleft()

    def exceeds(self, rate: int, before: int, now: int) -> bool:
        """Whether the rate was exceeded at each time from ``before`` to ``now``, for sure."""
        least = sum(size for earliest, latest, size in self.seen if earliest >= now - 10 * SECOND and latest <= before)
        return least > rate * WINDOWS


class _State(NamedTuple):
    """A partition that a follower asks its leader for."""

    replica: Partition
    partition_epoch: int
    is_in_sync: bool


@dataclass(frozen=True, slots=True)
class _Fetch:
    """A fetch of a follower as its leader met it at ``at`` (ns). ``of_leader`` and ``of_follower``: the partitions that
    they throttle, with the rate."""

    call: SimRequest
    at: int
    wanted: Mapping[AskedKey, int]
    states: Mapping[AskedKey, _State]
    of_leader: Mapping[AskedKey, int]
    of_follower: Mapping[AskedKey, int]


class ThrottleInvariants:
    """Checks throttles; the monitor calls it when a broker has handled a fetch.

    Args:
        wanted: what a fetch asks for, with all that its session asked for before; None: unknown.
    """

    def __init__(
        self,
        simulator: Simulator,
        live: LiveCluster,
        violations: Violations,
        wanted: Callable[[SimRequest], Mapping[AskedKey, int] | None],
    ) -> None:
        self._simulator = simulator
        self._live = live
        self._violations = violations
        self._wanted = wanted
        self._last: dict[Connection, _Fetch] = {}
        self._sent: dict[str, tuple[Broker, _Traffic]] = {}
        """By leader; the broker is that of one incarnation, as another one has counted nothing yet."""
        self._received: dict[Connection, _Traffic] = {}
        self._known: dict[tuple[Connection, AskedKey], int] = {}
        """The HW in the last response with a partition."""

    def on_request(self, node: str, call: SimRequest) -> None:
        """Look at a fetch, and at the response to the one before."""
        connection, body = call.connection, call.body
        replica_id = body.replica_state.replica_id if call.version >= REPLICA_STATE_SINCE else body.replica_id
        if connection is None or replica_id < 0:
            return
        name = f"broker-{replica_id}"
        leader, follower = self._live.broker(node), self._live.broker(name)
        if leader is None or follower is None:
            return
        last = self._last.pop(connection, None)
        rates = _rate(leader, LEADER_THROTTLED_RATE), _rate(follower, FOLLOWER_THROTTLED_RATE)
        wanted = None if last is None and rates == (None, None) else self._wanted(call)
        if wanted is None:
            return
        states = dict(_states(leader, replica_id, wanted))
        fetch = _Fetch(
            call,
            self._simulator.now_ns,
            wanted,
            states,
            _throttled(leader, rates[0], LEADER_THROTTLED_REPLICAS, states),
            _throttled(follower, rates[1], FOLLOWER_THROTTLED_REPLICAS, states),
        )
        if last is not None:
            if self._sent.get(node, (None,))[0] is not leader:
                self._sent[node] = leader, _Traffic(deque())
            self._responded(node, name, last, fetch)
        received = self._received.get(connection)
        if last is not None and received is not None:
            for key, rate in fetch.of_follower.items():
                # One that was on its way when the rate changed was sent at another.
                if last.of_follower.get(key) != rate or self._known.get((connection, key), -1) <= wanted[key]:
                    continue
                if received.exceeds(rate, fetch.at, fetch.at):
                    self._add(states[key].replica, f"{name} goes on to fetch", rate)
        if fetch.of_leader or fetch.of_follower:
            if len(self._last) > _MANY:
                self._forget_closed()
            self._last[connection] = fetch

    def _forget_closed(self) -> None:
        self._last = {one: last for one, last in self._last.items() if one.state is ConnectionState.OPEN}
        self._received = {one: seen for one, seen in self._received.items() if one in self._last}
        self._known = {key: known for key, known in self._known.items() if key[0] in self._last}

    def _responded(self, leader: str, follower: str, last: _Fetch, fetch: _Fetch) -> None:
        response, connection = last.call.response, last.call.connection
        if response is None or response.error_code != ErrorCode.NONE or connection is None:
            return
        by_id, sizes = last.call.version >= TOPIC_IDS_SINCE, dict[AskedKey, int]()
        for topic in response.responses:
            for data in topic.partitions:
                key: AskedKey = ((topic.topic_id if by_id else topic.topic), data.partition_index)
                self._known[connection, key] = data.high_watermark
                if data.records:
                    sizes[key] = len(data.records)
        sent, times = self._sent[leader][1], (last.at, fetch.at)
        for key, rate in last.of_leader.items():
            before = last.states[key]
            if fetch.of_leader.get(key) != rate or before.is_in_sync or fetch.states.get(key) != before:
                continue
            if key in sizes and sent.exceeds(rate, *times):
                self._add(before.replica, f"{leader} sends records to {follower}", rate)
        if size := sum(sizes[key] for key in sizes if key in last.of_leader and key in fetch.of_leader):
            sent.add(*times, size)
        taken = [key for key in sizes if key in last.of_follower and key in fetch.of_follower]
        if size := sum(sizes[key] for key in taken if fetch.wanted[key] > last.wanted[key]):
            self._received.setdefault(connection, _Traffic(deque())).add(*times, size)

    def _add(self, replica: Partition, what: str, rate: int) -> None:
        self._violations.now_ns = self._simulator.now_ns
        why = f"though its throttle of {rate} bytes a second was exceeded"
        self._violations.add("throttle", replica.name, f"{what}, {why}", (replica.topic_id,))


def _states(leader: Broker, replica_id: int, wanted: Mapping[AskedKey, int]) -> Iterator[tuple[AskedKey, _State]]:
    for key in wanted:
        replica = replica_asked(leader, key)
        if replica is not None and replica.leading is not None:
            is_in_sync = replica_id in replica.committed_isr
            yield key, _State(replica, replica.partition_epoch, is_in_sync)


def _rate(broker: Broker, name: str) -> int | None:
    """The rate that is set for a broker; None: no throttle."""
    for resource in (str(broker.options.node_id), ALL_BROKERS):
        value = broker.image.configs.get(ConfigResource(BROKER_RESOURCE, resource), {}).get(name)
        if value is not None:
            return int(value)
    return None


def _throttled(broker: Broker, rate: int | None, name: str, states: Mapping[AskedKey, _State]) -> dict[AskedKey, int]:
    if rate is None:
        return {}
    found = {}
    for key, state in states.items():
        names = throttled_partitions(
            broker.image.topic_config(state.replica.topic).get(name, ""), broker.options.node_id
        )
        if names is None or state.replica.index in names:
            found[key] = rate
    return found
