"""Fetch sessions (KIP-227): what is asked and told in each request of one, and who keeps a place."""

from __future__ import annotations

from random import Random
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_runtime.broker.fetch_sessions import (
    EVICTIONS,
    MOST_UNKNOWN,
    PARTITIONS,
    SESSIONS,
    AskedPartition,
    FetchSessions,
    SessionFetch,
)
from highwater_runtime.broker.follower_state import FollowerState
from highwater_runtime.ports import SECOND
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from highwater_runtime.wire.messages.fetch_response import EpochEndOffset, PartitionData

TOPIC = UUID(int=7)
BY_ID, BY_NAME = 15, 12
NONE = ErrorCode.NONE


class Values:
    """Metrics that remember."""

    def __init__(self):
        self.values = {}

    def gauge(self, name, value, **_):
        self.values[name] = value

    def counter(self, name, amount=1.0, **_):
        self.values[name] = self.values.get(name, 0) + amount

    def forget(self, name, **_):
        self.values.pop(name, None)


class Desk:
    """Sessions, a clock, and a leader whose partitions the test describes."""

    def __init__(self, slots=3):
        self.now = 0
        self.metrics = Values()
        self.sessions = FetchSessions(slots, Random(1), lambda: self.now, self.metrics)

    def begin(self, session_id=0, epoch=0, partitions=(), forgotten=(), version=BY_ID, privileged=False):
        body = FetchRequest(
            session_id=session_id,
            session_epoch=epoch,
            topics=[
                FetchTopic(
                    topic_id=TOPIC,
                    partitions=[
                        FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=100)
                        for index, offset in partitions
                    ],
                )
            ]
            if partitions
            else [],
            forgotten_topics_data=[ForgottenTopic(topic_id=TOPIC, partitions=list(forgotten))] if forgotten else [],
        )
        return self.sessions.begin(body, version, privileged=privileged)

    def ask(self, *args, told=None, **kwargs):
        """Begin and respond; ``told``: index → PartitionData of what is read, by default HW 5 and nothing else."""
        begun = self.begin(*args, **kwargs)
        assert isinstance(begun, SessionFetch), begun
        return begun.respond([(a, (told or {}).get(a.fetch.partition) or fine(a.fetch.partition)) for a in begun.asked])

    def opened(self, *indexes, **kwargs):
        """A session over these partitions, told HW 5 of each."""
        response = self.ask(partitions=[(index, 0) for index in indexes], **kwargs)
        assert response.session_id != 0
        return response.session_id


def fine(index, high_watermark=5, records=b"", log_start=0, error=ErrorCode.NONE):
    return PartitionData(
        partition_index=index,
        error_code=error,
        high_watermark=high_watermark,
        log_start_offset=log_start,
        records=records,
    )


def told(response):
    return [data.partition_index for topic in response.responses for data in topic.partitions]


@pytest.fixture
def desk():
    return Desk()


def test_without_a_session_all_is_answered_and_nothing_kept(desk):
    response = desk.ask(epoch=-1, partitions=[(0, 0), (1, 0)])
    assert (response.session_id, told(response)) == (0, [0, 1])
    assert len(desk.sessions) == 0
    assert desk.metrics.values == {}


def test_a_session_is_told_only_what_changes(desk):
    session = desk.opened(0, 1)
    assert told(desk.ask(session, 1)) == []
    assert told(desk.ask(session, 2, told={1: fine(1, high_watermark=6)})) == [1]
    assert told(desk.ask(session, 3, told={1: fine(1, high_watermark=6)})) == []
    assert told(desk.ask(session, 4, told={0: fine(0, log_start=2), 1: fine(1, high_watermark=6)})) == [0]
    diverging = fine(0, log_start=2)
    diverging.diverging_epoch = EpochEndOffset(epoch=1, end_offset=3)
    assert told(desk.ask(session, 5, told={0: diverging, 1: fine(1, high_watermark=6)})) == [0]


def test_an_error_is_told_each_time_and_the_hw_after_it(desk):
    session = desk.opened(0)
    error = {0: fine(0, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)}
    assert told(desk.ask(session, 1, told=error)) == [0]
    assert told(desk.ask(session, 2, told=error)) == [0]
    assert told(desk.ask(session, 3)) == [0], "the HW is news again"
    assert told(desk.ask(session, 4)) == []


def test_what_a_request_names_is_added_changed_and_forgotten(desk):
    session = desk.opened(0, 1)
    begun = desk.begin(session, 1, partitions=[(1, 9), (2, 4)], forgotten=[0])
    assert [(a.fetch.partition, a.fetch.fetch_offset) for a in begun.asked] == [(1, 9), (2, 4)]
    assert desk.metrics.values[PARTITIONS] == 2


def test_partitions_with_records_go_to_the_end_of_the_line(desk):
    session = desk.opened(0, 1, 2)
    assert told(desk.ask(session, 1, told={0: fine(0, records=b"r")})) == [0]
    assert [a.fetch.partition for a in desk.begin(session, 2).asked] == [1, 2, 0]


def test_a_session_that_forgets_everything_is_over(desk):
    session = desk.opened(0)
    response = desk.ask(session, 1, forgotten=[0])
    assert (response.session_id, told(response)) == (0, [])
    assert desk.begin(session, 2) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert (desk.metrics.values[SESSIONS], desk.metrics.values[PARTITIONS]) == (0, 0)


def test_requests_out_of_turn_are_refused(desk):
    session = desk.opened(0)
    assert desk.begin(session + 1, 1) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert desk.begin(session, 2) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert desk.begin(session, 1, version=BY_NAME) is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert told(desk.ask(session, 1)) == [], "and change nothing"


def test_an_answer_that_a_newer_request_has_overtaken_is_refused(desk):
    session = desk.opened(0)
    slow = desk.begin(session, 1)
    desk.ask(session, 2)
    late = slow.respond([(asked, fine(0, high_watermark=9)) for asked in slow.asked])
    assert late.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH


@pytest.mark.parametrize(("epoch", "opens"), [(0, True), (-1, False)])
def test_a_full_fetch_that_names_a_session_ends_it(desk, epoch, opens):
    old = desk.opened(0)
    new = desk.ask(old, epoch, partitions=[(0, 0)]).session_id
    assert (new != 0) is opens
    assert desk.begin(old, 1) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert len(desk.sessions) == opens


def test_the_epoch_after_the_last_one_is_the_first(desk):
    session = desk.opened(0)
    desk.sessions._sessions[session].epoch = 2**31 - 1
    desk.ask(session, 2**31 - 1)
    assert told(desk.ask(session, 1)) == []


def test_no_slots_no_sessions():
    desk = Desk(slots=0)
    assert desk.ask(partitions=[(0, 0)]).session_id == 0


def test_a_full_cache_gives_up_who_is_away_longest(desk):
    first, second, third = (desk.opened(0) for _ in range(3))
    assert desk.ask(partitions=[(0, 0)]).session_id == 0, "all are in use"
    desk.now = 121 * SECOND
    desk.ask(first, 1)
    new = desk.opened(0)
    assert len(desk.sessions) == 3
    assert desk.begin(second, 1) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert told(desk.ask(first, 2)) == told(desk.ask(third, 1)) == told(desk.ask(new, 1)) == []
    assert desk.metrics.values[EVICTIONS] == 1


def test_among_those_in_use_a_larger_newcomer_takes_the_place_of_a_smaller_one_that_is_not_new(desk):
    small, large, larger = desk.opened(0), desk.opened(0, 1, 2), desk.opened(0, 1, 2, 3)
    for epoch in (1, 2, 3):
        desk.now += 60 * SECOND
        for session in (small, large, larger):
            desk.ask(session, epoch)
    assert desk.ask(partitions=[(0, 0)]).session_id == 0, "no larger than the smallest"
    desk.opened(0, 1)
    assert desk.begin(small, 4) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert told(desk.ask(large, 4)) == []


def test_a_follower_takes_the_place_of_a_consumer_at_once_and_never_the_other_way_round():
    desk = Desk(slots=1)
    consumer = desk.opened(0, 1)
    follower = desk.opened(0, privileged=True)
    assert desk.begin(consumer, 1) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    for epoch in (1, 2, 3):
        desk.now += 100 * SECOND
        desk.ask(follower, epoch, privileged=True)
    assert desk.ask(partitions=[(i, 0) for i in range(9)]).session_id == 0
    assert told(desk.ask(follower, 4, privileged=True)) == []


# --- a client that believes what it was told knows what there is --------------------------------------------------


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["hw", "log start", "error", "add", "forget", "refetch"]),
            st.integers(0, 3),
            st.integers(1, 9),
        ),
        max_size=40,
    )
)
@settings(max_examples=150)
def test_a_client_of_a_session_knows_what_a_full_fetch_would_tell(steps):
    desk = Desk()
    there = {index: fine(index) for index in range(4)}
    wanted, known = {0}, {}

    def learn(response):
        for topic in response.responses:
            for data in topic.partitions:
                known[data.partition_index] = (data.error_code, data.high_watermark, data.log_start_offset)

    def copies():
        return {
            i: fine(i, high_watermark=d.high_watermark, log_start=d.log_start_offset, error=d.error_code)
            for i, d in there.items()
        }

    response = desk.ask(partitions=[(0, 0)], told=copies())
    learn(response)
    epoch = 1
    for action, index, value in steps:
        added, forgotten = [], []
        match action:
            case "hw":
                there[index].high_watermark += value
            case "log start":
                there[index].log_start_offset += value
            case "error":
                failed = there[index].error_code == NONE
                there[index] = fine(
                    index,
                    high_watermark=-1 if failed else value,
                    error=ErrorCode.NOT_LEADER_OR_FOLLOWER if failed else NONE,
                )
            case "add" | "refetch":
                wanted.add(index)
                added = [(index, value)]
            case "forget" if len(wanted - {index}) > 0:
                wanted.discard(index)
                known.pop(index, None)
                forgotten = [index]
        learn(desk.ask(response.session_id, epoch, partitions=added, forgotten=forgotten, told=copies()))
        epoch += 1
        expected = {
            i: (there[i].error_code, there[i].high_watermark, there[i].log_start_offset) for i in sorted(wanted)
        }
        assert known == expected


def test_a_session_of_too_many_unknown_partitions_is_closed(desk):
    def unknown(indexes):
        return {i: fine(i, high_watermark=-1, error=ErrorCode.UNKNOWN_TOPIC_ID) for i in indexes}

    session_id = desk.opened(0)
    some = range(1, 1 + MOST_UNKNOWN)
    response = desk.ask(session_id, 1, [(i, 0) for i in some], told=unknown(some))
    assert len(told(response)) == MOST_UNKNOWN
    assert desk.sessions.find(session_id) is not None
    more = range(1, 2 + MOST_UNKNOWN)
    response = desk.ask(session_id, 2, [(more[-1], 0)], told=unknown(more))
    assert len(told(response)) == MOST_UNKNOWN + 1, "what was asked is answered"
    assert desk.begin(session_id, 3) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert desk.ask(partitions=[(i, 0) for i in more], told=unknown(more)).session_id == 0


def test_a_session_that_is_left_behind_takes_nothing_from_the_one_in_use():
    """A follower that began again is in sync by what its new session asks, whatever becomes of the old one."""
    now = 0
    sessions = FetchSessions(10, Random(1), lambda: now, Values())
    follower = FollowerState.at_epoch_start(2, in_isr=True, now_ns=0, lag_max_ns=30 * SECOND)

    def begin():
        follower.fetched(5, 0, 1, 5, now)
        session = sessions.create(1, (2, 1), by_id=True, privileged=True)
        asked = AskedPartition("", TOPIC, FetchPartition(partition=0, fetch_offset=5))
        sessions.add(session, asked)
        sessions.watch(asked, "orders-0")
        sessions.calm(asked, follower)
        session.fetched_ns = now
        return session

    old = begin()
    now = SECOND
    new = begin()
    sessions.close(old.id)
    now = 100 * SECOND
    new.fetched_ns = now
    sessions.note({}, {"orders-0": None})  # the leader has appended
    assert follower.caught_up(6, now, 30 * SECOND)
