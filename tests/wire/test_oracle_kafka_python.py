"""``kafka-python`` as oracle: it carries Kafka's own schemas of the client-facing APIs.

They are compared fact by fact, also in what no bytes show: what may be dropped, what the defaults are.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

import pytest

from highwater_runtime.wire.catalog import message_classes

pytestmark = pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated:DeprecationWarning")

NODE_TO_NODE = re.compile(
    "AlterPartition(Request|Response)|Broker(Registration|Heartbeat).*|UnregisterBroker.*|AllocateProducerIds.*"
    "|Vote.*|(Begin|End)QuorumEpoch.*|FetchSnapshot.*|.*Record|LeaderChangeMessage|(Request|Response)Header"
    "|ReadOffset.*|MetadataRead.*|Zookeeper.*|(OffsetCommit|GroupMetadata)(Key|Value)"
    "|AssignReplicasToDirs.*|(LeaderAndIsr|StopReplica|UpdateMetadata|ControlledShutdown)(Request|Response)"
)
"""What clients have no use for, and kafka-python has no codec for (of some it has the schema); and what is ours."""


@cache
def _their_schema(name: str) -> dict[str, Any] | None:
    resource = files("kafka.protocol.schemas").joinpath("resources", f"{name}.json")
    if not resource.is_file():
        return None
    text = re.sub(r"^\s*//.*$", "", resource.read_text(encoding="utf-8"), flags=re.MULTILINE)
    schema: dict[str, Any] = json.loads(text)
    return schema


def test_the_schemas_say_the_same(compare_schemas):
    for message in message_classes():
        theirs = _their_schema(message.NAME)
        if theirs is None:
            assert NODE_TO_NODE.fullmatch(message.NAME)
        else:
            compare_schemas(message, theirs)
