"""Lines of brokers become events, whatever the order in which threads write them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from kafka_lines import HEX, ID, REQUEST

from highwater_chaos.backends.local.apache_kafka.broker_lines import BrokerLines, Known
from highwater_chaos.backends.local.apache_kafka.controller_lines import ControllerLines
from highwater_chaos.backends.local.apache_kafka.event_lines import Line
from highwater_runtime.ports.trace import (
    BecameLeader,
    HighWatermarkAdvanced,
    IsrProposalEnded,
    IsrProposed,
    IsrTaken,
    LogAppended,
    LogLoaded,
    LogRemoved,
    LogTruncated,
    NodeEvent,
)

PARTITION, LOG, LOGS, ROLES = (
    "kafka.cluster.Partition",
    "kafka.log.UnifiedLog",
    "kafka.log.LogManager",
    "state.change.logger",
)


class Broker:
    """A broker that writes lines, a clock tick apart."""

    def __init__(self) -> None:
        self.decided: dict[int, int] = {}
        self.reader = BrokerLines(0, lambda partition, topic_id, epoch: self.decided.get(epoch))
        self.ns = 0
        self.registers(20)

    def registers(self, epoch: int) -> None:
        text = f"[BrokerLifecycleManager id=0] Successfully registered broker 0 with broker epoch {epoch}"
        assert self.says("kafka.server.BrokerLifecycleManager", text) == []

    def says(self, logger: str, text: str, thread: str = "t") -> list[NodeEvent]:
        self.ns += 10
        line = Line(self.ns, self.ns, 1, "DEBUG", logger, thread, text)
        return [one.event for one in self.reader.events_of(line)]

    def leads(self, name: str = "a.b-c-0", *, end: int = 0, high_watermark: int = 0, epoch: int = 3) -> list[NodeEvent]:
        return self.says(
            ROLES,
            f"[Broker id=0] Leader {name} with topic id Some({ID}) starts at leader epoch {epoch} from offset {end}"
            f" with partition epoch 5, high watermark {high_watermark}, ISR [1,0], adding replicas [] and removing"
            " replicas [] . Previous leader Some(2) and previous leader epoch was 0.",
        )

    def appends(self, first: int, end: int, name: str = "a.b-c-0") -> list[NodeEvent]:
        return self.says(
            LOG,
            f"[UnifiedLog partition={name}, dir=/d] Appended message set with last offset: {end - 1}, first offset:"
            f" {first}, next offset: {end}, and messages: MemoryRecords(size=169)",
        )

    def moves(self, before: int, after: int, name: str = "a.b-c-0") -> list[NodeEvent]:
        return self.says(
            PARTITION,
            f"[Partition {name} broker=0] High watermark updated from (offset={before}, segment=[0:16345]) to"
            f" (offset={after}, segment=[0:16462])",
        )


def moved(*offsets: int, epoch: int = 3) -> list[NodeEvent]:
    return [HighWatermarkAdvanced(partition="a.b-c-0", leader_epoch=epoch, offset=offset) for offset in offsets]


def appended(first: int, end: int) -> LogAppended:
    return LogAppended(partition="a.b-c-0", leader_epoch=3, offset=first, end_offset=end, reason="leader")


def test_moves_of_the_high_watermark_join_up() -> None:
    broker = Broker()
    (led,) = broker.leads(end=4, high_watermark=2)
    assert isinstance(led, BecameLeader)
    assert (led.offset, led.end_offset, led.leader_epoch, led.partition_epoch, led.isr) == (2, 4, 3, 5, [1, 0])
    assert broker.moves(3, 4) == []  # another thread is about to say how it came to 3
    assert broker.moves(2, 3) == moved(3, 4)
    assert broker.moves(4, 6) == []  # the thread that appended is about to say so
    assert broker.appends(4, 6) == [appended(4, 6), *moved(6)]


def test_a_high_watermark_that_moves_to_a_newer_segment_alone_has_not_moved() -> None:
    broker = Broker()
    broker.leads(end=4, high_watermark=2)
    assert broker.moves(2, 4) == moved(4)
    assert broker.moves(4, 4) == []


def test_a_high_watermark_that_went_back_shows() -> None:
    broker = Broker()
    broker.leads(end=9, high_watermark=8)
    assert broker.moves(3, 5) == []
    led = broker.leads(end=9, high_watermark=9, epoch=4)
    assert led[:1] == moved(5)
    broker.moves(3, 5)
    assert [one.event for one in broker.reader.close()] == moved(5, epoch=4)


def test_a_leadership_of_the_process_before_counts_only_if_it_appends() -> None:
    """The broker goes through the metadata on its disk: it led until it was killed, and does not know yet who leads."""
    broker = Broker()
    broker.reader = BrokerLines(0, lambda partition, topic_id, epoch: broker.decided.get(epoch))
    assert broker.leads(end=0) == broker.moves(0, 7) == []  # not registered yet
    broker.registers(30)
    broker.decided[5] = 29
    assert broker.leads(end=0) == []
    assert [type(event) for event in broker.appends(0, 1)] == [BecameLeader, LogAppended]
    broker.decided[5] = 31
    assert [type(event) for event in broker.leads(end=1)] == [BecameLeader]
    broker.decided.clear()  # too new to have been seen
    assert [type(event) for event in broker.leads(end=1)] == [BecameLeader]


def test_what_a_broker_does_in_no_known_role_is_lost_evidence() -> None:
    broker = Broker()
    assert broker.reader.lost is None
    assert broker.appends(0, 1) == []
    assert broker.reader.lost == "a.b-c-0 was appended to, and no line says as leader or follower"


def test_logs_that_are_no_replicas_are_passed_over() -> None:
    broker = Broker()
    assert broker.appends(0, 1, "__cluster_metadata-0") == []
    loaded = "Completed load of Log(dir=/d/{}, topicId=" + ID + ", topic=a.b, partition=0, highWatermark=0,"
    loaded += " lastStableOffset=0, logStartOffset=2, logEndOffset=52) with 1 segments in 17ms (1/3 completed in /d)"
    for gone in ("a.b-0.04e5a6a2a67a410da313357057a08822-delete", "a.b-0.04e5a6a2a67a410da313357057a08822-stray"):
        assert broker.says(LOGS, loaded.format(gone)) == []
    event = LogLoaded(partition="a.b-0", topic_id=HEX, offset=2, end_offset=52, reason="recovered")
    assert broker.says(LOGS, loaded.format("a.b-0")) == [event]
    stray = "Log for partition a.b-0 is renamed to /d/a.b-0.04e5a6a2-stray and is scheduled for deletion"
    assert broker.says(LOGS, stray) == [LogRemoved(partition="a.b-0", topic_id=HEX, reason="stray")]
    assert broker.reader.lost is None


def test_a_topic_that_is_created_again_has_another_log() -> None:
    broker = Broker()
    other = "RJErdWC5Soe2_SAbmnEpuQ"
    broker.says(ROLES, f"[Broker id=0] Creating new partition orders-0 with topic id {ID}.")
    (first,) = broker.says(LOGS, "Created log for partition orders-0 in /d/orders-0 with properties {}")
    broker.says(LOGS, "Log for partition orders-0 is renamed to /d/orders-0.04e5-delete and is scheduled for deletion")
    broker.says(ROLES, f"[Broker id=0] Creating new partition orders-0 with topic id {other}.")
    (second,) = broker.says(LOGS, "Created log for partition orders-0 in /d/orders-0 with properties {}")
    assert isinstance(first, LogLoaded)
    assert isinstance(second, LogLoaded)
    assert first.topic_id == HEX != second.topic_id


def test_a_replica_of_a_topic_that_was_there_before_has_its_id() -> None:
    """It was moved here. The broker had a replica of another topic of that name."""
    broker, other = Broker(), "AAAAAAAAAAAAAAAAAAAAAQ"
    broker.says(ROLES, f"[Broker id=0] Creating new partition orders-0 with topic id {other}.")
    text = f"[Broker id=0] Expected partition orders-0 with topic id {ID} to exist, but it was missing. Creating..."
    broker.says(ROLES, text)
    (loaded,) = broker.says(LOGS, "Created log for partition orders-0 in /d/orders-0 with properties {}")
    assert isinstance(loaded, LogLoaded)
    assert loaded.topic_id == HEX


def test_a_role_is_in_force_before_its_line_and_is_known_since_then() -> None:
    """A leader that takes over a smaller ISR moves its high watermark before it says so."""
    broker = Broker()
    broker.leads(end=4, high_watermark=2)
    broker.reader.known.clear()
    broker.says(ROLES, "[Broker id=0] Transitioning 1 partition(s) to local leaders.", "publisher")
    began = broker.ns
    broker.moves(2, 4)
    (taken,) = broker.says(
        ROLES,
        f"[Broker id=0] Skipped the become-leader state change for a.b-c-0 with topic id Some({ID}), partition"
        " registration PartitionRegistration(replicas=[2, 0, 1], isr=[0], elr=[1], leader=0, leaderEpoch=3,"
        " partitionEpoch=6) and isNew=false since it is already the leader with leader epoch 3.",
        "publisher",
    )
    assert taken == IsrTaken(partition="a.b-c-0", leader_epoch=3, partition_epoch=6, isr=[0])
    assert broker.reader.known == [Known(began, "a.b-c-0", HEX, 6)]


def test_a_truncation_says_from_where() -> None:
    broker = Broker()
    broker.leads(end=4, high_watermark=2)
    event = LogTruncated(partition="a.b-c-0", leader_epoch=3, offset=2, end_offset=4, reason="diverging-epoch")
    assert broker.says(LOG, "[UnifiedLog partition=a.b-c-0, dir=/d] Truncating to offset 2") == [event]
    assert broker.says(LOG, "[UnifiedLog partition=a.b-c-0, dir=/d] Truncating to 4 has no effect as …") == []


PENDING = (
    "PendingExpandIsr(newInSyncReplicaId=1, sentLeaderAndIsr=LeaderAndIsr(leader=0, leaderEpoch=3,"
    " isrWithBrokerEpoch=%s, leaderRecoveryState=RECOVERED, partitionEpoch=5),"
    " leaderRecoveryState=RECOVERED, lastCommittedState=%s)"
)
OF_4 = PENDING % (
    "[BrokerState(brokerId=0, brokerEpoch=20), BrokerState(brokerId=1, brokerEpoch=%d)]",
    "CommittedPartitionState[isr=[0, 2], leaderRecoveryState=RECOVERED]",
)
OF_3 = PENDING % (
    "List(BrokerState(brokerId=0, brokerEpoch=20), BrokerState(brokerId=1, brokerEpoch=%d))",
    "CommittedPartitionState(isr=Set(0, 2), leaderRecoveryState=RECOVERED)",
)


@pytest.mark.parametrize("pending", [OF_3, OF_4], ids=["3.9.2", "4.4.0"])
@pytest.mark.parametrize("error", ["INELIGIBLE_REPLICA", "OPERATION_NOT_ATTEMPTED"])
def test_a_proposal_ends_that_the_controller_rejected_or_never_got(pending: str, error: str) -> None:
    """The ISR is what it was, and the next proposal is another one."""
    broker = Broker()
    broker.leads()
    says = partial(broker.says, PARTITION)
    (proposed,) = says(f"[Partition a.b-c-0 broker=0] Submitting ISR state change {pending % 40}")
    assert isinstance(proposed, IsrProposed)
    state = pending[pending.index("CommittedPartitionState") : -1]
    assert says(
        f"[Partition a.b-c-0 broker=0] Failed to alter partition to {pending % 40} since the controller rejected the"
        f" request with {error}. Partition state has been reset to the latest committed state {state}."
    ) == [IsrProposalEnded(partition="a.b-c-0", leader_epoch=3, partition_epoch=5, isr=[0, 2], reason=error)]
    assert says(f"[Partition a.b-c-0 broker=0] Submitting ISR state change {pending % 40}") == [proposed]


def test_a_proposal_that_is_sent_again_is_one() -> None:
    """The controller could not judge it. A proposal that differs is another one."""
    broker = Broker()
    broker.leads()
    says = partial(broker.says, PARTITION)
    assert len(says(f"[Partition a.b-c-0 broker=0] Submitting ISR state change {OF_4 % 40}")) == 1
    assert (
        says(f"[Partition a.b-c-0 broker=0] Failed to update ISR to {OF_4 % 40} due to unexpected X. Retrying.") == []
    )
    assert says(f"[Partition a.b-c-0 broker=0] Submitting ISR state change {OF_4 % 40}") == []
    assert len(says(f"[Partition a.b-c-0 broker=0] Submitting ISR state change {OF_4 % 41}")) == 1


# --- controllers ------------------------------------------------------------------------------------------------------


def judged(text: str, topics: dict[str, str] | None = None) -> tuple[ControllerLines, list[Any]]:
    reader = ControllerLines({HEX: "a.b-c"}.get if topics is None else topics.get)
    return reader, list(reader.judgements_of(Line(1, 5, 1, "DEBUG", "kafka.request.logger", "t", text)))


def test_a_controller_says_how_it_judged_a_proposal() -> None:
    _, (accepted,) = judged(REQUEST % (0, 2))
    event = accepted.event
    assert (accepted.partition_epoch, event.partition, event.broker, event.reason) == (2, "a.b-c-1", 2, "NONE")
    assert (event.isr, event.isr_epochs, event.partition_epoch) == ([0, 2], [11, 12], 1)
    _, (refused,) = judged(REQUEST % (107, 1))
    assert (refused.event.reason, refused.partition_epoch) == ("INELIGIBLE_REPLICA", -1)
    _, (same,) = judged(REQUEST % (0, 1))  # the ISR was that already: nothing was written
    assert same.partition_epoch == -1
    assert judged(REQUEST % (41, 1))[1] == []  # another controller judges


def test_a_judgement_that_cannot_be_read_is_lost_evidence() -> None:
    reader, found = judged((REQUEST % (0, 2))[:400])
    assert (found, "cannot be read" in str(reader.lost)) == ([], True)
    reader, found = judged(REQUEST % (0, 2), {})
    assert (found, "names the topic" in str(reader.lost)) == ([], True)
