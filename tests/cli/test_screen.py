"""The picture of a run that goes on: what it shows, and that looking changes nothing."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from rich.console import Console

from highwater_chaos.backends import make_backend
from highwater_chaos.cli.progress import Progress
from highwater_chaos.cli.screen import Screen, status_lines
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment.load import parse_experiment
from highwater_chaos.run.live import LiveRun

FILE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: watched}
spec:
  seed: 3
  timeout: 3m
  cluster:
    brokers: 3
    controllers: 1
    config: {broker.session.timeout.ms: 3000, min.insync.replicas: 1}
    topics:
      - {name: alone, partitions: 1, assignment: [[1]]}
      - {name: orders, partitions: 12, replicationFactor: 3}
  workload: {producers: 1, rate: 50/s, acks: all, consumers: 1}
  schedule:
    - inject: {name: down, kill: {target: {broker: 1}}, for: 20s}
    - wait: 10s
    - heal: down
  assertions:
    - {name: one-controller, promql: "sum(kafka_controller_kafkacontroller_activecontrollercount) == 1", during: fault}
    - {name: whole, promql: "sum(kafka_server_replicamanager_underreplicatedpartitions) == 0", during: fault}
"""


@dataclass
class Watcher:
    """Draws at each second of run time; keeps the text of each picture with its time and phase."""

    width: int = 100
    height: int = 24
    texts: list[tuple[float, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.console = Console(width=self.width, height=self.height, force_terminal=True, no_color=True)
        self.screen = Screen("watched", self.console)
        self.next = 0

    def __call__(self, run: LiveRun) -> None:
        if run.now_ns() < self.next:
            return
        self.next = run.now_ns() + 1_000_000_000
        for assertion in run.experiment.spec.assertions:
            self.screen.look_at(assertion, run)
        lines = self.console.render_lines(self.screen.picture(run), pad=False)
        text = "\n".join("".join(part.text for part in line) for line in lines)
        self.texts.append((run.now_ns() / 1e9, run.phase, text))

    def text(self, which: Callable[[str, str], bool]) -> str:
        return next(text for _, phase, text in self.texts if which(phase, text))


def test_a_run_is_shown_as_it_goes_and_is_not_changed_by_it():
    experiment = parse_experiment(FILE, "watched.yaml")
    unseen = run_experiment(experiment, make_backend("sim"))
    watcher = Watcher()
    seen = run_experiment(experiment, make_backend("sim"), on_turn=watcher)
    assert seen.trace_digest == unseen.trace_digest
    assert list(seen.history) == list(unseen.history)

    struck = watcher.text(lambda phase, text: phase == "fault" and "none" in text)
    assert "down (kill) broker-1  for " in struck
    assert "s left" in struck
    assert "1 in force, 0 healed" in struck
    assert "broker-1 down" in struck
    rows = struck[struck.index("partition ") :].splitlines()
    assert rows[1].split()[:2] == ["alone-0", "none"], "what is in trouble comes first"
    assert "one-controller: true now" in struck
    assert "mean latency" in struck

    assert watcher.text(lambda phase, text: phase == "fault" and "whole: not true now" in text)
    healed = watcher.text(lambda phase, _: phase == "recovered")
    assert "0 in force, 1 healed" in healed
    assert "whole: its phase is over" in healed


def test_a_small_terminal_shows_the_partitions_in_trouble_and_counts_the_others():
    watcher = Watcher(width=60, height=16)
    run_experiment(parse_experiment(FILE, "watched.yaml"), make_backend("sim"), on_turn=watcher)
    assert all(len(line) <= 60 for _, _, text in watcher.texts for line in text.splitlines())
    struck = watcher.text(lambda phase, text: phase == "fault" and "none" in text)
    assert "alone-0" in struck
    assert " in trouble" in struck.splitlines()[-1]
    assert "all in sync" in watcher.text(lambda phase, _: phase == "recovered").splitlines()[-1]


def test_an_experiment_on_kubernetes_is_shown_from_its_status():
    console = Console(width=100, height=24, force_terminal=True, no_color=True)
    step = {"id": "f1", "step": "kill demo-broker-1", "state": "done", "at": "2026-11-23T07:00:00Z"}
    status = {
        "phase": "Injecting",
        "faults": {"planned": 2, "injected": 1, "confirmed": 1, "healed": 0},
        "journal": [step],
    }
    cluster = {"brokersReady": "2/3", "controllersReady": "3/3", "underReplicatedPartitions": 4}
    with console.capture() as captured:
        for line in status_lines("demo", status, cluster):
            console.print(line)
    text = captured.get()
    assert "brokers 2/3, controllers 3/3, no active controller, 4 partitions under-replicated" in text
    assert "2 planned, 1 injected, 1 confirmed, 0 healed" in text
    assert "kill demo-broker-1: in force" in text


@pytest.mark.thorough
def test_a_picture_that_cannot_be_drawn_ends_no_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = []

    def broken(screen: Screen, run: LiveRun) -> None:
        drawn.append(run)
        raise OSError("the terminal is gone")

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(Screen, "picture", broken)
    with Progress("watched [/red]") as progress:
        assert progress.on_turn is not None
        experiment = parse_experiment(FILE, "watched.yaml")
        watched = run_experiment(experiment, make_backend("sim"), progress=progress, on_turn=progress.on_turn)
    assert len(drawn) == 1
    assert "no longer drawn, the run goes on: OSError: the terminal is gone" in capsys.readouterr().err
    assert watched.trace_digest == run_experiment(experiment, make_backend("sim")).trace_digest


def test_without_a_terminal_a_run_says_now_and_then_how_far_it_is(capsys, monkeypatch):
    """A job of CI that prints nothing for minutes looks as if it hung."""
    monkeypatch.setattr("highwater_chaos.cli.progress._LINE_SECONDS", 0.0)
    experiment = parse_experiment(FILE, "watched.yaml")
    with Progress("watched") as progress:
        run_experiment(experiment, make_backend("sim"), on_turn=progress.on_turn)
    lines = [line for line in capsys.readouterr().err.splitlines() if "faults in force: down" in line]
    assert lines
    assert re.fullmatch(
        r"watched: fault, \d+ s of run time, \d+ records acknowledged, faults in force: down \(\d+\.\d s\)", lines[0]
    )
