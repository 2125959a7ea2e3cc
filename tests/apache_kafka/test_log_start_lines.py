"""Why log starts moved, by lines of brokers, in whichever order a release writes them."""

from __future__ import annotations

import pytest

from highwater_chaos.backends.local.apache_kafka.broker_lines import BrokerLines
from highwater_chaos.backends.local.apache_kafka.event_lines import Line
from highwater_runtime.ports.trace import LogLoaded, LogStartMoved, LogTruncated, NodeEvent

LOG = "kafka.log.UnifiedLog"
SCHEDULER, HANDLER = "kafka-scheduler-1", "data-plane-kafka-request-handler-0"
MOVED = "Incremented log start offset to %d due to segment deletion"
BY_TIME = (
    "Deleting segment LogSegment(baseOffset=%d, size=900, lastModifiedTime=4000, largestRecordTimestamp=%s)"
    " due to log retention time 3000ms breach based on the %s"
)
LARGEST, MODIFIED = "largest record timestamp in the segment", "last modified time of the segment"
BY_SIZE = (
    "Deleting segment LogSegment(baseOffset=%d, size=900, lastModifiedTime=4000, largestRecordTimestamp=5000)"
    " due to log retention size 60000 breach. Log size after deletion will be %d."
)


class Broker:
    """A broker that has loaded the log [3, 100) of ``p-0``."""

    def __init__(self) -> None:
        self.reader = BrokerLines(0, lambda partition, topic_id, epoch: None)
        self.ns = 0
        loaded = "Completed load of Log(dir=/d/p-0, topicId=AAAAAAAAAAAAAAAAAAAAAQ, topic=p, partition=0, "
        loaded += "highWatermark=3, lastStableOffset=3, logStartOffset=3, logEndOffset=100)"
        (event,) = self._says("kafka.log.LogManager", loaded, "main")
        assert isinstance(event, LogLoaded)
        self.topic_id = event.topic_id

    def _says(self, logger: str, text: str, thread: str) -> list[NodeEvent]:
        self.ns += 1
        line = Line(self.ns, self.ns, 9000, "INFO", logger, thread, text)
        return [one.event for one in self.reader.events_of(line)]

    def says(self, text: str, thread: str = SCHEDULER) -> list[NodeEvent]:
        """What follows from a line of the log of ``p-0``."""
        return self._says(LOG, f"[UnifiedLog partition=p-0, dir=/d] {text}", thread)

    def turns(self, thread: str = SCHEDULER) -> list[NodeEvent]:
        """What follows once a thread has written of something else."""
        return self._says("kafka.server.Other", "nothing", thread)

    def closes(self) -> list[NodeEvent]:
        return [one.event for one in self.reader.close()]

    def moved(self, start: int, to: int, reason: str, *, age: int = -1, left: int = -1) -> LogStartMoved:
        by_time, by_size = reason == "retention-time", reason == "retention-size"
        return LogStartMoved(
            partition="p-0",
            topic_id=self.topic_id,
            offset=start,
            end_offset=to,
            reason=reason,
            retention_ms=3000 if by_time else -1,
            retention_bytes=60000 if by_size else -1,
            age_ms=age,
            size_left=left,
        )


def test_segments_are_reported_when_the_line_of_the_log_start_follows() -> None:
    """As releases up to 3.6 write it. The log starts within the first segment, by a client's request."""
    broker = Broker()
    assert not broker.says(BY_TIME % (0, "Some(5000)", LARGEST))
    assert not broker.says(BY_TIME % (10, "None", MODIFIED))
    assert broker.says(MOVED % 30) == [
        broker.moved(3, 10, "retention-time", age=4000),
        broker.moved(10, 30, "retention-time", age=5000),
    ]
    assert not broker.turns()
    assert not broker.closes()


def test_segments_are_reported_when_their_thread_goes_on() -> None:
    """As later releases write it. What other threads write in between says nothing."""
    broker = Broker()
    assert not broker.says(MOVED % 30)
    assert not broker.says(BY_SIZE % (0, 61800))
    assert not broker.turns(HANDLER)
    assert not broker.says(BY_SIZE % (10, 60900))
    assert broker.turns() == [
        broker.moved(3, 10, "retention-size", left=61800),
        broker.moved(10, 30, "retention-size", left=60900),
    ]
    assert not broker.closes()


def test_one_deletion_after_the_other() -> None:
    broker = Broker()
    broker.says(MOVED % 30)
    broker.says(BY_SIZE % (0, 61800))
    assert broker.says(MOVED % 40) == [broker.moved(3, 30, "retention-size", left=61800)]
    broker.says(BY_SIZE % (30, 60900))
    assert broker.turns() == [broker.moved(30, 40, "retention-size", left=60900)]


@pytest.mark.parametrize("how", ["restart", "end"])
def test_segments_are_reported_before_the_log_is_emptied_and_at_the_end(how: str) -> None:
    broker = Broker()
    broker.says(MOVED % 30)
    broker.says(BY_SIZE % (0, 61800))
    moved = broker.moved(3, 30, "retention-size", left=61800)
    if how == "end":
        assert broker.closes() == [moved]
        return
    before, emptied = broker.says("Truncate and start at offset 200", HANDLER)
    assert before == moved
    assert isinstance(emptied, LogTruncated)
    assert broker.says("Incremented log start offset to 210 due to leader offset increment") == [
        broker.moved(200, 210, "leader")
    ]


def test_clients_and_leaders_move_log_starts() -> None:
    broker = Broker()
    assert broker.says("Incremented log start offset to 20 due to client delete records request", HANDLER) == [
        broker.moved(3, 20, "delete-records")
    ]
    assert broker.says("Incremented log start offset to 25 due to leader offset increment", "fetcher") == [
        broker.moved(20, 25, "leader")
    ]


def test_a_deletion_of_which_no_line_says_where_it_ended_is_no_event() -> None:
    """The process was killed in the middle of it."""
    broker = Broker()
    broker.says(BY_SIZE % (0, 61800))
    broker.says(BY_SIZE % (10, 60900))
    assert broker.closes() == [broker.moved(3, 10, "retention-size", left=61800)]


def test_a_deletion_of_which_no_line_says_why_it_was_is_no_event() -> None:
    broker = Broker()
    broker.says(MOVED % 30)
    assert not broker.closes()
