"""Runs in a state directory of the test's own, and a look at the whole machine for what they leave."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from waiting import until

from highwater_chaos.machine.disk.volumes import SMALLEST, FileSystem, Volume
from highwater_chaos.machine.kernel import linux
from highwater_chaos.machine.network.links import Hub, Link
from highwater_chaos.machine.network.namespaces import NETNS, Namespace, marked_for
from highwater_chaos.machine.network.reach import Reach
from highwater_chaos.machine.process.processes import RUN_MARK, Process, Spawn, marks
from highwater_chaos.machine.runs.directory import run_directories
from highwater_chaos.machine.runs.run import MachineRun

MAKER = Path(__file__).with_name("maker.py")


def _left(root: Path) -> Iterator[str]:
    """What goes last comes first, and what takes long to look at comes last: who waits looks at little."""
    yield from (f"run {path.name}" for path in run_directories(root))
    yield from (path.name for path in (root / "commanded",) if path.exists())
    yield from (f"mount {point}" for point in linux.mount_points(root))
    yield from loops_that_nobody_holds(root)
    yield from (f"process {one.pid}" for one, run in marks(RUN_MARK) if Path(run).is_relative_to(root))
    for path in NETNS.glob("hw-*"):
        run = marked_for(path.name)
        if run and Path(run).is_relative_to(root):
            yield f"namespace {path.name}"


def loops_that_nobody_holds(root: Path) -> Iterator[str]:
    """Loop devices over images below a directory, deleted ones too, on which no file system lives."""
    for entry in Path("/sys/block").glob("loop*"):
        try:
            image = os.fsdecode((entry / "loop" / "backing_file").read_bytes()).removesuffix("\n")
            if Path(image.removesuffix(" (deleted)")).is_relative_to(root):
                os.close(os.open(f"/dev/{entry.name}", os.O_RDONLY | os.O_EXCL))
                yield f"{entry.name} over {image}"
        except OSError:
            continue  # not in use, or held


def leftovers(root: Path) -> list[str]:
    """Everything of any run below a state directory that is on the machine."""
    return list(_left(root))


def nothing_left(root: Path) -> bool:
    return next(_left(root), None) is None


@dataclass
class Machine:
    """One run with what most tests need of it."""

    run: MachineRun
    folder: Path

    def network(self, *nodes: str) -> Reach:
        """A hub, and a namespace ``node`` at ``10.77.1.<n>`` for each; returns sockets in all."""
        reach = Reach()
        hub = self.run.name("net")
        self.run.make(Namespace(hub, self.run.directory))
        self.run.make(Hub(hub, "10.77.0.1/16"))
        reach.add("net", hub, "10.77.0.1")
        for number, node in enumerate(nodes, 1):
            name = self.run.name(node)
            self.run.make(Namespace(name, self.run.directory))
            self.run.make(Link(hub, name, node, f"10.77.1.{number}/16"))
            reach.add(node, name, f"10.77.1.{number}")
        return reach

    def volume(self, kind: FileSystem, size: int | None = None) -> Volume:
        place = self.run.path / kind
        size = size or SMALLEST[kind]
        return self.run.make(Volume(kind, self.run.directory, f"{place}.img", str(place), kind, size)).resource

    def process(self, *arguments: str, namespace: str | None = None, directory: Path | None = None) -> Process:
        spawn = Spawn(arguments or ("sleep", "1000"), self.folder / "log", namespace, directory=directory)
        return self.run.make(Process("p", self.run.directory, spawn=spawn)).resource


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    root = tmp_path / "state"
    yield root
    assert leftovers(root) == []


@pytest.fixture
def machine(state: Path, tmp_path: Path) -> Iterator[Machine]:
    with MachineRun.open(label="test", root=state) as run:
        yield Machine(run, tmp_path)


@dataclass
class Maker:
    """A process that makes things in a run of its own; see ``maker.py``."""

    process: subprocess.Popen[str]
    root: Path

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    @property
    def run(self) -> Path:
        (path,) = run_directories(self.root)
        return path


@pytest.fixture
def maker(state: Path) -> Iterator[Callable[..., Maker]]:
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> Maker:
        process = subprocess.Popen(
            [sys.executable, str(MAKER), str(state), *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
        )
        started.append(process)
        return Maker(process, state)

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
    until(lambda: nothing_left(state), "the guardian has cleaned up")


@pytest.fixture(name="leftovers")
def leftovers_fixture() -> Callable[[Path], list[str]]:
    return leftovers


@pytest.fixture(name="nothing_left")
def nothing_left_fixture() -> Callable[[Path], bool]:
    return nothing_left


@pytest.fixture(name="await_true")
def await_true_fixture() -> Callable[..., None]:
    return until
