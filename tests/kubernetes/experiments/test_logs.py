"""Each line of operator, runner, judge and nodes while an experiment goes on is of the documented schema."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from experiments.conftest import KIND, experiment, until
from experiments.test_real_run import CONFIG, LONG
from log_schema import EVENTS, OBJECT, parsed

from highwater_operator.experiments.context import JudgingSettings
from highwater_operator.main import CHATTY
from highwater_operator.reconcile.pod_troubles import end_of
from highwater_runtime.log_lines import JsonLines, as_json, log_event, plain_text

COMPONENTS = {
    "operator": ("highwater_operator", "kopf"),
    "runner": ("highwater.runner",),
    "judge": ("highwater.judge",),
}


@contextmanager
def logs_of_threads(**context: Any) -> Iterator[dict[str, io.StringIO]]:
    """Lines by component, as its process would have them: here operator, runner and judge are threads."""
    streams = {component: io.StringIO() for component in COMPONENTS}
    handlers = []
    for component, names in COMPONENTS.items():
        handler = logging.StreamHandler(streams[component])
        handler.setFormatter(JsonLines(component, **({} if component == "operator" else context)))
        for name in names:
            logger = logging.getLogger(name)
            logger.addHandler(handler)
            logger.setLevel(logging.INFO)
            handlers.append((logger, handler))
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        yield streams
    finally:
        for logger, handler in handlers:
            logger.removeHandler(handler)
            logger.setLevel(logging.NOTSET)
        for name in CHATTY:
            logging.getLogger(name).setLevel(logging.NOTSET)


def test_every_line_of_an_experiment_is_of_the_schema(real: Any, tmp_path: Path) -> None:
    real.judging = JudgingSettings(job=True)
    cluster = {"brokers": 1, "controllers": 1, "config": CONFIG, "topics": [{"name": "orders"}]}
    schedule = [{"inject": {"pause": {"target": {"broker": 0}}, "for": "500ms"}}, {"wait": "1s"}]
    about = {"namespace": "default", "kind": "ChaosExperiment", "name": "demo"}
    with logs_of_threads(**about) as streams:
        real.start()
        real.api.create(experiment(cluster=cluster, schedule=schedule))
        until(lambda: '"phase": "Completed"' in streams["operator"].getvalue(), "the verdict", LONG)
        until(lambda: real.api.get("highwater.dev/v1alpha1", "LogCluster", "demo", "default") is None, "its cluster")
        real.api.delete(*KIND, "demo", "default")
        until(lambda: real.get() is None, "the experiment to go")
        real.stop()
    lines = {component: parsed(stream.getvalue().splitlines()) for component, stream in streams.items()}
    nodes = [parsed(path.read_text().splitlines()) for path in tmp_path.glob("demo-*.log")]
    assert len(nodes) == 2
    for node in nodes:
        assert len(node) > 2
        (name,) = {one["name"] for one in node}
        assert {(one["component"], one["namespace"], one["kind"]) for one in node} == {("node", "default", "Pod")}
        assert {f"demo-{one['node']}" for one in node} == {name}

    said = [one for one in lines["operator"] if one.get("kind") == "ChaosExperiment"]
    phases = [one["phase"] for one in said if one["event"] == "phase changed"]
    assert phases == list(dict.fromkeys(phases)), "one line for each"
    assert {"Pending", "SettingUp", "Judging", "Completed"} <= set(phases)
    (completed,) = [one for one in said if one.get("phase") == "Completed"]
    assert completed["verdict"] == "pass"
    cluster_lines = [one for one in lines["operator"] if one.get("kind") == "LogCluster"]
    ready = [
        one["status"] for one in cluster_lines if one["event"] == "condition changed" and one["condition"] == "Ready"
    ]
    assert "True" in ready
    runner = [one["phase"] for one in lines["runner"] if one["event"] == "phase changed"]
    assert list(dict.fromkeys(runner)) == ["SettingUp", "Steady", "Injecting", "Recovering", "Judging"]
    assert [one["verdict"] for one in lines["judge"] if one["event"] == "verdict"] == ["pass"]
    for component in ("runner", "judge"):
        assert all({name: one[name] for name in OBJECT} == about for one in lines[component])
    transitions = {"phase changed", "condition changed", "verdict"}
    assert {
        (one["component"], one["event"]) for part in lines.values() for one in part if one["event"] in transitions
    } <= EVENTS


@pytest.mark.parametrize("value", ["a\nb\u2028c\x00", "\udc80", float("nan"), b"\xff", {"deep": object}, "\x1b[31m"])
def test_no_value_makes_a_second_line_or_no_json(value: Any) -> None:
    stream = io.StringIO()
    logger = logging.Logger("a test")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines("node", namespace="ns", kind="Pod", name="one"))
    logger.addHandler(handler)
    log_event(logger, logging.WARNING, "hostile %s", value=value, time="never", event="another", fault=None)
    try:
        raise ValueError(f"first\n{value!r}")
    except ValueError:
        logger.exception("a bug")
    first, second = parsed(stream.getvalue().splitlines())
    assert (first["event"], first["level"], first["name"]) == ("hostile %s", "warning", "one")
    assert first["time"] != "never"
    assert "fault" not in first
    assert second["traceback"].splitlines()[0] == "Traceback (most recent call last):"


def test_the_last_line_of_a_pod_is_told_in_words() -> None:
    line = {
        "time": "t",
        "level": "error",
        "component": "runner",
        "event": "not judged",
        "error": "no room",
        "fault": "f-1",
    }
    assert plain_text(as_json(line)) == "not judged: no room; fault f-1"
    bug = as_json({"event": "a bug", "traceback": "Traceback:\n  line\nKeyError: 'a'"})
    assert plain_text(bug) == "a bug: KeyError: 'a'"
    assert plain_text(bug[30:]) == "KeyError: 'a'", "the kubelet keeps the end of a long line"
    for other in ("plain", "[" * 5000, "[1]", '{"event": 1}', "null"):
        assert plain_text(other) == other
    ended = {"exitCode": 1, "reason": "Error", "message": f"first\n{as_json(line)}\n"}
    pod = {"status": {"containerStatuses": [{"state": {"terminated": ended}}]}}
    assert end_of(pod) == "Error, exit status 1: not judged: no room; fault f-1"
    assert json.loads(as_json({"a": float("inf")})) == {"a": "inf"}
