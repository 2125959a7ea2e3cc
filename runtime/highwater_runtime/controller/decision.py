"""What a decision function returns: the records to write, and the response once they are committed.

Functions that decide get the latest image and the request and change nothing; the controller appends ``records``,
applies them to its latest image, and sends ``response`` when they are committed.

Up to :data:`MOST_RECORDS` records are one atomic batch. More are several, of which a controller that fails may leave
only the first ones: so a decision either makes fewer (topics are refused beyond that), or orders its records so that
each beginning of them is a state that the cluster may be in (partitions one by one; a broker's own record behind them).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from highwater_runtime.metadata import MetadataImage
from highwater_runtime.portable import PortableError
from highwater_runtime.wire.errors import ErrorCode

R = TypeVar("R")

MOST_RECORDS: Final = 10_000
"""In one batch of the metadata log, as Kafka's QuorumController has it."""


@dataclass(frozen=True, slots=True)
class Decision(Generic[R]):
    """``records`` (generated record classes, in order) and what to answer."""

    response: R
    records: list[Any] = field(default_factory=list)


class RefusedError(PortableError):
    """A request, or one item of it, that gets ``code`` and a sentence for the person who reads it."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(f"{code.name}: {message}")
        self.code = code
        self.message = message


def check_broker_epoch(image: MetadataImage, broker_id: int, epoch: int) -> None:
    """Raise :class:`RefusedError` (STALE_BROKER_EPOCH) unless ``epoch`` is that of the broker's registration in
    force."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise RefusedError(ErrorCode.STALE_BROKER_EPOCH, f"broker {broker_id} is not registered")
    if broker.epoch != epoch:
        raise RefusedError(
            ErrorCode.STALE_BROKER_EPOCH, f"expected broker epoch {broker.epoch} of broker {broker_id}, found {epoch}"
        )
