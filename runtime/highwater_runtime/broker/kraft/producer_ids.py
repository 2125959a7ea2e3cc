"""Blocks of producer ids from the active controller (KIP-730)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from highwater_runtime.broker.controller_channel import ControllerChannel
from highwater_runtime.ports import RpcFailure
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.allocate_producer_ids_request import AllocateProducerIdsRequest

_VERSION: Final = 0


class AllocatedBlocks:
    """A :class:`~highwater_runtime.broker.mode.ProducerIdBlocks`."""

    def __init__(self, channel: ControllerChannel, broker_id: int, broker_epoch: Callable[[], int]) -> None:
        self._channel = channel
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch

    def next_block(self, on_block: Callable[[range | None], None], *, give_up_at_ns: int) -> None:

        def allocated(response: Any) -> None:
            if isinstance(response, RpcFailure) or response.error_code != ErrorCode.NONE:
                on_block(None)
            else:
                on_block(range(response.producer_id_start, response.producer_id_start + response.producer_id_len))

        self._channel.ask(self._request, allocated, give_up_at_ns=give_up_at_ns)

    def _request(self) -> tuple[AllocateProducerIdsRequest, int]:
        return AllocateProducerIdsRequest(broker_id=self._broker_id, broker_epoch=self._broker_epoch()), _VERSION
