"""Blocks of producer ids from ``/latest_producer_id_block`` (KIP-98)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from highwater_runtime.broker.zk.membership import Membership
from highwater_runtime.metadata.znodes import (
    PRODUCER_ID_BLOCK,
    ProducerIdBlockNode,
    ZnodeError,
    decode_node,
    encode_node,
)
from highwater_runtime.ports.coordination import Data, Failure, Get, Set, Stat

BLOCK_SIZE: Final = 1000
_MOST: Final = 2**63 - 1


class WrittenBlocks:
    """A :class:`~highwater_runtime.broker.mode.ProducerIdBlocks`. A block whose write got no answer is left unused."""

    def __init__(self, membership: Membership, broker_id: int) -> None:
        self._membership = membership
        self._broker_id = broker_id

    def next_block(self, on_block: Callable[[range | None], None], *, give_up_at_ns: int) -> None:  # noqa: ARG002

        def read(result: Data | Failure) -> None:
            start = _next_start(result)
            if start is None or not isinstance(result, Data):
                on_block(None)
                return
            node = ProducerIdBlockNode(broker=self._broker_id, block_start=start, block_end=start + BLOCK_SIZE - 1)
            write = Set(PRODUCER_ID_BLOCK, encode_node(node), result.stat.version)
            block = range(start, start + BLOCK_SIZE)
            self._membership.submit(write, lambda done: on_block(block if isinstance(done, Stat) else None))

        self._membership.submit(Get(PRODUCER_ID_BLOCK), read)


def _next_start(result: Data | Failure) -> int | None:
    """The first id of the next block; None if that cannot be known."""
    if isinstance(result, Failure):
        return None
    if not result.data:
        return 0
    try:
        end = decode_node(ProducerIdBlockNode, PRODUCER_ID_BLOCK, result.data).block_end
    except ZnodeError:
        return None
    return end + 1 if end <= _MOST - BLOCK_SIZE else None
