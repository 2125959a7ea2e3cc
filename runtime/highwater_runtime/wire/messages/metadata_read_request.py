from __future__ import annotations

from highwater_runtime.wire.message import Int32, Message, Struct, field


class MetadataReadTopic(Struct):
    name: str = field()


class MetadataReadRequest(Message, kind="request", key=10001, versions="0", flexible="0+"):
    """Read the cluster's metadata at any node, broker or controller. An API of ours: KIP-650 leaves the form open."""

    linearizable: bool = field()  # True: as of now, or an error. False: what this node knows, however old.
    timeout_ms: Int32 = field(default=1000)  # How long the read may be held before it is answered REQUEST_TIMED_OUT.
    topics: list[MetadataReadTopic] | None = field(nullable="0+")  # Null: all.
