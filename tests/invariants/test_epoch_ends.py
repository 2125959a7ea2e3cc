"""Where the leader epochs of a log may begin."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from highwater_runtime.log.names import parse_partition_dir
from highwater_runtime.ports.trace import LogLoaded, LogStartMoved, LogTruncated, NodeEvent
from highwater_runtime.sim.invariants.logs import LogInvariants
from highwater_runtime.sim.invariants.violation import Violations


@pytest.mark.parametrize(
    ("start_of_epoch", "log_start", "log_end", "leads", "is_broken"),
    [
        (17, 0, 18, False, False),
        (18, 0, 18, False, True),
        (18, 0, 18, True, False),
        (19, 0, 18, True, True),
        (18, 18, 18, False, False),
        (19, 18, 18, False, True),
    ],
    ids=[
        "its last record",
        "no record of it",
        "a leader begins it",
        "a leader begins it beyond the log end",
        "an empty log",
        "beyond the end of an empty log",
    ],
)
def test_the_last_leader_epoch_begins_within_the_log(
    start_of_epoch: int, log_start: int, log_end: int, *, leads: bool, is_broken: bool
) -> None:
    log = SimpleNamespace(
        partition="orders-0",
        epoch_entries=[(3, start_of_epoch)],
        latest_epoch=3,
        log_start_offset=log_start,
        log_end_offset=log_end,
    )
    violations = Violations()
    LogInvariants(cast(Any, None), violations)._epochs_ascend("broker-0", cast(Any, log), leads=3 if leads else None)
    assert [one.name for one in violations.found] == ["leader-epoch-cache"] * is_broken


MOVED = LogStartMoved(
    partition="orders-0", topic_id="t", offset=0, end_offset=43, reason="leader", retention_ms=-1, retention_bytes=-1
)
RECOVERED = LogLoaded(partition="orders-0", topic_id="t", offset=3, end_offset=51, reason="recovered")
ANOTHER = LogLoaded(partition="orders-0", topic_id="t", offset=0, end_offset=0, reason="created")
CUT = LogTruncated(partition="orders-0", leader_epoch=1, offset=20, end_offset=51, reason="diverging-epoch")


@pytest.mark.parametrize(
    ("events", "offset", "in_cache", "is_broken"),
    [
        ([MOVED, RECOVERED], 42, -1, False),
        ([MOVED, RECOVERED], 43, -1, True),
        ([MOVED, RECOVERED], 42, 1, True),
        ([RECOVERED], 42, -1, True),
        ([MOVED, ANOTHER], 42, -1, True),
        ([MOVED, RECOVERED, CUT], 20, -1, True),
    ],
    ids=[
        "a crash brings an older log start back",
        "above the highest log start",
        "an epoch that is not that of the batch",
        "the log start never moved",
        "another log",
        "written since it was cut",
    ],
)
def test_only_what_was_below_the_log_start_may_lack_its_epoch(
    events: list[NodeEvent], offset: int, in_cache: int, *, is_broken: bool
) -> None:
    batch = SimpleNamespace(producer_id=-1, base_offset=offset, leader_epoch=0)
    log = SimpleNamespace(
        partition="orders-0",
        log_start_offset=3,
        log_end_offset=51,
        latest_epoch=0,
        epoch_entries=[],
        recovery_point=0,
        is_online=True,
        config=SimpleNamespace(compacts=False, producer_id_expiration_ms=0),
        producers={},
        headers=lambda begin: [batch],
        epoch_of=lambda at: in_cache,
    )
    broker = SimpleNamespace(logs={parse_partition_dir("orders-0"): log})
    disk = SimpleNamespace(exists=lambda path: False)
    live = SimpleNamespace(
        broker=lambda node: broker,
        disk=lambda node: disk,
        disk_fails=lambda node: False,
        latest_wall_ms=lambda node: 0,
    )
    violations = Violations()
    invariants = LogInvariants(cast(Any, live), violations)
    for event in events:
        invariants.on_event("broker-0", 1, event)
    invariants._wrote["broker-0"] = 1
    invariants.after_event()
    assert [one.name for one in violations.found] == ["leader-epoch-cache"] * is_broken
