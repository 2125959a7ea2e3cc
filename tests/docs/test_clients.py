"""The versions of clients that docs/clients.md names are those that are tested."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any


def test_versions_are_those_that_tests_run_with(clients: Any, root: Path) -> None:
    rows = {row[0]: row[1] for row in clients.tables("Tested")[0][1:]}
    pinned = dict(re.findall(r"^([a-z-]+)==(\S+)", (root / "constraints.txt").read_text(), flags=re.M))
    for name in ("confluent-kafka", "kafka-python", "aiokafka"):
        assert rows[name] == pinned[name]
    pom = (root / "tests" / "interop" / "java" / "pom.xml").read_text()
    jars = dict(re.findall(r"<artifactId>([\w.-]+)</artifactId>\s*<version>([\d.]+)</version>", pom))
    assert rows["Java client"] == jars["kafka-clients"]
    assert rows["Kafka's command line tools"] == jars["kafka-tools"] == jars["kafka_2.13"]
