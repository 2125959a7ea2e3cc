"""DescribeTopicPartitions: every partition on exactly one page, whatever the limits."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_runtime.broker.apis.describe_topic_partitions import page
from highwater_runtime.metadata import MetadataImage
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.describe_topic_partitions_request import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from highwater_runtime.wire.messages.partition_record import PartitionRecord
from highwater_runtime.wire.messages.topic_record import TopicRecord


def image_of(sizes):
    image, offset = MetadataImage(), 0
    for number, (name, size) in enumerate(sizes.items()):
        topic_id = UUID(int=number + 1)
        records = [TopicRecord(name=name, topic_id=topic_id)]
        records += [
            PartitionRecord(partition_id=i, topic_id=topic_id, replicas=[0], isr=[0], leader=0) for i in range(size)
        ]
        for record in records:
            image.apply(record, offset)
            offset += 1
    return image


def pages(image, *names, limit, broker_limit=2000):
    """All pages, as ``(topic, index)`` each; an unknown topic has the index None."""
    cursor, found = None, []
    for _ in range(100):
        request = DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name=name) for name in names], response_partition_limit=limit, cursor=cursor
        )
        response = page(request, image, broker_limit)
        found.append(
            [
                (topic.name, index)
                for topic in response.topics
                for index in ([p.partition_index for p in topic.partitions] or [None])
            ]
        )
        if response.next_cursor is None:
            return found
        cursor = Cursor(
            topic_name=response.next_cursor.topic_name, partition_index=response.next_cursor.partition_index
        )
    raise AssertionError("the pages have no end")


def test_pages_go_on_where_the_last_one_ended():
    image = image_of({"b": 3, "a": 2, "c": 1})
    assert pages(image, limit=2) == [[("a", 0), ("a", 1)], [("b", 0), ("b", 1)], [("b", 2), ("c", 0)]]
    assert pages(image, "c", "b", limit=2) == [[("b", 0), ("b", 1)], [("b", 2), ("c", 0)]]
    assert pages(image, limit=100, broker_limit=5)[0] == [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 2)]


def test_topics_that_are_not_there_are_told_once_and_only_if_asked_for():
    image = image_of({"a": 1, "c": 1})
    request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name=n) for n in ("c", "b", "no name")])
    answer = page(request, image, 2000)
    assert [(t.name, t.error_code) for t in answer.topics] == [
        ("b", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("c", ErrorCode.NONE),
        ("no name", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ]
    assert pages(image, "a", "b", "c", limit=1) == [[("a", 0)], [("b", None)], [("c", 0)]]


def test_a_cursor_whose_topic_was_deleted_goes_on_behind_it():
    image = image_of({"a": 1, "c": 1})
    request = DescribeTopicPartitionsRequest(cursor=Cursor(topic_name="b", partition_index=4))
    assert [t.name for t in page(request, image, 2000).topics] == ["c"]
    assert [p.partition_index for p in page(request, image, 2000).topics[0].partitions] == [0]


def test_a_cursor_that_nobody_gave_is_refused():
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name="a")], cursor=Cursor(topic_name="a", partition_index=-1)
    )
    assert page(request, image_of({"a": 1}), 2000).topics[0].error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("named", [False, True])
@given(
    sizes=st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 5), max_size=5),
    limit=st.integers(-1, 8),
    broker_limit=st.integers(1, 8),
)
@settings(max_examples=60)
def test_every_partition_is_on_exactly_one_page(named, sizes, limit, broker_limit):
    names = list(sizes) if named else []
    found = pages(image_of(sizes), *names, limit=limit, broker_limit=broker_limit)
    assert [entry for one in found for entry in one] == [(n, i) for n in sorted(sizes) for i in range(sizes[n])]
    assert max(map(len, found)) <= max(1, min(limit, broker_limit))
