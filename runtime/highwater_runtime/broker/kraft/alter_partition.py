"""AlterPartition: how leaders ask the controller for a new ISR (KIP-497, KIP-841, KIP-903).

Rules in words:

* One request is in flight at a time. Proposals that come up meanwhile wait and travel together in the next one, at
  most one for each partition: a newer one replaces an older one that has not been sent.
* Version 3 carries each member's replica epoch (``NewIsrWithEpochs``), version 2 does not (``NewIsr``); the
  ``metadata.version`` in force when the request is built decides.
* A request that fails as a whole (no answer, the controller moved, this broker's epoch is stale, …) is repeated with
  the same proposals. The controller recognises by the partition epoch what it has carried out already.
* What the answer for one partition means is the leader's affair (``on_answer``); it may ask for
  a repetition.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, Final
from uuid import UUID

from highwater_runtime.broker.controller_channel import ControllerChannel
from highwater_runtime.broker.isr import Answer, OnAnswer, Proposal
from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.metadata import LeaderRecoveryState
from highwater_runtime.ports import MS, Clock, RpcFailure
from highwater_runtime.wire.errors import ErrorCode, error_of
from highwater_runtime.wire.messages.alter_partition_request import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)

MOST_TOGETHER: Final = 500
"""Proposals in one request: neither controller nor leader works on more in one event."""

RETRY_BACKOFF_NS = 50 * MS
"""Before a refused request is repeated (Kafka's AlterPartitionManager)."""


_Item = tuple[Proposal, OnAnswer]


class AlterPartitionManager:
    """Sends this broker's ISR proposals.

    Args:
        version: the AlterPartition version to use now (from ``metadata.version``).
        broker_epoch: this broker's present epoch.
        count_failure: called once for each request that failed as a whole or partition that was refused.
        retried: called each time a request, or a partition of it, is to be asked for again.
    """

    def __init__(
        self,
        channel: ControllerChannel,
        clock: Clock,
        broker_id: int,
        *,
        broker_epoch: Callable[[], int],
        version: Callable[[], int],
        count_failure: Callable[[], None],
        retried: Callable[[], None] = lambda: None,
    ) -> None:
        self._channel = channel
        self._clock = clock
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._version = version
        self._count_failure = count_failure
        self._retried = retried
        self._waiting: dict[PartitionKey, _Item] = {}
        self._in_flight: dict[PartitionKey, _Item] = {}

    def propose(self, key: PartitionKey, proposal: Proposal, on_answer: OnAnswer) -> None:
        """Ask the controller for ``proposal``."""
        self._waiting[key] = (proposal, on_answer)
        self._send()

    def withdraw(self, key: PartitionKey) -> None:
        """Forget a proposal of this partition that has not been sent. One under way cannot be called back."""
        self._waiting.pop(key, None)

    def _send(self) -> None:
        if self._in_flight or not self._waiting:
            return
        if len(self._waiting) <= MOST_TOGETHER:
            self._in_flight, self._waiting = self._waiting, {}
        else:
            for key in list(islice(self._waiting, MOST_TOGETHER)):
                self._in_flight[key] = self._waiting.pop(key)
        self._ask()

    def _ask(self) -> None:
        self._channel.ask(self._build, self._answered)

    def _build(self) -> tuple[AlterPartitionRequest, int]:
        version = self._version()
        proposals = {key: proposal for key, (proposal, _) in self._in_flight.items()}
        return build_request(self._broker_id, self._broker_epoch(), proposals, version), version

    def _answered(self, response: Any) -> None:
        if isinstance(response, RpcFailure) or response.error_code != ErrorCode.NONE:
            # STALE_BROKER_EPOCH among them: this broker registers again, then repeats its request with its new epoch.
            self._count_failure()
            self._retried()
            self._clock.call_later(RETRY_BACKOFF_NS, self._ask)
            return
        answers = read_answers(response)
        asked, self._in_flight = self._in_flight, {}
        again: dict[PartitionKey, _Item] = {}
        for key, (proposal, on_answer) in asked.items():
            # A controller that leaves a partition out has not judged it: ask again.
            answer = answers.get(key, Answer(ErrorCode.UNKNOWN_SERVER_ERROR))
            if answer.error != ErrorCode.NONE:
                self._count_failure()
            if on_answer(proposal, answer):
                self._retried()
                again[key] = (proposal, on_answer)
        for key, item in again.items():
            self._waiting.setdefault(key, item)
        if again:
            self._clock.call_later(RETRY_BACKOFF_NS, self._send)
        else:
            self._send()


def build_request(
    broker_id: int, broker_epoch: int, proposals: dict[PartitionKey, Proposal], version: int
) -> AlterPartitionRequest:
    """One request for all ``proposals``, topics and partitions in their order."""
    topics: dict[UUID, TopicData] = {}
    for (topic_id, index), proposal in proposals.items():
        topic = topics.setdefault(topic_id, TopicData(topic_id=topic_id, partitions=[]))
        partition = PartitionData(
            partition_index=index,
            leader_epoch=proposal.leader_epoch,
            partition_epoch=proposal.partition_epoch,
            # A leader's log is all there is to recover from, so a leader counts as recovered from the start.
            leader_recovery_state=int(LeaderRecoveryState.RECOVERED),
        )
        if version >= 3:
            partition.new_isr_with_epochs = [
                BrokerState(broker_id=b, broker_epoch=e) for b, e in zip(proposal.isr, proposal.isr_epochs, strict=True)
            ]
        else:
            partition.new_isr = list(proposal.isr)
        topic.partitions.append(partition)
    return AlterPartitionRequest(broker_id=broker_id, broker_epoch=broker_epoch, topics=list(topics.values()))


def read_answers(response: Any) -> dict[PartitionKey, Answer]:
    """The answers of an ``AlterPartitionResponse`` by partition."""
    return {
        (topic.topic_id, partition.partition_index): Answer(
            error_of(partition.error_code),
            partition.leader_epoch,
            partition.partition_epoch,
            tuple(partition.isr),
        )
        for topic in response.topics
        for partition in topic.partitions
    }
