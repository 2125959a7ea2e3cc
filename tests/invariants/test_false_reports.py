"""What nodes report is compared with live nodes: each field of each report, and each that is missing.

One run is watched by many: each but the first is told one lie, again and again.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from highwater_runtime.ports import trace
from highwater_runtime.sim.invariants import monitor
from highwater_runtime.sim.invariants.claims import OF_CLAIMS, ClaimInvariants
from highwater_runtime.sim.invariants.reported import OF_REPORTS, ReportInvariants
from highwater_runtime.sim.invariants.states import OF_STATES, StateInvariants
from highwater_runtime.sim.invariants.violation import Violations

SCHEDULE = """
    - inject: {partition: {between: [{broker: 0}, [{broker: 1}, {all: controllers}]]}, for: 6s}
    - wait: 9s
    - admin: {deleteRecords: {partition: orders-0, before: 30}}
    - inject: {kill: {target: {broker: 1}, restartAfter: 5s}}
    - wait: 8s
"""
LIES = [
    ("log-loaded", "offset"),
    ("log-loaded", "end_offset"),
    ("log-appended", "end_offset"),
    ("log-truncated", "end_offset"),
    ("log-start-moved", "offset"),
    ("log-truncated", "offset"),
    ("log-start-moved", "end_offset"),
    ("became-leader", "leader_epoch"),
    ("became-leader", "partition_epoch"),
    ("became-leader", "offset"),
    ("became-leader", "end_offset"),
    ("became-leader", "isr"),
    ("became-follower", "leader_epoch"),
    ("became-follower", "end_offset"),
    ("high-watermark", "offset"),
    ("isr-proposal-ended", "isr"),
    ("isr-proposal-ended", "partition_epoch"),
    ("min-isr-set", "min_isr"),
]
MISSING = [
    *("log-appended", "log-truncated", "log-start-moved", "became-leader", "became-follower", "high-watermark"),
    *("isr-proposal-ended", "log-loaded"),
]
REJOINS = """
    - inject: {kill: {target: {broker: 1}, restartAfter: 5s}}
    - wait: 9s
"""
CLAIMS = [
    *(("write-acknowledged", field) for field in ("leader_epoch", "partition_epoch", "isr", "min_isr")),
    *(("isr-proposed", field) for field in ("leader_epoch", "partition_epoch", "isr", "isr_epochs")),
    *(("alter-partition-handled", field) for field in ("leader_epoch", "partition_epoch", "isr", "isr_epochs")),
    *(("alter-partition-handled", field) for field in ("broker", "registered_epochs")),
    # Leader and controller tell the same lie.
    ("isr-proposed alter-partition-handled", "isr_epochs"),
    *(("partition-changed", field) for field in ("leader", "leader_epoch", "partition_epoch", "isr", "replicas")),
    *(("broker-registered", field) for field in ("broker", "broker_epoch", "metadata_offset")),
]
"""Of what was decided, proposed and judged, and under what was acknowledged."""
UNCLAIMED = ["write-acknowledged", "isr-proposed", "broker-registered"]


class Told:
    """Watches a run as it is told of it. ``kind``: one kind of events, or several. ``field``: the one of which it is
    told something else; empty: nothing of that kind is told, or only each second (``every`` 2)."""

    def __init__(self, live: Any, kind: str = "", field: str = "", every: int = 1) -> None:
        self.kind, self.field, self.every, self.violations = kind, field, every, Violations()
        self.reports = ReportInvariants(live, Violations())
        self.states = StateInvariants(live, self.violations)
        self.claims = ClaimInvariants(live, self.reports, self.violations)

    def tell(self, node: str, incarnation: int, event: Any) -> None:
        if event.__struct_config__.tag in self.kind.split():
            if not self.field and getattr(event, "partition_epoch", self.every - 1) % self.every == self.every - 1:
                return
            if self.field:
                true = getattr(event, self.field)
                lie = [9] if isinstance(true, list) else true + 1
                event = msgspec.structs.replace(event, **{self.field: lie})
        for kinds, invariants in ((OF_CLAIMS, self.claims), (OF_REPORTS, self.reports), (OF_STATES, self.states)):
            if type(event) in kinds:
                invariants.on_event(node, incarnation, event)

    def after_event(self) -> None:
        self.states.after_event()
        self.claims.after_event()


def _believed(simulate: Any, monkeypatch: pytest.MonkeyPatch, lies: list[Any], *run: str) -> list[tuple[str, str]]:
    """Run an experiment, and return the lies of which nobody said anything. ``run``: schedule and workload."""
    told: list[Told] = []

    class Audience:
        def __init__(self, live: Any, _violations: Violations) -> None:
            told.extend(Told(live, *lie) for lie in [(), *lies])

        def on_event(self, node: str, incarnation: int, event: trace.NodeEvent) -> None:
            for one in told:
                one.tell(node, incarnation, event)

        def after_event(self) -> None:
            for one in told:
                one.after_event()

    monkeypatch.setattr(monitor, "StateInvariants", Audience)
    monkeypatch.setattr(monitor, "OF_STATES", OF_STATES | OF_CLAIMS | OF_REPORTS)
    schedule, workload = run
    simulate(schedule, workload=workload)
    honest, *others = told
    assert honest.violations.found == []
    assert {one.name for liar in others for one in liar.violations.found} == {"false-report"}
    return [(one.kind, one.field) for one in others if not one.violations.found]


def test_each_lie_on_a_replica_is_found(simulate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lies = [*LIES, *((one, "") for one in MISSING), ("partition-changed", "", 2)]
    workload = "{producers: 1, rate: 50/s, acks: '1', idempotence: false}"
    # A log that nobody was told of is not compared.
    assert _believed(simulate, monkeypatch, lies, SCHEDULE, workload) == [("log-loaded", "")]


def test_each_lie_on_a_decision_is_found(simulate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lies = [*CLAIMS, *((one, "") for one in UNCLAIMED), ("partition-changed", "", 2), ("partition-changed", "", 3)]
    assert _believed(simulate, monkeypatch, lies, REJOINS, "{producers: 1, rate: 50/s}") == []


@pytest.mark.parametrize("deleted", [True, False])
def test_a_leader_may_acknowledge_under_a_state_that_it_wrote_after_the_topics_deletion(deleted: bool) -> None:
    """In ZooKeeper mode one that has not heard of it does, and nobody reports the state. Before, that is a lie."""
    live: Any = SimpleNamespace(topic_of=lambda node, event: event.topic_id)
    violations = Violations()
    reports = ReportInvariants(live, violations)
    claims = ClaimInvariants(live, reports, violations)
    state = {"partition": "orders-0", "topic_id": "t", "leader_epoch": 0, "isr": [1, 0]}
    changes = ("created", "deleted") if deleted else ("created",)
    for at, reason in enumerate(changes):
        change = trace.PartitionChanged(
            **state, replicas=[1, 0], leader=1, partition_epoch=0, metadata_offset=20 + at, reason=reason
        )
        claims.on_event("zookeeper-0", 1, change)
        reports.on_event("zookeeper-0", 1, change)
    claims.on_event(
        "broker-1", 1, trace.WriteAcknowledged(**state, partition_epoch=1, offset=0, end_offset=1, min_isr=1)
    )
    assert [found.name for found in violations.found] == ([] if deleted else ["false-report"])
