"""What a log refuses, as typed exceptions.

Each class names the Kafka error it stands for in ``KAFKA_ERROR``, so that a broker answers with
``ErrorCode[error.KAFKA_ERROR]``: the log may not import the wire format (same layer), and needs no table for it.
Faults of the disk are ``OSError``, as the disk port raises them.
"""

from __future__ import annotations

from typing import ClassVar

from highwater_runtime.portable import PortableError


class LogError(Exception):
    """Base of everything a log refuses. The message says what was expected, what was found and where."""

    KAFKA_ERROR: ClassVar[str] = "UNKNOWN_SERVER_ERROR"


class OffsetOutOfRangeError(LogError):
    """A read below the log start offset or above the log end offset."""

    KAFKA_ERROR = "OFFSET_OUT_OF_RANGE"


class CorruptRecordError(LogError):
    """A batch whose size, magic or CRC is wrong."""

    KAFKA_ERROR = "CORRUPT_MESSAGE"


class InvalidRecordError(PortableError, LogError):
    """A batch that is intact but that a client may not write: control batches, records that are not as announced.

    ``record_errors``: index and fault of single records, where the others are fine (KIP-467).
    """

    KAFKA_ERROR = "INVALID_RECORD"

    def __init__(self, message: str, record_errors: tuple[tuple[int, str], ...] = ()) -> None:
        super().__init__(message)
        self.record_errors = record_errors


class InvalidTimestampError(LogError):
    """A batch that says that its leader has dated it, though that is for its leader to say; or no timestamp at all."""

    KAFKA_ERROR = "INVALID_TIMESTAMP"


class TransactionalRecordsError(LogError):
    """A batch of a transaction; there are none here."""

    KAFKA_ERROR = "INVALID_TXN_STATE"


class UnsupportedMessageFormatError(LogError):
    """A message of magic 0 or 1, which this log does not store."""

    KAFKA_ERROR = "UNSUPPORTED_FOR_MESSAGE_FORMAT"


class CompressedRecordsError(LogError):
    """The records inside a compressed batch were asked for; compressed batches are only passed through."""

    KAFKA_ERROR = "UNSUPPORTED_COMPRESSION_TYPE"


class UnknownCompressionError(LogError):
    """A batch compressed in a way that no reader could undo."""

    KAFKA_ERROR = "UNSUPPORTED_COMPRESSION_TYPE"


class RecordTooLargeError(LogError):
    """A batch larger than ``max.message.bytes``, or one that is too large when it is decompressed."""

    KAFKA_ERROR = "MESSAGE_TOO_LARGE"


class RecordBatchTooLargeError(LogError):
    """An append larger than a whole segment may be."""

    KAFKA_ERROR = "RECORD_LIST_TOO_LARGE"


class OutOfOrderSequenceError(LogError):
    """An idempotent producer's batch does not follow its last one."""

    KAFKA_ERROR = "OUT_OF_ORDER_SEQUENCE_NUMBER"


class InvalidProducerEpochError(LogError):
    """A batch of a producer that a newer epoch of the same producer id has fenced."""

    KAFKA_ERROR = "INVALID_PRODUCER_EPOCH"


class UnexpectedAppendOffsetError(LogError):
    """A follower's append that does not begin at its log end offset (would overlap or leave a gap)."""


class InconsistentTopicIdError(LogError):
    """A partition's directory belongs to another topic id than the one asked for."""

    KAFKA_ERROR = "INCONSISTENT_TOPIC_ID"


class LogOfflineError(LogError):
    """The disk failed under this log (or it was closed); nothing more can be read from or written to it."""

    KAFKA_ERROR = "KAFKA_STORAGE_ERROR"


class TruncationPendingError(LogError):
    """A truncation has to wait until the checkpoint of the recovery point is lowered, which is under way: nothing has
    changed, ask again a little later."""


class InconsistentMetaPropertiesError(LogError):
    """``meta.properties`` says that the data directory belongs to another node or another cluster."""


class CorruptCheckpointError(LogError):
    """A checkpoint file that cannot be parsed."""


class EpochRegressionError(LogError):
    """A follower was given a batch of an older leader epoch than its log already ends with."""

    KAFKA_ERROR = "FENCED_LEADER_EPOCH"
