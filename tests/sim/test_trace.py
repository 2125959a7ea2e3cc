"""The trace is complete, typed, and the same for the same seed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from highwater_runtime.ports import SECOND
from highwater_runtime.ports.trace import HighWatermarkAdvanced
from highwater_runtime.sim import MetricSample


def run_chaos(seed, hash_seed):
    command = [sys.executable, str(Path(__file__).with_name("seeded_chaos.py")), str(seed)]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_equal_seeds_give_equal_runs_under_any_hash_seed():
    first = run_chaos(1, "0")
    assert first == run_chaos(1, "1") == run_chaos(1, "4242")
    assert first != run_chaos(2, "0")


def test_events_become_lines_with_the_hosts_fields_first(toys, tmp_path):
    simulator, cores = toys.cluster("a")
    simulator.set_clock("a", offset_ns=7)
    simulator.run_until(SECOND)
    heard = []
    simulator.trace.subscribers.append(lambda *args: heard.append(args))
    event = HighWatermarkAdvanced(partition="orders-0", leader_epoch=2, offset=5)
    cores["a"].ports.trace.emit(event)
    assert heard == [(SECOND, "a", 1, event)]
    simulator.trace.write(tmp_path / "events")
    lines = (tmp_path / "events" / "nodes.jsonl").read_text().splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["node-started", "high-watermark"]
    assert list(json.loads(lines[1]).items()) == [
        ("seq", 1),
        ("time_ns", SECOND),
        ("node_time_ns", SECOND + 7),
        ("node", "a"),
        ("incarnation", 1),
        ("kind", "high-watermark"),
        ("partition", "orders-0"),
        ("leader_epoch", 2),
        ("offset", 5),
    ]
    assert not (tmp_path / "events" / "messages.jsonl").exists()


def test_messages_are_traced_when_asked_for(toys, tmp_path):
    simulator, cores = toys.cluster("a", "b", trace_messages=True)
    cores["a"].send("b", 1)
    simulator.run_for(SECOND)
    simulator.faults.drop("Echo")
    cores["a"].send("b", 2)
    simulator.run_for(SECOND)
    simulator.trace.write(tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "messages.jsonl").read_text().splitlines()]
    assert [(line["message"], line["direction"], line["api"], line["from"], line["to"]) for line in lines] == [
        ("send", "request", "Echo", "a", "b"),
        ("deliver", "request", "Echo", "a", "b"),
        ("send", "response", "Echo", "b", "a"),
        ("deliver", "response", "Echo", "b", "a"),
        ("drop", "request", "Echo", "a", "b"),
    ]


def test_the_digest_covers_every_event(toys):
    def digest(offset):
        simulator, cores = toys.cluster("a")
        cores["a"].ports.trace.emit(HighWatermarkAdvanced(partition="t-0", leader_epoch=1, offset=offset))
        return simulator.digest()

    assert digest(1) == digest(1)
    assert digest(1) != digest(2)


def test_the_digest_covers_what_the_trace_does_not_show(toys):
    def digest(values):
        simulator, cores = toys.cluster("a", "b")
        for value in values:
            cores["a"].send("b", value)
        simulator.run_for(SECOND)
        return simulator.digest()

    assert digest([1]) == digest([1])
    assert digest([1]) != digest([1, 2])


def test_metrics_are_kept_by_series_and_restart_with_the_process(toys):
    simulator, cores = toys.cluster("a")
    metrics = cores["a"].ports.metrics
    metrics.counter("hits_total", api="Fetch", peer="b")
    metrics.counter("hits_total", 2, peer="b", api="Fetch")
    metrics.gauge("lag", 5, partition="t-0")
    metrics.gauge("lag", 4, partition="t-0")
    metrics.gauge("old", 1)
    metrics.forget("old")
    metrics.forget("never")
    assert list(simulator.metric_samples()) == [
        MetricSample(0, "a", 1, "hits_total", (("api", "Fetch"), ("peer", "b")), 3.0),
        MetricSample(0, "a", 1, "lag", (("partition", "t-0"),), 4),
    ]
    metrics.forget("lag", partition="t-0")
    metrics.gauge("age", 7)
    assert [(sample.name, sample.value) for sample in simulator.metric_samples()] == [("age", 7), ("hits_total", 3.0)]
    simulator.kill("a")
    assert list(simulator.metric_samples()) == []
    simulator.start("a")
    simulator.run_for(0)
    assert list(simulator.metric_samples()) == []
