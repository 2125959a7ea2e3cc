"""Invariants of what a broker knows of producers (KIP-98).

``producer-state``:

* What a log knows of a producer is what the producer's batches in it say: the last epoch, and as many of its last
  batches as tell a repetition from a gap. What expired, or lies below the log start, need not be known.
* A leader does not refuse a batch as out of sequence that its log has among the producer's last ones: it is a
  repetition, and the producer would have to give up what is written. It may if that batch is old enough to have been
  forgotten: then a later one was taken for the producer's first.

Worked example: a snapshot of the producers' state leaves one out. The leader that loads it takes the producer's next
batch for its first, or appends a repetition once more.

The trap: what is known may be more than the log has, for batches below the log start are deleted, and compaction keeps
of a producer no more than its last batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from highwater_runtime.log.errors import LogError
from highwater_runtime.log.log import Log
from highwater_runtime.log.producer_state import ProducerBatch, ProducerEntry
from highwater_runtime.log.records import BatchView, iter_batches
from highwater_runtime.sim.connection import SimRequest
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.violation import Violations
from highwater_runtime.sim.simulator import Simulator
from highwater_runtime.wire.errors import ErrorCode

_BATCHES: Final = 5
"""So many batches a producer may have under way (Kafka's NUM_BATCHES_TO_RETAIN), so each of them may come again."""


class ProducerInvariants:
    """Checks leaders after each Produce request; logs that were loaded or cut are :mod:`.logs`' affair."""

    def __init__(self, simulator: Simulator, live: LiveCluster, violations: Violations) -> None:
        self._simulator = simulator
        self._live = live
        self._violations = violations

    def on_request(self, node: str, call: SimRequest) -> None:
        """Look at the log of a leader that has just refused a batch."""
        if call.response is None:
            return
        refused = [
            (topic.name, one.index)
            for topic in call.response.responses
            for one in topic.partition_responses
            if one.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        ]
        broker = self._live.broker(node) if refused else None
        if broker is None:
            return
        sent = {(topic.name, one.index): one.records for topic in call.body.topic_data for one in topic.partition_data}
        for replica in broker.partitions.values():
            records = sent.get((replica.topic, replica.index))
            if (replica.topic, replica.index) in refused and records is not None:
                self._violations.now_ns = self._simulator.now_ns
                self._is_no_repetition(node, replica.log, records)

    def _is_no_repetition(self, node: str, log: Log, records: bytes) -> None:
        in_log = producers_in(log)
        expired_ms = self._live.latest_wall_ms(node) - log.config.producer_id_expiration_ms
        for batch in iter_batches(records):
            entry = None if in_log is None else in_log.get(batch.producer_id)
            if entry is None or entry.epoch != batch.producer_epoch:
                continue
            for known in (one for one in entry.batches if one.timestamp > expired_ms):
                if (known.base_sequence, known.last_sequence) == (batch.base_sequence, batch.last_sequence):
                    what = (
                        f"{node} refuses sequence {batch.base_sequence} of producer {batch.producer_id}, epoch"
                        f" {entry.epoch}, as out of order, which is at offset {known.base_offset} of its log"
                    )
                    self._violations.add("producer-state", log.partition, what, (node, batch.producer_id, "refused"))


def wrongly_known(log: Log, in_log: dict[int, ProducerEntry], expired_ms: int) -> Iterator[tuple[int, str]]:
    """What a log does not know as ``in_log`` has it, which its batches say (see :func:`note_batch`): producer ids, each
    with a clause. What was written at ``expired_ms`` or before need not be known."""
    begin, compacts = log.log_start_offset, log.config.compacts
    known = dict(log.producers.items())
    for producer_id in dict.fromkeys((*known, *in_log)):
        entry, said = known.get(producer_id), in_log.get(producer_id)
        if said is None:
            is_right = compacts or all(batch.last_offset < begin for batch in known[producer_id].batches)
        elif entry is None:
            is_right = compacts or said.last_timestamp <= expired_ms
        else:
            owed = [batch for batch in said.batches if batch.timestamp > expired_ms and not compacts]
            last = owed or said.batches[-1:]
            is_right = entry.epoch == said.epoch and _ends(entry.batches[-len(last) :]) == _ends(last)
        if not is_right:
            where = f"its log [{begin}, {log.log_end_offset})"
            yield producer_id, f"{_in_words(entry)} of producer {producer_id}; {where} has {_in_words(said)}"


def producers_in(log: Log) -> dict[int, ProducerEntry] | None:
    """What the batches of a log say of producers; None if its disk has failed."""
    entries: dict[int, ProducerEntry] = {}
    try:
        for batch in log.headers(log.log_start_offset):
            note_batch(entries, batch)
    except LogError:
        return None
    return entries


def note_batch(entries: dict[int, ProducerEntry], batch: BatchView) -> None:
    """Take in the next batch of a log: another epoch of a producer leaves nothing of those before."""
    if batch.producer_id < 0:
        return
    entry = entries.get(batch.producer_id)
    if entry is None or entry.epoch != batch.producer_epoch:
        entry = entries[batch.producer_id] = ProducerEntry(batch.producer_epoch, batch.max_timestamp)
    entry.last_timestamp = batch.max_timestamp
    if batch.base_sequence >= 0:
        offsets = batch.base_offset, batch.last_offset
        entry.batches.append(ProducerBatch(batch.base_sequence, batch.last_sequence, *offsets, batch.max_timestamp))
        del entry.batches[:-_BATCHES]


def _ends(batches: list[ProducerBatch]) -> list[tuple[int, int]]:
    """Where each batch ends; compaction may have changed where it begins."""
    return [(batch.last_sequence, batch.last_offset) for batch in batches]


def _in_words(entry: ProducerEntry | None) -> str:
    if entry is None:
        return "nothing"
    batches = ", ".join(f"{one.last_sequence} at offset {one.last_offset}" for one in entry.batches)
    return f"epoch {entry.epoch}, last sequences {batches or 'none'}"
