"""Every order in which an ISR proposal can go wrong: does the leader ever commit without a member of the ISR?

A small model around the real rules. The leader (broker 1) is a real partition. What controllers decide is decided by
the real functions on real images. Broker 2 fetched at offset 1 and was proposed; then the leader appended one more
record, and broker 2 has not fetched since. So the HW may be 2 only while broker 2 is not in the ISR that the metadata
log holds. What the world may do meanwhile, in any order:

* a request reaches its controller late, twice, or never; its answer is late or lost, and the leader asks again;
* another controller is elected, up to twice; the deposed one does not notice, and judges by what it knew;
* broker 2 is fenced, unfenced, or registers again with an empty disk;
* the leader replays the metadata log, hears of the new controller, or makes its periodic pass over the ISR.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import pytest

from highwater_runtime.broker.isr import Answer, Proposal
from highwater_runtime.broker.kraft.alter_partition import build_request, read_answers
from highwater_runtime.controller.kraft import broker_state
from highwater_runtime.controller.kraft.alter_partition import alter_partition
from highwater_runtime.metadata import MetadataImage, MetadataVersion, PartitionRegistration, replica_epoch_matches
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.feature_level_record import FeatureLevelRecord
from highwater_runtime.wire.messages.partition_record import PartitionRecord
from highwater_runtime.wire.messages.register_broker_record import BrokerEndpoint, RegisterBrokerRecord
from highwater_runtime.wire.messages.topic_record import TopicRecord

ORDERS = UUID(int=5)
KEY = (ORDERS, 0)
LAG_NS = 3_000_000_000

Input = tuple[Any, ...]
"""What reaches the leader: metadata (the partition, epochs of the active brokers), an answer, or a periodic pass."""


def registration(broker_id: int, epoch: int, *, fenced: bool = False) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker_id,
        broker_epoch=epoch,
        incarnation_id=UUID(int=epoch),
        end_points=[BrokerEndpoint(name="PLAINTEXT", host=f"broker-{broker_id}", port=9092, security_protocol=0)],
        features=[],
        fenced=fenced,
    )


def after(image: MetadataImage, records: list[Any]) -> MetadataImage:
    changed = image.copy()
    for record in records:
        changed.apply(record, changed.offset + 1)
    return changed


FIRST = after(
    MetadataImage(),
    [
        FeatureLevelRecord(name="metadata.version", feature_level=int(MetadataVersion.latest())),
        registration(1, 11),
        registration(2, 12),
        TopicRecord(name="orders", topic_id=ORDERS),
        PartitionRecord(
            partition_id=0, topic_id=ORDERS, replicas=[1, 2], isr=[1], leader=1, leader_epoch=0, partition_epoch=0
        ),
    ],
)


def in_log(image: MetadataImage) -> PartitionRegistration:
    return image.topics_by_id[ORDERS].partitions[0]


def active(image: MetadataImage) -> tuple[tuple[int, int], ...]:
    return tuple((b.id, b.epoch) for b in image.brokers.values() if b.active)


@dataclass(frozen=True)
class ByValue:
    """A :class:`Proposal`, compared by value: equal ones of different replays are the same."""

    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    isr_epochs: tuple[int, ...]
    reason: str

    @classmethod
    def of(cls, proposal: Proposal) -> ByValue:
        return cls(proposal.leader_epoch, proposal.partition_epoch, proposal.isr, proposal.isr_epochs, proposal.reason)


@dataclass(frozen=True)
class Leader:
    """What can be seen of the leader after some inputs."""

    high_watermark: int
    partition_epoch: int
    committed: tuple[int, ...]
    proposal: ByValue | None
    eligible: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Try:
    """One request for a proposal, to one controller node; ``waited``: the leader still waits for its answer."""

    node: int
    proposal: ByValue
    waited: bool


@dataclass(frozen=True)
class World:
    """One state. Controllers are known by the epoch in which they lead; node ``e % 2`` leads in epoch ``e``."""

    inputs: tuple[Input, ...] = ()
    log: tuple[tuple[int, MetadataImage], ...] = ((1, FIRST),)
    """Controller epoch and image after each committed batch."""
    ended: tuple[int, ...] = ()
    """Length of the log at the end of epochs 1, 2, …: what their controllers, deposed without noticing, go on from."""
    known: int = 1
    """The newest controller epoch that the leader has heard of."""
    replayed: int = 1
    on_the_way: tuple[Try, ...] = ()
    waiting_for: ByValue | None = None
    answer: Answer | None = None
    """The answer on its way to the leader, to the try that it waits for."""
    end_of_2: int = 1
    left: tuple[str, ...] = ()
    """What may still happen."""

    @property
    def epoch(self) -> int:
        return len(self.ended) + 1

    @property
    def image(self) -> MetadataImage:
        return self.log[-1][1]

    def happens(self, what: str, **changes: Any) -> World:
        at = self.left.index(what)
        return replace(self, left=self.left[:at] + self.left[at + 1 :], **changes)

    def commit(self, records: list[Any]) -> World:
        return replace(self, log=(*self.log, (self.epoch, after(self.image, records)))) if records else self

    def waits_no_longer(self) -> World:
        forgotten = tuple(replace(one, waited=False) for one in self.on_the_way)
        return replace(self, on_the_way=forgotten, waiting_for=None, answer=None)

    def known_to(self, node: int) -> MetadataImage | None:
        """What a controller judges by: the log if it leads, what it knew if it was deposed, or nothing at all."""
        led = [epoch for epoch in range(1, self.epoch + 1) if epoch % 2 == node]
        if not led:
            return None
        return self.image if led[-1] == self.epoch else self.log[self.ended[led[-1] - 1] - 1][1]

    def key(self, leader: Leader) -> tuple[Any, ...]:
        """Equal for states from which the same can follow."""
        images = [self.known_to(0), self.known_to(1), *(image for _, image in self.log[self.replayed :])]
        epochs = tuple(epoch for epoch, _ in self.log[self.replayed :])
        seen = tuple(i and (in_log(i), active(i), i.brokers[2].epoch) for i in images)
        on_the_way = tuple(sorted(self.on_the_way, key=repr))
        rest = (self.known, self.epoch, on_the_way, self.waiting_for, self.answer, self.end_of_2, self.left)
        return leader, seen, epochs, rest


class Model:
    """The moves of the world.

    Args:
        refusal_moves_epoch: the rule of the controller, to be broken.
        ask_anybody: whether the leader asks any controller, not only the one that it knows as leader.
        slow: whether a request may arrive after its retry was sent.
    """

    def __init__(
        self,
        make_bench: Callable[..., Any],
        *,
        refusal_moves_epoch: bool = True,
        ask_anybody: bool = False,
        slow: bool = True,
    ) -> None:
        self._make_bench = make_bench
        self._refusal_moves_epoch = refusal_moves_epoch
        self._ask_anybody = ask_anybody
        self._slow = slow
        self._leaders: dict[tuple[Input, ...], Leader] = {}

    def leader(self, inputs: tuple[Input, ...]) -> Leader:
        if inputs not in self._leaders:
            self._leaders[inputs] = self._replay(inputs)
        return self._leaders[inputs]

    def _replay(self, inputs: tuple[Input, ...]) -> Leader:
        bench = self._make_bench()
        partition = bench.partition
        bench.registered = dict(active(FIRST))
        partition.apply(in_log(FIRST))
        bench.append(b"1")
        bench.fetched(2, 1)
        bench.append(b"2")
        bench.clock.advance(LAG_NS + 1)
        for what, *rest in inputs:
            if what == "metadata":
                bench.registered = dict(rest[1])
                partition.apply(rest[0])
                bench.leading.advance_high_watermark()
            elif what == "answer":
                bench.leading.proposal_answered(partition.isr.proposal, rest[0])
            else:
                bench.leading.review_isr()
        return Leader(
            partition.high_watermark,
            partition.partition_epoch,
            partition.isr.committed,
            None if partition.isr.proposal is None else ByValue.of(partition.isr.proposal),
            tuple(bench.registered.items()),
        )

    def moves(self, w: World) -> Iterator[tuple[str, World]]:
        proposal = self.leader(w.inputs).proposal
        if proposal is not None and w.waiting_for is None and "try" in w.left:
            for node in (0, 1) if self._ask_anybody else (w.known % 2,):
                on_the_way = (*w.on_the_way, Try(node, proposal, waited=True))
                yield f"node {node} is asked", w.happens("try", on_the_way=on_the_way, waiting_for=proposal)
        if w.waiting_for is not None:
            yield "no answer in time", w.waits_no_longer()
        for at, one in enumerate(w.on_the_way):
            if not (one.waited or self._slow):
                continue
            name = "the request" if one.waited else "an earlier request"
            rest = w.on_the_way[:at] + w.on_the_way[at + 1 :]
            yield f"{name} arrives", self._arrives(replace(w, on_the_way=rest), one)
            if "copy" in w.left:
                yield f"{name} arrives and leaves a copy", self._arrives(w.happens("copy"), one)
        if w.answer is not None:
            inputs = (*w.inputs, ("answer", w.answer)) if w.waiting_for == proposal else w.inputs
            yield f"{w.answer.error.name} is heard", replace(w.waits_no_longer(), inputs=inputs)
        if "elect" in w.left:
            yield f"controller {w.epoch + 1} is elected", w.happens("elect", ended=(*w.ended, len(w.log)))
        for epoch in range(w.known + 1, w.epoch + 1):
            yield f"the leader hears of controller {epoch}", replace(w, known=epoch)
        if w.replayed < len(w.log):
            epoch, image = w.log[w.replayed]
            inputs = (*w.inputs, ("metadata", in_log(image), active(image)))
            yield "replay", replace(w, inputs=inputs, replayed=w.replayed + 1, known=max(w.known, epoch))
        if "pass" in w.left:
            yield "periodic pass", w.happens("pass", inputs=(*w.inputs, ("pass",)))
        fenced = w.image.brokers[2].fenced
        if "fence" in w.left and not fenced:
            yield "2 is fenced", w.happens("fence").commit(broker_state.fence(w.image, 2))
        if "unfence" in w.left and fenced:
            yield "2 is unfenced", w.happens("unfence").commit(broker_state.unfence(w.image, 2))
        if "wipe" in w.left:
            records = [registration(2, 20), *broker_state.remove_from_isrs(w.image, 2)]
            yield "2 is back, empty", w.happens("wipe", end_of_2=0).commit(records)

    def _arrives(self, w: World, one: Try) -> World:
        image = w.known_to(one.node)
        if image is None:
            return w  # NOT_CONTROLLER, which is as if the answer were lost
        decision = alter_partition(
            image,
            build_request(1, 11, {KEY: one.proposal}, 3),
            3,
            lambda claimed, registered: replica_epoch_matches(claimed, registered, "on"),
            refusal_moves_epoch=self._refusal_moves_epoch,
        )
        if decision.records and image is not w.image:
            return w  # a deposed controller never commits, so it never answers
        answer = read_answers(decision.response)[KEY]
        if one.waited and answer.error is not ErrorCode.NOT_CONTROLLER:
            w = replace(w, answer=answer)
        return w.commit(decision.records)

    def find_loss(self, left: tuple[str, ...]) -> tuple[list[str], int]:
        """The shortest order that leaves the HW past the end of a member of the ISR, and how many states were seen."""
        start = World(left=left)
        came_from: dict[Any, tuple[Any, str]] = {}
        first = start.key(self.leader(start.inputs))
        came_from[first] = (None, "")
        queue = deque([(first, start)])
        while queue:
            key, world = queue.popleft()
            if 2 in in_log(world.image).isr and self.leader(world.inputs).high_watermark > world.end_of_2:
                order = []
                while key is not None:
                    key, move = came_from[key]
                    order.append(move)
                return order[-2::-1], len(came_from)
            for move, changed in self.moves(world):
                found = changed.key(self.leader(changed.inputs))
                if found not in came_from:
                    came_from[found] = (key, move)
                    queue.append((found, changed))
        return [], len(came_from)


MAY_HAPPEN = {
    "delays and depositions": ("elect", "elect", "fence", "try", "try", "unfence"),
    "copies and new lives": ("copy", "elect", "fence", "try", "try", "unfence", "wipe"),
    "new proposals": ("fence", "pass", "try", "try", "try", "unfence", "wipe"),
}
"""Bounds that keep each search within seconds; all of it at once is some hundred thousand states, and holds as well."""


@pytest.mark.quick("delays", "new proposals")
@pytest.mark.parametrize("what", MAY_HAPPEN)
def test_no_order_lets_the_leader_commit_without_a_member_of_the_isr(make_bench, what):
    order, states = Model(make_bench).find_loss(MAY_HAPPEN[what])
    assert order == []
    assert states > 1000, "the search has been cut short"


@pytest.mark.thorough
def test_nor_if_any_controller_is_asked(make_bench):
    """Asking the known leader keeps a proposal from getting stuck at one that knows too little; safety is not in it."""
    assert Model(make_bench, ask_anybody=True).find_loss(MAY_HAPPEN["delays and depositions"])[0] == []


# Without the rule that a refusal moves the partition epoch. Kafka is the first and the last of these.


def test_a_slow_request_is_carried_out_after_its_retry_was_refused(make_bench):
    assert Model(make_bench, refusal_moves_epoch=False).find_loss(MAY_HAPPEN["delays and depositions"])[0] == [
        "node 1 is asked",
        "no answer in time",
        "node 1 is asked",
        "2 is fenced",
        "the request arrives",
        "INELIGIBLE_REPLICA is heard",
        "2 is unfenced",
        "an earlier request arrives",
    ]


def test_a_deposed_controller_refuses_what_its_successor_has_done(make_bench):
    anybody = Model(make_bench, refusal_moves_epoch=False, ask_anybody=True, slow=False)
    assert anybody.find_loss(MAY_HAPPEN["delays and depositions"])[0] == [
        "node 0 is asked",
        "2 is fenced",
        "controller 2 is elected",
        "2 is unfenced",
        "the request arrives",
        "no answer in time",
        "node 1 is asked",
        "the request arrives",
        "INELIGIBLE_REPLICA is heard",
    ]


def test_asking_the_known_leader_alone_is_not_enough(make_bench):
    """The node that was asked first leads again, in an epoch of which the leader of the partition has not heard."""
    leader_alone = Model(make_bench, refusal_moves_epoch=False, slow=False)
    assert leader_alone.find_loss(MAY_HAPPEN["delays and depositions"])[0] == [
        "node 1 is asked",
        "controller 2 is elected",
        "the leader hears of controller 2",
        "2 is fenced",
        "controller 3 is elected",
        "2 is unfenced",
        "the request arrives",
        "no answer in time",
        "node 0 is asked",
        "the request arrives",
        "INELIGIBLE_REPLICA is heard",
    ]
