"""The executable specification: each rule by one history that keeps it and one that breaks it, and random walks."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pipeline_specification import CASES, History, Row, Tail, Walk, beginning_with, refusals

from highwater_pipeline.specification import RULES
from highwater_pipeline.tables.settings import PromisedSettings, TopicPromise


@pytest.mark.parametrize(("rule", "kept", "broken"), CASES, ids=[f"{n}-{case[0]}" for n, case in enumerate(CASES)])
def test_rule(rule: str, kept: Tail, broken: Tail) -> None:
    permitted, refused = History(), History()
    kept(permitted)
    assert refusals(permitted.events.rows) == []
    broken(refused)
    found = refusals(refused.events.rows)
    assert [refusal.rule for refusal in found] == [rule], "one wrong step is one refusal"
    assert all(refusal.permitted and refusal.state for refusal in found)


def test_every_rule_has_a_case() -> None:
    assert {rule for rule, _, _ in CASES} | {"read-committed", "acknowledge-committed"} == {*RULES}


COMPACTED: list[tuple[Tail, set[str]]] = [
    (lambda h: h.appends(0, 12, 13, 0), set()),
    (lambda h: h.appends(0, 9, 13, 0), {"append"}),
    (lambda h: h.fails_over().truncates(0, 9, 12, 1), set()),
    (lambda h: h.commits(0, 0).broker(0, "batch-committed", leader_epoch=0, offset=7, end_offset=9, epoch=0), set()),
    (lambda h: h.fails_over().appends(1, 12, 13, 1).appends(0, 12, 13, 1, "follower"), set()),
]
"""After compaction logs have gaps, and a batch may have gone on one replica and not yet on the other."""


@pytest.mark.parametrize(("tail", "found"), COMPACTED)
def test_compacted_logs(tail: Tail, found: set[str]) -> None:
    history = History()
    tail(history)
    assert {refusal.rule for refusal in refusals(history.events.rows, compacted=True)} == found
    assert refusals(history.events.rows) != []


ONLY_EXACT: list[Tail] = [
    lambda h: h.left_behind().restarts_at(11),
    lambda h: h.broker(2, "log-loaded", 2, offset=0, end_offset=11, reason="recovered"),
    lambda h: h.stops(2, 1, "kill").loads(2, 2, 9),
    lambda h: h.appends(1, 10, 12, 0, "follower").appends(0, 10, 12, 0),
    lambda h: h.appends(0, 10, 11, 0).appends(1, 10, 11, 0, "follower").moves(0, 11, 0),
    lambda h: h.left_behind().proposes(1, [1, 2, 0], 1, 1),
    lambda h: h.deletes_below(4, 0, 1).answers_deletion(4),
    lambda h: h.elects().leads(1, 1, 1, 10, [1], hw=6),
    lambda h: h.stops(2, 1, "kill").loads(2, 2, 11),
    lambda h: h.stops(2, 1).recovers(2, 2, 11),
    # What was not reported before a kill may be of any epoch.
    lambda h: (
        h.fails_over().recovers(0, 2, 13).appends(1, 12, 14, 1).follows(0, 1, 1, 13).appends(0, 13, 14, 1, "follower")
    ),
]


@pytest.mark.parametrize("tail", ONLY_EXACT)
def test_replicas_at_one_moment_are_compared_only_in_an_exact_order(tail: Tail) -> None:
    history = History()
    tail(history)
    assert refusals(history.events.rows) != []
    assert refusals(history.events.rows, exact_order=False) == []


def test_what_a_clean_stop_left_is_known_in_any_order() -> None:
    history = History().stops(2, 1).loads(2, 2, 11)
    assert [one.rule for one in refusals(history.events.rows, exact_order=False)] == ["load"]


def test_what_is_no_step_of_a_broker() -> None:
    history = History()
    history.events.add("controller-0", "log-appended", leader_epoch=0, offset=3, end_offset=4, reason="leader")
    history.broker(0, "fenced").proposes(0, [0, 1], 0, 0).ends(0, [0, 1, 2], 0, 0, "INELIGIBLE_REPLICA")
    assert {one.rule for one in refusals(history.events.rows)} == {"proposal-end"}
    assert refusals(history.events.rows, is_zookeeper=True) == [], "there the leader writes its ISR itself"


def test_zookeeper_mode_needs_a_proposal_and_no_answer_to_it() -> None:
    def found(tail: Tail, **how: bool) -> set[str]:
        history = History()
        tail(history)
        return {one.rule for one in refusals(history.events.rows, **how)}

    smaller = [0, 1]
    grown: Tail = lambda h: h.decides(0, 0, 1, smaller).proposes(0, [0, 1, 2], 0, 1).decides(0, 0, 2, [0, 1, 2])  # noqa: E731
    of_itself: Tail = lambda h: h.decides(0, 0, 1, smaller).decides(0, 0, 2, [0, 1, 2])  # noqa: E731
    of_another: Tail = lambda h: h.shrinks(smaller).controller("isr-proposed", 0, 1).decides(0, 0, 2, [0, 1, 2])  # noqa: E731
    gone: Tail = lambda h: h.lives(2, "unregistered").decides(0, 0, 1, [0, 2])  # noqa: E731
    moved: Tail = lambda h: h.moves_to(1, [0, 1, 2], 3, 0, 1, 2).moves_to(2, [0], 3, 0, epoch=1)  # noqa: E731
    assert "isr-grows-by-proposal" not in found(grown, is_zookeeper=True)
    assert found(of_itself, is_zookeeper=True) == {"isr-grows-by-proposal"}
    assert found(of_another, is_zookeeper=True) == {"isr-grows-by-proposal"}, "no leader proposed it"
    assert found(gone, is_zookeeper=True) == set(), "the controller has not noticed yet"
    assert found(moved, is_zookeeper=True) == set(), "the controller learns of the ISR later"
    untold: Tail = lambda h: h.acknowledges(0, 5, incarnation=2, partition_epoch=7)  # noqa: E731
    deleted: Tail = lambda h: untold(h.decides(0, 0, 1, [0, 1, 2], "deleted"))  # noqa: E731
    assert found(untold) == found(untold, is_zookeeper=True) == {"acknowledge"}, "nobody decided that"
    assert found(deleted) == {"acknowledge"}
    assert found(deleted, is_zookeeper=True) == set(), "nobody reports what is decided while the topic is deleted"
    unclean: Tail = lambda h: h.decides(0, 0, 1, smaller).decides(2, 1, 2, [2])  # noqa: E731
    with_another: Tail = lambda h: h.decides(0, 0, 1, smaller).decides(2, 1, 2, [2, 1])  # noqa: E731
    assert (found(unclean), found(unclean, unclean=True)) == ({"leader-from-isr"}, set())
    assert found(with_another, unclean=True) == {"leader-from-isr"}, "what is elected so is alone in the ISR"


EMPTY: list[tuple[Tail, set[str], set[str]]] = [
    (lambda h: h.decides(0, 0, 1, [0]).decides(-1, 1, 2, []), {"isr-of-replicas"}, set()),
    (
        lambda h: h.decides(0, 0, 1, [0]).decides(-1, 1, 2, []).decides(1, 2, 3, [1]),
        {"isr-of-replicas", "leader-from-isr"},
        set(),
    ),
    (lambda h: h.decides(0, 0, 1, [0]).decides(1, 1, 2, [1]), {"leader-from-isr"}, set()),
    (lambda h: h.decides(0, 0, 1, []), {"isr-of-replicas"}, {"isr-of-replicas"}),
    (
        lambda h: h.moves_to(1, [0, 1, 2], 0, 1, 2, 3).decides(3, 1, 2, [3]),
        {"leader-from-isr", "isr-of-replicas"},
        {"leader-from-isr", "isr-of-replicas"},
    ),
    (
        lambda h: h.decides(0, 0, 1, [0]).decides(1, 1, 2, [1, 2]),
        {"leader-from-isr", "isr-grows-by-proposal"},
        {"isr-grows-by-proposal"},
    ),
]
"""Histories, and the rules that they break, without and with eligible leader replicas."""


@pytest.mark.parametrize(("tail", "without", "with_them"), EMPTY)
def test_replicas_that_left_the_isr_of_others_to_lead(tail: Tail, without: set[str], with_them: set[str]) -> None:
    """KIP-966: the last member may leave the ISR, and who left it may lead again. Nobody else may."""
    history = History()
    tail(history)
    assert {one.rule for one in refusals(history.events.rows)} == without
    assert {one.rule for one in refusals(history.events.rows, of_others=True)} == with_them


def test_a_leader_of_others_may_drop_a_proposal_that_it_has_not_sent() -> None:
    """Apache Kafka's does if one of a former leader epoch is still on its way. No controller had refused it."""
    history = History().decides(0, 0, 1, [0, 1]).takes([0, 1], at=1)
    history.proposes(0, [0, 1, 2], 0, 1).ends(0, [0, 1], 0, 1, "OPERATION_NOT_ATTEMPTED")
    history.proposes(0, [0, 1, 2], 0, 1)
    assert {one.rule for one in refusals(history.events.rows)} == {"proposal-end"}
    assert refusals(history.events.rows, of_others=True) == []


def test_a_leader_of_others_may_forget_a_proposal() -> None:
    """Apache Kafka's does if it gets metadata of the partition epoch that it knows (switch ``proposal-kept``)."""
    history = History().decides(0, 0, 1, [0, 1]).takes([0, 1], at=1)
    history.proposes(0, [0, 1, 2], 0, 1).proposes(0, [0], 0, 1)
    assert [one.rule for one in refusals(history.events.rows)] == ["proposal"]
    assert refusals(history.events.rows, of_others=True) == []


@pytest.mark.parametrize(
    ("isr", "replicas", "found"),
    [([3], [1, 2, 3], 0), ([1], [1, 2, 3], 1), ([0], [0, 1], 1)],
    ids=["the new one is in sync", "an old one is", "fewer replicas"],
)
def test_a_move_of_others_waits_for_the_replicas_that_are_added(
    isr: list[int], replicas: list[int], found: int
) -> None:
    """Apache Kafka 4.3 takes a replica away for each that is added; a replica that stays need not be in sync."""
    history = History().decides(0, 0, 1, [0])
    history.moves_to(2, [0], *sorted({0, 1, 2, *replicas}))
    history.events.decided(isr[0], 1, 3, isr, replicas=replicas)
    for of_others, expected in ((True, found), (False, 1)):
        rules = [one.rule for one in refusals(history.events.rows, of_others=of_others)]
        assert rules.count("reassignment-in-sync") == expected


def test_a_leader_of_others_may_say_late_what_it_proposed() -> None:
    """It has taken over a later decision by then. What it proposes on a decision that it does not know is refused."""
    late, early = (History().decides(0, 0, 1, [0, 1]).takes([0, 1], at=1) for _ in range(2))
    late.proposes(0, [0, 1], 0, 0)
    early.proposes(0, [0, 1, 2], 0, 2)
    assert {one.rule for one in refusals(late.events.rows)} == {"proposal"}
    assert refusals(late.events.rows, of_others=True) == []
    assert {one.rule for one in refusals(early.events.rows, of_others=True)} == {"proposal"}


@pytest.mark.parametrize(
    ("is_proposed", "of_others", "refused"), [(False, True, True), (True, True, False), (True, False, True)]
)
def test_a_controller_of_others_may_not_have_said_what_it_accepted(
    is_proposed: bool, of_others: bool, refused: bool
) -> None:
    """It was killed before. What the leader proposed shows it; without that, nobody may join."""
    history = History().decides(0, 0, 1, [0, 1])
    if is_proposed:
        history.proposes(0, [0, 1, 2], 0, 1)
    history.decides(0, 0, 2, [0, 1, 2])
    rules = {refusal.rule for refusal in refusals(history.events.rows, of_others=of_others)}
    assert ("isr-grows-by-proposal" in rules) == refused


@pytest.mark.parametrize(("is_deleted", "found"), [(False, {"high-watermark-min-isr"}), (True, set())])
def test_a_leader_owes_its_topics_settings_until_the_topic_is_deleted(is_deleted: bool, found: set[str]) -> None:
    """ZooKeeper mode: the settings have gone, and the command that ends the leadership is still on its way."""
    history = History().shrinks([0])
    if is_deleted:
        history.decides(0, 0, 1, [0], "deleted")
    history.broker(0, "min-isr-set", min_isr=1).moves(0, 10, 0)
    promises = PromisedSettings([0], [TopicPromise(min_isr=2)], 0)
    assert {one.rule for one in refusals(history.events.rows, is_zookeeper=True, promises=promises)} == found


NOT_KNOWN: list[Tail] = [
    lambda h: h.leads(0, 0, 0, 10, [0, 1, 2], 5).moves(0, 10, 0),
    lambda h: h.leads(0, 0, 1, 10, [0, 1], 5).proposes(0, [0, 1, 2], 0, 1),
    lambda h: h.broker(2, "min-isr-set", min_isr=2).leads(0, 0, 0, 10, [0, 1, 2], 5).moves(0, 10, 0),
    lambda h: h.broker(2, "min-isr-set", min_isr=2).leads(0, 0, 1, 10, [0, 1], 5).proposes(0, [0, 1, 2], 0, 1),
    lambda h: h.broker(0, "min-isr-set", min_isr=2).takes([0], at=1).moves(0, 10, 0),
    lambda h: (
        h.leads(0, 0, 0, 10, [0, 1, 2], 5)
        .stops(0, 1)
        .broker(0, "isr-taken", 2, partition_epoch=0, isr=[0, 1])
        .proposes(0, [0], 0, 0)
    ),
]
"""Recordings that begin in the middle: too little is known of a follower, or of the leader, for a refusal."""

KNOWN: list[tuple[Tail, str]] = [
    (lambda h: h.leads(0, 0, 0, 10, [0, 1, 2], 5).appends(0, 11, 12, 0), "append"),
    (lambda h: h.follows(1, 0, 0, 10).appends(1, 11, 12, 0, "follower"), "append"),
    (
        lambda h: (
            h.leads(0, 0, 0, 0, [0])
            .follows(1, 0, 0, 0)
            .appends(0, 0, 5, 0)
            .appends(1, 0, 5, 0, "follower")
            .truncates(1, 3, 5, 0)
        ),
        "truncate-diverging",
    ),
]
"""Recordings that begin in the middle, and the rule that they break all the same."""


@pytest.mark.parametrize("tail", NOT_KNOWN)
def test_who_has_not_been_heard_of_is_not_judged(tail: Tail) -> None:
    assert refusals(beginning_with(tail)) == []


@pytest.mark.parametrize(("tail", "rule"), KNOWN)
def test_a_first_event_says_what_the_state_is(tail: Tail, rule: str) -> None:
    assert [refusal.rule for refusal in refusals(beginning_with(tail))] == [rule]


def _kept() -> list[list[Row]]:
    histories = []
    for _, kept, _ in CASES:
        history = History()
        kept(history)
        histories.append(history.events.rows)
    return histories


def test_what_is_not_known_is_not_refused() -> None:
    """A recording that begins in the middle: the first event of each kind says what the state is."""
    before = len(History().events.rows)
    too_far = History().fails_over().truncates(0, 9, 12, 1).events.rows
    assert refusals(too_far) != []
    assert refusals(too_far[before:]) == [], "it is not known what either had there"
    for rows in [*_kept(), History().fails_over().truncates(0, 10, 12, 1).events.rows]:
        for first in range(len(rows)):
            assert refusals(rows[first:]) == [], rows[first]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_a_walk_of_the_protocol_is_permitted(seed: int, exact_order: bool) -> None:
    rows = Walk(seed, 150).events.rows
    assert refusals(rows, exact_order=exact_order) == []


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_without_an_exact_order_nodes_may_be_shuffled_among_each_other(seed: int) -> None:
    """Only each node's own order is kept, as of nodes with clocks of their own."""
    rows, random = Walk(seed, 100).events.rows, Random(seed)
    of_node: dict[str, list[Row]] = {}
    for row in rows:
        of_node.setdefault(row["node"], []).append(row)
    shuffled = []
    while of_node:
        node = random.choice(sorted(of_node))
        shuffled.append(of_node[node].pop(0))
        if not of_node[node]:
            del of_node[node]
    assert refusals(shuffled, exact_order=False) == []


def _wrong(row: Row) -> dict[str, Any]:
    """One field of an event, changed so that no state permits it."""
    match row["kind"]:
        case "log-appended":
            return {"offset": row["offset"] + 1, "end_offset": row["end_offset"] + 1}
        case "high-watermark":
            return {"offset": row["offset"] + 1000}
        case "write-acknowledged":
            return {"end_offset": row["end_offset"] + 1}
        case "became-leader" | "became-follower":
            return {"end_offset": row["end_offset"] + 1}
        case "log-truncated":
            return {"leader_epoch": row["leader_epoch"] + 1}
        case "isr-proposed":
            return {"partition_epoch": row["partition_epoch"] + 1}
        case "partition-changed" if row["reason"] == "changed":
            return {"partition_epoch": 0}
    return {}


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.data())
def test_a_walk_with_one_wrong_step_is_refused(seed: int, data: st.DataObject) -> None:
    rows = Walk(seed, 150).events.rows
    able = [row for row in rows if _wrong(row)]
    row = data.draw(st.sampled_from(able)) if able else None
    if row is not None:
        rows[row["row"]] = {**row, **_wrong(row)}
        assert row["row"] in [refusal.row for refusal in refusals(rows)], row
