"""KAFKA-14139 on real file systems, with shorter waits than the scenario that ships: lost with the check off, and not
with it on."""

from __future__ import annotations

from pathlib import Path

import pytest

from highwater_chaos.experiment.load import parse_experiment
from highwater_chaos.liveness.promptness import IN_TIME
from highwater_chaos.verdict.checked_run import run_and_check

SCENARIO = Path(__file__).parents[2] / "scenarios" / "kip-903" / "kafka-14139.yaml"
SHORTER = {
    "replica.lag.time.max.ms: 15000": "replica.lag.time.max.ms: 10000",
    "replica.socket.timeout.ms: 3000": "replica.socket.timeout.ms: 1000",
    "broker.session.timeout.ms: 3000": "broker.session.timeout.ms: 2000",
    "broker.heartbeat.interval.ms: 500": "broker.heartbeat.interval.ms: 300",
    "restartAfter: 2s": "restartAfter: 200ms",
    "controllers: 3": "controllers: 1",
    "rate: 200/s": "rate: 20/s",
}


@pytest.mark.thorough
@pytest.mark.whole_machine
@pytest.mark.parametrize(("value", "verdict"), [("off", "fail"), ("on", "pass")])
def test_the_bug_is_found_and_the_fix_holds(state: Path, tmp_path: Path, value: str, verdict: str) -> None:
    text = SCENARIO.read_text(encoding="utf-8")
    for found, shorter in SHORTER.items():
        assert found in text, "the scenario has changed: so must this test"
        text = text.replace(found, shorter)
    chosen = parse_experiment(text, "shorter").with_seed_and_switches(None, {"replica-epoch-check": value})
    done = run_and_check(chosen, "local", tmp_path / "runs", lambda _: None, varied={}, wire=False)
    assert (done.verdict["verdict"], done.verdict["inconclusiveReasons"]) == (verdict, [])
    assert done.verdict["asExpected"]
    assert done.verdict["backend"] == "local"
    in_time = {done.verdict["features"][feature]["state"] for feature in IN_TIME}
    assert in_time == {"not-available"}, "how soon a node does what it owes depends on the machine"
    for name in ("report.html", "junit.xml", "logs/broker-0.log", "config/controller-0.properties"):
        assert (done.directory / name).stat().st_size > 0
