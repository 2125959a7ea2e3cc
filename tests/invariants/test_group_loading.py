"""A coordinator that has loaded its log has the groups and commits that are in it, and none that was deleted."""

from __future__ import annotations

from typing import Any

import pytest

from highwater_runtime.broker.groups.group import Group
from highwater_runtime.broker.groups.loading import Loader
from highwater_runtime.log.log import Log

RESTART = "{inject: {restart: {target: {all: brokers}}}}"
MOVES = f"[{{wait: 6s}}, {{repeat: {{times: 2, steps: [{RESTART}, {{wait: 3s}}]}}}}]"
WORKLOAD = "{producers: 1, rate: 5/s, groupMembers: 2}"


@pytest.mark.thorough
def test_a_coordinator_loads_the_last_record(simulate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = "{name: orders, partitions: 1, assignment: [[0, 1]]}"
    assert simulate(MOVES, workload=WORKLOAD, topic=topic).violations == set()
    init = Loader.__init__

    def without_the_last(self: Loader, log: Log) -> None:
        init(self, log)
        self._end = max(log.log_start_offset, self._end - 1)

    monkeypatch.setattr(Loader, "__init__", without_the_last)
    assert "group-offset-stale" in simulate(MOVES, workload=WORKLOAD, topic=topic).violations


def test_a_coordinator_loads_no_deleted_offset(simulate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    topics = "{name: orders, assignment: [[0, 1]]}, {name: payments, assignment: [[0, 1]]}"
    schedule = f"[{{wait: 8s}}, {{admin: {{deleteTopic: {{name: payments}}}}}}, {{wait: 1s}}, {RESTART}]"
    assert simulate(schedule, workload=WORKLOAD, topic=topics).violations == set()
    replay = Loader._replay_offset

    def without_tombstones(self: Loader, key: Any, record: Any) -> None:
        if record.value is not None:
            replay(self, key, record)

    monkeypatch.setattr(Loader, "_replay_offset", without_tombstones)
    assert "group-offset-stale" in simulate(schedule, workload=WORKLOAD, topic=topics).violations


def test_a_coordinator_loads_the_generation_of_each_group(simulate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = f"[{{wait: 6s}}, {RESTART}, {{wait: 3s}}]"
    assert simulate(schedule, workload=WORKLOAD).violations == set()
    load = Loader.groups

    def without_generations(self: Loader) -> dict[str, Group]:
        self._groups.clear()
        return load(self)

    monkeypatch.setattr(Loader, "groups", without_generations)
    assert "group-state" in simulate(schedule, workload=WORKLOAD).violations
