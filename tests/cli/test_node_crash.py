"""An exception in a node is a finding: verdict ``fail``, its stack in what is kept, exit status 1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from highwater_runtime.broker.broker import Broker
from highwater_runtime.ports import InboundRequest


def break_one_fetch(monkeypatch: pytest.MonkeyPatch, error: Exception, node: int = 0) -> None:
    """Let one Fetch, the hundredth that broker ``node`` gets, end in ``error``."""
    handle, seen = Broker.on_request, [0]

    def on_request(self: Broker, request: InboundRequest) -> None:
        if self.options.node_id == node and request.body.NAME.startswith("Fetch"):
            seen[0] += 1
            if seen[0] == 100:
                raise error
        handle(self, request)

    monkeypatch.setattr(Broker, "on_request", on_request)


def run_directory(folder: Path) -> Path:
    (directory,) = (folder / "runs").iterdir()
    return directory


def test_an_exception_in_a_node_is_a_finding(highwater: Any, tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    break_one_fetch(monkeypatch, KeyError("planted"))
    done = highwater("run", highwater.write("crash.yaml", tiny))
    assert done.status == 1, done.err
    assert "expected pass, found fail (node-crash)" in done.out
    directory = run_directory(highwater.folder)
    verdict = json.loads((directory / "verdict.json").read_text(encoding="utf-8"))
    assert verdict["anomalies"]["node-crash"]["count"] == 1
    (example,) = verdict["anomalies"]["node-crash"]["examples"]
    assert example["node"] == "broker-0"
    assert "KeyError: 'planted'" in example["story"]
    assert 'File "tests/cli/test_node_crash.py"' in example["stack"]
    for file in ("report.html", "junit.xml"):
        text = (directory / file).read_text(encoding="utf-8")
        assert "planted" in text, file
        assert "on_request" in text, f"{file} shows the stack"
    assert "on_request" in (directory / "events" / "nodes.jsonl").read_text(encoding="utf-8")
