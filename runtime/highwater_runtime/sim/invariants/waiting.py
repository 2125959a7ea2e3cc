"""Requests that wait although what they wait for is there (``overdue``).

A node that lets a request wait answers it in the event in which what it waits for has come: each of them names its
purgatory's rule. So whatever else is broken, at none of these may a request still wait:

* Produce with acks=all: the HW of each partition is where its log ended when the request arrived, or the leadership is
  over;
* Fetch: a partition has records for the asker (a consumer sees them below the HW), or is led here no longer;
* Fetch of the metadata log: records, another epoch, or a HW that was never sent to this replica;
* OffsetCommit: what was appended is committed, or the leadership is over;
* each of them: its own time-out is over.

Worked example: a follower waits at the leader of the quorum, all records are there, and the HW moves. A leader to which
that is no news answers when the follower's wait is over. So each change of metadata comes that much later.

The trap: most fetches are of sessions, and a request names only what is new (:mod:`.asked` adds it up). A
follower outside the ISR may be throttled, and nobody wakes it when it is no longer. So partitions that have been
throttled while a request waited are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from highwater_runtime.broker import Broker
from highwater_runtime.broker.apis.fetch import REPLICA_STATE_SINCE
from highwater_runtime.broker.partition import Partition
from highwater_runtime.controller.kraft import QuorumController
from highwater_runtime.metadata.topic_config import LEADER_THROTTLED_REPLICAS
from highwater_runtime.ports import MS
from highwater_runtime.raft import RaftReplica
from highwater_runtime.raft.messages import FetchParams, fetch_params_of, is_metadata_fetch
from highwater_runtime.sim.connection import ConnectionState, SimRequest
from highwater_runtime.sim.invariants.asked import AskedKey, AskedPartitions, replica_asked
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.violation import Violations
from highwater_runtime.sim.process import Process
from highwater_runtime.sim.simulator import Simulator
from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.zookeeper import ZooKeeperServer

OF_WAITING: Final = (ApiKey.FETCH, ApiKey.PRODUCE, ApiKey.OFFSET_COMMIT)
"""Requests after which :meth:`WaitingInvariants.on_request` has to look."""

_EVERY_NS: Final = 100 * MS
"""Once in this time all that waits is looked at."""
_AGAIN_NS: Final = 10 * MS
"""What should not wait, and still does when it is looked at again so much later, is found."""
_TIMER_NS: Final = 1000 * MS
"""A node that was paused between two looks is late with its timers by less than this."""
_ACKS_ALL: Final = -1


@dataclass(slots=True)
class _Open:
    """A request that had no answer when its server had handled it. ``due``: why it should have one, as a clause; empty
    if it may wait."""

    node: str
    call: SimRequest
    process: Process
    due: Callable[[], str]
    was_due: bool = False


class WaitingInvariants:
    """Looks at requests that wait; the monitor calls it after requests and events."""

    def __init__(self, simulator: Simulator, live: LiveCluster, violations: Violations) -> None:
        self._simulator = simulator
        self._live = live
        self._violations = violations
        self._next_ns = 0
        self._open: list[_Open] = []
        self.asked = AskedPartitions(simulator, violations)
        self._sent: dict[tuple[str, int, int], tuple[SimRequest, int]] = {}
        """By leader of the quorum, its epoch, and replica: its last fetch, and the highest HW in an answer before."""

    def on_request(self, node: str, call: SimRequest) -> None:
        """Take note of a request that a node has just handled."""
        host = self._simulator.nodes[node]
        core = None if host.process is None or not host.is_alive else host.process.core
        match call.body.API_KEY:
            case ApiKey.FETCH if is_metadata_fetch(call.body):
                due = self._metadata_fetch(node, call, core)
            case ApiKey.FETCH if isinstance(core, Broker):
                due = self._fetch(node, call, core)
            case ApiKey.PRODUCE if isinstance(core, Broker):
                due = self._produce(node, call, core)
            case ApiKey.OFFSET_COMMIT if isinstance(core, Broker):
                due = self._commit(node, call, core)
            case _:
                due = None
        if due is not None and call.response is None and host.process is not None:
            self._open.append(_Open(node, call, host.process, due))

    def after_event(self) -> None:
        """Look at all that waits if it is time."""
        if self._simulator.now_ns < self._next_ns:
            return
        self._next_ns = self._simulator.now_ns + _EVERY_NS
        self._open = [one for one in self._open if self._waits(one)]
        for one in self._open:
            clause = one.due()
            if clause and one.was_due:
                what = f"{one.node} does not answer {one.call.body.NAME} of {one.call.peer}: {clause}"
                self._violations.add("overdue", one.node, what, (one.call.body.API_KEY, clause))
            if clause and not one.was_due:
                self._next_ns = self._simulator.now_ns + _AGAIN_NS
            one.was_due = bool(clause)

    def _waits(self, one: _Open) -> bool:
        host, connection = self._simulator.nodes[one.node], one.call.connection
        return (
            one.call.response is None
            and host.process is one.process
            and host.is_alive
            and connection is not None
            and connection.state is ConnectionState.OPEN
        )

    # --- the quorum --------------------------------------------------------------------------------------------------

    def _metadata_fetch(self, node: str, call: SimRequest, core: object) -> Callable[[], str] | None:
        raft = core.raft if isinstance(core, QuorumController | ZooKeeperServer) and core.has_started else None
        params = fetch_params_of(call)
        if raft is None or params is None or params.replica_id < 0:
            return None
        key = (node, params.epoch, params.replica_id)
        before, sent = self._sent.get(key, (None, -1))
        if before is not None and before is not call and before.response is not None:
            sent = max(sent, _high_watermark_in(before.response))
        self._sent[key] = call, sent
        return self._until(node, params.max_wait_ms, lambda: _news_of(raft, params, sent))

    # --- partitions --------------------------------------------------------------------------------------------------

    def _fetch(self, node: str, call: SimRequest, broker: Broker) -> Callable[[], str] | None:
        body, wanted = call.body, self.asked.of(node, call, broker)
        if wanted is None:
            return None
        replica_id = body.replica_state.replica_id if call.version >= REPLICA_STATE_SINCE else body.replica_id
        if body.min_bytes > 1 or call.response is not None:
            return None

        throttled: dict[str, None] = {}

        def due() -> str:
            if replica_id >= 0:
                throttled.update(dict.fromkeys(_may_be_throttled(broker)))
            return next(_there_is(broker, wanted, replica_id, throttled), "")

        if replica_id >= 0:
            throttled.update(dict.fromkeys(_may_be_throttled(broker)))
        return self._until(node, body.max_wait_ms, due)

    def _produce(self, node: str, call: SimRequest, broker: Broker) -> Callable[[], str] | None:
        if call.body.acks != _ACKS_ALL or call.response is not None:
            return None
        found = [
            replica_asked(broker, (topic.name, data.index))
            for topic in call.body.topic_data
            for data in topic.partition_data
        ]
        ends = [(one, one.log.log_end_offset) for one in found if one is not None]
        return self._until(node, call.body.timeout_ms, lambda: _committed(ends))

    def _commit(self, node: str, call: SimRequest, broker: Broker) -> Callable[[], str] | None:
        if call.response is not None:
            return None
        shard = broker.coordinator.shard_for(call.body.group_id)
        if isinstance(shard, ErrorCode):
            return None
        ends = [(shard.partition, shard.partition.log.log_end_offset)]
        return self._until(node, broker.options.config.offsets_commit_timeout_ms, lambda: _committed(ends))

    def _until(self, node: str, timeout_ms: int, due: Callable[[], str]) -> Callable[[], str]:
        """The same, and also due once its time is over; a node that was paused is given a second more."""
        began_ns = self._live.node_time_ns(node)

        def look() -> str:
            nonlocal began_ns
            now, host = self._live.node_time_ns(node), self._simulator.nodes[node]
            if host.is_paused or host.is_held:
                began_ns = max(began_ns, now - timeout_ms * MS)
            if now - began_ns > timeout_ms * MS + _TIMER_NS:
                return f"its time of {timeout_ms} ms is over"
            return due()

        return look


def _high_watermark_in(response: Any) -> int:
    """The HW of an answer to a fetch of the metadata log; −1: it has none."""
    partitions = [one for topic in response.responses for one in topic.partitions]
    return partitions[0].high_watermark if len(partitions) == 1 and partitions[0].error_code == 0 else -1


def _news_of(raft: RaftReplica, params: FetchParams, sent: int) -> str:
    if not raft.is_leader or raft.epoch != params.epoch:
        return f"it does not lead epoch {params.epoch} of the quorum"
    if params.offset < raft.log_end_offset:
        return f"there are records from {params.offset} to {raft.log_end_offset}"
    return f"HW {raft.high_watermark} is news after {sent}" if sent < raft.high_watermark else ""


def _there_is(
    broker: Broker, wanted: Mapping[AskedKey, int], replica_id: int, throttled: Container[str]
) -> Iterator[str]:
    # Of a thousand partitions in a session hardly one has news: what is dearer to find out is asked of those only.
    by_id = cast(Mapping[AskedKey, Partition], broker.partitions)
    for key, offset in wanted.items():
        replica = replica_asked(broker, key) if isinstance(key[0], str) else by_id.get(key)
        if replica is None or (
            replica.leading is not None
            and (replica.high_watermark if replica_id < 0 else replica.log.log_end_offset) <= offset
        ):
            continue
        if replica_asked(broker, key) is None or not replica.log.is_online or replica.topic in throttled:
            continue
        if replica.leading is None:
            yield f"it does not lead {replica.name}"
        elif replica_id < 0:
            yield f"{replica.name} is committed up to {replica.high_watermark}, and is fetched at {offset}"
        else:
            yield f"{replica.name} ends at {replica.log.log_end_offset}, and is fetched at {offset}"


def _may_be_throttled(broker: Broker) -> Iterator[str]:
    """Topics of which some replicas are throttled as leaders."""
    for topic in broker.image.topics_by_name:
        if broker.image.topic_config(topic).get(LEADER_THROTTLED_REPLICAS):
            yield topic


def _committed(ends: list[tuple[Partition, int]]) -> str:
    for replica, end in ends:
        if replica.leading is not None and replica.high_watermark < end:
            return ""
    return "what it appended is committed, or led here no longer"
