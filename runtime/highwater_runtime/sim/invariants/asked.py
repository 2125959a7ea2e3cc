"""What the clients of brokers ask for in Fetch requests, and that brokers know it (``fetch-session``, KIP-227).

Within a session a request names only what changes in what its client asks for. Here that is added up from the requests
alone. A broker's session has the same partitions, each at the offset that was asked for last, and its responses name no
others.

Worked example: a follower takes a partition out of its session, because its own log of it has failed. A leader that
keeps it goes on to count each request as a fetch of that partition, and sends records that nobody wants.

The trap: a broker may refuse a request. Its client begins again with a full one then, so what it asked for before does
not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from highwater_runtime.broker import Broker
from highwater_runtime.broker.fetch_sessions import TOPIC_IDS_SINCE
from highwater_runtime.broker.partition import Partition
from highwater_runtime.ports import SECOND
from highwater_runtime.sim.connection import Connection, ConnectionState, SimRequest
from highwater_runtime.sim.invariants.violation import Violations
from highwater_runtime.sim.simulator import Simulator
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.fetch_session import FINAL_EPOCH, FIRST_EPOCH
from highwater_runtime.wire.messages.fetch_request import FetchRequest

_MANY: Final = 100
"""Connections that are remembered before those that were closed are forgotten."""

_LARGE: Final = 100
"""Sessions with more partitions are compared once in a second."""

AskedKey = tuple[UUID | str, int]
"""Topic id or name, and partition index."""


class AskedPartitions:
    """By connection what its last fetch asks for, with all that its session asked for before."""

    def __init__(self, simulator: Simulator, violations: Violations) -> None:
        self._simulator = simulator
        self._violations = violations
        self._asked: dict[Connection, tuple[SimRequest, dict[AskedKey, int]]] = {}
        self._next_ns = 0

    def of(self, node: str, call: SimRequest, broker: Broker) -> Mapping[AskedKey, int] | None:
        """The offset at which each partition is fetched; None: unknown. ``call`` has just been handled."""
        body, connection = call.body, call.connection
        if connection is None:
            return None
        by_id = call.version >= TOPIC_IDS_SINCE
        wanted = {
            (topic.topic_id if by_id else topic.topic, one.partition): one.fetch_offset
            for topic in body.topics
            for one in topic.partitions
        }
        found = self._asked.get(connection)
        if found is not None:
            self._answers_no_more(node, *found)
        if body.session_epoch not in (FIRST_EPOCH, FINAL_EPOCH):
            if found is None or not _continues(body, found[0]):
                return None  # it was opened over another connection, or a fetcher that is gone asked in between
            names = bool(wanted or body.forgotten_topics_data)
            wanted = self._added_up(body, by_id, found[1], wanted) if names else found[1]
            if names and (call.response is None or call.response.error_code == ErrorCode.NONE):
                self._is_known(node, body.session_id, broker, wanted)
        if len(self._asked) > _MANY:
            self._asked = {one: asked for one, asked in self._asked.items() if one.state is ConnectionState.OPEN}
        self._asked[connection] = call, wanted
        return wanted

    @staticmethod
    def _added_up(
        body: FetchRequest, by_id: bool, before: dict[AskedKey, int], new: dict[AskedKey, int]
    ) -> dict[AskedKey, int]:
        wanted = before.copy()
        for topic in body.forgotten_topics_data:
            for index in topic.partitions:
                wanted.pop((topic.topic_id if by_id else topic.topic, index), None)
        wanted.update(new)
        return wanted

    def last(self, call: SimRequest) -> Mapping[AskedKey, int] | None:
        """The same of a call that was given to :meth:`of`."""
        found = None if call.connection is None else self._asked.get(call.connection)
        return found[1] if found is not None and found[0] is call else None

    def _is_known(self, node: str, session_id: int, broker: Broker, wanted: Mapping[AskedKey, int]) -> None:
        session = broker.fetch_sessions.find(session_id)
        if session is None:
            return
        if len(wanted) > _LARGE:
            if self._simulator.now_ns < self._next_ns:
                return
            self._next_ns = self._simulator.now_ns + SECOND
        has = {
            (one.topic_id if session.by_id else one.topic, one.fetch.partition): one.fetch.fetch_offset
            for one in session.partitions.values()
        }
        if has == wanted:
            return
        for what, keys in (
            ("keeps {} in a fetch session whose client has taken it out", has.keys() - wanted.keys()),
            ("has not {} in a fetch session whose client asks for it", wanted.keys() - has.keys()),
            (
                "has {} at another offset in a fetch session than its client asks for",
                [key for key in has.keys() & wanted.keys() if has[key] != wanted[key]],
            ),
        ):
            for key in sorted(keys, key=str)[:1]:
                self._add(node, what.format(_name(broker, key)), (session_id, what))

    def _answers_no_more(self, node: str, call: SimRequest, wanted: Mapping[AskedKey, int]) -> None:
        if call.response is None or call.response.error_code != ErrorCode.NONE:
            return
        by_id = call.version >= TOPIC_IDS_SINCE
        for topic in call.response.responses:
            for one in topic.partitions:
                of = topic.topic_id if by_id else topic.topic
                if (of, one.partition_index) not in wanted:
                    what = f"answers a fetch of {call.peer} with {of}-{one.partition_index}, which it did not ask for"
                    self._add(node, what, call.peer)

    def _add(self, node: str, what: str, key: object) -> None:
        self._violations.now_ns = self._simulator.now_ns
        self._violations.add("fetch-session", node, f"{node} {what}", key)


def _continues(body: FetchRequest, before: SimRequest) -> bool:
    """Whether a request within a session is of the session that the one before it was of, or opened."""
    if before.body.session_epoch in (FIRST_EPOCH, FINAL_EPOCH):
        return before.response is not None and bool(before.response.session_id == body.session_id)
    return bool(before.body.session_id == body.session_id)


def replica_asked(broker: Broker, key: AskedKey) -> Partition | None:
    """The broker's replica of what is asked for."""
    of, index = key
    topic = broker.image.topics_by_name.get(of) if isinstance(of, str) else broker.image.topics_by_id.get(of)
    return None if topic is None else broker.partitions.get((topic.id, index))


def _name(broker: Broker, key: AskedKey) -> str:
    of, index = key
    topic = None if isinstance(of, str) else broker.image.topics_by_id.get(of)
    return f"{of if topic is None else topic.name}-{index}"
