"""One replica through its life: leading, following, proposing, cutting back."""

from __future__ import annotations

import pytest

from highwater_runtime.broker.isr import Answer
from highwater_runtime.broker.truncation import EpochEnd
from highwater_runtime.log.records import build_batch, iter_batches
from highwater_runtime.metadata.image import MetadataReplayError
from highwater_runtime.ports import MS
from highwater_runtime.ports.trace import (
    BatchCommitted,
    BecameFollower,
    BecameLeader,
    HighWatermarkAdvanced,
    IsrProposalEnded,
    IsrProposed,
    LogAppended,
    LogTruncated,
)
from highwater_runtime.wire.errors import ErrorCode

LAG_NS = 3000 * MS


def batch(base_offset: int, count: int, epoch: int) -> bytes:
    return build_batch([b"v"] * count, base_offset=base_offset, leader_epoch=epoch, timestamp_ms=1)


# --- leading ------------------------------------------------------------------------------------------------------


def test_a_new_leader_notes_its_epoch_at_its_end_though_it_appends_nothing(bench):
    bench.become(1, epoch=0)
    bench.append(b"a", b"b")
    bench.become(1, epoch=3, partition_epoch=1)
    assert bench.log.epoch_entries == [(0, 0), (3, 2)]
    begun = bench.trace.of(BecameLeader)[-1]
    assert (begun.leader_epoch, begun.offset, begun.end_offset, begun.isr) == (3, 0, 2, [1, 2, 3])


def test_the_hw_moves_with_the_slowest_member_and_each_batch_is_told_once(bench):
    bench.become(1)
    bench.append(b"a", b"b")
    bench.append(b"c")
    crcs = [b.crc for b in bench.log.batches_between(0, 3)]
    bench.fetched(2, 3)
    assert bench.partition.high_watermark == 0
    bench.fetched(3, 2)
    bench.fetched(3, 3)
    assert [(e.offset, e.end_offset, e.crc) for e in bench.trace.of(BatchCommitted)] == [
        (0, 2, crcs[0]),
        (2, 3, crcs[1]),
    ]
    assert [e.offset for e in bench.trace.of(HighWatermarkAdvanced)] == [2, 3]


def test_a_new_leader_tells_again_of_what_lay_between_its_hw_and_its_end(bench):
    bench.become(2, epoch=0)
    bench.partition.append_from_leader(batch(0, 2, 0) + batch(2, 1, 0), 0, 2)
    bench.become(1, (1, 3), epoch=1, partition_epoch=1)
    assert bench.trace.of(BatchCommitted) == []
    bench.fetched(3, 3)
    assert [(e.offset, e.end_offset, e.leader_epoch, e.epoch) for e in bench.trace.of(BatchCommitted)] == [(2, 3, 1, 0)]


def test_events_of_single_batches_are_made_only_if_somebody_reads_them(bench):
    bench.trace.follows_records = False
    bench.become(1)
    bench.append(b"a")
    bench.fetched(2, 1)
    bench.fetched(3, 1)
    assert bench.partition.high_watermark == 1
    kinds = {type(event) for event in bench.trace.events}
    assert BecameLeader in kinds
    assert kinds.isdisjoint({LogAppended, BatchCommitted, HighWatermarkAdvanced})


def test_a_new_leader_does_not_trust_what_followers_told_the_last_one(bench):
    bench.become(1, epoch=0)
    bench.append(b"a")
    bench.fetched(2, 1)
    bench.fetched(3, 1)
    bench.become(1, (1, 2), epoch=1, partition_epoch=1)
    bench.append(b"b")
    assert not bench.leading.followers[2].has_fetched
    bench.leading.review_isr()
    assert bench.proposals == [], "broker 3 has not fetched in epoch 1"


def test_below_min_isr_nothing_is_committed(make_bench):
    bench = make_bench(min_isr=2)
    bench.become(1, (1,))
    bench.append(b"a")
    assert bench.partition.high_watermark == 0
    bench.become(1, (1, 2), partition_epoch=1)
    bench.fetched(2, 1)
    assert bench.partition.high_watermark == 1


def test_min_isr_cannot_ask_for_more_replicas_than_there_are(make_bench):
    bench = make_bench(min_isr=3)
    bench.become(1, (1,), replicas=(1,))
    bench.append(b"a")
    assert bench.partition.high_watermark == 1


def test_the_hw_of_a_leader_never_goes_back(bench):
    bench.become(1, (1,), replicas=(1,))
    bench.append(b"a")
    with pytest.raises(AssertionError, match="back from 1 to 0"):
        bench.partition.move_high_watermark(0)
    with pytest.raises(AssertionError, match="outside of the log"):
        bench.partition.move_high_watermark(2)


# --- fencing ------------------------------------------------------------------------------------------------------


def test_who_names_another_leader_epoch_is_refused(bench):
    bench.become(1, epoch=4)
    assert bench.partition.check_leader_epoch(3) is ErrorCode.FENCED_LEADER_EPOCH
    assert bench.partition.check_leader_epoch(5) is ErrorCode.UNKNOWN_LEADER_EPOCH
    assert bench.partition.check_leader_epoch(4) is ErrorCode.NONE
    assert bench.partition.check_leader_epoch(-1) is ErrorCode.NONE
    bench.become(2, epoch=5, partition_epoch=1)
    assert bench.partition.check_leader_epoch(5) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert bench.partition.check_leader_epoch(4) is ErrorCode.FENCED_LEADER_EPOCH


def test_old_metadata_is_ignored(bench):
    bench.become(1, epoch=4, partition_epoch=7)
    bench.become(2, (2,), epoch=3, partition_epoch=6)
    assert bench.partition.is_leader
    assert bench.partition.committed_isr == (1, 2, 3)


# --- proposals ----------------------------------------------------------------------------------------------------


def out_of_isr(bench) -> None:
    """Broker 3 is outside the ISR, and then catches up."""
    bench.become(1, (1, 2), partition_epoch=4)
    bench.append(b"a")
    bench.fetched(2, 1)
    bench.fetched(3, 1)


def test_a_follower_that_has_caught_up_is_proposed_with_the_epochs_of_its_fetches(bench):
    out_of_isr(bench)
    (proposal,) = bench.proposals
    assert (proposal.isr, proposal.isr_epochs, proposal.partition_epoch) == ((1, 2, 3), (11, 12, 13), 4)
    assert bench.partition.committed_isr == (1, 2)
    assert bench.partition.maximal_isr == (1, 2, 3)
    (event,) = bench.trace.of(IsrProposed)
    assert (event.isr, event.isr_epochs, event.reason) == ([1, 2, 3], [11, 12, 13], "expand")


def test_a_follower_of_another_broker_epoch_is_not_proposed(bench):
    bench.become(1, (1, 2))
    bench.fetched(3, 0, epoch=8)
    bench.leading.review_isr()
    assert bench.proposals == []


def test_a_late_fetch_of_a_former_incarnation_is_not_proposed_though_the_new_life_is_registered(bench):
    # KIP-903, "late fetch": the leader knows the new registration, the fetch still carries the old epoch.
    bench.become(1, (1, 2))
    bench.registered[3] = 99
    bench.fetched(3, 0, epoch=13)
    bench.leading.review_isr()
    assert bench.proposals == []
    bench.fetched(3, 0, epoch=99)
    assert bench.proposals[0].isr_epochs == (11, -1, 99), "broker 2 has not told its epoch yet"


def test_what_is_proposed_counts_for_the_hw_until_it_is_refused(bench):
    out_of_isr(bench)
    bench.append(b"b")
    bench.fetched(2, 2)
    assert bench.partition.high_watermark == 1
    bench.registered.pop(3)
    again = bench.leading.proposal_answered(bench.proposals[0], Answer(ErrorCode.INELIGIBLE_REPLICA))
    assert again is False
    assert bench.partition.maximal_isr == (1, 2)
    assert bench.partition.high_watermark == 2
    (ended,) = bench.trace.of(IsrProposalEnded)
    assert (ended.reason, ended.isr) == ("INELIGIBLE_REPLICA", [1, 2])


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ],
)
def test_another_error_is_no_refusal_the_proposal_stays_until_metadata_speaks(bench, error):
    out_of_isr(bench)
    assert bench.leading.proposal_answered(bench.proposals[0], Answer(error)) is False
    bench.append(b"b")
    bench.fetched(2, 2)
    assert bench.partition.maximal_isr == (1, 2, 3)
    assert bench.partition.high_watermark == 1, "broker 3 may be in the ISR by now"
    bench.become(1, (1, 2), partition_epoch=5)
    assert bench.partition.maximal_isr == (1, 2)
    assert bench.trace.of(IsrProposalEnded)[-1].reason == "superseded"


def test_a_transient_error_asks_again_with_the_same_proposal(bench):
    out_of_isr(bench)
    assert bench.leading.proposal_answered(bench.proposals[0], Answer(ErrorCode.UNKNOWN_SERVER_ERROR)) is True
    assert bench.partition.isr.proposal is bench.proposals[0]


@pytest.mark.parametrize("isr", [(), (2, 3), (1, 2, 2), (1, 2, 9), (1, -1)])
def test_an_isr_that_no_controller_can_have_committed_is_asked_for_again(bench, isr):
    bench.become(1, isr=(1, 2))
    bench.append(b"a")
    bench.fetched(2, 1)
    bench.fetched(3, 1)
    answer = Answer(ErrorCode.NONE, leader_epoch=0, partition_epoch=5, isr=isr)
    assert bench.leading.proposal_answered(bench.proposals[0], answer) is True
    assert bench.partition.isr.proposal is bench.proposals[0]
    assert (bench.partition.isr.committed, bench.partition.partition_epoch) == ((1, 2), 0)


def test_an_accepted_proposal_is_in_force_before_the_metadata_comes(bench):
    out_of_isr(bench)
    answer = Answer(ErrorCode.NONE, leader_epoch=0, partition_epoch=5, isr=(1, 2, 3))
    assert bench.leading.proposal_answered(bench.proposals[0], answer) is False
    assert (bench.partition.committed_isr, bench.partition.partition_epoch) == ((1, 2, 3), 5)
    assert bench.trace.of(IsrProposalEnded)[-1].reason == "committed"


def test_metadata_that_says_what_an_answer_said_does_not_end_the_next_proposal(bench):
    # Trap: the answer gives partition epoch 5, a new proposal is made on it, then the metadata of epoch 5 arrives.
    out_of_isr(bench)
    bench.leading.proposal_answered(
        bench.proposals[0], Answer(ErrorCode.NONE, leader_epoch=0, partition_epoch=5, isr=(1, 2, 3))
    )
    bench.append(b"b")
    bench.fetched(2, 2)
    bench.clock.advance(LAG_NS + 1)
    bench.fetched(2, 2)
    bench.leading.review_isr()
    pending = bench.proposals[1]
    assert pending.isr == (1, 2)
    bench.become(1, (1, 2, 3), partition_epoch=5)
    assert bench.partition.isr.proposal is pending
    assert bench.partition.high_watermark == 1, "broker 3 is a member until its removal is committed"


def test_metadata_may_bring_the_acceptance_and_the_late_answer_is_ignored(bench):
    out_of_isr(bench)
    bench.become(1, (1, 2, 3), partition_epoch=5)
    assert bench.trace.of(IsrProposalEnded)[-1].reason == "committed"
    assert bench.withdrawn == [bench.partition.key]
    late = Answer(ErrorCode.INELIGIBLE_REPLICA)
    assert bench.leading.proposal_answered(bench.proposals[0], late) is False
    assert bench.partition.committed_isr == (1, 2, 3)
    assert len(bench.trace.of(IsrProposalEnded)) == 1


@pytest.mark.parametrize(
    "stop_leading",
    [
        pytest.param(lambda bench: bench.become(-1, (1, 2), partition_epoch=4), id="told-to-stop-in-the-same-epochs"),
        pytest.param(lambda bench: bench.partition.go_offline(), id="log-failed"),
        pytest.param(lambda bench: bench.partition.close(), id="deleted"),
    ],
)
def test_an_answer_commits_nothing_at_a_replica_that_does_not_lead_any_more(bench, stop_leading):
    """Found by ``campaign random``, seed 20219: a topic was deleted while the leader's ISR write was under way."""
    out_of_isr(bench)
    bench.append(b"b")
    former = bench.leading
    stop_leading(bench)
    assert bench.withdrawn == [bench.partition.key]
    committed = len(bench.trace.of(BatchCommitted))
    answer = Answer(ErrorCode.NONE, leader_epoch=0, partition_epoch=5, isr=(1, 2, 3))
    assert former.proposal_answered(bench.proposals[0], answer) is False
    assert (bench.trace.of(IsrProposalEnded), len(bench.trace.of(BatchCommitted))) == ([], committed)


def test_an_answer_in_a_newer_leader_epoch_is_left_to_the_metadata(bench):
    # An ISR shrink bumps the leader epoch below metadata.version 3.6.
    out_of_isr(bench)
    answer = Answer(ErrorCode.NONE, leader_epoch=1, partition_epoch=5, isr=(1, 2, 3))
    assert bench.leading.proposal_answered(bench.proposals[0], answer) is False
    assert bench.partition.isr.proposal is bench.proposals[0]


def test_the_periodic_pass_takes_out_who_lags_and_lets_nobody_in(bench):
    """Found by ``campaign random``: broker 3 had lost its disk since it fetched, and acknowledged records with it."""
    bench.become(1, (1, 2))
    bench.append(b"a")
    bench.registered[3] = 99
    bench.fetched(3, 1, epoch=13)  # not eligible yet, so not proposed by its fetch
    bench.clock.advance(LAG_NS + 1)
    bench.registered[3] = 13
    bench.leading.review_isr()
    (proposal,) = bench.proposals
    assert (proposal.isr, proposal.reason) == ((1,), "shrink")


def test_only_one_proposal_at_a_time(bench):
    bench.become(1, (1,))
    bench.fetched(2, 0)
    bench.fetched(3, 0)
    bench.leading.review_isr()
    assert [p.isr for p in bench.proposals] == [(1, 2)]


# --- following ----------------------------------------------------------------------------------------------------


def test_a_follower_takes_its_leaders_hw_as_far_as_its_log_goes(bench):
    bench.become(2, epoch=1)
    assert bench.trace.of(BecameFollower)[-1].leader == 2
    bench.partition.append_from_leader(batch(0, 3, 1), 1, leader_high_watermark=9)
    assert bench.partition.high_watermark == 3
    bench.partition.append_from_leader(b"", 1, leader_high_watermark=2)
    assert bench.partition.high_watermark == 2, "a follower's copy may go back"


def test_a_follower_leaves_out_batches_of_a_leadership_it_has_not_heard_of(bench):
    bench.become(2, epoch=1)
    fetched = batch(0, 2, 1) + batch(2, 2, 2) + batch(4, 1, 1)
    appended = bench.partition.append_from_leader(fetched, 1, 0)
    assert bench.log.log_end_offset == 2
    assert appended == next(iter_batches(fetched)).size_in_bytes


def test_a_diverging_follower_cuts_to_where_the_logs_agree(bench):
    bench.become(2, epoch=1)
    bench.partition.append_from_leader(batch(0, 2, 1) + batch(2, 3, 1), 1, 4)
    bench.become(3, epoch=2, partition_epoch=1)
    bench.partition.cut_back(EpochEnd(1, 2))
    assert bench.log.log_end_offset == 2
    assert bench.partition.high_watermark == 2
    (cut,) = bench.trace.of(LogTruncated)
    assert (cut.offset, cut.end_offset, cut.reason, cut.leader_epoch) == (2, 5, "diverging-epoch", 2)


def test_a_follower_that_never_knew_the_leaders_epoch_goes_back_to_its_own_older_one(bench):
    bench.become(2, epoch=0)
    bench.partition.append_from_leader(batch(0, 2, 0), 0, 0)
    bench.become(3, epoch=2, partition_epoch=1)
    bench.partition.append_from_leader(batch(2, 2, 2), 2, 0)
    # Another leader, which had epoch 1 up to offset 3 and never epoch 2.
    bench.become(2, epoch=3, partition_epoch=2)
    bench.partition.cut_back(EpochEnd(1, 3))
    assert (bench.log.latest_epoch, bench.log.log_end_offset) == (0, 2)


def test_a_former_leader_without_appends_forgets_its_own_epoch(bench):
    bench.become(2, epoch=0)
    bench.partition.append_from_leader(batch(0, 2, 0), 0, 2)
    bench.become(1, epoch=1, partition_epoch=1)
    assert bench.log.latest_epoch == 1
    bench.become(3, epoch=2, partition_epoch=2)
    bench.partition.cut_back(EpochEnd(0, 2))
    assert (bench.log.latest_epoch, bench.log.log_end_offset) == (0, 2)


def test_a_replica_whose_partition_left_answers_nobody(bench):
    bench.become(1)
    bench.changed.clear()
    bench.partition.close()
    assert bench.partition.check_leader_epoch(-1) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert bench.changed == [bench.partition.name]


def test_metadata_that_contradicts_itself_is_refused(bench):
    bench.become(1, epoch=3, partition_epoch=3)
    with pytest.raises(MetadataReplayError, match="leader epoch of 3 or more, found 2"):
        bench.become(2, epoch=2, partition_epoch=4)
    with pytest.raises(MetadataReplayError, match=r"expected an ISR among \(1, 2\), found \(1, 3\)"):
        bench.become(1, (1, 3), epoch=4, partition_epoch=4, replicas=(1, 2))
