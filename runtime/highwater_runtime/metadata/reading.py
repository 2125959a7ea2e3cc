"""MetadataRead: topics, partitions and configurations as one image has them, with the offset that it stands for.

Any node answers, broker or controller. Whether the image is fresh enough is not decided here: a linearizable read was
held until it was (:mod:`highwater_runtime.raft.read_barrier`), a stale one takes what is there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from highwater_runtime.metadata.image import MetadataImage
from highwater_runtime.metadata.registrations import TopicImage
from highwater_runtime.ports import MS, InboundRequest
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.metadata_read_request import MetadataReadRequest
from highwater_runtime.wire.messages.metadata_read_response import (
    MetadataReadResponse,
    PartitionState,
    TopicProperty,
    TopicState,
)

METADATA_READ_VERSIONS: Final = (0,)


class WhenCurrent(Protocol):
    """Lets a read through once this node's state holds all that was acknowledged before; see ``RaftReplica``."""

    def __call__(self, timeout_ns: int, on_ready: Callable[[ErrorCode], None]) -> None:
        """Call ``on_ready`` once, when a read is linearizable or cannot be."""


def handle_metadata_read(
    request: InboundRequest,
    when_current: WhenCurrent,
    current: Callable[[], tuple[MetadataImage, int]],
    *,
    longest_ms: int,
) -> None:
    """Answer a MetadataRead: a stale one now, a linearizable one when it may be.

    ``current``: this node's image and the offset that it holds, as of the moment of the answer. No read is held longer
    than ``longest_ms``, whatever it asks for.
    """
    body: MetadataReadRequest = request.body

    def answer(error: ErrorCode) -> None:
        if error is ErrorCode.NONE:
            image, applied_offset = current()
            request.reply(read_metadata(image, body, applied_offset))
        else:
            request.reply(refused_metadata_read(error))

    if request.version not in METADATA_READ_VERSIONS:
        answer(ErrorCode.UNSUPPORTED_VERSION)
    elif body.linearizable:
        when_current(max(0, min(body.timeout_ms, longest_ms)) * MS, answer)
    else:
        answer(ErrorCode.NONE)


def read_metadata(image: MetadataImage, request: MetadataReadRequest, applied_offset: int) -> MetadataReadResponse:
    """The answer from ``image``, which holds all of the metadata log up to and with ``applied_offset``.

    A topic that was named and does not exist is answered UNKNOWN_TOPIC_OR_PARTITION.
    """
    if request.topics is None:
        topics = [_topic(topic, image) for topic in image.topics_by_name.values()]
    else:
        topics = [
            TopicState(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name=name)
            if (topic := image.topics_by_name.get(name)) is None
            else _topic(topic, image)
            for name in dict.fromkeys(asked.name for asked in request.topics)
        ]
    return MetadataReadResponse(applied_offset=applied_offset, topics=topics)


def refused_metadata_read(error: ErrorCode) -> MetadataReadResponse:
    """The answer to a read that could not be let through."""
    match error:
        case ErrorCode.REQUEST_TIMED_OUT:
            message: str | None = "held too long: no leader has confirmed itself, or this node lags behind it"
        case ErrorCode.BROKER_NOT_AVAILABLE:
            message = "this node is stopping"
        case _:
            message = None
    return MetadataReadResponse(error_code=error, error_message=message)


def _topic(topic: TopicImage, image: MetadataImage) -> TopicState:
    return TopicState(
        name=topic.name,
        topic_id=topic.id,
        partitions=[
            PartitionState(
                partition_index=index,
                leader_id=partition.leader,
                leader_epoch=partition.leader_epoch,
                partition_epoch=partition.partition_epoch,
                replicas=list(partition.replicas),
                isr=list(partition.isr),
            )
            for index, partition in sorted(topic.partitions.items())
        ],
        configs=[
            TopicProperty(name=name, value=value) for name, value in sorted(image.topic_config(topic.name).items())
        ],
    )
