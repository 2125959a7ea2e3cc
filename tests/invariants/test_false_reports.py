"""What a broker reports of a replica is compared with the replica: each field of each report, and each that is missing.

One run is watched by many: each but the first is told one lie, again and again.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from highwater_runtime.ports import trace
from highwater_runtime.sim.invariants import monitor
from highwater_runtime.sim.invariants.states import StateInvariants
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


class Told:
    """Watches a run as it is told of it. ``field``: the one of which it is told something else; empty: nothing of that
    kind is told."""

    def __init__(self, live: Any, kind: str = "", field: str = "") -> None:
        self.kind, self.field, self.violations = kind, field, Violations()
        self.invariants = StateInvariants(live, self.violations)

    def tell(self, node: str, incarnation: int, event: Any) -> None:
        if event.__struct_config__.tag == self.kind:
            if not self.field:
                return
            true = getattr(event, self.field)
            lie = [9] if isinstance(true, list) else true + 1
            event = msgspec.structs.replace(event, **{self.field: lie})
        self.invariants.on_event(node, incarnation, event)


def test_each_lie_is_found(simulate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Told] = []

    class Audience:
        def __init__(self, live: Any, _violations: Violations) -> None:
            told.extend(Told(live, kind, field) for kind, field in [("", ""), *LIES, *((one, "") for one in MISSING)])

        def on_event(self, node: str, incarnation: int, event: trace.NodeEvent) -> None:
            for one in told:
                one.tell(node, incarnation, event)

        def after_event(self) -> None:
            for one in told:
                one.invariants.after_event()

    monkeypatch.setattr(monitor, "StateInvariants", Audience)
    simulate(SCHEDULE, workload="{producers: 1, rate: 50/s, acks: '1', idempotence: false}")
    honest, *others = told
    assert honest.violations.found == []
    believed = [(one.kind, one.field) for one in others if not one.violations.found]
    # A log that nobody was told of is not compared.
    assert believed == [("log-loaded", "")]
    assert {one.name for liar in others for one in liar.violations.found} == {"false-report"}
