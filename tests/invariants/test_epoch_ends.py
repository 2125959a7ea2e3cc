"""Where the last leader epoch of a log may begin."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

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
    LogInvariants(cast(Any, None), violations)._epochs_ascend("broker-0", cast(Any, log), leads=leads)
    assert [one.name for one in violations.found] == ["leader-epoch-cache"] * is_broken
