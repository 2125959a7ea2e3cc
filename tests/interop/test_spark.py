"""Spark's Kafka source and sink, in the Spark that PySpark brings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pyspark = pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark

CONNECTOR = "4.2.0"
"""Maven Central has no ``spark-sql-kafka-0-10`` of PySpark's own version in full. This is the newest that it has, and
it runs in that Spark."""

POM = """<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>dev.highwater</groupId>
  <artifactId>interop-spark</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.spark</groupId>
      <artifactId>spark-sql-kafka-0-10_{scala}</artifactId>
      <version>{connector}</version>
    </dependency>
  </dependencies>
</project>
"""


@pytest.fixture(scope="module")
def spark_jars(resolve_pom):
    (library,) = (Path(pyspark.__file__).parent / "jars").glob("scala-library-*.jar")
    scala = ".".join(library.stem.rpartition("-")[2].split(".")[:2])
    return resolve_pom(POM.format(scala=scala, connector=CONNECTOR))


@pytest.mark.thorough
def test_a_topic_is_written_read_in_part_and_streamed(spark_jars, cluster, topic_of, tmp_path):
    from highwater_pipeline.java import find_java
    from highwater_pipeline.spark.class_archive import jvm_options

    # A process of its own: a session of another test would have other jars, and a process has but one.
    topic = topic_of(partitions=2)
    asked = {
        "jars": spark_jars,
        "jvm": ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *jvm_options(find_java())],
        "bootstrap": cluster.bootstrap,
        "topic": topic,
        "checkpoints": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "spark_story.py"), json.dumps(asked)],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert sorted(found["batch"]) == [f"value-{number}" for number in range(100, 200)]
    assert found["keys"] == [f"key-{number}" for number in range(100, 200)]
    assert found["partOf0"] == 3
    assert sorted(found["streamed"]) == [f"value-{number}" for number in range(100, 200)]
