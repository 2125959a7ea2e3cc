from __future__ import annotations

from highwater_runtime.wire.message import Int16, Message, field


class UpdateMetadataResponse(Message, kind="response", key=6, versions="0-8", flexible="6+"):
    """Taken note, or refused as stale."""

    error_code: Int16 = field()
