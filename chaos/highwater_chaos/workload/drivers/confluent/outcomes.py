"""What a delivery report of librdkafka allows to claim about a record: with an error, nothing (``info``).

librdkafka knows for each message whether it was never persisted or possibly was (``rd_kafka_message_status``), but the
Python package does not hand that on. What is left is the error code, which is that of the last attempt:

* ``_MSG_TIMED_OUT`` is the end of a message that never left the queue, of one in flight, and of one that waits to be
  sent again after an attempt whose answer was lost.
* ``_PURGE_QUEUE`` comes for messages not in flight at that moment. Such a message may be waiting for its second
  attempt, and librdkafka gives this code to requests of which a part had been written to the socket, too.
* Broker errors that can be retried (``NOT_ENOUGH_REPLICAS`` …) do not come out: librdkafka repeats until the time is
  up.
* Any other broker error says that *this* attempt was not appended, and nothing about an earlier one. Even a refusal
  that seems to depend on the record alone depends on its batch and on the topic's configuration
  (``MSG_SIZE_TOO_LARGE``, ``INVALID_RECORD``): a producer without idempotence puts what it sends again into a larger
  batch, and the configuration may change between two attempts.

Definite is only what ``produce`` itself refuses, which librdkafka then never had.
"""

from __future__ import annotations

from confluent_kafka import KafkaError


def describe(error: KafkaError) -> str:
    """Return Kafka's or librdkafka's name of the error and the library's message: ``_MSG_TIMED_OUT: Local: …``."""
    return f"{error.name()}: {error.str()}"
