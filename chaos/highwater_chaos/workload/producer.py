"""A Kafka producer that writes down every operation: what it sent, and what it may claim to know about the outcome.

What makes the history trustworthy is the line between ``fail`` and ``info``. A send is ``fail`` only when no attempt
can have been appended: never sent, or refused each time with an error that a broker gives before it appends. A lost
answer, a time-out, ``NOT_ENOUGH_REPLICAS_AFTER_APPEND``, or ``NOT_LEADER_OR_FOLLOWER`` (which a deposed leader gives to
requests that it has already appended) leave it open, and one such attempt is enough: ``info``.

Idempotence (KIP-98) as Kafka's client does it: an attempt is repeated under the sequence number of the first, so a
broker recognises it; at most five requests a broker are in flight; a batch that is repeated goes alone, so that order
is kept. A batch that is given up leaves a gap in the sequence, which only a new producer epoch closes (KIP-360).

Where requests may be duplicated on their way, only an error that every copy of the request would get is a refusal.

``acks=0`` acknowledges nothing, so every send ends in ``info`` at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from highwater_chaos.workload.history import HistoryRecorder, MicroOp
from highwater_chaos.workload.metadata import RETRY_BACKOFF_NS, MetadataCache, PartitionKey, key_name
from highwater_chaos.workload.produce_errors import FATAL, NOT_APPENDED, REFUSED_ALWAYS, error_name
from highwater_runtime.log.records import Record, build_batch
from highwater_runtime.ports import MS, SECOND, Endpoint, InboundRequest, Ports, RpcFailure
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.init_producer_id_request import InitProducerIdRequest
from highwater_runtime.wire.messages.init_producer_id_response import InitProducerIdResponse
from highwater_runtime.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from highwater_runtime.wire.messages.produce_response import PartitionProduceResponse, ProduceResponse

PRODUCE_VERSION: Final = 10
INIT_PRODUCER_ID_VERSION: Final = 4
VALUES_PER_PRODUCER: Final = 1_000_000_000
"""Values are unique per run: producer *i* counts up from ``i`` times this, plus one."""
_LAST_EPOCH: Final = 32766
_SEQUENCES: Final = 2**31


@dataclass(frozen=True, slots=True)
class ProducerOptions:
    """``interval_ns``: mean time between sends; each varies by up to a half, by the client's own randomness.
    ``record_size``: a record's value is filled up with spaces to so many bytes.

    ``request_timeout_ns`` is how long the client waits for an answer, ``ack_timeout_ns`` how long the broker may wait
    for the ISR before it answers REQUEST_TIMED_OUT (None: the same). ``may_be_duplicated``: a fault of the experiment
    may deliver copies of requests.
    """

    name: str
    index: int
    bootstrap: Sequence[Endpoint]
    topics: Sequence[str]
    interval_ns: int
    record_size: int = 0
    acks: int = -1
    idempotence: bool = True
    request_timeout_ns: int = 2 * SECOND
    ack_timeout_ns: int | None = None
    delivery_timeout_ns: int = 30 * SECOND
    may_be_duplicated: bool = False
    probed: Sequence[PartitionKey] | None = None
    """Write one record to each of these partitions, as soon as it is known, and nothing else."""
    max_in_flight: int = 5
    max_open: int = 200
    """Sends that may be open at once; beyond it the client waits, as a full ``buffer.memory`` makes Kafka's."""


class _Send:
    """One record on its way: an operation of the history."""

    __slots__ = (
        "attempts",
        "deadline_ns",
        "done",
        "epoch",
        "in_flight",
        "key",
        "may_be_appended",
        "process",
        "sequence",
        "value",
    )

    def __init__(self, key: PartitionKey, value: int, process: int, deadline_ns: int) -> None:
        self.key = key
        self.value = value
        self.deadline_ns = deadline_ns
        self.process = process
        self.attempts = 0
        self.in_flight = False
        self.may_be_appended = False
        self.sequence = -1
        self.epoch = -1
        self.done = False

    def micro_op(self, offset: int | None = None) -> tuple[MicroOp]:
        return (MicroOp("send", key_name(self.key), offset, self.value),)


class _Partition:
    """Sends of one partition in order: those waiting, how many are in flight, the next sequence number."""

    __slots__ = ("backoff_until_ns", "in_flight", "next_sequence", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[_Send] = deque()
        self.in_flight: list[_Send] = []
        self.next_sequence = 0
        self.backoff_until_ns = 0


class RecordingProducer:
    """A client core (``NodeCore``): starts to send on ``start``, at its rate, until :meth:`finish`."""

    def __init__(self, options: ProducerOptions, ports: Ports, recorder: HistoryRecorder) -> None:
        self._options = options
        self._ports = ports
        self._recorder = recorder
        self._metadata = MetadataCache(
            ports, options.bootstrap, options.topics, options.request_timeout_ns, self._send_what_can_be
        )
        self._partitions: dict[PartitionKey, _Partition] = {}
        self._waiting: dict[PartitionKey, None] = {}
        """Partitions with sends that wait."""
        self._held_up: dict[int, dict[PartitionKey, None]] = {}
        """Those among them, by leader, that wait for an answer of it."""
        self._in_flight: dict[int, int] = {}
        self._by_deadline: deque[_Send] = deque()
        """All sends that may still expire, oldest first; those with an outcome leave when they come to the front."""
        waits_ns = options.request_timeout_ns if options.ack_timeout_ns is None else options.ack_timeout_ns
        self._ack_timeout_ms = waits_ns // MS
        self._refusals = REFUSED_ALWAYS if options.may_be_duplicated else NOT_APPENDED
        self._to_probe = None if options.probed is None else list(options.probed)
        self._next_value = options.index * VALUES_PER_PRODUCER + 1
        self._producer_id = -1
        self._producer_epoch = -1
        self._asking_id = False
        self._must_bump = False
        self._finishing = False
        self._on_stopped: Callable[[], None] | None = None
        self.open_sends = 0
        """Sends that have no outcome yet."""

    # --- NodeCore ---

    def start(self) -> None:
        """Begin to send."""
        self._metadata.start()
        self._ports.clock.call_later(self._next_interval(), self._produce)

    def on_request(self, request: InboundRequest) -> None:
        """Clients serve nothing."""
        raise AssertionError(f"{self._options.name} is a client and got {request.body!r}")

    def stop(self, on_stopped: Callable[[], None]) -> None:
        """Send nothing new; ``on_stopped`` once every send has its outcome."""
        self._on_stopped = on_stopped
        self.finish()
        self._check_idle()

    # --- the harness ---

    def finish(self) -> None:
        """Send nothing new; what is open goes on until it has an outcome."""
        self._finishing = True

    @property
    def idle(self) -> bool:
        """Whether it has finished and every send has its outcome."""
        return self._finishing and self.open_sends == 0

    # --- new sends ---

    def _next_interval(self) -> int:
        return int(self._options.interval_ns * self._ports.random.uniform(0.5, 1.5))

    def _produce(self) -> None:
        if self._finishing:
            self._check_idle()
            return
        self._ports.clock.call_later(self._next_interval(), self._produce)
        keys = self._metadata.partitions
        if self._to_probe is not None:
            known = set(keys)
            now = [key for key in self._to_probe if key in known][: self._options.max_open - self.open_sends]
            self._to_probe = [key for key in self._to_probe if key not in now]
            for key in now:
                self._begin(key)
        elif keys and self.open_sends < self._options.max_open:
            self._begin(keys[self._ports.random.randrange(len(keys))])

    def _begin(self, key: PartitionKey) -> None:
        send = _Send(key, self._next_value, -1, self._ports.clock.now_ns() + self._options.delivery_timeout_ns)
        self._next_value += 1
        send.process = self._recorder.invoke(self._options.name, "send", send.micro_op())
        self.open_sends += 1
        self._partition(key).waiting.append(send)
        self._waiting[key] = None
        self._by_deadline.append(send)
        if len(self._by_deadline) == 1:
            self._ports.clock.call_later(self._options.delivery_timeout_ns, self._expire_late)
        self._send_waiting(key)

    def _partition(self, key: PartitionKey) -> _Partition:
        found = self._partitions.get(key)
        if found is None:
            found = self._partitions[key] = _Partition()
        return found

    # --- sending ---

    def _send_what_can_be(self) -> None:
        for key in list(self._waiting):
            self._send_waiting(key)

    def _send_waiting(self, key: PartitionKey) -> None:
        if self._options.idempotence and (self._producer_id < 0 or self._must_bump):
            self._prepare_identity()
            return
        partition = self._partitions[key]
        if self._ports.clock.now_ns() < partition.backoff_until_ns:
            return
        while partition.waiting:
            leader = self._metadata.leader(key)
            if leader is None:
                self._metadata.refresh()
                return
            if self._in_flight.get(leader.node_id, 0) >= self._options.max_in_flight:
                self._held_up.setdefault(leader.node_id, {})[key] = None
                return
            send = partition.waiting[0]
            repeats = send.attempts > 0 or any(other.attempts > 1 for other in partition.in_flight)
            if self._options.idempotence and repeats and partition.in_flight:
                return
            partition.waiting.popleft()
            self._send(partition, send, leader.node_id)
        self._waiting.pop(key, None)

    def _send(self, partition: _Partition, send: _Send, node_id: int) -> None:
        options = self._options
        send.attempts += 1
        if options.idempotence and send.sequence < 0:
            send.sequence, send.epoch = partition.next_sequence, self._producer_epoch
            partition.next_sequence = (partition.next_sequence + 1) % _SEQUENCES
        records = build_batch(
            [Record(value=str(send.value).encode().ljust(options.record_size))],
            producer_id=self._producer_id if options.idempotence else -1,
            producer_epoch=send.epoch,
            base_sequence=send.sequence,
            timestamp_ms=self._ports.clock.wall_ms(),
        )
        topic, index = send.key
        request = ProduceRequest(
            acks=options.acks,
            timeout_ms=self._ack_timeout_ms,
            topic_data=[
                TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=index, records=records)])
            ],
        )
        endpoint = self._metadata.endpoint(node_id)
        if options.acks == 0:
            self._ports.network.send(endpoint, request, PRODUCE_VERSION, _ignore, timeout_ns=options.request_timeout_ns)
            self._complete_info(send, "acks=0: nobody says whether it was written")
            return
        send.in_flight = True
        partition.in_flight.append(send)
        self._in_flight[node_id] = self._in_flight.get(node_id, 0) + 1
        self._ports.network.send(
            endpoint,
            request,
            PRODUCE_VERSION,
            lambda response: self._answered(partition, send, node_id, response),
            timeout_ns=options.request_timeout_ns,
        )

    def _answered(
        self, partition: _Partition, send: _Send, node_id: int, response: ProduceResponse | RpcFailure
    ) -> None:
        send.in_flight = False
        partition.in_flight.remove(send)
        self._in_flight[node_id] -= 1
        if isinstance(response, RpcFailure):
            send.may_be_appended = True
            self._metadata.refresh()
            self._retry(partition, send, response.value)
        else:
            self._judge(partition, send, response.responses[0].partition_responses[0])
        self._send_after_answer(send.key, node_id)

    def _send_after_answer(self, key: PartitionKey, node_id: int) -> None:
        """Send what waited for an answer about this partition, or by this broker."""
        if self._options.idempotence and (self._producer_id < 0 or self._must_bump):
            if self._waiting:
                self._prepare_identity()
            return
        if key in self._waiting:
            self._send_waiting(key)
        held_up = self._held_up.get(node_id)
        while held_up and self._in_flight[node_id] < self._options.max_in_flight:
            first = next(iter(held_up))
            del held_up[first]
            self._send_waiting(first)

    def _judge(self, partition: _Partition, send: _Send, answer: PartitionProduceResponse) -> None:
        if send.done:
            return
        match answer.error_code:
            case ErrorCode.NONE:
                self._complete_ok(send, answer.base_offset)
                return
            case ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                # It is there already, so long ago that the broker has forgotten where.
                self._complete_ok(send, None)
                return
            case _:
                pass
        error = error_name(answer.error_code)
        if answer.error_code not in self._refusals:
            send.may_be_appended = True
        if answer.error_code in FATAL:
            self._give_up(send, error)
        elif answer.error_code in (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.UNKNOWN_PRODUCER_ID):
            self._must_bump = True
            self._retry(partition, send, error)
        elif answer.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and not self._waits_for_earlier(send):
            # The broker misses what it had acknowledged: no repetition helps, only a new epoch.
            self._give_up(send, error)
        else:
            if answer.error_code != ErrorCode.NOT_ENOUGH_REPLICAS:
                self._metadata.refresh()
            self._retry(partition, send, error)

    def _waits_for_earlier(self, send: _Send) -> bool:
        partition = self._partitions[send.key]
        return any(
            not other.done and 0 <= other.sequence < send.sequence
            for other in (*partition.in_flight, *partition.waiting)
        )

    def _retry(self, partition: _Partition, send: _Send, error: str) -> None:
        if send.done:
            return
        if send.epoch != self._producer_epoch and send.may_be_appended:
            # Its sequence number belongs to an epoch that is over: a repetition could not be recognised.
            self._give_up(send, error)
            return
        waiting = partition.waiting
        position = 0
        if self._options.idempotence:
            while position < len(waiting) and 0 <= waiting[position].sequence < send.sequence:
                position += 1
        waiting.insert(position, send)
        self._waiting[send.key] = None
        partition.backoff_until_ns = self._ports.clock.now_ns() + RETRY_BACKOFF_NS
        key = send.key
        self._ports.clock.call_later(RETRY_BACKOFF_NS, lambda: self._send_waiting(key))

    # --- outcomes ---

    def _expire_late(self) -> None:
        now = self._ports.clock.now_ns()
        sends = self._by_deadline
        while sends and (sends[0].done or sends[0].deadline_ns <= now):
            send = sends.popleft()
            if not send.done:
                self._give_up(send, "delivery timeout" if send.attempts else "delivery timeout, never sent")
        self._send_what_can_be()
        if sends:
            self._ports.clock.call_later(sends[0].deadline_ns - now, self._expire_late)

    def _give_up(self, send: _Send, error: str) -> None:
        if send.in_flight or send.may_be_appended:
            self._complete_info(send, error)
        else:
            self._recorder.fail(self._options.name, send.process, send.micro_op(), error, attempts=send.attempts)
            self._completed(send)
        if send.sequence >= 0:
            self._must_bump = True

    def _complete_ok(self, send: _Send, offset: int | None) -> None:
        self._recorder.ok(self._options.name, send.process, send.micro_op(offset), attempts=send.attempts)
        self._completed(send)

    def _complete_info(self, send: _Send, error: str) -> None:
        self._recorder.info(self._options.name, send.process, send.micro_op(), error, attempts=send.attempts)
        self._completed(send)

    def _completed(self, send: _Send) -> None:
        send.done = True
        self.open_sends -= 1
        partition = self._partitions[send.key]
        if send in partition.waiting:
            partition.waiting.remove(send)
        self._check_idle()

    def _check_idle(self) -> None:
        if self.idle and self._on_stopped is not None:
            on_stopped, self._on_stopped = self._on_stopped, None
            self._metadata.stop()
            on_stopped()

    # --- identity ---

    def _prepare_identity(self) -> None:
        """Get a producer id, or a new epoch once nothing is in flight under the old one."""
        if self._producer_id < 0:
            self._ask_for_id()
            return
        if any(partition.in_flight for partition in self._partitions.values()):
            return
        for partition in self._partitions.values():
            for send in list(partition.waiting):
                if send.sequence >= 0 and send.may_be_appended:
                    self._complete_info(send, "its producer epoch is over")
                send.sequence, send.epoch = -1, -1
            partition.next_sequence = 0
        self._must_bump = False
        if self._producer_epoch >= _LAST_EPOCH:
            self._producer_id = -1
            self._ask_for_id()
            return
        self._producer_epoch += 1
        self._ports.clock.call_later(0, self._send_what_can_be)

    def _ask_for_id(self) -> None:
        if self._asking_id:
            return
        self._asking_id = True
        self._ports.network.send(
            self._metadata.any_broker(),
            InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=-1, producer_id=-1, producer_epoch=-1),
            INIT_PRODUCER_ID_VERSION,
            self._got_id,
            timeout_ns=self._options.request_timeout_ns,
            channel="producer-id",
        )

    def _got_id(self, response: InitProducerIdResponse | RpcFailure) -> None:
        if isinstance(response, RpcFailure) or response.error_code != ErrorCode.NONE:
            self._ports.clock.call_later(RETRY_BACKOFF_NS, self._ask_again)
            return
        self._asking_id = False
        self._producer_id, self._producer_epoch = response.producer_id, response.producer_epoch
        self._must_bump = False
        self._send_what_can_be()

    def _ask_again(self) -> None:
        self._asking_id = False
        self._ask_for_id()


def _ignore(_: ProduceResponse | RpcFailure) -> None:
    """With ``acks=0`` no answer is expected, and none means anything."""
