from __future__ import annotations

from highwater_runtime.wire.message import Message, field


class ApiVersionsRequest(Message, kind="request", key=18, versions="0-4", flexible="3+"):
    """Which APIs and versions does the broker speak (KIP-35, KIP-511)?"""

    client_software_name: str = field("3+", ignorable=True)  # Name of the client library.
    client_software_version: str = field("3+", ignorable=True)  # Its version.
