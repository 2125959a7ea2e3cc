"""The leader writes its ISR itself, by a conditional write (Detailed Replication Design V3, G and discussion 3).

* The write names the version of ``leaderAndISR`` that this leader knows. If the controller has written since, it fails,
  and this leader is behind: it commits nothing with the ISR it wanted, and waits for the controller's command.
* The same transaction also writes a notification for the controller (``/isr_change_notification``).
* An answer that is lost leaves open whether the write was done. The same write is tried again; if the version has
  moved, the node is read: if it holds what this leader wrote, the write was done (Kafka's ``ReplicationUtils``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from highwater_runtime.broker import metrics
from highwater_runtime.broker.isr import Answer, OnAnswer, Proposal
from highwater_runtime.broker.mode import BrokerContext
from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.broker.zk.membership import Membership
from highwater_runtime.metadata.znodes import (
    ISR_CHANGE_PREFIX,
    IsrChangeNode,
    LeaderAndIsrNode,
    PartitionName,
    ZnodeError,
    decode_node,
    encode_node,
    leader_and_isr_path,
)
from highwater_runtime.ports import MS
from highwater_runtime.ports.coordination import Aborted, Create, Data, Failure, Get, Multi, Set, Stat, StepResult
from highwater_runtime.ports.trace import TransitionTaken
from highwater_runtime.wire.errors import ErrorCode

RETRY_BACKOFF_NS: Final = 50 * MS


class IsrWrites:
    """An :class:`~highwater_runtime.broker.replica_manager.IsrWriter`. ``controller_epochs`` has the epoch of the
    controller that decided on each partition's leader: the leader keeps it in what it writes."""

    def __init__(
        self, context: BrokerContext, membership: Membership, controller_epochs: Mapping[PartitionKey, int]
    ) -> None:
        self._context = context
        self._membership = membership
        self._controller_epochs = controller_epochs
        self._waiting: dict[PartitionKey, Proposal] = {}

    def propose(self, key: PartitionKey, proposal: Proposal, on_answer: OnAnswer) -> None:
        role = self._context.replicas.roles.get(key)
        if role is None:
            return
        self._waiting[key] = proposal
        node = LeaderAndIsrNode(
            leader=self._context.options.node_id,
            leader_epoch=proposal.leader_epoch,
            isr=proposal.isr,
            controller_epoch=self._controller_epochs.get(key, 0),
        )
        path, data = leader_and_isr_path(role.topic, key[1]), encode_node(node)
        news = IsrChangeNode(partitions=(PartitionName(topic=role.topic, partition=key[1]),))
        write = Multi(
            steps=(
                Set(path, data, proposal.partition_epoch),
                Create(ISR_CHANGE_PREFIX, encode_node(news), sequential=True),
            )
        )

        def is_waiting() -> bool:
            return self._waiting.get(key) is proposal

        def answer(answer: Answer) -> None:
            del self._waiting[key]
            if answer.error != ErrorCode.NONE:
                self._context.ports.metrics.counter(metrics.FAILED_ISR_UPDATES)
            if on_answer(proposal, answer):
                self._waiting[key] = proposal
                self._later(is_waiting, attempt)

        def attempt() -> None:
            self._membership.submit(write, written)

        def written(result: tuple[StepResult, ...] | Aborted | Failure) -> None:
            if not is_waiting():
                return
            match result:
                case (Stat(version=version), _):
                    answer(Answer(ErrorCode.NONE, proposal.leader_epoch, version, proposal.isr))
                case Aborted(failure=Failure.BAD_VERSION):
                    self._membership.submit(Get(path), compare)
                case Aborted(failure=Failure.NO_NODE):
                    answer(Answer(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
                case _:
                    self._context.ports.trace.emit(TransitionTaken(reason="isr-write-retried"))
                    self._later(is_waiting, attempt)

        def compare(result: Data | Failure) -> None:
            if not is_waiting():
                return
            match result:
                case Data(data=found, stat=stat) if _is(path, found, node):
                    answer(Answer(ErrorCode.NONE, proposal.leader_epoch, stat.version, proposal.isr))
                case Data():
                    self._context.ports.trace.emit(TransitionTaken(reason="isr-write-refused"))
                    answer(Answer(ErrorCode.INVALID_UPDATE_VERSION))
                case Failure.NO_NODE:
                    answer(Answer(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
                case _:
                    self._later(is_waiting, attempt)

        attempt()

    def withdraw(self, key: PartitionKey) -> None:
        self._waiting.pop(key, None)

    def _later(self, is_waiting: Callable[[], bool], attempt: Callable[[], None]) -> None:
        def again() -> None:
            if is_waiting():
                attempt()

        self._context.ports.clock.call_later(RETRY_BACKOFF_NS, again)


def _is(path: str, found: bytes, written: LeaderAndIsrNode) -> bool:
    """Whether the node at ``path`` holds what this leader wrote."""
    try:
        return decode_node(LeaderAndIsrNode, path, found) == written
    except ZnodeError:
        return False
