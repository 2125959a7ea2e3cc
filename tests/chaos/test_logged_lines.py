"""``expect.logged``: a run is as expected only if nodes logged the lines that show why."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.backends import make_backend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import ChaosExperiment, parse_experiment
from highwater_chaos.run.result import RunResult
from highwater_chaos.schedule.capability import missing_capabilities
from highwater_chaos.verdict.check import check_recordings, write_verdict
from highwater_chaos.verdict.checked_run import write_run

LOGS = {
    "broker-0.1.log": "INFO [Partition orders-0] begins\n",
    "broker-0.2.log": "INFO [Partition orders-0] rejected with INELIGIBLE_REPLICA\nlast line, torn: no end",
    "broker-1.log": "WARN nothing\n" + "x" * 100_000 + "\nWARN [Partition orders-0] fenced\n",
    "broker-1.log.crash": "SIGSEGV\n",
    "clients-0.log": "client\n",
}
CASES = [
    ("{line: INELIGIBLE_REPLICA}", "broker-0.2.log: INFO [Partition orders-0] rejected with INELIGIBLE_REPLICA"),
    ("{node: broker-0, line: 'orders-0*INELIGIBLE'}", "broker-0.2.log: INFO [Partition orders-0] rejected"),
    ("{node: broker-1, line: fenced}", "broker-1.log: WARN [Partition orders-0] fenced"),
    ("{line: no end}", "broker-0.2.log: last line, torn: no end"),
    ("{node: broker-1, line: INELIGIBLE_REPLICA}", None),  # of another node
    ("{line: 'INELIGIBLE_REPLICA*orders-0'}", None),  # in another order
    ("{line: 'begins*rejected'}", None),  # in two lines
    ("{line: client}", None),  # not a node's
    ("{line: SIGSEGV}", None),
]


def experiment(logged: str = "") -> ChaosExperiment:
    text = f"""
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: logged}}
spec:
  timeout: 1m
  cluster: {{brokers: 2, controllers: 1, topics: [{{name: orders}}]}}
  workload: {{producers: 1, rate: 5/s}}
  schedule: [{{wait: 1s}}]
  expect: [{{verdict: pass, logged: [{logged}]}}]
"""
    return parse_experiment(text, "logged.yaml")


@cache
def simulated() -> RunResult:
    """One run that has these logs: what is expected of it is not in it."""
    result = run_experiment(experiment(), make_backend("sim", wire=False))
    result.files |= {f"logs/{name}": text.encode() for name, text in LOGS.items()}
    return result


def judged(directory: Path, wanted: ChaosExperiment) -> dict[str, Any]:
    """It as a run of this experiment, judged."""
    directory.mkdir()
    write_run(directory, wanted, simulated(), wire=False)
    write_verdict(directory, wanted, check_recordings(wanted, directory))
    verdict: dict[str, Any] = json.loads((directory / "verdict.json").read_bytes())
    return verdict


@pytest.mark.parametrize(("logged", "found"), CASES)
def test_a_line_that_no_node_logged_is_not_as_expected(tmp_path: Path, logged: str, found: str | None) -> None:
    verdict = judged(tmp_path / "run", experiment(logged))
    assert verdict["verdict"] == "pass", "what was found does not depend on what is expected"
    assert verdict["asExpected"] == (found is not None)
    (line,) = verdict["expected"]["logged"]
    if found is None:
        assert line["found"] is None
        assert verdict["expected"]["whyNot"] == f"expected {line['asked']} in the nodes' logs; found no such line"
    else:
        assert line["found"].startswith(found)


def test_the_simulator_has_no_logs_of_nodes_so_it_refuses() -> None:
    wanted = experiment("{line: begins}")
    assert missing_capabilities(wanted, make_backend("sim", wire=False)) == [
        "spec.expect: logged needs logs of nodes, which sim does not write: leave it out there"
    ]
    assert missing_capabilities(wanted, make_backend("local", wire=False)) == []
