"""A session that looks only at what is news answers as one that looks at everything, and so do followers' states."""

from __future__ import annotations

import pytest
from fetch_world import ACTIONS, CONSUMER, FOLLOWER, LAG_MS, LEADER, OTHER, PARTITIONS, Walking, World
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from highwater_runtime.broker.apis import fetch
from highwater_runtime.broker.fetch_sessions import FetchSessions
from highwater_runtime.broker.isr import Answer
from highwater_runtime.ports import MS
from highwater_runtime.wire.errors import ErrorCode

STEPS = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.integers(0, PARTITIONS - 1), st.integers(0, 15)), min_size=5, max_size=60
)


@given(STEPS)
@example(  # two sessions of one follower, opened by requests that waited long, are quiet at once; the older one goes on
    [
        *[("follower", 0, 0)] * 2,
        ("quiet", 0, 0),
        *[("follower", 0, 0)] * 2,
        ("time", 0, 2),
        ("quiet", 0, 0),
    ]
)
@settings(max_examples=300)
def test_who_looks_at_news_alone_answers_as_who_looks_at_everything(steps):
    lazy, walking = World(FetchSessions), World(Walking)
    for step in steps:
        lazy.act(*step)
        walking.act(*step)
        assert lazy.outcome() == walking.outcome(), step


def test_a_session_in_which_nothing_happens_looks_at_nothing(monkeypatch):
    world = World(FetchSessions)
    world.ask(FOLLOWER, dict.fromkeys(range(PARTITIONS), 0), max_wait_ms=0)
    looked_at = []
    judge = fetch.judge
    monkeypatch.setattr(fetch, "judge", lambda p, *args: looked_at.append(p.index) or judge(p, *args))
    world.ask(FOLLOWER, {})
    assert looked_at == []
    world.act("append", 2, 0)
    assert set(looked_at) == {2}
    assert [d.partition_index for t in world.answers[-1][2].responses for d in t.partitions] == [2]


def test_a_follower_does_not_wait_for_the_hw_and_gets_it_with_its_next_response(monkeypatch):
    world = World(FetchSessions)
    for who in (FOLLOWER, CONSUMER):
        world.ask(who, dict.fromkeys(range(PARTITIONS), 0), max_wait_ms=0)
    world.act("append", 2, 0)
    world.ask(FOLLOWER, {2: 1}, max_wait_ms=0)  # quiet: the ISR holds the HW back
    for who in (FOLLOWER, CONSUMER):
        world.ask(who, {})
    answered = len(world.answers)
    tried = []
    try_complete = fetch.DelayedFetch.try_complete
    monkeypatch.setattr(
        fetch.DelayedFetch, "try_complete", lambda f: tried.append(f._who.replica_id) or try_complete(f)
    )
    world.ask(OTHER, {2: 1}, session=False)  # now all have the record
    assert world.partitions[2].high_watermark == 1
    assert tried == [OTHER, OTHER, CONSUMER], "its own fetch, which is not in a session, is tried again too"
    assert [who for _, who, _ in world.answers[answered:]] == [CONSUMER]
    world.clock.advance(500 * MS)
    responses = [response for _, who, response in world.answers[answered:] if who == FOLLOWER]
    assert [data.high_watermark for r in responses for t in r.responses for data in t.partitions] == [1]


def test_an_append_that_moves_the_hw_wakes_the_followers_as_well():
    world = World(FetchSessions)
    world.metadata(2, isr=(LEADER,))
    world.clock.advance(2 * LAG_MS * MS)  # nobody counts as caught up
    world.act("append", 2, 0)
    world.ask(FOLLOWER, dict.fromkeys(range(PARTITIONS), 0), max_wait_ms=0)
    world.ask(FOLLOWER, {2: 0}, min_bytes=200)  # a batch has less
    waiting = len(world.answers)
    world.act("append", 2, 0)
    assert world.partitions[2].high_watermark == 2, "the leader is alone in the ISR"
    assert [who for _, who, _ in world.answers[waiting:]] == [FOLLOWER]


def test_a_session_keeps_no_partition_in_sync_that_it_has_forgotten():
    world = World(FetchSessions)
    for _ in range(2):
        world.act("quiet", 0, 15)
    world.ask(FOLLOWER, {}, forgotten=(1,), max_wait_ms=0)
    for index in (1, 2):
        world.act("append", index, 0)
    for _ in range(4):  # the follower goes on with the others for longer than the lag time
        world.clock.advance(LAG_MS * MS // 2)
        world.act("other", 0, 0)
        world.ask(FOLLOWER, {i: p.log.log_end_offset for i, p in world.partitions.items() if i != 1}, max_wait_ms=0)
    world.act("isr-pass", 0, 0)
    assert [(index, isr) for index, isr, _ in world.proposals] == [(1, (1, 3))]


def test_each_fetch_of_a_session_may_let_a_follower_join_the_isr():
    world = World(FetchSessions)
    world.metadata(0, isr=(1, 3))
    for _ in range(2):
        world.act("quiet", 0, 15)
    partition = world.partitions[0]
    refused = partition.isr.proposal
    assert refused.isr == (1, 3, 2)
    partition.leading.proposal_answered(refused, Answer(ErrorCode.INELIGIBLE_REPLICA))
    world.after()
    world.ask(FOLLOWER, {}, max_wait_ms=0)  # the controller may have unfenced it by now
    assert partition.isr.proposal is not None
    assert partition.isr.proposal is not refused


def test_a_follower_that_may_not_join_yet_is_asked_about_with_each_fetch():
    world = World(FetchSessions)
    world.fenced.add(FOLLOWER)
    world.metadata(0, isr=(1, 3))
    for _ in range(2):
        world.act("quiet", 0, 15)
    partition = world.partitions[0]
    assert partition.isr.proposal is None
    world.fenced.clear()  # of the partition nothing has changed
    world.ask(FOLLOWER, {}, max_wait_ms=0)
    assert partition.isr.proposal is not None


@pytest.fixture
def looked_at(monkeypatch):
    """The partitions that fetches have looked at."""
    found, judge = [], fetch.judge
    monkeypatch.setattr(fetch, "judge", lambda p, *args: found.append(p.index) or judge(p, *args))
    return found


def test_a_fetch_moves_the_hw_that_only_time_held_back():
    """A replica outside the ISR is waited for while it is caught up, and no longer (as in Apache Kafka)."""
    world = World(FetchSessions)
    for _ in range(2):
        world.act("quiet", 0, 15)
    world.metadata(0, isr=(1, 2))
    partition = world.partitions[0]
    partition.leading.followers[OTHER].left_isr = False  # as if it had fetched since, and a proposal had failed
    world.act("append", 0, 0)
    end = partition.log.log_end_offset
    for _ in range(3):
        world.ask(FOLLOWER, world.positions(FOLLOWER, 15), max_wait_ms=0)
    assert partition.high_watermark < end, "it waits for the replica outside"
    world.clock.advance((LAG_MS + 1) * MS)
    world.ask(FOLLOWER, {}, max_wait_ms=0)
    assert partition.high_watermark == end


@pytest.mark.parametrize("first", ["too few members", "a member is behind"])
def test_a_quiet_follower_fetches_again_once_only_time_holds_the_hw_back(first):
    world = World(FetchSessions)
    fourth = world.registered[4] = 4
    for _ in range(2):
        world.act("quiet", 0, 15)
    partition = world.partitions[0]
    state = replace(world.states[0], replicas=(1, 2, 3, fourth), isr=(1, 2, fourth), partition_epoch=1)
    partition.apply(state)
    world.ask(OTHER, {0: 0}, session=False, max_wait_ms=0)  # it is outside, and caught up
    partition.leading.proposal_answered(partition.isr.proposal, Answer(ErrorCode.INELIGIBLE_REPLICA))
    if first == "too few members":
        world.configure(4)
    world.act("append", 0, 0)
    for _ in range(3):
        if first == "too few members":
            world.ask(fourth, {0: 1}, session=False, max_wait_ms=0)
        world.ask(FOLLOWER, world.positions(FOLLOWER, 15), max_wait_ms=0)
    if first == "too few members":
        world.configure(1)
    else:
        world.ask(fourth, {0: 1}, session=False, max_wait_ms=0)  # and is silent from now on
    assert partition.high_watermark == 0, "the replica outside is waited for"
    world.clock.advance((LAG_MS + 1) * MS)
    world.ask(FOLLOWER, {}, max_wait_ms=0)
    assert partition.high_watermark == 1


def test_a_follower_that_left_the_isr_while_its_fetch_waited_is_looked_at_again():
    world = World(FetchSessions)
    for _ in range(2):
        world.act("quiet", 0, 15)
    partition = world.partitions[0]
    world.ask(FOLLOWER, {})
    world.metadata(0, isr=(1,))
    world.after()
    world.ask(OTHER, {0: 0}, session=False, max_wait_ms=0)
    assert partition.isr.proposal.isr == (1, 3), "under way while the waiting fetch is answered"
    world.clock.advance(500 * MS)
    world.ask(FOLLOWER, {}, max_wait_ms=0)
    assert partition.leading.followers[FOLLOWER].has_fetched


@pytest.mark.parametrize("first", [CONSUMER, FOLLOWER])
def test_who_goes_on_in_a_session_is_woken_as_what_it_is(first):
    world = World(FetchSessions)
    world.ask(first, dict.fromkeys(range(PARTITIONS), 0), max_wait_ms=0)
    second = FOLLOWER if first == CONSUMER else CONSUMER
    world.clients[second] = world.clients[first]
    for _ in range(2):
        world.ask(second, {}, max_wait_ms=0)
    world.ask(second, {})
    waiting = len(world.answers)
    world.act("append", 0, 0)
    for who in (OTHER, FOLLOWER):
        world.ask(who, {0: 1}, session=False, max_wait_ms=0)
    assert second in [who for _, who, response in world.answers[waiting:] if response.session_id]


@pytest.mark.parametrize("why", ["a member is behind", "a proposal is under way", "too few members"])
def test_a_follower_that_has_everything_is_not_looked_at_while_the_isr_is_waited_for(looked_at, why):
    world = World(FetchSessions)
    for _ in range(2):
        world.act("quiet", 0, 15)
    partition = world.partitions[0]
    if why == "too few members":
        world.metadata(0, isr=(1, 2))
        partition.min_isr = 3
    if why == "a proposal is under way":
        world.metadata(0, isr=(1, 3))
    else:
        world.act("append", 0, 0)
    for _ in range(3):
        world.ask(FOLLOWER, world.positions(FOLLOWER, 15), max_wait_ms=0)
    assert (partition.isr.proposal is not None) == (why == "a proposal is under way")
    assert (partition.high_watermark < partition.log.log_end_offset) == (why != "a proposal is under way")
    looked_at.clear()
    for _ in range(3):
        world.ask(FOLLOWER, {}, max_wait_ms=0)
    assert looked_at == []
    partition.min_isr = 1
    world.metadata(0, isr=(1, 2))
    world.after()
    world.ask(FOLLOWER, {}, max_wait_ms=0)
    assert set(looked_at) == {0}, "the ISR has changed"
    assert partition.high_watermark == partition.log.log_end_offset
