"""Observes a cluster by requests that any administrator may send: Metadata of all brokers, DescribeQuorum of one.

The answers of one round are joined. A broker is live if most of the brokers that answered name it. A partition is as
its leader says, which knows its ISR first; if it did not answer, as the broker with the highest leader epoch says. So
what is seen was true a moment ago, and not all that happened is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from highwater_chaos.backends.attach.discovery import QUORUM, QUORUM_VERSION
from highwater_chaos.backends.attach.session import METADATA_VERSION
from highwater_chaos.backends.local.apache_kafka.high_watermarks import Led
from highwater_runtime.ports import MS, SECOND, ClientCore, Endpoint, Ports, RpcFailure
from highwater_runtime.ports.trace import (
    BrokerRegistered,
    BrokerRegistrationChanged,
    BrokerStateChanged,
    ControllerChanged,
    NodeEvent,
    PartitionChanged,
    RaftStateChanged,
)
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic

_EVERY_NS: Final = 250 * MS
_TIMEOUT_NS: Final = 1 * SECOND
_MOST_PARTITIONS: Final = 10_000

Report = Callable[[str, NodeEvent], None]
"""Gets events with the name of the node that they are said to be of."""


class _Part(NamedTuple):
    """A partition as one broker has it."""

    topic_id: str
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


class Watcher(ClientCore):
    """A client core.

    Args:
        cluster_id: what all answers must name.
        brokers: where they are, by id.
        has_quorum: whether a quorum can be asked for; else the controller is the broker that Metadata names.
        topics: which topics are the run's own, now.
        complain: hears what makes the run impossible to judge.
    """

    def __init__(
        self,
        cluster_id: str,
        brokers: Mapping[int, Endpoint],
        *,
        has_quorum: bool,
        topics: Callable[[], Sequence[str]],
        report: Report,
        complain: Callable[[str], None],
        ports: Ports,
    ) -> None:
        self._cluster_id = cluster_id
        self._brokers = brokers
        self._has_quorum = has_quorum
        self._topics = topics
        self._report = report
        self._complain = complain
        self._ports = ports
        self._answers: dict[int, Any] = {}
        self._waiting = 0
        self._offset = 1  # by which the brokers are registered and unfenced
        self._live = dict.fromkeys(brokers, True)
        self._parts: dict[str, _Part] = {}
        self._leader = (-1, -1)
        self._turn = 0
        self._round = 0
        self._again: dict[int, int] = {}
        """Brokers that have started again and were not seen in the cluster yet: by which round they may be."""
        self._epochs = dict.fromkeys(brokers, 0)
        self.heard: dict[int, tuple[int, bool]] = {}
        """Of each broker: the last round that it has answered, or failed to (False)."""

    # --- NodeCore ---

    def start(self) -> None:
        """Ask for the first time."""
        self._ask()

    # --- what is known ---

    @property
    def round(self) -> int:
        """Return which round of requests is under way."""
        return self._round

    def is_live(self, broker: int) -> bool:
        """Whether most brokers named it in the last round."""
        return self._live[broker]

    def restarted(self, broker: int) -> None:
        """Wait for a broker that has started again: it is in the cluster once itself says so, in a round that began
        after that. What others say may be about the process before."""
        self._again[broker] = self._round + 1
        self._live[broker] = False

    def led(self) -> Iterator[Led]:
        """The partitions that have a leader."""
        for name, part in list(self._parts.items()):
            if part.leader >= 0:
                topic, _, index = name.rpartition("-")
                yield Led(topic, int(index), part.leader, part.leader_epoch)

    # --- rounds ---

    def _ask(self) -> None:
        self._answers, self._waiting = {}, len(self._brokers)
        self._round += 1
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in self._topics()], allow_auto_topic_creation=False
        )
        for broker, endpoint in self._brokers.items():
            self._ports.network.send(
                endpoint, request, METADATA_VERSION, partial(self._answered, broker), timeout_ns=_TIMEOUT_NS
            )
        if self._has_quorum:
            self._turn += 1
            asked = list(self._brokers.values())[self._turn % len(self._brokers)]
            self._ports.network.send(
                asked, QUORUM, QUORUM_VERSION, self._quorum, timeout_ns=_TIMEOUT_NS, channel="quorum"
            )

    def _answered(self, broker: int, response: Any) -> None:
        self._waiting -= 1
        self.heard[broker] = (self._round, not isinstance(response, RpcFailure))
        if not isinstance(response, RpcFailure):
            if response.cluster_id == self._cluster_id:
                self._answers[broker] = response
            else:
                self._complain(
                    f"broker {broker} at {self._brokers[broker]} is of the cluster {response.cluster_id!r} now, not of"
                    f" {self._cluster_id!r}"
                )
        if self._waiting == 0:
            if self._answers:
                self._join()
            self._ports.clock.call_later(_EVERY_NS, self._ask)

    def _quorum(self, response: Any) -> None:
        if isinstance(response, RpcFailure) or response.error_code or not response.topics:
            return
        for one in response.topics[0].partitions:
            seen = (one.leader_epoch, one.leader_id)
            if one.error_code == ErrorCode.NONE and one.leader_id >= 0 and seen > self._leader:
                self._leader = seen
                self._report(
                    f"controller-{one.leader_id}",
                    RaftStateChanged(epoch=one.leader_epoch, leader=one.leader_id, broker=-1, reason="leader"),
                )

    def _join(self) -> None:
        answers = self._answers
        for broker in self._brokers:
            named = sum(any(one.node_id == broker for one in answer.brokers) for answer in answers.values())
            self._see_broker(broker, 2 * named > len(answers))
        if not self._has_quorum:
            self._see_controller([answer.controller_id for answer in answers.values()])
        found: dict[str, list[tuple[bool, int, _Part]]] = {}
        for broker, answer in answers.items():
            for name, part in _parts_of(answer):
                found.setdefault(name, []).append((broker == part.leader, part.leader_epoch, part))
        for name, said in list(found.items())[:_MOST_PARTITIONS]:
            _, _, part = max(said, key=lambda one: (one[1], one[0]))
            self._see_partition(name, part)
        for name in [name for name in self._parts if name not in found]:
            self._see_deleted(name, answers.values())

    def _see_broker(self, broker: int, live: bool) -> None:
        if broker in self._again:
            answer = self._answers.get(broker)
            itself = answer is not None and any(one.node_id == broker for one in answer.brokers)
            if not live or not itself or self._round < self._again[broker]:
                return
            del self._again[broker]
            self._see_registered(broker)
        if self._live[broker] == live:
            return
        self._live[broker] = live
        reason = "unfenced" if live else "fenced"
        self._report(
            f"broker-{broker}",
            BrokerRegistrationChanged(
                broker=broker,
                broker_epoch=self._epochs[broker],
                metadata_offset=self._next_offset(),
                reason=reason,
            ),
        )

    def _see_registered(self, broker: int) -> None:
        """Of the process that runs now. The epoch of its registration is not told: they are counted."""
        epoch = self._epochs[broker] = self._epochs[broker] + 1
        name = f"broker-{broker}"
        self._report(name, BrokerStateChanged(broker=broker, broker_epoch=epoch, reason="running"))
        offset = self._next_offset()
        self._report(name, BrokerRegistered(broker=broker, broker_epoch=epoch, metadata_offset=offset, reason=""))

    def _see_controller(self, named: Sequence[int]) -> None:
        controller = max(set(named), key=lambda one: (named.count(one), one))
        if controller != self._leader[1]:
            self._leader = (self._leader[0] + 1, controller)
            offset = self._next_offset()
            name = f"broker-{max(controller, 0)}"
            self._report(name, ControllerChanged(broker=controller, epoch=self._leader[0], metadata_offset=offset))

    def _see_partition(self, name: str, part: _Part) -> None:
        before = self._parts.get(name)
        if before == part or (
            before is not None and before.topic_id == part.topic_id and part.leader_epoch < before.leader_epoch
        ):
            return
        self._parts[name] = part
        self._say(name, part, "created" if before is None else "changed")

    def _see_deleted(self, name: str, answers: Any) -> None:
        """Gone if no broker knows the topic; a partition that only has an error is there."""
        topic = name.rpartition("-")[0]
        said = [one.error_code for answer in answers for one in answer.topics if one.name == topic]
        if said and all(code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for code in said):
            self._say(name, self._parts.pop(name), "deleted")

    def _say(self, name: str, part: _Part, reason: str) -> None:
        offset = self._next_offset()
        self._report(
            f"broker-{part.leader if part.leader >= 0 else next(iter(self._brokers))}",
            PartitionChanged(
                partition=name,
                topic_id=part.topic_id,
                replicas=list(part.replicas),
                isr=list(part.isr),
                leader=part.leader,
                leader_epoch=part.leader_epoch,
                partition_epoch=offset,
                metadata_offset=offset,
                reason=reason,
            ),
        )

    def _next_offset(self) -> int:
        """What was seen is numbered, since no offset of the metadata is told."""
        self._offset += 1
        return self._offset


def _parts_of(answer: Any) -> Iterator[tuple[str, _Part]]:
    for topic in answer.topics:
        if topic.error_code != ErrorCode.NONE:
            continue
        for one in topic.partitions:
            yield (
                f"{topic.name}-{one.partition_index}",
                _Part(
                    topic.topic_id.hex if topic.topic_id.int else "",
                    one.leader_id,
                    one.leader_epoch,
                    tuple(one.replica_nodes),
                    tuple(one.isr_nodes),
                ),
            )
