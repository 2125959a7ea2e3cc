"""Short experiments, and a way to run the command line in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.cli import CommandLine as CommandLineMaker
from highwater_chaos.cli import command_line, execute

TINY = (
    (Path(__file__).parents[1] / "tiny-experiment.yaml").read_text()
    + """\
  expect:
    - {verdict: pass}
"""
)
"""Six simulated seconds, a tenth of a second of real time."""


@dataclass(frozen=True)
class Outcome:
    """What a command left: its exit status, and what it said where."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on stdout; fails where there is anything else."""
        return json.loads(self.out)


class CommandLine:
    """Runs ``highwater`` in this process, in an empty working directory."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capture = capture

    def __call__(self, *arguments: str | Path, made: CommandLineMaker = command_line) -> Outcome:
        self._capture.readouterr()
        status = execute([str(argument) for argument in arguments], made=made)
        said = self._capture.readouterr()
        return Outcome(status, said.out, said.err)

    def write(self, name: str, text: str) -> Path:
        """An experiment file in the working directory."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def files(self) -> list[str]:
        """Names of all there is in the working directory, hidden ones too."""
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture
def highwater(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    return CommandLine(tmp_path, capsys)


@pytest.fixture(scope="session")
def tiny() -> str:
    """A short experiment as text: two brokers, one kill, a pass."""
    return TINY


@pytest.fixture
def tiny_file(highwater: CommandLine, tiny: str) -> Path:
    return highwater.write("tiny.yaml", tiny)


@pytest.fixture(scope="session")
def scenarios() -> Path:
    """The folder of the experiments that ship."""
    return Path(__file__).parents[2] / "scenarios"


@pytest.fixture(scope="session")
def kafka_14139(scenarios: Path) -> str:
    """The experiment KAFKA-14139 as text, with a twentieth of its records."""
    text = (scenarios / "kip-903" / "kafka-14139.yaml").read_text(encoding="utf-8")
    assert "rate: 200/s" in text
    return text.replace("rate: 200/s", "rate: 10/s")


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of one finished run of :data:`TINY`; not to be changed."""
    return _run_once(tmp_path_factory.mktemp("tiny"), TINY, 0)


@pytest.fixture(scope="session")
def failed_run(tmp_path_factory: pytest.TempPathFactory, kafka_14139: str) -> Path:
    """The directory of a run that lost records: KAFKA-14139 without KIP-903; not to be changed."""
    return _run_once(tmp_path_factory.mktemp("failed"), kafka_14139, 0, "--switch", "replica-epoch-check=off")


def _run_once(folder: Path, text: str, status: int, *options: str) -> Path:
    (folder / "experiment.yaml").write_text(text, encoding="utf-8")
    assert execute(["run", str(folder / "experiment.yaml"), "--out", str(folder / "runs"), *options]) == status
    (directory,) = (folder / "runs").iterdir()
    return directory
