"""Kafka's own jars as oracle: they carry the schemas of everything, its records and its ZooKeeper mode included.

The jars are those that the tests with Java clients have fetched into the local Maven repository. A message is looked
for in the newest jar that still has all of its versions. What no bytes show is not compared: here some of it is looser
between nodes.
"""

from __future__ import annotations

import json
import re
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from highwater_runtime.wire.catalog import message_classes
from highwater_runtime.wire.schema import Versions

JARS = Path.home() / ".m2" / "repository" / "org" / "apache" / "kafka"
NOT_KAFKAS = re.compile("(ReadOffset|MetadataRead|Zookeeper\\w*)(Request|Response)")

VERSION_IS_THE_KIND = {"OffsetCommitKey", "GroupMetadataKey"}
"""Kafka 4 counts the versions of a coordinator's keys from 0; in the bytes, and here, they are the kind of the key."""


def _age(jar: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", jar.parent.name)]


@cache
def _schemas() -> dict[str, list[dict[str, Any]]]:
    """Name of a message -> its schemas, the newest last."""
    found: dict[str, list[dict[str, Any]]] = {}
    for jar in sorted(JARS.glob("*/*/*.jar"), key=_age):
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if name.startswith("common/") and name.endswith(".json"):
                    text = re.sub(r"^\s*//.*$", "", archive.read(name).decode(), flags=re.MULTILINE)
                    schema = json.loads(text)
                    if schema["validVersions"] != "none":
                        found.setdefault(schema["name"], []).append(schema)
    return found


def test_the_schemas_say_the_same(compare_schemas):
    schemas = _schemas()
    if "LeaderAndIsrRequest" not in schemas or "RegisterBrokerRecord" not in schemas:
        pytest.skip(f"no jars of Kafka 3 and 4 below {JARS}")
    for message in message_classes():
        name, ours = message.NAME, message.MESSAGE.versions
        if NOT_KAFKAS.fullmatch(name):
            assert name not in schemas
        elif name in VERSION_IS_THE_KIND:
            assert [(f["name"], f["type"]) for f in schemas[name][-1]["fields"]] == [
                (f.name, f.type) for f in message.SCHEMA.fields
            ]
        else:
            covering = [
                s
                for s in schemas[name]
                if ours.first in (its := Versions.parse(s["validVersions"])) and ours.last in its
            ]
            compare_schemas(message, covering[-1], bytes_only=True)
