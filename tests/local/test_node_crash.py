"""A real process that ends by an exception of its own: a finding with its stack, on loopback and without root."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from highwater_chaos.backends.local import processor_use, programs
from highwater_chaos.backends.local.backend import LocalBackend
from highwater_chaos.backends.local.endings import Ending
from highwater_chaos.backends.local.highwater_program import HighwaterProgram
from highwater_chaos.backends.local.program import ClusterPlan, Launch, NodePlace
from highwater_chaos.base.machine_record import MACHINES_FILE
from highwater_chaos.engine import final_reads
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.verdict.checked_run import run_and_check
from highwater_runtime.ports import MS, SECOND

PLANTED = """
import sys
from highwater_runtime.broker.broker import Broker
handle, seen = Broker.take, [0]
def take(self, request):
    if request.body.NAME.startswith("Produce"):
        seen[0] += 1
        if seen[0] == 20:
            raise KeyError("planted")
    handle(self, request)
Broker.take = take
from highwater_runtime.host.main import main
main()
"""
"""``highwater-node`` whose broker fails on the twentieth Produce."""


class Planted(HighwaterProgram):
    def launch(self, plan: ClusterPlan, place: NodePlace, incarnation: int) -> Launch:
        launch = super().launch(plan, place, incarnation)
        return Launch((sys.executable, "-c", PLANTED, launch.argv[-1]), launch.env, launch.paths)


def test_an_exception_in_a_process_is_a_finding(
    experiment: Callable[..., ChaosExperiment], state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "program_of", lambda _: Planted())
    monkeypatch.setattr("highwater_chaos.verdict.checked_run.make_backend", lambda *_, **__: LocalBackend(root=state))
    for bound in ("_DRAIN_NS", "_END_NS"):  # nothing more comes of the only broker
        monkeypatch.setattr(final_reads, bound, SECOND)
    monkeypatch.setattr(processor_use, "EVERY_NS", 100 * MS)
    workload = "{producers: 1, rate: 50/s, deliveryTimeout: 4s, requestTimeout: 2s, consumers: 1}"
    run = experiment("- wait: 2s", brokers=1, recovery="1s", workload=workload)
    done = run_and_check(run, "local", tmp_path / "runs", lambda _: None, varied={}, wire=False)
    assert (done.verdict["verdict"], list(done.verdict["anomalies"])) == ("fail", ["node-crash"])
    (example,) = done.verdict["anomalies"]["node-crash"]["examples"]
    assert example["story"].startswith("broker-0 (incarnation 1) crashed at ")
    assert "KeyError: 'planted'" in example["story"]
    assert "in take" in example["stack"]
    assert not any("ended by itself" in reason for reason in done.verdict["inconclusiveReasons"]), "it is a finding"
    assert "in take" in (done.directory / "report.html").read_text(encoding="utf-8")
    assert "in take" in (done.directory / "junit.xml").read_text(encoding="utf-8")
    looks = [json.loads(line) for line in (done.directory / MACHINES_FILE).read_text(encoding="utf-8").splitlines()]
    assert any(look["nodes"].get("broker-0", {}).get("ran") for look in looks), "what it had of the processors"
    assert any("broker-0" not in look["nodes"] for look in looks[-1:]), "it is gone"


REFUSES = """
import pathlib, sys
text = "ERROR Exiting\\nConfigException: Value must be at least 1048576\\n\\tat kafka.Kafka.main(Kafka.scala)\\n"
pathlib.Path(sys.argv[1]).write_text(text * 3)
sys.exit(1)
"""


class Refusing(HighwaterProgram):
    """As Java software ends that cannot use its configuration: it logs to a file of its own."""

    says_why_it_ends = False

    def launch(self, plan: ClusterPlan, place: NodePlace, incarnation: int) -> Launch:
        launch = super().launch(plan, place, incarnation)
        log = place.files / "own.log"
        return Launch((sys.executable, "-c", REFUSES, str(log)), launch.env, launch.paths, log)


def test_software_that_does_not_start_is_quoted_and_blames_nobody(
    experiment: Callable[..., ChaosExperiment], state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "program_of", lambda _: Refusing())
    monkeypatch.setattr("highwater_chaos.verdict.checked_run.make_backend", lambda *_, **__: LocalBackend(root=state))
    done = run_and_check(experiment("- wait: 1s", brokers=1), "local", tmp_path, lambda _: None, varied={}, wire=False)
    log = ["ERROR Exiting", "ConfigException: Value must be at least 1048576"] * 3
    # The first one that has ended is enough to give up: the other one may not have come so far.
    quotes = {
        "\n".join([f"{node} did not start in incarnation 1 (status 1); its log ends:", *log])
        for node in ("broker-0", "controller-0")
    }
    assert (done.verdict["verdict"], list(done.verdict["anomalies"])) == ("inconclusive", [])
    assert quotes & set(done.verdict["inconclusiveReasons"])


SLEEPY = "import time; time.sleep(600)"


class Sleepy(HighwaterProgram):
    """Its second incarnation is still loading modules when it is asked to stop."""

    def launch(self, plan: ClusterPlan, place: NodePlace, incarnation: int) -> Launch:
        launch = super().launch(plan, place, incarnation)
        if (place.name, incarnation) != ("broker-0", 2):
            return launch
        return Launch((sys.executable, "-c", SLEEPY), launch.env, launch.paths)


@pytest.mark.thorough
def test_a_stop_before_a_node_has_begun_is_a_stop(
    experiment: Callable[..., ChaosExperiment], state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGTERM ends a process that does not handle it yet. It has not touched its data, so nothing is uncertain."""
    monkeypatch.setattr(programs, "program_of", lambda _: Sleepy())
    monkeypatch.setattr("highwater_chaos.verdict.checked_run.make_backend", lambda *_, **__: LocalBackend(root=state))
    kill_then_stop = """
- inject: {kill: {target: {broker: 0}, restartAfter: 100ms}}
- wait: 500ms
- inject: {stop: {target: {broker: 0}, restartAfter: 100ms}}
"""
    run = experiment(kill_then_stop, brokers=1, workload="{producers: 1, rate: 10/s, consumers: 1}")
    done = run_and_check(run, "local", tmp_path / "runs", lambda _: None, varied={}, wire=False)
    assert (done.verdict["verdict"], done.verdict["inconclusiveReasons"]) == ("pass", [])
    assert [one["confirmed"] for one in done.verdict["faults"]] == [True, True]


def ending(status: int, **how: bool) -> Ending:
    facts = {"was_reported": False, "says_why": True, "was_asked": False, "troubled": False, "has_been_up": True, **how}
    return Ending("broker-0", 1, status, **facts, tail="last words")


@pytest.mark.parametrize(
    ("end", "finds", "inconclusive_reasons"),
    [
        (ending(1, was_reported=True), False, False),
        (ending(1, was_reported=True, troubled=True), False, False),
        (ending(1, troubled=True), False, False),
        (ending(1), False, True),
        (ending(1, says_why=False), True, False),
        (ending(1, says_why=False, troubled=True), False, False),
        (ending(1, says_why=False, has_been_up=False), False, True),
        (ending(-signal.SIGSEGV, has_been_up=False), True, False),
        (ending(-signal.SIGSEGV), True, False),
        (ending(-signal.SIGKILL), False, True),
        (ending(-signal.SIGKILL, says_why=False), False, True),
        (ending(1, was_asked=True), False, True),
    ],
    ids=[
        "it reported the crash itself",
        "a bug that a disk fault brought out, reported",
        "its disk was made to fail",
        "our node without a word: the machine's disk, an address in use",
        "other software never says why",
        "other software, its disk was made to fail",
        "other software refuses its configuration",
        "a crash of the interpreter before the first event",
        "a crash of the interpreter",
        "killed by somebody else",
        "other software, killed by somebody else",
        "asked to stop, not cleanly",
    ],
)
def test_what_an_end_means(end: Ending, finds: bool, inconclusive_reasons: bool) -> None:
    assert (end.finding() is not None, end.inconclusive_reason() is not None) == (finds, inconclusive_reasons)
