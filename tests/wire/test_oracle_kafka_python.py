"""``kafka-python`` as oracle: it carries Kafka's own schemas of the client-facing APIs, and a codec made from them.

The schemas are compared fact by fact (which no bytes show: what may be dropped, what the defaults are), the codecs
byte by byte.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
from functools import cache
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given, settings

from highwater_runtime.wire.catalog import message_classes
from highwater_runtime.wire.messages.api_versions_response import ApiVersionsResponse
from highwater_runtime.wire.versioned import decode_consumer_protocol, encode_versioned

WIRE = settings.get_profile("wire")
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


@cache
def _their_classes() -> dict[str, Any]:
    import kafka.protocol
    from kafka.protocol.api_data import ApiData
    from kafka.protocol.api_message import ApiMessage

    for module in pkgutil.walk_packages(kafka.protocol.__path__, "kafka.protocol."):
        if ".old" not in module.name and "generate" not in module.name:
            importlib.import_module(module.name)

    def below(cls: Any) -> dict[str, Any]:
        found = {}
        for sub in cls.__subclasses__():
            found[sub.__name__] = sub
            found |= below(sub)
        return found

    return below(ApiMessage) | below(ApiData)


@pytest.mark.parametrize("message", [m for m in message_classes() if not NODE_TO_NODE.fullmatch(m.NAME)])
def test_kafka_python_agrees(message, values_of, as_carried):
    theirs = _their_classes()[message.NAME]
    versions = [version for version in message.versions() if version <= theirs.max_version]
    assert versions

    @settings(WIRE, max_examples=8)
    @given(values_of(message, legal=True))
    def check(drawn):
        if message is ApiVersionsResponse:
            drawn.error_code = 0  # it takes every response with an error for one of version 0
        for version in versions:
            value = as_carried(drawn, version)
            if message.KIND == "data":  # between consumers: the version is in front
                data = encode_versioned(value, version)
                assert theirs.decode(data).encode(version=version) == data
                assert decode_consumer_protocol(message, data) == value
            else:
                data = value.encode(version)
                back = theirs.decode(data, version=version)
                back._header = None  # its decoder leaves this unset without a header, and its encoder asks for it
                assert back.encode(version=version) == data, version

    check()


def test_what_kafka_python_does_not_know():
    names = {message.NAME for message in message_classes()}
    assert {name for name in names if NODE_TO_NODE.fullmatch(name)} == names - _their_classes().keys()
