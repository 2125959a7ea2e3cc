"""Administrative requests: passed on to the active controller, and its answer passed back (KIP-590).

If no controller answers in time, every item of the request is answered with REQUEST_TIMED_OUT; whether it was carried
out is then unknown.
"""

from __future__ import annotations

from typing import Any, Final

from highwater_runtime.broker.controller_channel import ControllerChannel
from highwater_runtime.ports import MS, Clock, InboundRequest, RpcFailure
from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.refusal import refusal

FORWARDED: Final = frozenset(
    {
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.ELECT_LEADERS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.UPDATE_FEATURES,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    }
)


def handle(request: InboundRequest, channel: ControllerChannel, clock: Clock, *, timeout_ms: int) -> None:
    """Forward a request of :data:`FORWARDED`; wait as long as it says, at most ``timeout_ms``."""
    patience_ms = min(getattr(request.body, "timeout_ms", timeout_ms), timeout_ms)

    def answered(response: Any) -> None:
        if isinstance(response, RpcFailure):
            request.reply(refusal(request.body, ErrorCode.REQUEST_TIMED_OUT, version=request.version))
        else:
            request.reply(response)

    channel.ask(
        lambda: (request.body, request.version), answered, give_up_at_ns=clock.now_ns() + max(0, patience_ms) * MS
    )
