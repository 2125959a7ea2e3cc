"""InitProducerId: hand out producer ids, from blocks that the cluster allocates (KIP-98, KIP-730).

A block belongs to this broker alone, for ever, so ids are unique without asking for each. A restarted broker asks for a
new block and lets the rest of the old one go. A producer that names the id it has, to go on with a newer epoch, gets a
new id, as in Kafka where it has no transactional id.
"""

from __future__ import annotations

from collections import deque

from highwater_runtime.broker.mode import ProducerIdBlocks
from highwater_runtime.log.records import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from highwater_runtime.ports import MS, Clock, InboundRequest
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.init_producer_id_request import InitProducerIdRequest
from highwater_runtime.wire.messages.init_producer_id_response import InitProducerIdResponse

RETRY_BACKOFF_NS = 50 * MS


class ProducerIds:
    """The block of producer ids at hand, and the requests that wait for the next one."""

    def __init__(
        self,
        blocks: ProducerIdBlocks,
        clock: Clock,
        *,
        give_up_after_ns: int,
    ) -> None:
        self._blocks = blocks
        self._clock = clock
        self._give_up_after_ns = give_up_after_ns
        self._block = range(0)
        self._next = 0
        self._waiting: deque[tuple[InboundRequest, int]] = deque()
        self._asking = False

    @property
    def block(self) -> range:
        """The ids of the block at hand, also those that have been given out; empty before the first."""
        return self._block

    def handle(self, request: InboundRequest) -> None:
        """Answer an InitProducerIdRequest, at once or when a block has come. Transactional ones are refused."""
        body: InitProducerIdRequest = request.body
        half_known = (body.producer_id == NO_PRODUCER_ID) != (body.producer_epoch == NO_PRODUCER_EPOCH)
        if body.transactional_id is not None:
            # There is no transaction coordinator. This is the error that no client takes for a passing one.
            request.reply(_refusal(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
            return
        if half_known:
            request.reply(_refusal(ErrorCode.INVALID_REQUEST))
            return
        self._waiting.append((request, self._clock.now_ns() + self._give_up_after_ns))
        self._serve()

    def _serve(self) -> None:
        while self._waiting and self._next < self._block.stop:
            request, _ = self._waiting.popleft()
            request.reply(InitProducerIdResponse(error_code=ErrorCode.NONE, producer_id=self._next, producer_epoch=0))
            self._next += 1
        if self._waiting and not self._asking:
            self._asking = True
            self._blocks.next_block(self._allocated, give_up_at_ns=self._waiting[0][1])

    def _allocated(self, block: range | None) -> None:
        self._asking = False
        if not block or block.start < self._block.stop:  # ids that this broker may have given out already
            now = self._clock.now_ns()
            while self._waiting and self._waiting[0][1] <= now + RETRY_BACKOFF_NS:
                self._waiting.popleft()[0].reply(_refusal(ErrorCode.REQUEST_TIMED_OUT))
            self._asking = True
            self._clock.call_later(RETRY_BACKOFF_NS, self._again)
            return
        self._block, self._next = block, block.start
        self._serve()

    def _again(self) -> None:
        self._asking = False
        self._serve()


def _refusal(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error, producer_id=-1, producer_epoch=-1)
