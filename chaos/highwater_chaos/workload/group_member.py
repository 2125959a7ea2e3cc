"""Members of one consumer group, as load on the group coordinators (KIP-62, KIP-394).

A member joins, gets its share of the partitions, sends heartbeats and commits offsets. After some time it leaves, or
stops without LeaveGroup, and joins as another member. Now and then it hangs between JoinGroup and SyncGroup. So the
group rebalances again and again while brokers fail. A member reads no records. The history has its commits, and the
offsets that it fetches when it has joined. The metadata of a commit names the generation of its member, which the
simulator's invariants compare with that of the group.

A deposed coordinator may answer OffsetFetch from its memory. So an operation ``committed`` begins before JoinGroup and
ends with the OffsetFetch behind SyncGroup, all of one coordinator. Each JoinGroup has a subscription of its own, so it
begins a generation, and SyncGroup is answered when a record of that generation is committed in ``__consumer_offsets``:
who answers is no deposed coordinator.

Between two stays a member passes by another group: it joins, and leaves without a commit. Nobody comes back to that
group, so its coordinator deletes it, and no coordinator after that may have it again.

When the run ends, the first member joins once more, to see what is committed then.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from highwater_chaos.experiment.contradictions import GROUP_SESSION_MS
from highwater_chaos.workload.history import HistoryRecorder, MicroOp
from highwater_chaos.workload.metadata import RETRY_BACKOFF_NS, MetadataCache, PartitionKey, key_name
from highwater_runtime.ports import MS, SECOND, ClientCore, Endpoint, Ports, RpcFailure
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from highwater_runtime.wire.messages.find_coordinator_request import FindCoordinatorRequest
from highwater_runtime.wire.messages.heartbeat_request import HeartbeatRequest
from highwater_runtime.wire.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from highwater_runtime.wire.messages.join_group_response import JoinGroupResponse
from highwater_runtime.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from highwater_runtime.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from highwater_runtime.wire.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from highwater_runtime.wire.messages.offset_fetch_response import OffsetFetchResponseGroup
from highwater_runtime.wire.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from highwater_runtime.wire.versioned import encode_versioned

GROUP: Final = "workload"

_SHORT_SESSION_MS: Final = 6_000
"""Kafka's ``group.min.session.timeout.ms``."""
_REBALANCE_MS: Final = 4_000
"""Far below the other: who joins and sends no SyncGroup goes by this one."""
_HANGS: Final = 0.1
"""How likely a member that has joined does nothing for a while, longer than its session lasts."""
_HANG_NS: Final = 14 * SECOND
_BEAT_NS: Final = 1 * SECOND
_STAY_NS: Final = 15 * SECOND
"""How long a member stays on average."""
_LONGEST_STAY_NS: Final = 45 * SECOND
"""Less than a group has for a join once faults are over: each member asks for one in that time."""
_AWAY_NS: Final = 2 * SECOND
_LAST_LOOK_NS: Final = 20 * SECOND
_REFUSED: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.UNKNOWN_MEMBER_ID,
    }
)
"""Errors of a commit that is certain not to be written."""


class _Ask(NamedTuple):
    """Send a request and go on with its response, or with an ``RpcFailure``."""

    to: Endpoint
    request: Any
    version: int
    timeout_ns: int


_Life = Generator[_Ask | int, Any, Any]
"""A member's life: yields requests, and numbers of nanoseconds to wait."""


@dataclass(frozen=True, slots=True)
class MemberOptions:
    """Who the member is, where it finds the cluster, and how long it waits before it does anything."""

    name: str
    bootstrap: Sequence[Endpoint]
    topics: Sequence[str]
    request_timeout_ns: int = 2 * SECOND
    number: int = 0
    members: int = 1
    """It commits offsets that no other of so many members does: its ``number``, and every ``members``-th behind it."""
    start_after_ns: int = 0


class GroupMember(ClientCore):
    """A client core."""

    def __init__(self, options: MemberOptions, ports: Ports, recorder: HistoryRecorder) -> None:
        self._options = options
        self._ports = ports
        self._recorder = recorder
        self._metadata = MetadataCache(
            ports, options.bootstrap, options.topics, options.request_timeout_ns, lambda: None
        )
        self._finishing = False
        self._coordinator: Endpoint | None = None
        self._member_id = ""
        self._generation = -1
        self._committed = 0
        self._joins = 0
        self._passed = 0
        self._is_over = False

    # --- NodeCore ---

    def start(self) -> None:
        self._metadata.start()
        self._go_on(self._live(), None)

    def stop(self, on_stopped: Callable[[], None]) -> None:
        """Stop without LeaveGroup."""
        self.finish()
        on_stopped()

    def finish(self) -> None:
        """Leave the group at the next step; the first member joins once more to look."""
        self._finishing = True

    @property
    def idle(self) -> bool:
        """Whether it has left for good."""
        return self._is_over

    def _go_on(self, life: _Life, result: Any) -> None:
        try:
            step = life.send(result)
        except StopIteration:
            self._is_over = True
            self._metadata.stop()
            return
        if isinstance(step, int):
            self._ports.clock.call_later(step, lambda: self._go_on(life, None))
        else:
            self._ports.network.send(
                step.to,
                step.request,
                step.version,
                lambda response: self._go_on(life, response),
                timeout_ns=step.timeout_ns,
                channel="group",
            )

    # --- a member's life ---

    def _live(self) -> _Life:
        while not self._finishing:
            stay_ns = min(int(self._ports.random.expovariate(1.0) * _STAY_NS), _LONGEST_STAY_NS)
            yield from self._take_part(self._ports.clock.now_ns() + stay_ns)
            if self._member_id and (self._ports.random.random() < 0.5 or self._finishing):
                yield from self._leave()
            self._member_id = ""
            if not self._finishing:
                yield from self._pass_by()
                yield int(self._ports.random.random() * _AWAY_NS) + RETRY_BACKOFF_NS
        if self._options.number == 0:
            yield from self._look_once_more()

    def _pass_by(self) -> _Life:
        """Join a group that nobody else ever joins, and leave it."""
        self._passed += 1
        group, member = f"passing-{self._options.number}-{self._passed}", ""
        find = FindCoordinatorRequest(coordinator_keys=[group], key_type=0)
        found = yield _Ask(self._metadata.any_broker(), find, 4, self._options.request_timeout_ns)
        if isinstance(found, RpcFailure) or found.coordinators[0].error_code != ErrorCode.NONE:
            return
        at = Endpoint(found.coordinators[0].host, found.coordinators[0].port)
        for _ in range(2):  # the first response gives it an id
            join = JoinGroupRequest(
                group_id=group,
                session_timeout_ms=_SHORT_SESSION_MS,
                rebalance_timeout_ms=_REBALANCE_MS,
                member_id=member,
                protocol_type="consumer",
                protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
            )
            joined = yield _Ask(at, join, 9, 2 * _REBALANCE_MS * MS)
            if isinstance(joined, RpcFailure) or joined.error_code not in (
                ErrorCode.NONE,
                ErrorCode.MEMBER_ID_REQUIRED,
            ):
                return
            member = joined.member_id
        leave = LeaveGroupRequest(group_id=group, members=[MemberIdentity(member_id=member)])
        yield _Ask(at, leave, 5, self._options.request_timeout_ns)

    def _look_once_more(self) -> _Life:
        """Join once more, and fetch what is committed."""
        until = self._ports.clock.now_ns() + _LAST_LOOK_NS
        while self._ports.clock.now_ns() < until:
            if self._coordinator is None:
                yield from self._find_coordinator()
            elif (yield from self._join()):
                yield from self._leave()
                return
            else:
                yield RETRY_BACKOFF_NS

    def _take_part(self, until_ns: int) -> _Life:
        while not self._finishing and self._ports.clock.now_ns() < until_ns:
            if self._coordinator is None:
                yield from self._find_coordinator()
            elif (yield from self._join()):
                while not self._finishing and self._ports.clock.now_ns() < until_ns:
                    yield _BEAT_NS
                    if not (yield from self._beat_and_commit()):
                        break
            else:
                yield RETRY_BACKOFF_NS

    def _ask(self, request: Any, version: int, timeout_ns: int | None = None) -> _Life:
        """Ask the coordinator; returns the response and its error, and forgets what the error says is gone."""
        assert self._coordinator is not None
        response = yield _Ask(self._coordinator, request, version, timeout_ns or self._options.request_timeout_ns)
        if isinstance(response, RpcFailure):
            self._coordinator = None
            return None, ErrorCode.REQUEST_TIMED_OUT
        error = ErrorCode(getattr(response, "error_code", ErrorCode.NONE))
        match error:
            case ErrorCode.NOT_COORDINATOR | ErrorCode.COORDINATOR_NOT_AVAILABLE:
                self._coordinator = None
            case ErrorCode.UNKNOWN_MEMBER_ID | ErrorCode.ILLEGAL_GENERATION:
                self._member_id = ""
        return response, error

    def _find_coordinator(self) -> _Life:
        request = FindCoordinatorRequest(coordinator_keys=[GROUP], key_type=0)
        response = yield _Ask(self._metadata.any_broker(), request, 4, self._options.request_timeout_ns)
        if not isinstance(response, RpcFailure) and response.coordinators[0].error_code == ErrorCode.NONE:
            self._coordinator = Endpoint(response.coordinators[0].host, response.coordinators[0].port)
        else:
            yield RETRY_BACKOFF_NS

    def _join(self) -> _Life:
        """JoinGroup, SyncGroup and OffsetFetch; returns whether this is a member with an assignment now."""
        self._joins += 1
        mine = ConsumerProtocolSubscription(topics=list(self._options.topics), user_data=b"%d" % self._joins)
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=GROUP_SESSION_MS,
            rebalance_timeout_ms=_REBALANCE_MS,
            member_id=self._member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=encode_versioned(mine, 1))],
        )
        asked = self._recorder.invoke(self._options.name, "committed")
        joined, error = yield from self._ask(request, 9, 2 * _REBALANCE_MS * MS)
        if error is ErrorCode.MEMBER_ID_REQUIRED:
            self._recorder.fail(self._options.name, asked, (), error.name)
            self._member_id = joined.member_id
            return (yield from self._join())
        if error is not ErrorCode.NONE:
            self._recorder.fail(self._options.name, asked, (), error.name)
            return False
        self._member_id, self._generation = joined.member_id, joined.generation_id
        if not self._finishing and self._ports.random.random() < _HANGS:
            yield _HANG_NS
        _, error = yield from self._ask(self._sync(joined), 5, 2 * _REBALANCE_MS * MS)
        if error is not ErrorCode.NONE or self._coordinator is None:
            self._recorder.fail(self._options.name, asked, (), error.name)
            return False
        committed = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=GROUP, topics=None)])
        fetched, error = yield from self._ask(committed, 8)
        if error is ErrorCode.NONE:
            error = ErrorCode(fetched.groups[0].error_code)
        if error is ErrorCode.NONE:
            self._recorder.ok(self._options.name, asked, self._fetched(fetched.groups[0]))
        else:
            self._recorder.fail(self._options.name, asked, (), error.name)
        return self._coordinator is not None

    def _fetched(self, group: OffsetFetchResponseGroup) -> list[MicroOp]:
        """What is committed in each partition, those without an offset included."""
        offsets: dict[PartitionKey, int | None] = dict.fromkeys(self._metadata.partitions)
        for topic in group.topics:
            for one in topic.partitions:
                key = (topic.name, one.partition_index)
                if one.error_code == ErrorCode.NONE:
                    offsets[key] = one.committed_offset if one.committed_offset >= 0 else None
                else:
                    offsets.pop(key, None)
        return [MicroOp("committed", _of_group(key), offset, None) for key, offset in offsets.items()]

    def _sync(self, joined: JoinGroupResponse) -> SyncGroupRequest:
        """Return the SyncGroup request. Only the leader gets the members, so only the leader sends an assignment."""
        return SyncGroupRequest(
            group_id=GROUP,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[
                SyncGroupRequestAssignment(member_id=one.member_id, assignment=one.member_id.encode())
                for one in joined.members
            ],
        )

    def _beat_and_commit(self) -> _Life:
        """One heartbeat and one commit; returns whether the member may go on as it is."""
        beat = HeartbeatRequest(group_id=GROUP, generation_id=self._generation, member_id=self._member_id)
        _, error = yield from self._ask(beat, 4)
        if error is ErrorCode.NONE:
            yield from self._commit(list(self._metadata.partitions))
        return error is ErrorCode.NONE and self._coordinator is not None

    def _commit(self, partitions: Sequence[PartitionKey]) -> _Life:
        self._committed += self._options.members
        offset = self._committed + self._options.number
        commits = [MicroOp("commit", _of_group(key), offset, None) for key in partitions]
        process = self._recorder.invoke(self._options.name, "commit", commits)
        response, error = yield from self._ask(self._commit_request(partitions, offset), 8)
        errors = {error}
        if response is not None:
            errors = {ErrorCode(one.error_code) for topic in response.topics for one in topic.partitions}
        names = ", ".join(sorted(one.name for one in errors))
        if errors <= {ErrorCode.NONE}:
            self._recorder.ok(self._options.name, process, commits)
        elif errors <= _REFUSED:
            self._recorder.fail(self._options.name, process, (), names)
        else:  # part of it may have been written, or all
            self._recorder.info(self._options.name, process, (), names)

    def _commit_request(self, partitions: Sequence[PartitionKey], offset: int) -> OffsetCommitRequest:
        topics: dict[str, OffsetCommitRequestTopic] = {}
        for topic, index in partitions:
            asked = topics.setdefault(topic, OffsetCommitRequestTopic(name=topic, partitions=[]))
            asked.partitions.append(
                OffsetCommitRequestPartition(
                    partition_index=index,
                    committed_offset=offset,
                    committed_metadata=f"generation {self._generation}",
                )
            )
        return OffsetCommitRequest(
            group_id=GROUP,
            generation_id_or_member_epoch=self._generation,
            member_id=self._member_id,
            topics=list(topics.values()),
        )

    def _leave(self) -> _Life:
        if self._coordinator is not None:
            leave = LeaveGroupRequest(group_id=GROUP, members=[MemberIdentity(member_id=self._member_id)])
            yield from self._ask(leave, 5)


def _of_group(key: PartitionKey) -> str:
    return f"{GROUP}/{key_name(key)}"


__all__ = ["GROUP", "GroupMember", "MemberOptions"]
