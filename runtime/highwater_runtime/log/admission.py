"""What a leader lets into its log: pure checks of batches, before anything is written.

Kafka's rules for produce: intact, not larger than ``max.message.bytes``, not a control batch, not of a transaction, not
dated by a leader, of a known compression, as many records as offsets, and an idempotent batch alone in its partition's
records. Records themselves are not looked at.
"""

from __future__ import annotations

from highwater_runtime.log.errors import (
    CorruptRecord,
    InvalidRecord,
    InvalidTimestamp,
    RecordTooLarge,
    TransactionalRecords,
    UnknownCompression,
)
from highwater_runtime.log.records import CODECS, HEADER_SIZE, BatchView, Buffer, batch_at


def whole_batches(records: Buffer) -> list[BatchView]:
    """The batches that ``records`` consist of, to the last byte.

    Raises:
        CorruptRecord, UnsupportedMessageFormat: they are not batches v2, or not whole.
        InvalidRecord: there is none.
    """
    batches: list[BatchView] = []
    position, end = 0, len(records)
    while position < end:
        if end - position < HEADER_SIZE:
            raise CorruptRecord(f"{end - position} bytes behind the last batch")
        batch = batch_at(records, position)
        position += batch.size_in_bytes
        if position > end:
            raise CorruptRecord(f"batch of {batch.size_in_bytes} bytes, of which {position - end} are missing")
        batches.append(batch)
    if not batches:
        raise InvalidRecord("no batch to append")
    return batches


def check_client_batch(batch: BatchView, max_message_bytes: int, *, alone: bool) -> None:
    """Refuse what a client may not write.

    Raises:
        RecordTooLarge, CorruptRecord, InvalidRecord: see the module.
    """
    if batch.size_in_bytes > max_message_bytes:
        raise RecordTooLarge(f"batch of {batch.size_in_bytes} bytes, at most {max_message_bytes}")
    batch.ensure_valid()
    if not batch.is_plain:
        _check_attributes(batch)
    if batch.record_count != batch.last_offset - batch.base_offset + 1:
        raise InvalidRecord(f"{batch.record_count} records in a batch from {batch.base_offset} to {batch.last_offset}")
    if batch.producer_id < 0:
        return
    if batch.base_sequence < 0 or batch.producer_epoch < 0:
        raise InvalidRecord(
            f"producer {batch.producer_id} with epoch {batch.producer_epoch}, sequence {batch.base_sequence}"
        )
    if not alone:
        raise InvalidRecord("an idempotent batch comes alone in its partition's records")


def _check_attributes(batch: BatchView) -> None:
    if batch.is_control:
        raise InvalidRecord("control batches are not for clients to write")
    if batch.is_transactional:
        raise TransactionalRecords("transactions are not supported")
    if batch.is_log_append_time:
        raise InvalidTimestamp("a producer cannot date its records by LogAppendTime")
    if batch.codec not in CODECS:
        raise UnknownCompression(f"compression type {batch.codec} is none of {', '.join(CODECS)}")
