"""``highwater-operator`` as a process: where it answers, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from highwater_chaos.backends.local.layout import free_ports


def page(port: int, path: str) -> str | None:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return str(answer.read().decode())
    except (urllib.error.URLError, OSError):
        return None


def test_it_serves_and_ends(stage: Any, kubeconfig: Path, wait_for: Any, tmp_path: Path) -> None:
    alive, metrics = free_ports(2)
    command = [sys.executable, "-m", "highwater_operator.main", "--namespace", "default"]
    command += ["--liveness", f"http://127.0.0.1:{alive}/healthz", "--metrics-port", str(metrics)]
    agents_at = {"HIGHWATER_AGENT_NODE_SELECTOR": '{"faults": "allowed"}'}
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig), **agents_at}
    log = tmp_path / "operator.log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=out)
    try:
        wait_for(lambda: page(alive, "/healthz") is not None, f"/healthz; {log.read_text()}", 60)
        stage.create(runtime="apache-kafka", version="2.8.2")
        wait_for(
            lambda: stage.condition("Degraded")["reason"] == "RuntimeNotSupported", "a LogCluster to be served", 60
        )
        text = page(metrics, "/metrics")
        assert text is not None
        assert 'highwater_operator_reconciles_total{kind="LogCluster",result="failed"} 0.0' in text
        assert 'highwater_operator_known_objects{kind="LogCluster"} 1.0' in text
        assert 'highwater_operator_known_objects{kind="ChaosExperiment"}' not in text, "they are not counted"
        stage.create("placed", storage={"crashable": True, "size": "128Mi"})
        found = wait_for(lambda: stage.api.get("apps/v1", "StatefulSet", "placed-broker", "default"), "its pods", 60)
        assert found["spec"]["template"]["spec"]["nodeSelector"] == {"faults": "allowed"}
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()
    lines = log.read_text().splitlines()
    said = [json.loads(line) for line in lines]
    assert any("RuntimeNotSupported" in line for line in lines), "what happens is told"
    assert not [one for one in said if "/healthz" in str(one) or one["event"].startswith("Handler ")], (
        "what is asked is not"
    )
