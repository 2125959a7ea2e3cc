"""Each line of operator, runner, judge and nodes while an experiment goes on is of the documented schema."""

from __future__ import annotations

import io
import json
import logging
from typing import Any

import pytest
from log_schema import parsed

from highwater_operator.reconcile.pod_troubles import end_of
from highwater_runtime.log_lines import JsonLines, as_json, log_event, plain_text


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
