"""What a broker keeps of its answers to Metadata: it must be what it would answer without."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from highwater_runtime.broker.apis.metadata import PartitionAnswers
from highwater_runtime.metadata import MetadataImage
from highwater_runtime.wire.messages.partition_change_record import PartitionChangeRecord
from highwater_runtime.wire.messages.partition_record import PartitionRecord
from highwater_runtime.wire.messages.topic_record import TopicRecord

TOPICS = tuple(UUID(int=number) for number in (1, 2))
PARTITIONS = 3
BROKERS = (0, 1, 2)

changes = st.one_of(
    st.tuples(
        st.just("change"),
        st.sampled_from(TOPICS),
        st.integers(0, PARTITIONS),
        st.tuples(st.sampled_from(BROKERS), st.permutations(BROKERS)),
    ),
    st.tuples(st.just("remove"), st.sampled_from(TOPICS), st.integers(0, PARTITIONS), st.none()),
    st.tuples(st.just("live"), st.none(), st.none(), st.sets(st.sampled_from(BROKERS))),
)


@given(st.lists(changes, max_size=12))
def test_every_answer_is_that_of_the_present_state(happened) -> None:
    image, answers, live = MetadataImage(), PartitionAnswers(), dict.fromkeys(BROKERS)
    for number, topic in enumerate(TOPICS):
        image.apply(TopicRecord(name=f"topic-{number}", topic_id=topic), image.offset + 1)
    for what, topic, index, value in happened:
        if what == "live":
            live = dict.fromkeys(sorted(value))
        elif what == "remove":
            image.remove_partition(topic, index)
        elif index in image.topics_by_id[topic].partitions:
            leader, isr = value
            record = PartitionChangeRecord(partition_id=index, topic_id=topic, leader=leader, isr=list(isr))
            image.apply(record, image.offset + 1)
        else:
            record = PartitionRecord(partition_id=index, topic_id=topic, replicas=list(BROKERS), isr=[0], leader=0)
            image.apply(record, image.offset + 1)
        for found in image.topics_by_id.values():
            assert answers.of(found, live) == PartitionAnswers().of(found, live)


def test_topics_that_are_no_more_are_forgotten() -> None:
    image, answers = MetadataImage(), PartitionAnswers()
    for number, topic in enumerate(TOPICS):
        image.apply(TopicRecord(name=f"topic-{number}", topic_id=topic), image.offset + 1)
        answers.of(image.topics_by_id[topic], {})

    answers.keep_only({TOPICS[1]})

    assert answers.topics == {TOPICS[1]}
