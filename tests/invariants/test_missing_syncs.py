"""Members hang between JoinGroup and SyncGroup, and their group goes on without them (``group-state``)."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Final

import pytest

from highwater_lab.mutants import Mutant, applied

_ANSWERS: Final = "broker.groups.membership:Membership._complete_join"
_TIMER: Final = "group.rebalance_timeout_ms * MS, lambda: self._sync_time_is_up(group, generation)"


@pytest.mark.parametrize("broken", [False, True])
def test_a_group_that_waits_for_a_member_without_sync_group_is_found(simulate: Any, broken: bool) -> None:
    late = Mutant("late", _ANSWERS, _TIMER, _TIMER.replace("* MS", "* 10 * MS"), "a generation waits for SyncGroup")
    with applied(late) if broken else nullcontext():
        run = simulate("[{wait: 60s}]", workload="{producers: 1, rate: 5/s, groupMembers: 2}")
    assert run.result.features["joins of groups"].state == "ok"
    assert run.violations == ({"group-state"} if broken else set())
