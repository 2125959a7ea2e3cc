"""What a follower does when its leader has no record at the follower's LEO (OFFSET_OUT_OF_RANGE).

A follower on Fetch ≥ 12 sees divergence before it sees this, so two cases remain:

* The leader's whole log ends before the follower's (unclean election, and the epochs did not tell): cut to its end.
* The leader's log begins behind the follower's end (retention overtook it): start over where the leader begins.

Both are found by asking the leader for its end and its beginning, fenced by leader epoch if ``version`` of ListOffsets
can be. (Kafka before 2.0 ends the broker in the first case, unless unclean elections are allowed: KAFKA-3410.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from highwater_runtime.broker.partition import Partition
from highwater_runtime.log.errors import LogError
from highwater_runtime.ports import Endpoint, Network, RpcFailure
from highwater_runtime.ports.trace import Transition, TransitionTaken
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from highwater_runtime.wire.messages.list_offsets_response import ListOffsetsResponse

LATEST: Final = -1
EARLIEST: Final = -2
FENCED_SINCE: Final = 4
"""The first version of ListOffsets that names the leader epoch that it is for."""
ANY_LEADER_EPOCH: Final = -1
CHANNEL: Final = "fetcher"
_MOST_OFFSET: Final = 1 << 62


def is_offset(number: int) -> bool:
    """Whether a log may end or begin there. Far beyond, offsets would in time no longer fit into a message."""
    return 0 <= number <= _MOST_OFFSET


def repair_offset_out_of_range(
    partition: Partition,
    leader: Endpoint,
    network: Network,
    *,
    version: int,
    broker_id: int,
    timeout_ns: int,
    still_current: Callable[[], bool],
    on_done: Callable[[bool], None],
    on_refused: Callable[[LogError], None],
) -> None:
    """Bring ``partition`` back into the leader's range.

    ``on_done(False)`` where that must be tried again later, ``on_refused`` where the log would not be cut.
    """

    def ask(timestamp: int, on_offset: Callable[[int], None]) -> None:
        request = ListOffsetsRequest(
            replica_id=broker_id,
            topics=[
                ListOffsetsTopic(
                    name=partition.topic,
                    partitions=[
                        ListOffsetsPartition(
                            partition_index=partition.index,
                            current_leader_epoch=partition.leader_epoch
                            if version >= FENCED_SINCE
                            else ANY_LEADER_EPOCH,
                            timestamp=timestamp,
                        )
                    ],
                )
            ],
        )

        def answered(response: Any) -> None:
            if not still_current() or isinstance(response, RpcFailure):
                on_done(False)
                return
            offset = _offset_of(response, partition)
            if offset is None:
                on_done(False)
                return
            try:
                on_offset(offset)
            except LogError as error:
                on_refused(error)

        network.send(leader, request, version, answered, timeout_ns=timeout_ns, channel=CHANNEL)

    def repaired(how: Transition) -> None:
        partition.context.trace.emit(TransitionTaken(reason=how, partition=partition.name))
        on_done(True)

    def with_leader_end(leader_end: int) -> None:
        if leader_end < partition.log.log_end_offset:
            partition.cut_to_leader_end(leader_end)
            repaired("fetch-offset-repaired-to-leader-end")
        else:
            ask(EARLIEST, with_leader_start)

    def with_leader_start(leader_start: int) -> None:
        if leader_start > partition.log.log_end_offset:
            partition.start_over_at(leader_start)
            repaired("fetch-offset-repaired-to-leader-start")
        else:
            on_done(False)  # in range after all: the leader has moved on meanwhile

    ask(LATEST, with_leader_end)


def _offset_of(response: ListOffsetsResponse, partition: Partition) -> int | None:
    """The offset that the leader names for ``partition``; None if it names none, or one that no log can have."""
    for topic in response.topics:
        for answer in topic.partitions:
            if (topic.name, answer.partition_index) == (partition.topic, partition.index):
                return answer.offset if answer.error_code == ErrorCode.NONE and is_offset(answer.offset) else None
    return None
