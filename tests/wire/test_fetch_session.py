"""The client's side of a fetch session: a response answers what was asked, not what is wanted since."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from highwater_runtime.wire.fetch_session import ClientFetchSession
from highwater_runtime.wire.messages.fetch_request import FetchPartition, FetchRequest

TOPIC = UUID(int=7)
NONE = 0


def want(session, index, offset):
    session.want("orders", TOPIC, FetchPartition(partition=index, current_leader_epoch=0, fetch_offset=offset))


def named(session):
    request = FetchRequest()
    session.fill(request)
    return {one.partition: one.fetch_offset for topic in request.topics for one in topic.partitions}


def test_a_response_under_way_belongs_to_the_offset_that_was_asked_for():
    """The topic seems to have been deleted and created, and then not: the position goes from 8 back to 0.

    The response to the request under way holds offset 8. A client that took it for 0 to 8 would skip eight records.
    """
    session = ClientFetchSession()
    want(session, 0, 8)
    assert named(session) == {0: 8}
    session.forget((TOPIC, 0))
    assert session.asked((TOPIC, 0)) is None, "nobody wants the response"
    want(session, 0, 0)
    assert session.asked((TOPIC, 0)).fetch_offset == 8
    session.answered(NONE, 5)
    assert named(session) == {0: 0}
    assert session.asked((TOPIC, 0)).fetch_offset == 0


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("want"), st.integers(0, 2), st.integers(0, 3)),
        st.tuples(st.just("forget"), st.integers(0, 2), st.just(0)),
        st.tuples(st.just("round"), st.sampled_from([0, 5]), st.just(0)),
    ),
    max_size=30,
)


@given(_STEPS)
def test_leader_and_client_agree_on_what_is_asked(steps):
    """A leader that keeps its session as KIP-227 says holds what ``asked`` returns, at the moment of each request."""
    session, wanted = ClientFetchSession(), {}
    leader: dict[int, int] = {}
    for what, index, offset in steps:
        if what == "want":
            want(session, index, offset)
            wanted[index] = offset
        elif what == "forget":
            session.forget((TOPIC, index))
            wanted.pop(index, None)
        else:
            request, full = FetchRequest(), session.is_full
            session.fill(request)
            if full:
                leader = {}
            for topic in request.forgotten_topics_data:
                for partition in topic.partitions:
                    leader.pop(partition)
            for topic in request.topics:
                leader.update({one.partition: one.fetch_offset for one in topic.partitions})
            asked = {number: session.asked((TOPIC, number)) for number in range(3)}
            assert leader == wanted == {key: one.fetch_offset for key, one in asked.items() if one is not None}
            assert {number for _, number in session.partitions} == set(leader)
            session.answered(NONE, index)


def test_a_leader_that_does_not_answer_is_asked_again_for_what_is_wanted_by_then():
    session = ClientFetchSession()
    want(session, 0, 8)
    want(session, 1, 3)
    for _ in range(2):
        assert named(session) == {0: 8, 1: 3}
        session.failed()
    session.forget((TOPIC, 1))
    assert named(session) == {0: 8}
    session.failed()
    want(session, 0, 9)
    assert named(session) == {0: 9}
    assert list(session.partitions) == [(TOPIC, 0)]
