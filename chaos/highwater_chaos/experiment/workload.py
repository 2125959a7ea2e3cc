"""The part ``spec.workload`` of an experiment: clients that write and read while things break."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    WithJsonSchema,
)

from highwater_chaos.base.quantities import Duration, EventsPerSecond, Rate
from highwater_chaos.experiment.base import Model, TopicName


def _acks(found: Any) -> Any:
    if isinstance(found, bool) or not isinstance(found, str | int):
        return found
    return "all" if str(found) == "-1" else str(found)


Acks = Annotated[
    Literal["0", "1", "all"],
    BeforeValidator(_acks),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "enum": ["all", "1", "0", "-1"], "description": "all, 1 or 0"},
                {"type": "integer", "enum": [1, 0, -1]},
            ]
        }
    ),
]
"""How many replicas answer for a record; a file may write the figures bare, and ``-1`` for ``all``, as Kafka does."""


class MetadataWorkload(Model):
    """Clients that treat topic configurations as registers: writers change them at the active controller, readers read
    them at any node. ``rate`` is that of all of them together; ``reads`` is what readers ask for."""

    writers: Annotated[int, Field(ge=0, le=100, description="Clients that set registers.")] = 1
    readers: Annotated[int, Field(ge=0, le=100, description="Clients that read registers.")] = 3
    rate: Annotated[Rate, Field(description="Operations of all of them together: 50/s or 30/m.")] = EventsPerSecond(
        50.0
    )
    reads: Annotated[
        Literal["linearizable", "stale"],
        Field(description="What readers ask for; stale: the present state of any node."),
    ] = "linearizable"


class Workload(Model):
    """Clients that write and read while things break. ``rate`` is that of all producers together; ``driver`` says whose
    producers and consumers they are (those that the harness needs for itself are always its own)."""

    driver: Annotated[
        Literal["highwater", "confluent-kafka"],
        Field(description="Whose producers and consumers: our own, or librdkafka's, which need real time."),
    ] = "highwater"
    producers: Annotated[int, Field(ge=0, le=1000, description="Clients that write.")] = 1
    rate: Annotated[Rate, Field(description="Records of all producers together: 200/s or 30/m.")] = EventsPerSecond(
        100.0
    )
    minimum_rate: Annotated[
        Rate | None,
        Field(
            description="Records that must have been offered, on average from the first send to the last; a run with"
            " fewer is inconclusive. 180/s; absent: any rate will do."
        ),
    ] = None
    acks: Annotated[
        Acks,
        Field(description="Which brokers have a record when it is acknowledged: all (ISR), 1 (leader), 0 (none)."),
    ] = "all"
    idempotence: Annotated[bool, Field(description="A retry cannot write twice; needs acks: all.")] = True
    consumers: Annotated[int, Field(ge=0, le=1000, description="Clients that read from the beginning.")] = 1
    record_size: Annotated[
        int,
        Field(ge=0, le=1_000_000, description="Bytes of a record's value, at least; our own producers fill it up."),
    ] = 0
    records_at_once: Annotated[
        int | None,
        Field(
            ge=1,
            le=100,
            description="Records that one of our own producers hands over at once for one partition, at most: how many"
            " is drawn each time, and it rests the longer. They share a batch as far as it may grow. Absent: 3 in the"
            " simulator if records have keys, else 1.",
        ),
    ] = None
    keys: Annotated[
        int | None,
        Field(
            ge=1,
            le=1_000_000,
            description="How many keys the records have, which repeat. Absent: 100 if a topic to which the workload"
            " writes is compacted; else records have no keys.",
        ),
    ] = None
    tombstones: Annotated[
        float | None,
        Field(
            ge=0,
            le=1,
            description="Share of the records with keys that have no value: they delete their key. Absent: a tenth if a"
            " topic to which the workload writes is compacted; else none.",
        ),
    ] = None
    group_members: Annotated[
        int,
        Field(
            ge=0,
            le=100,
            description="Members of one consumer group, which come, commit offsets and go; they read nothing.",
        ),
    ] = 0
    lookups: Annotated[
        int,
        Field(ge=0, le=100, description="Clients that look up offsets by time stamp, and compare."),
    ] = 0
    start_within: Annotated[
        Duration,
        Field(
            description="Time over which producers, consumers and group members start, one after the other. A duration;"
            " absent: all start at once."
        ),
    ] = 0
    topics: Annotated[
        list[TopicName] | None, Field(description="Topics to write and read, of spec.cluster.topics; absent: all.")
    ] = None
    metadata: MetadataWorkload | None = None
    request_timeout: Annotated[Duration, Field(description="How long a client waits for one answer. A duration.")] = (
        2_000_000_000
    )
    ack_timeout: Annotated[
        Duration | None,
        Field(
            description="How long a broker waits for the ISR before it answers REQUEST_TIMED_OUT: timeout_ms of a"
            " Produce request. A duration; absent: requestTimeout."
        ),
    ] = None
    delivery_timeout: Annotated[
        Duration, Field(description="How long a producer tries before it gives a record up. A duration.")
    ] = 30_000_000_000
