"""A coordinator that has loaded its log has the last commit that is in it."""

from __future__ import annotations

from typing import Any

import pytest

from highwater_runtime.broker.groups.loading import Loader
from highwater_runtime.log.log import Log

RESTART = "{inject: {restart: {target: {all: brokers}}}}"
MOVES = f"[{{wait: 6s}}, {{repeat: {{times: 2, steps: [{RESTART}, {{wait: 3s}}]}}}}]"
WORKLOAD = "{producers: 1, rate: 20/s, groupMembers: 2}"


def test_a_coordinator_loads_the_last_record(simulate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = "{name: orders, partitions: 1, assignment: [[0, 1]]}"
    assert simulate(MOVES, workload=WORKLOAD, topic=topic).violations == set()
    init = Loader.__init__

    def without_the_last(self: Loader, log: Log) -> None:
        init(self, log)
        self._end = max(log.log_start_offset, self._end - 1)

    monkeypatch.setattr(Loader, "__init__", without_the_last)
    assert "group-offset-stale" in simulate(MOVES, workload=WORKLOAD, topic=topic).violations
