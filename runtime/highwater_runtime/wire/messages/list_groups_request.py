from __future__ import annotations

from highwater_runtime.wire.message import Message, field


class ListGroupsRequest(Message, kind="request", key=16, versions="0-5", flexible="3+"):
    """The groups that this broker coordinates."""

    states_filter: list[str] = field("4+")  # States to list; empty for all (KIP-518).
    types_filter: list[str] = field("5+")  # Types to list; empty for all (KIP-848).
