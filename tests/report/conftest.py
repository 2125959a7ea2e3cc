"""A run directory's content written by hand: a few operations, a few events."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.report.files import RunFiles
from highwater_pipeline.tables.rows import EVENT_FIELDS

sys.path.insert(0, str(Path(__file__).parent))  # for ``import headless_browser``

EXPERIMENT = """\
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: by-hand, annotations: {highwater.dev/description: A run that never was}}
spec:
  timeout: 1m
  cluster:
    brokers: 2
    topics: [{name: orders, assignment: [[0, 1]]}]
"""
MS = 1_000_000


OTHER = {"topic_id": "0" * 32, "partition_epoch": 0, "min_isr": 1, "reason": "", "broker_epoch": 1, "epoch": 0}
OTHER |= {"replicas": [0, 1], "isr": [0], "isr_epochs": [-1], "registered_epochs": [-1], "offset": 0, "end_offset": 0}
OTHER |= {"leader": 0, "leader_epoch": 0, "broker": 0, "metadata_offset": 0, "crc": 0, "stack": "", "partition": "x-0"}
"""Fields that an event of some kind must have, and that a test does not care about."""


class Recording:
    """Collects operations, events and faults; times in milliseconds of the run."""

    def __init__(self) -> None:
        self.operations: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.faults: list[dict[str, Any]] = []
        self.verdict: dict[str, Any] = {
            "verdict": "pass",
            "asExpected": True,
            "expected": {"verdict": "pass", "anomalies": [], "whyNot": ""},
            "load": None,
            "seed": 7,
            "backend": "sim",
            "inconclusiveReasons": [],
            "reasons": [],
            "anomalies": {},
            "assertions": [],
            "checks": {"lost-write": "ok"},
        }
        self.experiment = EXPERIMENT

    def op(self, ms: int, process: int, type_: str, f: str, *value: tuple[int | None, int]) -> Recording:
        """An operation on orders-0 with (offset, value) pairs."""
        elements = [{"op": f, "key": "orders-0", "offset": offset, "value": one} for offset, one in value]
        row = {"index": len(self.operations), "time": ms * MS, "process": process, "type": type_, "f": f}
        self.operations.append({**row, "value": elements})
        return self

    def event(self, ms: int, node: str, kind: str, **fields: Any) -> Recording:
        row = {"seq": len(self.events), "time_ns": ms * MS, "node_time_ns": ms * MS, "node": node, "incarnation": 1}
        other = {name: OTHER[name] for name in EVENT_FIELDS[kind] if name not in {*row, *fields}}
        self.events.append({**row, "kind": kind, **other, **fields})
        return self

    def on_partition(self, ms: int, node: str, kind: str, **fields: Any) -> Recording:
        return self.event(ms, node, kind, partition="orders-0", **fields)

    def fault(self, kind: str, begin_ms: int, end_ms: int | None, *targets: str, **more: Any) -> Recording:
        self.faults.append(
            {
                "id": f"fault-{len(self.faults) + 1}",
                "name": None,
                "kind": kind,
                "parameters": {},
                "targets": list(targets),
                "started_ns": begin_ms * MS,
                "injected_ns": begin_ms * MS,
                "healed_ns": None if end_ms is None else end_ms * MS,
                "confirmed": True,
                "healed": end_ms is not None,
                "evidence": {"inject": [{"what": "seen"}], "heal": []},
                "error": None,
                **more,
            }
        )
        return self

    def lost(self, offset: int, value: int) -> Recording:
        """The verdict of a run that lost this record."""
        example = {"partition": "orders-0", "offset": offset, "value": value, "story": f"Value {value} is gone."}
        self.verdict["verdict"] = "fail"
        self.verdict["anomalies"]["lost-write"] = {"count": 1, "examples": [example]}
        self.verdict["checks"]["lost-write"] = "failed"
        return self

    def files(self) -> RunFiles:
        return RunFiles(self.verdict, self.operations, self.events, self.faults, self.experiment)

    def write(self, folder: Path) -> Path:
        """As a run directory."""
        for name, rows in (
            ("history/operations.jsonl", self.operations),
            ("events/nodes.jsonl", self.events),
            ("faults.jsonl", self.faults),
        ):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        (folder / "verdict.json").write_text(json.dumps(self.verdict), encoding="utf-8")
        (folder / "experiment.yaml").write_text(self.experiment, encoding="utf-8")
        return folder


@pytest.fixture
def recording() -> Recording:
    """An empty recording."""
    return Recording()


@pytest.fixture
def loss(recording: Recording) -> Recording:
    """Value 5 at offset 0 of orders-0: acknowledged, on broker 0 only, and broker 1 becomes leader without it."""
    return (
        recording.on_partition(
            1,
            "controller-0",
            "partition-changed",
            metadata_offset=3,
            replicas=[0, 1],
            isr=[0],
            leader=0,
            leader_epoch=0,
            partition_epoch=0,
            reason="created",
        )
        .fault("partition", 2, 4, "broker-0", "broker-1")
        .op(10, 1, "invoke", "send", (None, 5))
        .on_partition(11, "broker-0", "log-appended", leader_epoch=0, offset=0, end_offset=1, reason="leader")
        .on_partition(12, "broker-0", "high-watermark", leader_epoch=0, offset=1)
        .op(13, 1, "ok", "send", (0, 5))
        .event(20, "controller-0", "broker-registered", broker=1, broker_epoch=9, metadata_offset=9, reason="ab")
        .event(20, "controller-1", "broker-registered", broker=1, broker_epoch=9, metadata_offset=9, reason="ab")
        .on_partition(
            30,
            "controller-0",
            "alter-partition-handled",
            broker=0,
            leader_epoch=0,
            partition_epoch=1,
            isr=[0, 1],
            isr_epochs=[4, 5],
            registered_epochs=[4, 9],
            metadata_offset=10,
            reason="NONE",
        )
        .on_partition(
            31,
            "controller-0",
            "partition-changed",
            metadata_offset=10,
            replicas=[0, 1],
            isr=[0, 1],
            leader=0,
            leader_epoch=0,
            partition_epoch=1,
            reason="changed",
        )
        .fault("kill", 40, None, "broker-0")
        .on_partition(
            50,
            "controller-0",
            "partition-changed",
            metadata_offset=12,
            replicas=[0, 1],
            isr=[1],
            leader=1,
            leader_epoch=1,
            partition_epoch=2,
            reason="changed",
        )
        .on_partition(51, "broker-1", "became-leader", leader_epoch=1, offset=0, end_offset=0, isr=[1])
        .on_partition(60, "broker-1", "log-appended", leader_epoch=1, offset=0, end_offset=1, reason="leader")
        .fault("pause", 70, 80, "broker-1")
        .op(90, 2, "invoke", "poll")
        .op(91, 2, "ok", "poll", (0, 6))
    )
