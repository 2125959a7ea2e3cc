"""From a list of events to exactly these steps: who had the record, and which step lost it."""

from __future__ import annotations

from typing import Any

from highwater_chaos.report.story import record_story


def told(story: Any) -> list[tuple[int, str, str, str]]:
    return [(step.time_ns // 1_000_000, step.weight, step.who, step.text) for step in story.steps]


def test_a_loss_step_by_step(loss: Any) -> None:
    story = record_story(loss.files(), "orders-0", 0, 5)
    assert story.title == "Record 5 at offset 0 of orders-0"
    assert told(story) == [
        (10, "plain", "client", "process 1 sent it (operation 0)"),
        (11, "plain", "broker-0", "stored it as leader in epoch 0"),
        (12, "good", "broker-0", "high watermark passed it (1): the log said it was safe"),
        (13, "good", "client", "process 1 got it acknowledged at offset 0 (operation 1)"),
        (20, "plain", "controller-0", "broker 1 registered under epoch 9"),
        (
            30,
            "cause",
            "controller-0",
            "accepted ISR {0 (epoch 4), 1 (epoch 5)}, though broker 1 is registered under 9, not 5",
        ),
        (31, "plain", "controller-0", "committed leader 0, ISR [0, 1], leader epoch 0"),
        (40, "fault", "chaos", "kill broker-0"),
        (50, "plain", "controller-0", "committed leader 1, ISR [1], leader epoch 1"),
        (51, "bad", "broker-1", "became leader in epoch 1 with log end offset 0: the record is lost"),
        (91, "bad", "client", "no client ever read it, and the final reads did not find it"),
    ], "neither what was before the record nor what came after its loss"


def test_a_leader_that_has_the_record_loses_nothing(loss: Any) -> None:
    next(row for row in loss.events if row["kind"] == "became-leader")["end_offset"] = 1
    steps = told(record_story(loss.files(), "orders-0", 0, 5))
    assert not [step for step in steps if "lost" in step[3]]


def test_a_leader_without_what_was_never_committed_loses_nothing(loss: Any) -> None:
    loss.events = [row for row in loss.events if row["kind"] != "high-watermark"]
    steps = told(record_story(loss.files(), "orders-0", 0, 5))
    assert not [step for step in steps if step[2] == "broker-1" and step[1] == "bad"]


def test_only_the_first_leader_without_it_is_the_one_that_lost_it(loss: Any) -> None:
    loss.on_partition(61, "broker-0", "became-leader", leader_epoch=2, offset=0, end_offset=0, isr=[0])
    bad = [step for step in told(record_story(loss.files(), "orders-0", 0, 5)) if step[1] == "bad"]
    assert [step[2] for step in bad] == ["broker-1", "client"]


def test_another_partition_and_other_offsets_are_other_stories(loss: Any) -> None:
    loss.event(14, "broker-0", "high-watermark", partition="orders-1", leader_epoch=0, offset=9)
    loss.on_partition(15, "broker-0", "log-appended", leader_epoch=0, offset=1, end_offset=3, reason="leader")
    texts = [step[3] for step in told(record_story(loss.files(), "orders-0", 0, 5))]
    assert sum("stored it" in text for text in texts) == 1
    assert sum("high watermark" in text for text in texts) == 1


def test_a_refused_proposal_is_told_as_such(loss: Any) -> None:
    judged = next(row for row in loss.events if row["kind"] == "alter-partition-handled")
    judged["reason"] = "INELIGIBLE_REPLICA"
    steps = told(record_story(loss.files(), "orders-0", 0, 5))
    expected = "refused ISR {0 (epoch 4), 1 (epoch 5)} of broker 0: INELIGIBLE_REPLICA"
    assert (30, "good", "controller-0", expected) in steps
    assert not [step for step in steps if step[1] == "cause"]


def test_an_unknown_epoch_is_no_stale_one(loss: Any) -> None:
    judged = next(row for row in loss.events if row["kind"] == "alter-partition-handled")
    judged["isr_epochs"] = [-1, -1]
    assert not [step for step in told(record_story(loss.files(), "orders-0", 0, 5)) if step[1] == "cause"]


def test_how_a_replica_lost_its_copy(recording: Any) -> None:
    def appended(ms: int, node: str, reason: str) -> None:
        recording.on_partition(ms, node, "log-appended", leader_epoch=0, offset=0, end_offset=4, reason=reason)

    appended(1, "broker-0", "leader")
    for ms, node in ((2, "broker-1"), (3, "broker-2"), (4, "broker-3")):
        appended(ms, node, "follower")
    recording.on_partition(
        5, "broker-1", "log-truncated", leader_epoch=1, offset=2, end_offset=4, reason="diverging-epoch"
    )
    recording.on_partition(6, "broker-2", "log-cut", offset=512, end_offset=3, reason="bad-crc")
    recording.on_partition(7, "broker-3", "log-loaded", offset=0, end_offset=0, reason="created")
    recording.on_partition(8, "broker-0", "log-loaded", offset=0, end_offset=4, reason="recovered")
    assert [(who, text) for _, weight, who, text in told(record_story(recording.files(), "orders-0", 3, None))] == [
        ("broker-0", "stored it as leader in epoch 0"),
        ("broker-1", "copied it from the leader in epoch 0"),
        ("broker-2", "copied it from the leader in epoch 0"),
        ("broker-3", "copied it from the leader in epoch 0"),
        ("broker-1", "no longer has it: truncated from 4 to 2 (diverging-epoch)"),
        ("broker-2", "no longer has it: recovery cut the log at 3 (bad-crc, 512 bytes)"),
        ("broker-3", "no longer has it: its log came up created with end offset 0"),
    ]


def test_what_became_of_the_send(recording: Any) -> None:
    recording.op(1, 1, "invoke", "send", (None, 5), (None, 6)).op(2, 1, "info", "send", (None, 5), (None, 6))
    recording.op(3, 2, "ok", "poll", (0, 5)).op(4, 3, "ok", "poll", (0, 5))
    texts = [text for _, _, _, text in told(record_story(recording.files(), "orders-0", 0, 5))]
    assert texts == [
        "process 1 sent it (operation 0)",
        "process 1 never learned whether it was written (operation 1)",
        "process 2 read it (operation 2)",
    ]
    recording.operations[1]["type"] = "fail"
    texts = [text for _, _, _, text in told(record_story(recording.files(), "orders-0", 0, 6))]
    assert texts[1:] == [
        "the send of process 1 failed (operation 1)",
        "no client ever read it, and the final reads did not find it",
    ]
    recording.verdict["checks"]["unseen"] = "unknown"  # the final reads were cut short
    texts = [text for _, _, _, text in told(record_story(recording.files(), "orders-0", 0, 6))]
    assert texts[2:] == ["no client ever read it"]


def test_another_record_at_its_offset_is_another_story(recording: Any) -> None:
    """A leader that was deposed appends, acknowledges (acks=1) and is cut back within a millisecond, long before others
    copy what the next leader appended at that offset. Decisions of a whole day come in between."""

    def appended(ms: int, node: str, epoch: int, reason: str) -> None:
        recording.on_partition(ms, node, "log-appended", leader_epoch=epoch, offset=7, end_offset=8, reason=reason)

    def committed(ms: int, leader: int, epoch: int) -> None:
        recording.on_partition(
            ms, "controller-0", "partition-changed", metadata_offset=ms, replicas=[0, 1, 2], isr=[0, 1, 2],
            leader=leader, leader_epoch=epoch, partition_epoch=ms, reason="changed",
        )  # fmt: skip

    committed(1, 0, 0)
    recording.on_partition(2, "broker-0", "became-leader", leader_epoch=0, offset=0, end_offset=7, isr=[0, 1, 2])
    recording.on_partition(3, "broker-1", "became-leader", leader_epoch=1, offset=0, end_offset=7, isr=[0, 1, 2])
    appended(4, "broker-1", 1, "leader")
    recording.op(10, 1, "invoke", "send", (None, 5))
    appended(11, "broker-0", 0, "leader")
    recording.op(12, 1, "ok", "send", (7, 5))
    cut = {"leader_epoch": 1, "offset": 7, "end_offset": 8, "reason": "diverging-epoch"}
    recording.on_partition(13, "broker-0", "log-truncated", **cut)
    for ms in range(100, 200):
        committed(ms, 1, 1)
        recording.fault("kill", ms, ms, "broker-2")
    for ms, node in ((300, "broker-0"), (301, "broker-2")):
        appended(ms, node, 1, "follower")
    recording.on_partition(302, "broker-1", "high-watermark", leader_epoch=1, offset=8)
    recording.op(400, 2, "ok", "poll", (7, 6))
    steps = told(record_story(recording.files(), "orders-0", 7, 5))
    assert steps == [
        (10, "plain", "client", "process 1 sent it (operation 0)"),
        (11, "plain", "broker-0", "stored it as leader in epoch 0"),
        (12, "good", "client", "process 1 got it acknowledged at offset 7 (operation 1)"),
        (13, "bad", "broker-0", "no longer has it: truncated from 8 to 7 (diverging-epoch); no replica has it now"),
        (400, "bad", "client", "no client ever read it, and the final reads did not find it"),
    ]


def test_what_is_left_out_does_not_count_for_the_record(loss: Any) -> None:
    """The story of a loss keeps its own steps, wherever a hundred faults and decisions lie between them."""
    whole = told(record_story(loss.files(), "orders-0", 0, 5))
    for ms in (14, 32, 45):
        for n in range(40):
            loss.fault("kill", ms, ms, "broker-0", id=f"more-{ms}-{n}")
    steps = told(record_story(loss.files(), "orders-0", 0, 5))
    assert len([step for step in steps if step[2]]) == 38
    count = [
        step for step in whole if step[2] == "client" or step[1] in ("good", "cause", "bad") or "stored" in step[3]
    ]
    assert [step for step in count if step not in steps] == []
    left_out = sum(int(step[3].split()[1]) for step in steps if not step[2])
    assert left_out + 38 == len(whole) + 3 * 40 * 2
