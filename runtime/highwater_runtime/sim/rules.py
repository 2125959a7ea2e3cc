"""What is in force in the network: cuts, slow links, rules about single RPCs. What each means is in :mod:`.faults`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from highwater_runtime.sim.connection import Connection, ConnectionState, Pair, RpcDirection, SimRequest, is_dead

RuleKind = Literal["hold", "drop", "delay", "duplicate"]


@dataclass(eq=False, slots=True)
class Cut:
    """Silence along ``pairs``."""

    pairs: tuple[Pair, ...]
    caught: int = 0
    """Messages and connection attempts that ran into it."""


@dataclass(eq=False, slots=True)
class SlowLink:
    """Each message along ``pairs`` takes ``extra_ns`` longer."""

    pairs: tuple[Pair, ...]
    extra_ns: int
    caught: int = 0


NOTED: Final = 100
"""Catches of one rule whose times are kept."""


@dataclass(eq=False, slots=True)
class RpcRule:
    """What happens to the RPCs that match."""

    kind: RuleKind
    api: str | None = None
    """Kafka's name of the API (``"AlterPartition"``); None: any."""
    from_nodes: frozenset[str] | None = None
    to_nodes: frozenset[str] | None = None
    direction: RpcDirection = "request"
    delay_ns: int = 0
    limit: int | None = None
    """Catch at most so many."""
    probability: float = 1.0
    caught: int = 0
    caught_at: list[int] = field(default_factory=list)
    """When it caught the first :data:`NOTED` of them (ns)."""
    released: int = 0
    """Held messages that went on their way after all."""
    lost: int = 0
    """Held messages whose receiver was gone at their release."""
    held: list[SimRequest] = field(default_factory=list)

    def matches(self, connection: Connection, call: SimRequest, direction: RpcDirection) -> bool:
        """Whether this message is meant (before chance is asked)."""
        return (
            self.direction == direction
            and (self.limit is None or self.caught < self.limit)
            and (self.api is None or api_name(call.body.NAME) == self.api)
            and (self.from_nodes is None or connection.client.name in self.from_nodes)
            and (self.to_nodes is None or connection.endpoint.host in self.to_nodes)
        )


Fault = Cut | SlowLink | RpcRule


def api_name(message_name: str) -> str:
    """``"Fetch"`` for ``"FetchRequest"``, ``"FetchResponse"`` and ``"Fetch"``."""
    return message_name.removesuffix("Request").removesuffix("Response")


def can_be_released(call: SimRequest) -> bool:
    """Whether the incarnation that a held request was sent to still runs."""
    return call.connection is not None and not is_dead(call.connection.server)


def is_open(call: SimRequest) -> bool:
    """Whether the connection of ``call`` still stands at both ends."""
    return call.connection is not None and call.connection.state is ConnectionState.OPEN
