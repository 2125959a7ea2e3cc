from __future__ import annotations

from highwater_runtime.wire.message import Int8, Message, field


class RemoveUserScramCredentialRecord(Message, kind="metadata", key=22, versions="0", flexible="0+"):
    """A user's credential for one mechanism is gone."""

    name: str = field()
    mechanism: Int8 = field()
