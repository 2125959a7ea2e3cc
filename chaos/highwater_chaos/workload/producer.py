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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from highwater_chaos.records.values import record_of
from highwater_chaos.workload.batches import SentBatch, SentPartition, SentRecord
from highwater_chaos.workload.finishing import FinishingClient
from highwater_chaos.workload.history import HistoryRecorder, MicroOp
from highwater_chaos.workload.metadata import RETRY_BACKOFF_NS, MetadataCache, PartitionKey, key_name
from highwater_chaos.workload.produce_errors import FATAL, NOT_APPENDED, REFUSED_ALWAYS, error_name
from highwater_runtime.log.records import Record, build_batch
from highwater_runtime.ports import MS, SECOND, Endpoint, Ports, RpcFailure
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.init_producer_id_request import InitProducerIdRequest
from highwater_runtime.wire.messages.init_producer_id_response import InitProducerIdResponse
from highwater_runtime.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from highwater_runtime.wire.messages.produce_response import PartitionProduceResponse, ProduceResponse

PRODUCE_VERSION: Final = 10
INIT_PRODUCER_ID_VERSION: Final = 4
BATCH_BYTES: Final = 16_384
"""Default of Kafka's ``batch.size``."""
VALUES_PER_PRODUCER: Final = 1_000_000_000
"""Values are unique per run: producer *i* counts up from ``i`` times this, plus one."""
_LAST_EPOCH: Final = 32766
_LATE_NS: Final = 1 * MS
"""A timer that comes later than this is late: the sends that it missed are made up for. In the simulator none is."""
_MADE_UP_NS: Final = 1 * SECOND
"""Sends of so much time are made up for; where a client is further behind, they are left out."""
_LEAST_RECORD_BYTES: Final = 70
"""What a record takes beside its padding, more or less: key, header and lengths."""
_BATCH_HEAD_BYTES: Final = 61
_SEQUENCES: Final = 2**31


def batch_bytes(records: int, record_size: int) -> int:
    """The least :attr:`ProducerOptions.batch_bytes` that lets so many records go together."""
    return _BATCH_HEAD_BYTES + records * (record_size + _LEAST_RECORD_BYTES)


@dataclass(frozen=True, slots=True)
class ProducerOptions:
    """``interval_ns``: mean time between sends; each varies by up to a half, by the client's own randomness.
    ``record_size``: a record's value is filled up with spaces to so many bytes. ``keys``: how many keys records have;
    0: none. ``tombstones``: how many of 1,000 records have no value. ``dated``: the ``message.timestamp.type`` of
    topics without Kafka's default; None: it is not known.

    ``request_timeout_ns`` is how long the client waits for an answer, ``ack_timeout_ns`` how long the broker may wait
    for the ISR before it answers REQUEST_TIMED_OUT (None: the same). ``may_be_duplicated``: a fault of the experiment
    may deliver copies of requests. ``start_after_ns``: how long the client waits before it does anything.
    """

    name: str
    index: int
    bootstrap: Sequence[Endpoint]
    topics: Sequence[str]
    interval_ns: int
    record_size: int = 0
    keys: int = 0
    tombstones: int = 0
    dated: Mapping[str, str | None] = field(default_factory=dict)
    acks: int = -1
    idempotence: bool = True
    request_timeout_ns: int = 2 * SECOND
    ack_timeout_ns: int | None = None
    delivery_timeout_ns: int = 30 * SECOND
    may_be_duplicated: bool = False
    probed: Sequence[PartitionKey] | None = None
    """Write one record to each of these partitions, as soon as it is known, and nothing else. A partition that is
    named several times gets so many records, together as far as ``batch_bytes`` allows."""
    max_in_flight: int = 5
    batch_bytes: int = 0
    """Records that wait for the same partition go in one batch of so many bytes at most (Kafka's ``batch.size``; no
    client waits for more of them, as with ``linger.ms=0``). 0: each goes alone."""
    together: int = 1
    """Begin up to so many sends to one partition at once, as many as is drawn, and rest the longer: batches of a client
    that waits for nothing have several records then. It needs ``batch_bytes``."""
    start_after_ns: int = 0
    max_open: int = 200
    """Sends that may be open at once; beyond it the client waits, as a full ``buffer.memory`` makes Kafka's."""


class RecordingProducer(FinishingClient):
    """A client core: starts to send on ``start``, at its rate, until :meth:`finish`."""

    def __init__(self, options: ProducerOptions, ports: Ports, recorder: HistoryRecorder) -> None:
        super().__init__()
        self._options = options
        self._ports = ports
        self._recorder = recorder
        self._metadata = MetadataCache(
            ports, options.bootstrap, options.topics, options.request_timeout_ns, self._send_what_can_be, options.index
        )
        self._partitions: dict[PartitionKey, SentPartition] = {}
        self._waiting: dict[PartitionKey, None] = {}
        """Partitions with sends that wait."""
        self._held_up: dict[int, dict[PartitionKey, None]] = {}
        """Those among them, by leader, that wait for an answer of it."""
        self._in_flight: dict[int, int] = {}
        self._by_deadline: deque[SentBatch] = deque()
        """All batches that may still expire, oldest first; those with an outcome leave when they come to the front."""
        waits_ns = options.request_timeout_ns if options.ack_timeout_ns is None else options.ack_timeout_ns
        self._ack_timeout_ms = waits_ns // MS
        self._refusals = REFUSED_ALWAYS if options.may_be_duplicated else NOT_APPENDED
        room = options.batch_bytes - _BATCH_HEAD_BYTES
        self._most_together = max(1, room // (options.record_size + _LEAST_RECORD_BYTES))
        self._to_probe = None if options.probed is None else list(options.probed)
        self._next_value = options.index * VALUES_PER_PRODUCER + 1
        self._producer_id = -1
        self._producer_epoch = -1
        self._asking_id = False
        self._must_bump = False
        self._due_ns = 0
        self.open_sends = 0
        """Sends that have no outcome yet."""
        self.held_back = 0
        """Sends left out since as many were open as may be: it was the cluster that was slow."""

    def start(self) -> None:
        self._metadata.start()
        self._due_ns = self._ports.clock.now_ns()
        self._wait()

    @property
    def _is_busy(self) -> bool:
        return self.open_sends > 0

    def _stopped(self) -> None:
        self._metadata.stop()

    # --- new sends ---

    def _wait(self, sends: int = 1) -> None:
        """Set the timer of what follows some sends. One timer that is late does not make the following ones late."""
        interval = int(sends * self._options.interval_ns * self._ports.random.uniform(0.5, 1.5))
        now = self._ports.clock.now_ns()
        if not _LATE_NS < now - self._due_ns < _MADE_UP_NS:
            self._due_ns = now
        self._due_ns += interval
        self._ports.clock.call_later(max(0, self._due_ns - now), self._produce)

    def _produce(self) -> None:
        if self._finishing:
            self._ended_one()
            return
        sends = (
            1
            if self._options.together == 1 or self._to_probe is not None
            else self._ports.random.randint(1, self._options.together)
        )
        self._wait(sends)
        keys = self._metadata.partitions
        if self._to_probe is not None:
            known = set(keys)
            now = [key for key in self._to_probe if key in known][: self._options.max_open - self.open_sends]
            once = dict.fromkeys(now)
            self._to_probe = [key for key in self._to_probe if key not in once]
            for key in now:
                self._begin(key)
            for key in once:
                self._send_waiting(key)
        elif keys and self.open_sends >= self._options.max_open:
            self.held_back += 1
        elif keys:
            key = keys[self._ports.random.randrange(len(keys))]
            for _ in range(sends):
                self._begin(key)
            self._send_waiting(key)

    def _begin(self, key: PartitionKey) -> None:
        options, value = self._options, self._next_value
        self._next_value += 1
        process = self._recorder.invoke(options.name, "send", (MicroOp("send", key_name(key), None, value),))
        self.open_sends += 1
        waiting = self._partition(key).waiting
        if not waiting or not waiting[-1].takes_more or len(waiting[-1].records) >= self._most_together:
            batch = SentBatch(key, self._ports.clock.now_ns() + options.delivery_timeout_ns)
            waiting.append(batch)
            self._by_deadline.append(batch)
            if len(self._by_deadline) == 1:
                self._ports.clock.call_later(options.delivery_timeout_ns, self._expire_late)
        waiting[-1].records.append(SentRecord(value, process))
        self._waiting[key] = None

    def _partition(self, key: PartitionKey) -> SentPartition:
        found = self._partitions.get(key)
        if found is None:
            found = self._partitions[key] = SentPartition()
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
            batch = partition.waiting[0]
            repeats = batch.attempts > 0 or any(other.attempts > 1 for other in partition.in_flight)
            if self._options.idempotence and repeats and partition.in_flight:
                return
            partition.waiting.popleft()
            self._send(partition, batch, leader.node_id)
        self._waiting.pop(key, None)

    def _send(self, partition: SentPartition, batch: SentBatch, node_id: int) -> None:
        options = self._options
        batch.attempts += 1
        if options.idempotence and batch.sequence < 0:
            batch.sequence, batch.epoch = partition.next_sequence, self._producer_epoch
            partition.next_sequence = (partition.next_sequence + len(batch.records)) % _SEQUENCES
        now_ms, dated = self._ports.clock.wall_ms(), options.dated.get(batch.key[0], "CreateTime")
        records = build_batch(
            [self._record(record.value, now_ms, dated) for record in batch.records],
            producer_id=self._producer_id if options.idempotence else -1,
            producer_epoch=batch.epoch,
            base_sequence=batch.sequence,
            timestamp_ms=now_ms,
        )
        topic, index = batch.key
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
            self._complete_info(batch, "acks=0: no response says whether it was written")
            return
        batch.in_flight = True
        partition.in_flight.append(batch)
        self._in_flight[node_id] = self._in_flight.get(node_id, 0) + 1
        self._ports.network.send(
            endpoint,
            request,
            PRODUCE_VERSION,
            lambda response: self._answered(partition, batch, node_id, response),
            timeout_ns=options.request_timeout_ns,
        )

    def _record(self, value: int, now_ms: int, dated: str | None) -> Record:
        options = self._options
        return record_of(
            value, now_ms, keys=options.keys, tombstones=options.tombstones, size=options.record_size, dated=dated
        )

    def _answered(
        self, partition: SentPartition, batch: SentBatch, node_id: int, response: ProduceResponse | RpcFailure
    ) -> None:
        batch.in_flight = False
        partition.in_flight.remove(batch)
        self._in_flight[node_id] -= 1
        if isinstance(response, RpcFailure):
            batch.may_be_appended = True
            self._metadata.refresh()
            self._retry(partition, batch, response.value)
        else:
            self._judge(partition, batch, response.responses[0].partition_responses[0])
        self._send_after_answer(batch.key, node_id)

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

    def _judge(self, partition: SentPartition, batch: SentBatch, answer: PartitionProduceResponse) -> None:
        if batch.done:
            return
        match answer.error_code:
            case ErrorCode.NONE:
                self._complete_ok(batch, answer.base_offset)
                return
            case ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                # It is there already, so long ago that the broker has forgotten where.
                self._complete_ok(batch, None)
                return
            case _:
                pass
        error = error_name(answer.error_code)
        if answer.error_code not in self._refusals:
            batch.may_be_appended = True
        if answer.error_code in FATAL:
            self._give_up(batch, error)
        elif answer.error_code in (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.UNKNOWN_PRODUCER_ID):
            self._must_bump = True
            self._retry(partition, batch, error)
        elif answer.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and not self._waits_for_earlier(batch):
            # The broker misses what it had acknowledged: no repetition helps, only a new epoch.
            self._give_up(batch, error)
        else:
            if answer.error_code != ErrorCode.NOT_ENOUGH_REPLICAS:
                self._metadata.refresh()
            self._retry(partition, batch, error)

    def _waits_for_earlier(self, batch: SentBatch) -> bool:
        partition = self._partitions[batch.key]
        return any(
            not other.done and 0 <= other.sequence < batch.sequence
            for other in (*partition.in_flight, *partition.waiting)
        )

    def _retry(self, partition: SentPartition, batch: SentBatch, error: str) -> None:
        if batch.done:
            return
        if batch.epoch != self._producer_epoch and batch.may_be_appended:
            # Its sequence number belongs to an epoch that is over: a repetition could not be recognised.
            self._give_up(batch, error)
            return
        waiting = partition.waiting
        position = 0
        if self._options.idempotence:
            while position < len(waiting) and 0 <= waiting[position].sequence < batch.sequence:
                position += 1
        waiting.insert(position, batch)
        self._waiting[batch.key] = None
        partition.backoff_until_ns = self._ports.clock.now_ns() + RETRY_BACKOFF_NS
        key = batch.key
        self._ports.clock.call_later(RETRY_BACKOFF_NS, lambda: self._send_waiting(key))

    # --- outcomes ---

    def _expire_late(self) -> None:
        now = self._ports.clock.now_ns()
        sends = self._by_deadline
        while sends and (sends[0].done or sends[0].deadline_ns <= now):
            batch = sends.popleft()
            if not batch.done:
                self._give_up(batch, "delivery timeout" if batch.attempts else "delivery timeout, never sent")
        self._send_what_can_be()
        if sends:
            self._ports.clock.call_later(sends[0].deadline_ns - now, self._expire_late)

    def _give_up(self, batch: SentBatch, error: str) -> None:
        if batch.in_flight or batch.may_be_appended:
            self._complete_info(batch, error)
        else:
            for record in batch.records:
                operation = _operation(batch, record)
                self._recorder.fail(self._options.name, record.process, operation, error, attempts=batch.attempts)
            self._completed(batch)
        if batch.sequence >= 0:
            self._must_bump = True

    def _complete_ok(self, batch: SentBatch, offset: int | None) -> None:
        for position, record in enumerate(batch.records):
            operation = _operation(batch, record, None if offset is None or offset < 0 else offset + position)
            self._recorder.ok(self._options.name, record.process, operation, attempts=batch.attempts)
        self._completed(batch)

    def _complete_info(self, batch: SentBatch, error: str) -> None:
        for record in batch.records:
            operation = _operation(batch, record)
            self._recorder.info(self._options.name, record.process, operation, error, attempts=batch.attempts)
        self._completed(batch)

    def _completed(self, batch: SentBatch) -> None:
        batch.done = True
        self.open_sends -= len(batch.records)
        partition = self._partitions[batch.key]
        if batch in partition.waiting:
            partition.waiting.remove(batch)
        self._ended_one()

    # --- identity ---

    def _prepare_identity(self) -> None:
        """Get a producer id, or a new epoch once nothing is in flight under the old one."""
        if self._producer_id < 0:
            self._ask_for_id()
            return
        if any(partition.in_flight for partition in self._partitions.values()):
            return
        for partition in self._partitions.values():
            for batch in list(partition.waiting):
                if batch.sequence >= 0 and batch.may_be_appended:
                    self._complete_info(batch, "its producer epoch is over")
                batch.sequence, batch.epoch = -1, -1
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


def _operation(batch: SentBatch, record: SentRecord, offset: int | None = None) -> tuple[MicroOp]:
    return (MicroOp("send", key_name(batch.key), offset, record.value),)


def _ignore(_: ProduceResponse | RpcFailure) -> None:
    """With ``acks=0`` no answer is expected, and none means anything."""
