"""What a broker says to controllers: the channel, ISR proposals, registration and heartbeats."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from controller_channel import channel_of
from hand_ports import HandNetwork

from highwater_runtime.broker.apis.init_producer_id import ProducerIds
from highwater_runtime.broker.controller_channel import RETRY_BACKOFF_NS
from highwater_runtime.broker.isr import Answer, Proposal
from highwater_runtime.broker.kraft.alter_partition import MOST_TOGETHER, AlterPartitionManager, build_request
from highwater_runtime.broker.kraft.lifecycle import Identity, Lifecycle, LifecycleState
from highwater_runtime.broker.kraft.producer_ids import AllocatedBlocks
from highwater_runtime.config import NodeConfig
from highwater_runtime.metadata import BrokerListener
from highwater_runtime.ports import MS, SECOND, Endpoint, InboundRequest, Ports, RpcFailure
from highwater_runtime.ports.trace import BrokerStateChanged, TransitionTaken
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from highwater_runtime.wire.messages.alter_partition_response import (
    AlterPartitionResponse,
    PartitionData,
    TopicData,
)
from highwater_runtime.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from highwater_runtime.wire.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from highwater_runtime.wire.messages.broker_registration_request import BrokerRegistrationRequest
from highwater_runtime.wire.messages.broker_registration_response import BrokerRegistrationResponse
from highwater_runtime.wire.messages.init_producer_id_request import InitProducerIdRequest

A, B = (UUID(int=1), 0), (UUID(int=2), 0)


# --- AlterPartition -----------------------------------------------------------------------------------------------


def proposal(*isr: int, partition_epoch: int = 1) -> Proposal:
    return Proposal(
        leader_epoch=4, partition_epoch=partition_epoch, isr=isr, isr_epochs=tuple(b + 10 for b in isr), reason="expand"
    )


def answer_of(key, error: ErrorCode = ErrorCode.NONE, **fields: Any) -> TopicData:
    return TopicData(topic_id=key[0], partitions=[PartitionData(partition_index=key[1], error_code=error, **fields)])


class Manager:
    def __init__(self, ports: Ports) -> None:
        self.version = 3
        self.failures = 0
        self.manager = AlterPartitionManager(
            channel_of(ports, [1000]),
            ports.clock,
            1,
            broker_epoch=lambda: 77,
            version=lambda: self.version,
            count_failure=self.count,
        )
        self.answers: list[tuple[Proposal, Answer]] = []
        self.again = False

    def count(self) -> None:
        self.failures += 1

    def answered(self, proposal: Proposal, answer: Answer) -> bool:
        self.answers.append((proposal, answer))
        return self.again

    def propose(self, key, proposal: Proposal) -> None:
        self.manager.propose(key, proposal, self.answered)


def asked(wire: HandNetwork) -> list[tuple[UUID, list[int]]]:
    request = wire.sent[-1][1]
    return [(t.topic_id, [b.broker_id for p in t.partitions for b in p.new_isr_with_epochs]) for t in request.topics]


def test_one_request_at_a_time_and_what_waits_travels_together(ports, wire):
    m = Manager(ports)
    m.propose(A, proposal(1, 2))
    m.propose(B, proposal(1, 3))
    m.propose(B, proposal(1, 4))
    assert len(wire.sent) == 1
    assert asked(wire) == [(A[0], [1, 2])]
    wire.answer(AlterPartitionResponse(topics=[answer_of(A, leader_epoch=4, partition_epoch=2, isr=[1, 2])]))
    assert m.answers[0][1] == Answer(ErrorCode.NONE, 4, 2, (1, 2))
    assert asked(wire) == [(B[0], [1, 4])], "the newer proposal has replaced the older one"


def test_of_many_proposals_one_request_carries_a_bounded_number(ports, wire):
    m = Manager(ports)
    m.propose(A, proposal(1, 2))
    keys = [(UUID(int=1), index) for index in range(MOST_TOGETHER + 1)]
    for key in keys:
        m.propose(key, proposal(1, 2))
    sizes = []
    for _ in range(3):
        request = wire.sent[-1][1]
        sizes.append(sum(len(topic.partitions) for topic in request.topics))
        answers = [answer_of((t.topic_id, p.partition_index)) for t in request.topics for p in t.partitions]
        wire.answer(AlterPartitionResponse(topics=answers))
    assert sizes == [1, MOST_TOGETHER, 1]
    assert [answer.error for _, answer in m.answers] == [ErrorCode.NONE] * (1 + len(keys))
    assert len(wire.sent) == 3


def test_a_request_that_fails_as_a_whole_is_repeated_with_the_same_proposals(ports, wire, fake_clock):
    m = Manager(ports)
    m.propose(A, proposal(1, 2))
    first = wire.sent[-1][1]
    wire.answer(AlterPartitionResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
    assert (m.answers, m.failures) == ([], 1)
    fake_clock.advance(RETRY_BACKOFF_NS)
    assert len(wire.sent) == 2
    assert wire.sent[-1][1] == first
    wire.answer(RpcFailure.TIMED_OUT)
    fake_clock.advance(RETRY_BACKOFF_NS)
    assert wire.sent[-1][1] == first


def test_a_partition_that_the_answer_leaves_out_has_not_been_judged(ports, wire):
    m = Manager(ports)
    m.propose(A, proposal(1, 2))
    wire.answer(AlterPartitionResponse())
    assert m.answers[0][1].error is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_leader_may_ask_for_a_repetition_but_not_over_its_newer_proposal(ports, wire, fake_clock):
    m = Manager(ports)
    m.again = True
    m.propose(A, proposal(1, 2))
    m.propose(A, proposal(1, 3, partition_epoch=2))
    m.manager.withdraw(A)
    wire.answer(AlterPartitionResponse(topics=[answer_of(A, ErrorCode.UNKNOWN_SERVER_ERROR)]))
    fake_clock.advance(RETRY_BACKOFF_NS)
    assert asked(wire) == [(A[0], [1, 2])]
    m.propose(A, proposal(1, 4, partition_epoch=3))
    wire.answer(AlterPartitionResponse(topics=[answer_of(A, ErrorCode.UNKNOWN_SERVER_ERROR)]))
    fake_clock.advance(RETRY_BACKOFF_NS)
    assert asked(wire) == [(A[0], [1, 4])]


def test_version_2_names_the_isr_without_epochs():
    old, new = (build_request(1, 77, {A: proposal(1, 2)}, version) for version in (2, 3))
    (before,), (after,) = (request.topics[0].partitions for request in (old, new))
    assert (before.new_isr, before.new_isr_with_epochs) == ([1, 2], [])
    assert (after.new_isr, [(b.broker_id, b.broker_epoch) for b in after.new_isr_with_epochs]) == (
        [],
        [(1, 11), (2, 12)],
    )
    assert len(old.encode(2)) < len(new.encode(3))


# --- lifecycle ----------------------------------------------------------------------------------------------------

HEARTBEAT_NS = 500 * MS


class Life:
    def __init__(self, ports: Ports, wire: HandNetwork, previous_epoch: int = -1) -> None:
        self.wire = wire
        self.registrations = 0
        identity = Identity(
            broker_id=1,
            cluster_id="c",
            listeners=(BrokerListener("PLAINTEXT", Endpoint("broker-1", 9092)),),
            rack="r",
            incarnation_id=UUID(int=9),
            previous_epoch=previous_epoch,
        )
        self.lifecycle = Lifecycle(
            identity,
            channel_of(ports, [1000]),
            ports,
            NodeConfig.of({"broker.heartbeat.interval.ms": 500, "controlled.shutdown.timeout.ms": 5000}),
            metadata_offset=lambda: 42,
            on_registered=self.registered,
        )
        self.lifecycle.start()

    def registered(self) -> None:
        self.registrations += 1

    def last(self, kind: type) -> Any:
        assert isinstance(self.wire.sent[-1][1], kind), self.wire.sent[-1][1]
        return self.wire.sent[-1][1]

    def register(self, epoch: int) -> None:
        self.last(BrokerRegistrationRequest)
        self.wire.answer(BrokerRegistrationResponse(broker_epoch=epoch))

    def beat(self, error: ErrorCode = ErrorCode.NONE, *, fenced: bool = False, may_leave: bool = False) -> None:
        self.last(BrokerHeartbeatRequest)
        self.wire.answer(
            BrokerHeartbeatResponse(error_code=error, is_caught_up=True, is_fenced=fenced, should_shut_down=may_leave)
        )


@pytest.fixture
def life(ports, wire) -> Life:
    return Life(ports, wire)


def states(recorder) -> list[tuple[str, int]]:
    return [(e.reason, e.broker_epoch) for e in recorder.of(BrokerStateChanged)]


def test_from_start_to_running(life, recorder, fake_clock):
    life.register(7)
    assert life.registrations == 1
    assert life.last(BrokerHeartbeatRequest).want_fence is True
    life.beat(fenced=True)
    life.lifecycle.caught_up()
    request = life.last(BrokerHeartbeatRequest)
    assert (request.broker_epoch, request.current_metadata_offset, request.want_fence) == (7, 42, False)
    life.beat(fenced=True)
    assert life.lifecycle.state is LifecycleState.RECOVERY
    fake_clock.advance(HEARTBEAT_NS)
    life.beat()
    assert states(recorder) == [("starting", -1), ("registered", 7), ("recovery", 7), ("running", 7)]


def test_late_heartbeats_are_reported_unless_the_host_repeats_them(life, wire, recorder, fake_clock):
    """The session is 9 s, and a broker says after 6 s that it runs out. While an event takes long, the host repeats the
    last heartbeat: a response to a repetition shows that the session goes on."""

    def late() -> int:
        return sum(event.reason == "heartbeats-late" for event in recorder.of(TransitionTaken))

    life.register(7)
    assert wire.repeated is not None
    to, every_ns, on_response = wire.repeated
    assert (to, every_ns) == ("controller-0", HEARTBEAT_NS)
    life.beat(fenced=True)
    life.lifecycle.caught_up()
    life.beat()
    fake_clock.advance(5 * SECOND)
    on_response(fake_clock.now_ns(), BrokerHeartbeatResponse(error_code=ErrorCode.NONE))
    fake_clock.advance(5 * SECOND)
    assert late() == 0
    on_response(fake_clock.now_ns(), BrokerHeartbeatResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
    fake_clock.advance(2 * SECOND)
    assert late() == 1


def test_a_repetition_that_was_answered_long_ago_does_not_make_up_for_later_ones(life, wire, recorder, fake_clock):
    """The core hears of all of them when its event is over: the session may have ended meanwhile."""
    life.register(7)
    _, _, on_response = wire.repeated
    life.beat(fenced=True)
    life.lifecycle.caught_up()
    life.beat()
    beat_at = fake_clock.now_ns()
    fake_clock.now += 60 * SECOND  # an event takes that long: no timer fires
    for sent_ns in (beat_at + 2 * SECOND, beat_at + 4 * SECOND):
        on_response(sent_ns, BrokerHeartbeatResponse(error_code=ErrorCode.NONE))
    fake_clock.advance(0)
    assert [event.reason for event in recorder.of(TransitionTaken)].count("heartbeats-late") == 1


def test_news_during_a_heartbeat_makes_another_one_at_once(life, wire):
    life.register(7)
    life.lifecycle.caught_up()
    assert len(wire.sent) == 2, "the heartbeat under way asks to stay fenced"
    life.beat(fenced=True)
    assert len(wire.sent) == 3
    assert life.last(BrokerHeartbeatRequest).want_fence is False


def test_a_clean_shutdown_is_told_at_the_next_registration(ports, wire):
    clean = Life(ports, wire, previous_epoch=5)
    assert clean.last(BrokerRegistrationRequest).previous_broker_epoch == 5


def test_a_registration_is_repeated_while_the_old_session_lasts(life, wire, fake_clock):
    life.last(BrokerRegistrationRequest)
    wire.answer(BrokerRegistrationResponse(error_code=ErrorCode.DUPLICATE_BROKER_REGISTRATION))
    fake_clock.advance(SECOND)
    assert len(wire.sent) == 2
    life.register(9)
    assert life.lifecycle.broker_epoch == 9


@pytest.mark.parametrize("error", [ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED])
def test_a_life_that_was_replaced_registers_anew_as_unclean(ports, wire, recorder, error):
    life = Life(ports, wire, previous_epoch=5)
    life.register(7)
    life.lifecycle.caught_up()
    life.beat()
    life.beat(error)
    request = life.last(BrokerRegistrationRequest)
    assert request.previous_broker_epoch == -1
    life.register(12)
    assert life.lifecycle.waits_for_metadata
    assert life.last(BrokerHeartbeatRequest).want_fence is True
    assert states(recorder)[-2:] == [("starting", 7), ("registered", 12)]


def test_a_registration_that_gives_the_same_epoch_changes_nothing(life, recorder):
    """A deposed controller, which did not know the registration, sent the broker to register again."""
    life.register(7)
    life.beat(fenced=True)
    life.lifecycle.caught_up()
    life.beat()
    life.beat(ErrorCode.STALE_BROKER_EPOCH)
    life.register(7)
    assert life.last(BrokerHeartbeatRequest).want_fence is False, "a healthy broker asks to be fenced"
    assert not life.lifecycle.waits_for_metadata
    life.beat()
    assert states(recorder)[-3:] == [("starting", 7), ("recovery", 7), ("running", 7)]


def test_each_reason_why_a_registration_is_refused_is_reported_once(life, wire, recorder, fake_clock):
    def reported() -> list[str]:
        return [event.reason for event in recorder.of(TransitionTaken) if event.reason.startswith("registration")]

    def answer_twice(response: Any) -> None:
        for _ in range(2):
            life.last(BrokerRegistrationRequest)
            wire.answer(response)
            fake_clock.advance(SECOND)

    answer_twice(BrokerRegistrationResponse(error_code=ErrorCode.DUPLICATE_BROKER_REGISTRATION))
    assert reported() == ["registration-refused-as-duplicate"]
    answer_twice(BrokerRegistrationResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID))
    assert reported()[1:] == ["registration-refused"]
    life.register(7)
    life.beat(ErrorCode.STALE_BROKER_EPOCH)
    answer_twice(BrokerRegistrationResponse(broker_epoch=6))
    assert reported()[2:] == ["registration-epoch-went-back"]
    life.register(8)
    life.beat(ErrorCode.STALE_BROKER_EPOCH)
    answer_twice(BrokerRegistrationResponse(broker_epoch=6))
    assert reported()[3:] == ["registration-epoch-went-back"], "it was granted in between"


def test_a_registration_with_an_older_epoch_is_not_taken(life, recorder, fake_clock):
    life.register(7)
    life.beat(ErrorCode.STALE_BROKER_EPOCH)
    before = life.lifecycle.broker_epoch
    life.register(6)
    assert life.lifecycle.broker_epoch == before == 7
    assert states(recorder)[-1][0] == "starting"
    fake_clock.advance(SECOND)
    life.register(8)
    assert life.lifecycle.broker_epoch == 8


@pytest.mark.parametrize(("start", "length"), [(5, 10), (-3, 10), (10, 0), (10, -1)])
def test_a_block_of_producer_ids_that_no_controller_gives_is_not_taken(ports, wire, fake_clock, start, length):
    blocks = AllocatedBlocks(channel_of(ports, [1000]), 0, lambda: 7)
    ids = ProducerIds(blocks, fake_clock, give_up_after_ns=SECOND)
    given: list[int] = []

    def ask() -> None:
        ids.handle(
            InboundRequest(
                InitProducerIdRequest(transactional_id=None),
                4,
                "t",
                "t",
                lambda answer: given.append(answer.producer_id),
            )
        )

    ask()
    wire.answer(AllocateProducerIdsResponse(producer_id_start=9, producer_id_len=1))
    ask()
    wire.answer(AllocateProducerIdsResponse(producer_id_start=start, producer_id_len=length))
    assert given == [9]
    fake_clock.advance(100 * MS)
    wire.answer(AllocateProducerIdsResponse(producer_id_start=20, producer_id_len=1))
    assert given == [9, 20]


def test_a_failed_heartbeat_is_repeated_after_the_interval(life, wire, fake_clock):
    life.register(7)
    life.beat(ErrorCode.UNKNOWN_SERVER_ERROR)
    sent = len(wire.sent)
    fake_clock.advance(HEARTBEAT_NS)
    assert len(wire.sent) == sent + 1


def test_a_shutdown_waits_for_leave(life, recorder, fake_clock):
    life.register(7)
    life.lifecycle.caught_up()
    life.beat()
    life.beat()
    left: list[bool] = []
    life.lifecycle.shut_down(lambda: left.append(True))
    assert life.last(BrokerHeartbeatRequest).want_shut_down is True
    life.beat()
    assert left == []
    fake_clock.advance(100 * MS)
    life.beat(may_leave=True)
    assert left == [True]
    life.lifecycle.stopped()
    fake_clock.advance(10 * SECOND)
    assert left == [True], "once"
    assert states(recorder)[-2:] == [("controlled-shutdown", 7), ("stopped", 7)]


def test_a_shutdown_does_not_wait_for_ever(life, fake_clock):
    life.register(7)
    left: list[bool] = []
    life.lifecycle.shut_down(lambda: left.append(True))
    fake_clock.advance(5 * SECOND)
    assert left == [True]


def test_a_broker_that_never_registered_may_leave_at_once(life):
    left: list[bool] = []
    life.lifecycle.shut_down(lambda: left.append(True))
    assert left == [True]
