"""Kafka's own jars as oracle: they carry the schemas of everything, its records and its ZooKeeper mode included.

Only the jars of two pinned releases are read: that of the tests with Java clients, and the last line with ZooKeeper
mode. Other releases in the Maven repository do not matter. A message is looked for in the newest jar that has all
of its versions. What no bytes show is not compared: here some of it is looser between nodes.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from highwater_runtime.wire.catalog import message_classes
from highwater_runtime.wire.schema import Versions

LAST_WITH_ZOOKEEPER = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>dev.highwater</groupId>
  <artifactId>schemas</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka-clients</artifactId>
      <version>3.9.1</version>
    </dependency>
  </dependencies>
</project>
"""
NOT_KAFKAS = re.compile("(ReadOffset|MetadataRead|Zookeeper\\w*)(Request|Response)")

VERSION_IS_THE_KIND = {"OffsetCommitKey", "GroupMetadataKey"}
"""Kafka 4 counts the versions of a coordinator's keys from 0; in the bytes, and here, they are the kind of the key."""


@pytest.fixture(scope="module")
def schemas(resolve_pom, kafka_jars) -> dict[str, list[dict[str, Any]]]:
    """Name of a message -> its schemas, the newest last."""
    found: dict[str, list[dict[str, Any]]] = {}
    for jar in (*resolve_pom(LAST_WITH_ZOOKEEPER), *kafka_jars.split(os.pathsep)):
        if not Path(jar).name.startswith("kafka"):
            continue
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if name.startswith("common/") and name.endswith(".json"):
                    text = re.sub(r"^\s*//.*$", "", archive.read(name).decode(), flags=re.MULTILINE)
                    schema = json.loads(text)
                    if schema["validVersions"] != "none":
                        found.setdefault(schema["name"], []).append(schema)
    return found


def test_the_schemas_say_the_same(compare_schemas, schemas):
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
