"""What a delivery report of librdkafka allows to claim about a record.

librdkafka knows for each message whether it was never persisted or possibly was (``rd_kafka_message_status``), but the
Python package does not hand that on; what is left is the error code, and most codes say less than they seem to:

* ``_MSG_TIMED_OUT`` is the end of a message that never left the queue, of one in flight, and of one that waits to be
  sent again after an attempt whose answer was lost. Nothing distinguishes them: ``info``.
* ``_PURGE_QUEUE`` comes for messages not in flight at that moment. Such a message may be waiting for its second
  attempt, and librdkafka gives this code to requests of which a part had been written to the socket, too: ``info``.
  ``_PURGE_INFLIGHT``: ``info``.
* Broker errors that can be retried (``NOT_ENOUGH_REPLICAS`` …) do not come out: librdkafka repeats until the time is
  up.
* ``OUT_OF_ORDER_SEQUENCE_NUMBER``, ``UNKNOWN_PRODUCER_ID`` and the like say that *this* attempt was not appended, and
  nothing about an earlier one: ``info``.

Definite are refusals that depend on the record alone, since every attempt was or would have been refused alike, and
whatever ``produce`` itself refuses, which librdkafka then never had.
"""

from __future__ import annotations

from typing import Final

from confluent_kafka import KafkaError

DEFINITE: Final = frozenset(
    {
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.INVALID_RECORD,
        KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        KafkaError.INVALID_REQUIRED_ACKS,
        KafkaError.TOPIC_EXCEPTION,
    }
)
"""Delivery errors after which a record cannot be in the log."""


def is_definite(error: KafkaError) -> bool:
    """Whether a delivery report with this error proves that the record was not and will not be appended."""
    return error.code() in DEFINITE


def describe(error: KafkaError) -> str:
    """Return Kafka's or librdkafka's name of the error and the library's message: ``_MSG_TIMED_OUT: Local: …``."""
    return f"{error.name()}: {error.str()}"
