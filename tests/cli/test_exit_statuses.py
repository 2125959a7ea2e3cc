"""Each exit status with a cause of its own: CI jobs branch on them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.run.manifest import make_manifest
from highwater_chaos.workload.clients import Clients

KILL = "kill: {target: {followerOf: orders-0}, restartAfter: 500ms}"


def verdict_of(folder: Path) -> dict[str, Any]:
    (run,) = (folder / "runs").iterdir()
    verdict: dict[str, Any] = json.loads((run / "verdict.json").read_text(encoding="utf-8"))
    return verdict


def test_0_a_pass(highwater: Any, tiny_file: Path) -> None:
    done = highwater("run", tiny_file)
    assert done.status == 0
    assert done.out.startswith("PASS as expected: tiny (seed 3, ")
    assert verdict_of(highwater.folder)["verdict"] == "pass"


def test_0_a_fail_that_was_expected_and_the_verdict_stays_a_fail(failed_run: Path) -> None:
    verdict = json.loads((failed_run / "verdict.json").read_text(encoding="utf-8"))
    assert (verdict["verdict"], verdict["asExpected"]) == ("fail", True)
    assert {"lost-write", "committed-loss"} <= set(verdict["anomalies"])


def test_0_an_inconclusive_run_that_was_expected(highwater: Any, tiny: str) -> None:
    text = tiny.replace("producers: 1", "producers: 0").replace("{verdict: pass}", "{verdict: inconclusive}")
    assert highwater("run", highwater.write("empty.yaml", text)).status == 0


def test_1_a_file_whose_expectation_is_made_wrong_on_purpose(highwater: Any, tiny: str) -> None:
    file = highwater.write("wrong.yaml", tiny.replace("{verdict: pass}", "{verdict: fail, anomalies: [lost-write]}"))
    done = highwater("run", file)
    assert done.status == 1
    assert done.out.startswith("PASS NOT as expected: expected fail, found pass: tiny")
    assert verdict_of(highwater.folder)["verdict"] == "pass", "what is expected does not change what was found"


def test_1_a_loss_that_was_not_expected(highwater: Any, kafka_14139: str) -> None:
    file = highwater.write("loses.yaml", kafka_14139[: kafka_14139.index("  expect:")])
    done = highwater("run", file, "--switch", "replica-epoch-check=off")
    assert done.status == 1
    assert "FAIL NOT as expected: expected pass, found fail (lost-write, " in done.out


def test_1_the_anomaly_that_was_expected_is_missing(highwater: Any, kafka_14139: str) -> None:
    text = kafka_14139.replace("[lost-write, committed-loss]", "[lost-write, two-leaders]")
    file = highwater.write("other.yaml", text)
    done = highwater("run", file, "--switch", "replica-epoch-check=off")
    assert done.status == 1
    assert "expected two-leaders among the anomalies, found lost-write, " in done.out


@pytest.mark.parametrize(
    ("found", "instead", "why"),
    [
        ("producers: 1", "producers: 0", "no write was acknowledged, so none can have been lost"),
        (KILL, "drop: {rpc: ElectLeaders}", "fault fault-1 (death) never took hold: caught 0 ElectLeaders requests"),
        (
            KILL,
            "kill: {target: {lastIsrOf: orders-0}}",
            "fault fault-1 (death) did not take hold: lastIsrOf orders-0: the ISR is [0, 1], not a single replica",
        ),
        (
            "wait: 1s",
            "await: {isr: {partition: orders-0, size: 5}, within: 1s}",
            "await isr partition orders-0, size 5 was not met within 1s",
        ),
        ("timeout: 1m", "timeout: 2500ms", "the run's timeout of 2s500ms came in the middle of the schedule"),
    ],
    ids=["no writes", "fault caught nothing", "no such target", "condition not met", "timeout"],
)
def test_2_what_cannot_be_judged(highwater: Any, tiny: str, found: str, instead: str, why: str) -> None:
    assert found in tiny
    done = highwater("run", highwater.write("doubtful.yaml", tiny.replace(found, instead)))
    assert done.status == 2
    assert "INCONCLUSIVE NOT as expected" in done.out
    assert why in done.out, "a person must see why"
    verdict = verdict_of(highwater.folder)
    assert verdict["verdict"] == "inconclusive"
    assert any(why in reason for reason in verdict["inconclusiveReasons"])


def test_a_fail_outweighs_what_is_inconclusive(highwater: Any, tiny: str) -> None:
    empty = highwater.write("empty.yaml", tiny.replace("producers: 1", "producers: 0"))
    wrong = highwater.write("wrong.yaml", tiny.replace("{verdict: pass}", "{verdict: fail}"))
    assert highwater("run", empty, wrong).status == 1


def test_255_the_harness_fails(highwater: Any, tiny_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(*_: object) -> None:
        raise ZeroDivisionError("a bug in a kernel")

    monkeypatch.setattr("highwater_pipeline.in_process.check_run", break_down)
    done = highwater("run", tiny_file)
    assert done.status == 255
    assert "ZeroDivisionError: a bug in a kernel" in done.err
    assert "this is a fault of the harness, not of the system under test" in done.err
    assert list((highwater.folder / "runs").iterdir()) == [], "no run directory that nobody judged"


def test_255_a_recording_that_does_not_replay(highwater: Any, tiny_run: Path) -> None:
    copy = highwater.folder / "copy"
    shutil.copytree(tiny_run, copy)
    history = copy / "history" / "operations.jsonl"
    history.write_bytes(history.read_bytes().replace(b'"process":1', b'"process":9', 1))
    make_manifest(copy)
    done = highwater("replay", copy)
    assert done.status == 255
    assert f"NOT the same as {copy}: history/operations.jsonl differ" in done.out


def test_0_a_pass_of_what_the_harness_looked_after_alone(highwater: Any, tiny: str) -> None:
    """No table has the quorum's invariants: the simulator looked at them, and ``check`` believes what it wrote."""
    text = tiny.replace("  expect:", "  checks: [raft-election-safety, unavailable]\n  expect:")
    assert highwater("run", highwater.write("quorum.yaml", text)).status == 0
    verdict = verdict_of(highwater.folder)
    assert (verdict["verdict"], verdict["reasons"]) == ("pass", [])
    assert verdict["checks"] == {"raft-election-safety": "ok", "unavailable": "ok"}
    assert highwater("check", "runs").status == 0
    assert highwater("store", "runs", "--out", "store").status == 0
    done = highwater("check", "store")
    assert (done.status, "none of the checks that were asked for" in done.out) == (2, True)


def test_2_a_history_that_lacks_what_clients_reported(
    highwater: Any, tiny_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No check misses a send that is nowhere in the recording."""
    whole = Clients.history

    def half(clients: Clients) -> list[bytes]:
        rows = [(line, json.loads(line)) for line in whole(clients)]
        return [line for line, row in rows if row["f"] != "send" or row["value"][0]["value"] % 2]

    monkeypatch.setattr(Clients, "history", half)
    assert highwater("run", tiny_file).status == 2
    reasons = verdict_of(highwater.folder)["reasons"]
    assert any("acknowledged records, and the history has" in reason for reason in reasons), reasons
    assert verdict_of(highwater.folder)["checks"]["never-sent"] == "not-available"
