"""Annotations, as a server gets them that keeps to Grafana's HTTP API; and servers that do not."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from highwater_chaos.backends import make_backend
from highwater_chaos.cli import execute
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import load_experiment
from highwater_chaos.monitoring import Annotations, grafana, grafana_url
from highwater_chaos.run.live import LiveRun

from .test_run_metrics import EXPERIMENT

TOKEN = "glsa_secret"
Answer = Callable[[str, str, dict[str, Any]], tuple[int, str]]


class Server:
    """What was asked of it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[tuple[str, str, str | None, dict[str, Any]]] = []


@contextmanager
def serving(answer: Answer) -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def do(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.asked.append((self.command, self.path, self.headers["Authorization"], body))
            status, text = answer(self.command, self.path, body)
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "http://127.0.0.1:9/elsewhere")
            self.end_headers()
            self.wfile.write(text.encode())

        do_POST = do_PATCH = do  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    with closing(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as http:
        http.close = http.server_close  # type: ignore[attr-defined]
        server = Server(f"http://127.0.0.1:{http.server_address[1]}/grafana/")
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        yield server
        http.shutdown()
        thread.join()


def run_with(url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run an experiment with one fault, and return what was said."""
    monkeypatch.setattr(grafana, "_TURN_SECONDS", 0)
    file, said, runs = folder / "watched.yaml", [], []
    file.write_text(yaml.safe_dump(EXPERIMENT))
    with Annotations(url, TOKEN, said.append) as annotations:

        def turn(run: LiveRun) -> None:
            runs[:] = [run]
            annotations.turn(run)

        run_experiment(load_experiment(file), make_backend("sim"), on_turn=turn)
        annotations.judged(
            {"name": "watched", "verdict": "fail", "asExpected": False, "expected": {"whyNot": "expected pass"}}
        )
    return said


def test_a_fault_is_one_annotation_with_an_end_and_a_verdict_another(tmp_path, monkeypatch):
    with serving(lambda *_: (200, '{"message": "Annotation added", "id": 7}')) as server:
        assert run_with(server.url, tmp_path, monkeypatch) == []
    assert [(verb, path) for verb, path, _, _ in server.asked] == [
        ("POST", "/grafana/api/annotations"),
        ("PATCH", "/grafana/api/annotations/7"),
        ("POST", "/grafana/api/annotations"),
    ]
    assert {token for _, _, token, _ in server.asked} == {f"Bearer {TOKEN}"}
    fault, end, verdict = (body for _, _, _, body in server.asked)
    assert fault["tags"] == ["highwater", "watched", "fault", "kill"]
    assert fault["text"].startswith("kill broker-")
    assert isinstance(fault["time"], int)
    assert list(end) == ["timeEnd"]
    assert verdict["tags"] == ["highwater", "watched", "verdict", "fail"]
    assert verdict["text"] == "watched: fail, not as expected: expected pass"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((401, '{"message": "Invalid API key"}'), "401 Unauthorized"),
        ((200, "<html>login</html>"), "Expecting value"),
        ((200, "[]"), "its answer has no id: is this a Grafana?"),
        ((302, ""), "302 Found"),
    ],
)
def test_a_server_that_takes_none_is_said_once_and_left_alone(tmp_path, monkeypatch, answer, why):
    with serving(lambda *_: answer) as server:
        (said,) = run_with(server.url, tmp_path, monkeypatch)
    assert said.startswith("no annotations in Grafana any more, the run goes on: ")
    assert why in said
    assert TOKEN not in said
    assert len(server.asked) == 1


@pytest.mark.thorough
def test_a_dead_grafana_changes_neither_verdict_nor_status(tmp_path, monkeypatch, capsys):
    file = tmp_path / "watched.yaml"
    file.write_text(yaml.safe_dump({**EXPERIMENT, "spec": {**EXPERIMENT["spec"], "schedule": [{"wait": "1s"}]}}))
    monkeypatch.setenv("HIGHWATER_GRAFANA_TOKEN", TOKEN)
    status = execute(
        ["run", str(file), "--backend", "local", "--grafana", "http://127.0.0.1:9", "--out", str(tmp_path / "runs")]
    )
    said = capsys.readouterr()
    assert (status, said.out.partition(":")[0]) == (0, "PASS as expected")
    assert said.err.count("no annotations in Grafana") == 1
    written = [path.read_bytes() for path in (tmp_path / "runs").rglob("*") if path.is_file()]
    assert written
    assert not [one for one in [said.out.encode(), said.err.encode(), *written] if TOKEN.encode() in one]


@pytest.mark.parametrize("url", ["", "grafana", "ftp://host", "http://user:secret@host", "http://host/?x=1"])
def test_what_is_no_url(url, tmp_path, capsys):
    with pytest.raises(ValueError, match="expected "):
        grafana_url(url)
    file = tmp_path / "watched.yaml"
    file.write_text(yaml.safe_dump(EXPERIMENT))
    assert execute(["run", str(file), "--backend", "local", "--grafana", url]) == 254
    said = capsys.readouterr().err
    assert "--grafana: expected " in said
    assert "secret" not in said


def test_simulated_time_has_no_place_in_grafana(tmp_path, capsys):
    file = tmp_path / "watched.yaml"
    file.write_text(yaml.safe_dump(EXPERIMENT))
    assert execute(["run", str(file), "--grafana", "http://localhost:3000"]) == 254
    assert "--grafana: annotations are of runs in real time on this machine" in capsys.readouterr().err
