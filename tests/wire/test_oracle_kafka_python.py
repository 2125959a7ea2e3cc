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

from highwater_runtime.wire.versioned import decode_consumer_protocol, encode_versioned

WIRE = settings.get_profile("wire")
pytestmark = pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated:DeprecationWarning")

NODE_TO_NODE = re.compile(
    "AlterPartition(Request|Response)|Broker(Registration|Heartbeat).*|UnregisterBroker.*|AllocateProducerIds.*"
    "|Vote.*|(Begin|End)QuorumEpoch.*|FetchSnapshot.*|.*Record|LeaderChangeMessage|(Request|Response)Header"
    "|ReadOffset.*|MetadataRead.*|(OffsetCommit|GroupMetadata)(Key|Value)"
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


def test_the_schemas_say_the_same(latest, compare_schemas):
    message = latest.schema
    theirs = _their_schema(message.name)
    if theirs is None:
        assert NODE_TO_NODE.fullmatch(message.name)
        return
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


def test_kafka_python_agrees(case, values_of):
    theirs = _their_classes().get(case.schema.name)
    if theirs is None:
        assert NODE_TO_NODE.fullmatch(case.schema.name)
        return
    if case.version > theirs.max_version:
        pytest.skip(f"kafka-python's last version of {case.schema.name} is {theirs.max_version}")

    @settings(WIRE, max_examples=4)
    @given(values_of(case, legal=True))
    def check(value):
        if case.schema.name == "ApiVersionsResponse":
            value.error_code = 0  # it takes every response with an error for one of version 0
        if case.schema.kind == "data":  # between consumers: the version is in front
            data = encode_versioned(value, case.version)
            assert theirs.decode(data).encode(version=case.version) == data
            assert decode_consumer_protocol(case.cls, data) == value
            return
        data = value.encode(case.version)
        message = theirs.decode(data, version=case.version)
        message._header = None  # its decoder leaves this unset where there is no header, and its encoder asks for it
        assert message.encode(version=case.version) == data

    check()
