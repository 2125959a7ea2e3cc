"""Requests from a broker to the active controller, wherever that is at the moment.

A broker knows the active controller from its mode, and asks that node and no other, as Kafka does. While none is known
it waits. What it knows may be old: a controller that is not (or no longer) active answers NOT_CONTROLLER, or nothing at
all; then the node that is known by then is asked, after a back-off. In KRaft mode a node that answers as controller
leads in the newest epoch that this broker knows of or in a later one, so its state is at least as new as the metadata
on which the request rests. Any other voter may be a deposed controller that has missed all that.

Each purpose (heartbeats, AlterPartition, forwarding …) has a channel of its own, so that a request that is held up
does not hold up the others.

Whether a request that got no answer was carried out is unknown. It is sent again, so every request sent through here
must be idempotent or bear being refused the second time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from highwater_runtime.ports import (
    MS,
    ApiMessage,
    Endpoint,
    Heartbeat,
    Ports,
    RepetitionHandler,
    ResponseHandler,
    RpcFailure,
)
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.describe_quorum_response import DescribeQuorumResponse
from highwater_runtime.wire.messages.elect_leaders_response import ElectLeadersResponse

RETRY_BACKOFF_NS = 50 * MS
"""Between attempts (Kafka's ``retry.backoff.ms`` of the broker-to-controller channel)."""

RequestBuilder = Callable[[], tuple[ApiMessage, int]]
"""Makes the request and its version afresh for each attempt."""


class Repeated(NamedTuple):
    """How a heartbeat is repeated; see :meth:`~highwater_runtime.ports.Network.repeat_while_held_up`."""

    every_ns: int
    on_response: RepetitionHandler


class ControllerChannel:
    """A way to the active controller for one purpose.

    Args:
        name: the channel's name on the network.
        controller: where the controller listens that this broker knows as active; None while it knows none.
        timeout_ns: how long one attempt may take.
    """

    def __init__(
        self,
        name: str,
        controller: Callable[[], Endpoint | None],
        ports: Ports,
        *,
        timeout_ns: int,
    ) -> None:
        self._name = name
        self._controller = controller
        self._ports = ports
        self._timeout_ns = timeout_ns
        self._closed = False

    def close(self) -> None:
        """Send nothing more; answers still under way are dropped."""
        self._closed = True

    def ask(
        self,
        build: RequestBuilder,
        on_answer: ResponseHandler,
        *,
        give_up_at_ns: int | None = None,
        repeated: Repeated | None = None,
    ) -> None:
        """Ask until an active controller answers, then call ``on_answer`` with its response.

        With ``give_up_at_ns`` (by the node's clock), ``on_answer(RpcFailure.TIMED_OUT)`` once that is past.
        """
        if self._closed:
            return
        controller = self._controller()
        if controller is None:
            self._ask_later(build, on_answer, give_up_at_ns, repeated)
            return
        request, version = build()

        def answered(response: Any) -> None:
            if self._closed:
                return
            if isinstance(response, RpcFailure) or says_not_controller(response):
                self._ask_later(build, on_answer, give_up_at_ns, repeated)
            else:
                on_answer(response)

        timeout_ns = self._timeout_ns
        if give_up_at_ns is not None:
            timeout_ns = max(1, min(timeout_ns, give_up_at_ns - self._ports.clock.now_ns()))
        self._ports.network.send(controller, request, version, answered, timeout_ns=timeout_ns, channel=self._name)
        if repeated is not None:

            def answered_again(sent_ns: int, response: Any) -> None:
                if not self._closed:
                    repeated.on_response(sent_ns, response)

            heartbeat = Heartbeat(controller, request, version, answered_again, repeated.every_ns, timeout_ns)
            self._ports.network.repeat_while_held_up(heartbeat)

    def _ask_later(
        self,
        build: RequestBuilder,
        on_answer: ResponseHandler,
        give_up_at_ns: int | None,
        repeated: Repeated | None,
    ) -> None:
        now = self._ports.clock.now_ns()
        over = give_up_at_ns is not None and now + RETRY_BACKOFF_NS >= give_up_at_ns

        def go_on() -> None:
            if not over:
                self.ask(build, on_answer, give_up_at_ns=give_up_at_ns, repeated=repeated)
            elif not self._closed:
                on_answer(RpcFailure.TIMED_OUT)

        # As an event of its own even when it is over: who asks may not be ready for an answer before ask() returns.
        self._ports.clock.call_later(0 if over else RETRY_BACKOFF_NS, go_on)


def says_not_controller(response: Any) -> bool:
    """Whether a response is the refusal of a controller that is not active.

    Most responses say so at the top; those of the administrative requests that have no error there say it for every
    item. DescribeQuorum is answered by the quorum's replica, which says it as any replica that does not lead.
    """
    top = getattr(response, "error_code", None)
    if top is not None and top != ErrorCode.NONE:
        return bool(top == ErrorCode.NOT_CONTROLLER)
    if isinstance(response, DescribeQuorumResponse):
        errors = [data.error_code for topic in response.topics for data in topic.partitions]
        return bool(errors) and all(error == ErrorCode.NOT_LEADER_OR_FOLLOWER for error in errors)
    if isinstance(response, ElectLeadersResponse):
        errors = [one.error_code for topic in response.replica_election_results for one in topic.partition_result]
        return bool(errors) and all(error == ErrorCode.NOT_CONTROLLER for error in errors)
    for field in ("topics", "responses", "results"):
        items = getattr(response, field, None)
        if items:
            return all(getattr(item, "error_code", None) == ErrorCode.NOT_CONTROLLER for item in items)
    return False
