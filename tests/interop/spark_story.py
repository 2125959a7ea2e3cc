"""Writes a topic with Spark, reads it as a batch, a part of it by offsets, and once more as a stream.

``spark_story.py JSON``: jars, options of the JVM, bootstrap, topic, checkpoints. The last line on stdout is what was
found, as JSON.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession


def main(asked):
    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.jars", ",".join(asked["jars"]))
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", " ".join(asked["jvm"]))
        .getOrCreate()
    )
    where = {"kafka.bootstrap.servers": asked["bootstrap"]}
    rows = session.range(100, 200).selectExpr("concat('key-', id) AS key", "concat('value-', id) AS value")
    rows.write.format("kafka").options(**where, topic=asked["topic"]).save()

    source = {**where, "subscribe": asked["topic"], "startingOffsets": "earliest"}
    read = session.read.format("kafka").options(**source, endingOffsets="latest").load()
    texts = read.selectExpr("CAST(key AS STRING)", "CAST(value AS STRING)").collect()
    part = session.read.format("kafka").options(
        **where,
        assign=json.dumps({asked["topic"]: [0]}),
        startingOffsets=json.dumps({asked["topic"]: {"0": 2}}),
        endingOffsets=json.dumps({asked["topic"]: {"0": 5}}),
    )
    stream = session.readStream.format("kafka").options(**source).load().selectExpr("CAST(value AS STRING)")
    query = (
        stream.writeStream.format("memory")
        .queryName("streamed")
        .option("checkpointLocation", asked["checkpoints"])
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    found = {
        "batch": [row["value"] for row in texts],
        "keys": sorted(row["key"] for row in texts),
        "partOf0": part.load().count(),
        "streamed": [row["value"] for row in session.table("streamed").collect()],
    }
    print(json.dumps(found))  # noqa: T201
    session.stop()


main(json.loads(sys.argv[1]))
