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

from highwater_runtime.wire.generator.schema import Versions

JARS = Path.home() / ".m2" / "repository" / "org" / "apache" / "kafka"
NOT_KAFKAS = re.compile("(ReadOffset|MetadataRead)(Request|Response)")

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


@pytest.fixture(scope="module")
def schemas() -> dict[str, list[dict[str, Any]]]:
    found = _schemas()
    if "LeaderAndIsrRequest" not in found or "RegisterBrokerRecord" not in found:
        pytest.skip(f"no jars of Kafka 3 and 4 below {JARS}")
    return found


def test_the_schemas_say_the_same(latest, schemas, compare_schemas):
    name = latest.schema.name
    if NOT_KAFKAS.fullmatch(name):
        assert name not in schemas
    elif name in VERSION_IS_THE_KIND:
        assert [(f["name"], f["type"]) for f in schemas[name][-1]["fields"]] == [
            (f.name, f.type) for f in latest.schema.root.fields
        ]
    else:
        ours = latest.schema.versions
        covering = [
            s for s in schemas[name] if ours.first in (its := Versions.parse(s["validVersions"])) and ours.last in its
        ]
        compare_schemas(latest.schema, covering[-1], bytes_only=True)
