"""Apache Kafka's nodes in ZooKeeper, rewritten as those of our own runtime.

The harness reads ZooKeeper's transactions by :mod:`highwater_runtime.metadata.znodes`. Apache Kafka keeps the same in
other places and forms, from 1.0 to 3.9 in these:

=============================================  =====================================================================
its node                                       how it differs from ours
=============================================  =====================================================================
``/brokers/topics/T/partitions/P/state``       ours is ``/brokers/topics/T/P/leaderAndISR``; the same fields
``/brokers/topics/T``                          ``topic_id`` (from 2.8 on) is a uuid in base 64
``/controller``                                a JSON object with the field ``brokerid``; ours holds the number alone
=============================================  =====================================================================
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from binascii import Error as Base64Error
from typing import Any, Final
from uuid import UUID

import msgspec

from highwater_runtime.metadata import znodes
from highwater_runtime.metadata.znodes import ZnodeError, decode_node
from highwater_runtime.zookeeper.tree import Change

_STATE: Final = "state"
_PARTITIONS: Final = "/partitions/"
_UUID_BYTES: Final = 16


class _ControllerNode(msgspec.Struct, frozen=True):
    brokerid: int


class _TopicNode(msgspec.Struct, frozen=True, omit_defaults=True):
    partitions: dict[int, tuple[int, ...]]
    topic_id: str | None = None
    adding_replicas: dict[int, tuple[int, ...]] = {}
    removing_replicas: dict[int, tuple[int, ...]] = {}


def as_our_nodes(changes: list[Change]) -> list[Change]:
    """The changes as our own runtime would have made them.

    Raises:
        ZnodeError: a node does not hold what it must.
    """
    return [_as_ours(change) for change in changes]


def _as_ours(change: Change) -> Change:
    parent, _, name = change.path.rpartition("/")
    if change.path == znodes.CONTROLLER and change.data is not None:
        return change._replace(data=str(decode_node(_ControllerNode, change.path, change.data).brokerid).encode())
    if parent == znodes.TOPICS and change.data is not None:
        return change._replace(data=_topic(change.path, change.data))
    if name == _STATE and parent.startswith(f"{znodes.TOPICS}/") and _PARTITIONS in parent:
        topic, _, index = parent.removeprefix(f"{znodes.TOPICS}/").partition(_PARTITIONS)
        if index.isdecimal():
            return change._replace(path=znodes.leader_and_isr_path(topic, int(index)))
    return change


def _topic(path: str, data: bytes) -> bytes:
    node = decode_node(_TopicNode, path, data)
    fields: dict[str, Any] = msgspec.to_builtins(node, str_keys=True)
    if node.topic_id is not None:
        fields["topic_id"] = str(_uuid(path, node.topic_id))
    return msgspec.json.encode(fields)


def _uuid(path: str, text: str) -> UUID:
    try:
        found = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (ValueError, Base64Error) as error:
        raise ZnodeError(f"{path}: expected a topic_id in base 64, found {text[:80]!r}: {error}") from None
    if len(found) != _UUID_BYTES:
        raise ZnodeError(f"{path}: expected a topic_id of {_UUID_BYTES} bytes, found {text[:80]!r}")
    return UUID(bytes=found)
