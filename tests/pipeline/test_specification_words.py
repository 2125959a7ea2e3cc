"""What a refusal of the executable specification says: the state, the steps that were permitted, and why."""

from __future__ import annotations

from typing import Any

import pytest
from pipeline_specification import History, Tail, beginning_with, refusals


def test_a_decision_says_what_it_was_judged_against() -> None:
    history = History().decides(0, 0, 0, [0, 1])
    (refusal,) = refusals(history.events.rows)
    proposal = "an ISR that broker 0 proposes in leader epoch 0, based on partition epoch 0"
    assert refusal.permitted[2:] == (proposal,)
    (created,) = (row["row"] for row in history.events.rows if row["reason"] == "created" and row["leader"] == 0)
    known = {"leader": 0, "leader_epoch": 0, "partition_epoch": 0, "isr": [0, 1, 2], "replicas": [0, 1, 2]}
    assert (refusal.because, refusal.state) == ((created,), {**known, "brokers": dict.fromkeys("012", "unfenced")})
    history = History().decides(-1, 1, 1, [0, 1]).decides(-1, 1, 1, [0])
    (refusal,) = refusals(history.events.rows)
    assert len(refusal.permitted) == 2, "nobody leads who might propose"
    history = History()
    history.events.decided(0, 0, 0, [0, 4, 5], "created")
    (refusal,) = refusals(history.events.rows)
    assert (refusal.because, len(refusal.permitted), refusal.state["isr"]) == ((), 2, [0, 4, 5])
    assert list(refusal.state["brokers"]) == ["0", "1", "2", "4", "5"]
    history = History().decides(0, 0, 1, [0]).accepts(0, [0, 1, 2], 0, 0).decides(0, 0, 2, [0, 1, 2])
    *_, before, request, _ = history.events.rows
    (refusal,) = refusals(history.events.rows)
    assert (refusal.because, refusal.what) == (
        (before["row"], request["row"]),
        "brokers [1, 2] joined the ISR [0] without a proposal",
    )
    (refusal,) = refusals(History().decides(0, 0, 1, [0, 1]).decides(0, 0, 2, [0, 1, 2]).events.rows)
    assert refusal.what == "broker 2 joined the ISR [0, 1] without a proposal"


STATES: list[tuple[Tail, dict[str, Any], list[str]]] = [
    (
        lambda h: h.shrinks([0, 1]).proposes(0, [0, 1, 2], 0, 1).flushes(0, 6).moves(0, 11, 0),
        {
            "role": "leader",
            "leader_epoch": 0,
            "partition_epoch": 1,
            "isr": [0, 1],
            "proposed_isr": [0, 1, 2],
            "min_isr": 2,
            "log_start_offset": 0,
            "log_end_offset": 10,
            "flushed": 6,
            "high_watermark": 5,
            "epochs": [[0, 0]],
        },
        ["became-leader", "log-appended"],
    ),
    # A follower is what it is, whatever it led before.
    (
        lambda h: (
            h.proposes(0, [0, 1], 0, 0)
            .decides(1, 1, 1, [1])
            .leads(1, 1, 1, 10, [1])
            .follows(0, 1, 1, 10)
            .moves(0, 6, 1)
        ),
        {
            "role": "follower",
            "leader_epoch": 1,
            "min_isr": 2,
            "log_start_offset": 0,
            "log_end_offset": 10,
            "epochs": [[0, 0]],
        },
        ["became-follower", "became-leader"],
    ),
    (
        lambda h: h.fails_over().truncates(0, 10, 12, 1).appends(0, 10, 12, 2, "follower"),
        {
            "role": "follower",
            "leader_epoch": 1,
            "min_isr": 2,
            "log_start_offset": 0,
            "log_end_offset": 10,
            "epochs": [[0, 0]],
        },
        ["became-follower", "log-truncated"],
    ),
    (
        lambda h: h.elects().knows(5, 10).moves(1, 11, 1),
        {
            "role": "leader",
            "leader_epoch": 1,
            "partition_epoch": 1,
            "isr": [1],
            "min_isr": 2,
            "log_start_offset": 0,
            "log_end_offset": 10,
            "high_watermark": 5,
            "epochs": [[0, 0]],
        },
        ["became-leader"],
    ),
    # A process that is started again has its log alone.
    (
        lambda h: h.shrinks([0, 1]).proposes(0, [0], 0, 1).recovers(0, 2, 10).appends(0, 11, 12, 0),
        {"role": "unknown", "log_start_offset": 0, "log_end_offset": 10, "epochs": [[0, 0]]},
        ["became-leader", "log-loaded"],
    ),
    (
        lambda h: h.flushes(2, 6).removes(2).moves(2, 10, 0),
        {"role": "none", "min_isr": 2, "epochs": []},
        ["became-follower", "log-appended", "became-leader"],
    ),
]
"""What breaks a rule, the state before it, and the events that show the role, the log and the leader epoch."""


@pytest.mark.parametrize(("tail", "state", "because"), STATES)
def test_a_step_that_is_refused_shows_the_state(tail: Tail, state: dict[str, Any], because: list[str]) -> None:
    history = History()
    tail(history)
    rows = history.events.rows
    (refusal,) = refusals(rows)
    shown = dict(refusal.state)
    del shown["broker"]
    assert (shown, [rows[row]["kind"] for row in refusal.because]) == (state, because)


def test_the_first_event_of_a_recording_shows_the_state_too() -> None:
    rows = beginning_with(lambda h: h.leads(0, 0, 0, 10, [0, 1, 2], 5).moves(0, 11, 0))
    rows = [{**row, "row": number} for number, row in enumerate(rows)]
    (refusal,) = refusals(rows)
    assert refusal.because == (0,)


def test_what_is_permitted_is_said() -> None:
    def permitted(*tails: Tail) -> tuple[str, ...]:
        history = History()
        for tail in tails:
            tail(history)
        return refusals(history.events.rows)[-1].permitted

    assert permitted(lambda h: h.appends(0, 11, 12, 0)) == (
        "take a role that was decided, of leader epoch 0 or higher",
        "append at 10 in leader epoch 0",
        "move the high watermark above 5, up to 10",
        "acknowledge what ends at 5 or below",
        "propose an ISR based on partition epoch 0",
    )
    assert permitted(lambda h: h.shrinks([0]).appends(0, 11, 12, 0))[2] == (
        "no move of the high watermark: the ISR is below min.insync.replicas, 2"
    )
    assert (
        permitted(lambda h: h.shrinks([0, 1]).appends(0, 11, 12, 0))[2] == "move the high watermark above 5, up to 10"
    )
    assert permitted(lambda h: h.appends(0, 10, 12, 0).proposes(0, [0, 1], 0, 0).moves(0, 13, 0))[2] == (
        "move the high watermark above 5, up to 10"
    )
    proposed: Tail = lambda h: h.shrinks([0, 1]).fetches().proposes(0, [0, 1, 2], 0, 1).moves(0, 12, 0)  # noqa: E731
    assert permitted(proposed)[2] == "move the high watermark above 5, up to 10"
    assert permitted(lambda h: h.shrinks([0, 1]).fetches().appends(0, 11, 12, 0).moves(0, 13, 0))[2] == (
        "move the high watermark above 5, up to 11"
    )
    assert permitted(lambda h: h.elects().knows(0, 10).follows(1, 0, 0, 10))[2:] == (
        "no move of the high watermark: the ISR is below min.insync.replicas, 2",
        "propose an ISR based on partition epoch 1",
    )
    assert permitted(lambda h: h.proposes(0, [0, 1], 0, 0).moves(0, 10, 0).appends(0, 11, 12, 0))[2:] == (
        "no move of the high watermark: the ISR has fetched up to 10",
        "acknowledge what ends at 10 or below",
    )
    assert permitted(lambda h: h.appends(2, 11, 12, 0, "follower")) == (
        "take a role that was decided, of leader epoch 0 or higher",
        "append at 10 what broker 0 has, in leader epoch 0, up to 10",
        "truncate to the first record that differs from the leader's",
    )
    assert permitted(lambda h: h.stops(2, 1).loads(2, 2, 9)) == (
        "take a role that was decided",
        "load its log with log end offset 10 or less",
    )
    assert permitted(lambda h: h.removes(2).moves(2, 10, 0)) == ("take a role that was decided", "load its log")
    assert permitted(lambda h: h.decides(2, 1, 1, [2]).follows(1, 2, 1, 10).appends(1, 11, 12, 1, "follower"))[1] == (
        "append at 10 what broker 2 has, in leader epoch 1"
    )
    assert permitted(lambda h: h.follows(2, 1, 0, 10).appends(2, 11, 12, 0, "follower"))[1].endswith(", up to 10")
    unordered = refusals(History().appends(2, 11, 12, 0, "follower").events.rows, exact_order=False)[-1].permitted
    assert unordered[1] == "append at 10 what broker 0 has, in leader epoch 0"
    unordered = refusals(History().appends(0, 10, 12, 0).appends(0, 13, 14, 0).events.rows, exact_order=False)[
        -1
    ].permitted
    assert unordered[2] == "move the high watermark above 5, up to 12"
    unset = refusals(beginning_with(lambda h: h.leads(0, 0, 0, 10, [0, 1, 2], 5).moves(0, 11, 0)))[-1].permitted
    assert unset[2] == "move the high watermark above 5, up to 10", (
        "neither followers nor min.insync.replicas are known"
    )


def test_how_far_a_follower_has_fetched_is_said() -> None:
    behind: Tail = lambda h: h.decides(1, 1, 1, [0, 1, 2]).leads(1, 1, 1, 10, [0, 1, 2], 5).follows(2, 1, 1, 9)  # noqa: E731
    history = History().recovers(2, 2, 9)
    behind(history)
    history.moves(1, 10, 1)
    assert [one.what for one in refusals(history.events.rows)] == [
        "the high watermark moved to 10, but broker 0 had not fetched in leader epoch 1",
        "the high watermark moved to 10, but broker 2 had fetched up to 9 in leader epoch 1",
    ]
