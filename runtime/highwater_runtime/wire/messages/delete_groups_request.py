from __future__ import annotations

from highwater_runtime.wire.message import Message, field


class DeleteGroupsRequest(Message, kind="request", key=42, versions="0-2", flexible="2+"):
    """Forget groups that have no members, with everything that they committed."""

    groups_names: list[str] = field()
