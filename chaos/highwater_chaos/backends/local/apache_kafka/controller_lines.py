"""How a controller of Apache Kafka judged proposals of ISRs: its log of requests, as events.

The logger ``kafka.request.logger`` writes each completed request with its answer as JSON. A request says what a leader
proposed, under which epochs, the answer what became of it. A line comes when the answer has left, long after the
decision. Who knows when the decision was committed puts it there.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import msgspec

from highwater_chaos.backends.local.apache_kafka.event_lines import Line
from highwater_runtime.ports.trace import AlterPartitionHandled
from highwater_runtime.wire.errors import ErrorCode

_LOGGER: Final = "kafka.request.logger"
_BEGINS: Final = "Completed request:"
_IS_ONE: Final = '"requestApiKeyName":"ALTER_PARTITION"'
_NOT_JUDGED: Final = (ErrorCode.NOT_CONTROLLER, ErrorCode.UNSUPPORTED_VERSION)


class _Camel(msgspec.Struct, rename="camel"):
    pass


class _Member(_Camel):
    broker_id: int
    broker_epoch: int = -1


class _Proposal(_Camel):
    partition_index: int
    leader_epoch: int
    partition_epoch: int
    new_isr: list[int] = []
    new_isr_with_epochs: list[_Member] = []


class _Outcome(_Camel):
    partition_index: int
    error_code: int
    partition_epoch: int = -1


class _Proposals(_Camel):
    partitions: list[_Proposal]
    topic_id: str = ""
    topic_name: str = ""


class _Outcomes(_Camel):
    partitions: list[_Outcome]
    topic_id: str = ""
    topic_name: str = ""


class _Request(_Camel):
    broker_id: int
    topics: list[_Proposals]


class _Response(_Camel):
    error_code: int
    topics: list[_Outcomes] = []


class _Completed(_Camel):
    request: _Request
    response: _Response


_decode: Final = msgspec.json.Decoder(_Completed).decode


class Judged(NamedTuple):
    """A judgement. ``partition_epoch``: the one that was committed by it; −1: none. ``topic_id``: "" if the request
    names the topic."""

    ns: int
    wall_ns: int
    topic_id: str
    partition_epoch: int
    event: AlterPartitionHandled


class ControllerLines:
    """Reads the lines of one incarnation of a controller. ``topic``: the name of a topic by its id, None: not known."""

    def __init__(self, topic: Callable[[str], str | None]) -> None:
        self.lost: str | None = None
        """Why some of its lines could not be understood; None: all could."""
        self._topic = topic

    def judgements_of(self, line: Line) -> Iterator[Judged]:
        """The judgements that a line reports."""
        if line.logger != _LOGGER or not line.text.startswith(_BEGINS) or _IS_ONE not in line.text:
            return
        try:
            completed = _decode(line.text[len(_BEGINS) :])
        except msgspec.DecodeError as error:
            self.lost = self.lost or f"an AlterPartition request cannot be read: {error}"
            return
        outcomes = {
            (topic.topic_id or topic.topic_name, one.partition_index): one
            for topic in completed.response.topics
            for one in topic.partitions
        }
        for topic in completed.request.topics:
            for proposal in topic.partitions:
                outcome = outcomes.get((topic.topic_id or topic.topic_name, proposal.partition_index))
                code = completed.response.error_code or (0 if outcome is None else outcome.error_code)
                if code in _NOT_JUDGED:
                    continue
                topic_id = _hex(topic.topic_id)
                name = self._topic(topic_id) if topic.topic_id else topic.topic_name
                if name is None or (outcome is None and not code):
                    self.lost = self.lost or f"an AlterPartition request names the topic {topic.topic_id!r}"
                    continue
                event = _event(completed.request.broker_id, name, proposal, code)
                epoch = _committed(proposal, outcome, code)
                yield Judged(line.ns, line.wall * 1_000_000, topic_id, epoch, event)


def _committed(proposal: _Proposal, outcome: _Outcome | None, code: int) -> int:
    """The partition epoch of the decision that was made by it; −1: none was made."""
    if code == ErrorCode.NEW_LEADER_ELECTED:  # the answer says no more
        return proposal.partition_epoch + 1
    if code or outcome is None or outcome.partition_epoch <= proposal.partition_epoch:
        return -1
    return outcome.partition_epoch


def _event(broker: int, topic: str, proposal: _Proposal, code: int) -> AlterPartitionHandled:
    members = proposal.new_isr_with_epochs or [_Member(one) for one in proposal.new_isr]
    return AlterPartitionHandled(
        partition=f"{topic}-{proposal.partition_index}",
        broker=broker,
        leader_epoch=proposal.leader_epoch,
        partition_epoch=proposal.partition_epoch,
        isr=[one.broker_id for one in members],
        isr_epochs=[one.broker_epoch for one in members],
        registered_epochs=[-1] * len(members),
        metadata_offset=-1,
        reason=_name(code),
    )


def _name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"ERROR_{code}"


def _hex(topic_id: str) -> str:
    try:
        return urlsafe_b64decode(topic_id + "=" * (-len(topic_id) % 4)).hex()
    except ValueError:
        return ""
