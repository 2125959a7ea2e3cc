"""What real brokers and controllers of each release logged is understood. ``recorded/lines`` has some lines of each."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from highwater_chaos.apache_kafka.node_logging import LINES_KNOWN
from highwater_chaos.backends.local.apache_kafka.broker_lines import BrokerLines
from highwater_chaos.backends.local.apache_kafka.controller_lines import ControllerLines
from highwater_chaos.backends.local.apache_kafka.event_lines import Line
from highwater_chaos.backends.local.apache_kafka.evidence import OF_BROKERS, OF_CONTROLLERS
from highwater_runtime.ports.trace import IsrTaken, LogCut, LogStartMoved, NodeEvent

SELDOM = {IsrTaken, LogCut}
"""What did not happen to the brokers whose lines these are."""


@pytest.mark.parametrize("release", LINES_KNOWN["kraft"])
def test_each_kind_of_line_of_a_release_is_read(recorded: Path, release: str) -> None:
    broker, controller = (
        BrokerLines(0, lambda partition, topic_id, epoch: None),
        ControllerLines(lambda topic_id: f"topic {topic_id}"),
    )
    found: list[NodeEvent] = []
    for text in (recorded / "lines" / f"{release}.jsonl").read_bytes().splitlines():
        line = msgspec.json.decode(text, type=Line)
        events: list[NodeEvent] = [one.event for one in broker.events_of(line)]
        events += [one.event for one in controller.judgements_of(line)]
        known = len(broker.known)
        waits = any(one in line.text for one in ("Transitioning", "topic id", "Deleting segment", "segment deletion"))
        assert events or known or waits, line.text
        found += events
    found += [one.event for one in broker.close()]
    assert {type(event) for event in found} >= {*OF_BROKERS, *OF_CONTROLLERS} - SELDOM
    assert (broker.lost, controller.lost) == (None, None)
    assert any(one.partition is None for one in broker.known)
    assert any(one.topic_id for one in broker.known)
    assert {getattr(event, "reason", "") for event in found} >= {"created", "deleted", "leader"}
    moves = {event.reason: event for event in found if isinstance(event, LogStartMoved)}
    assert set(moves) == {"retention-time", "retention-size", "delete-records", "leader"}
    by_time, by_size = moves["retention-time"], moves["retention-size"]
    assert (by_time.retention_ms, by_size.retention_bytes) == (3000, 60000)
    assert by_time.age_ms > 3000
    assert by_size.size_left >= 60000
