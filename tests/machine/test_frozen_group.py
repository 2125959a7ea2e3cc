"""Control groups that are frozen, in real trees of version 1 and 2, and thawed however their maker ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from waiting import until

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.process.frozen_group import FrozenGroup
from highwater_chaos.machine.runs.heal import heal
from highwater_chaos.machine.runs.run import MachineRun

_TREES = {"version 1": Path("/sys/fs/cgroup/freezer"), "version 2": Path("/sys/fs/cgroup/unified")}
MAKER = """
import sys, time
from pathlib import Path
from highwater_chaos.machine.process.frozen_group import FrozenGroup
from highwater_chaos.machine.runs.run import MachineRun
run = MachineRun.open(root=Path(sys.argv[1]))
run.make(FrozenGroup(sys.argv[2]))
print("made", flush=True)
time.sleep(1000)
"""


@dataclass
class Pod:
    """A control group of a pod with one of a container in it."""

    uid: str
    group: Path
    children: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, container: str = "a" * 64) -> subprocess.Popen[bytes]:
        """A program that counts in the pipe that is its standard output, in the group from its first step on."""
        group = self.group / container
        group.mkdir(exist_ok=True)
        script = f"echo $$ > {group}/cgroup.procs; while :; do echo; sleep 0.01; done"
        child = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True)
        self.children.append(child)
        assert child.stdout is not None
        os.set_blocking(child.stdout.fileno(), False)
        return child

    def end(self) -> None:
        with suppress(OSError):
            FrozenGroup(str(self.group)).undo()
        children, self.children = self.children, []
        for child in children:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
        for group in (*self.group.iterdir(), self.group) if self.group.exists() else ():
            if group.is_dir():
                until(lambda group=group: not (group / "cgroup.procs").read_text().split(), "it is empty")
                group.rmdir()


def counts(child: subprocess.Popen[bytes]) -> bool:
    """Whether a program has done something since this was asked last."""
    assert child.stdout is not None
    return bool(child.stdout.read())


@pytest.fixture(params=list(_TREES))
def pod(request: pytest.FixtureRequest) -> Iterator[Pod]:
    tree, uid = _TREES[request.param], str(uuid.uuid4())
    if os.geteuid() != 0 or not (tree / "cgroup.procs").exists():
        pytest.skip(f"{request.param} of control groups cannot be used here")
    name = f"kubepods-pod{uid.replace('-', '_')}.slice" if request.param == "version 2" else f"pod{uid}"
    made = Pod(uid, tree / name)
    made.group.mkdir()
    try:
        yield made
    finally:
        made.end()


def test_nothing_begins_in_a_frozen_group_until_it_is_thawed(pod: Pod, tmp_path: Path) -> None:
    with MachineRun.open(root=tmp_path / "state") as run:
        with pytest.raises(MachineError, match="can be frozen"):
            FrozenGroup.of(pod.uid)  # nothing is in it: another tree may be the one that counts
        first = pod.start()
        until(lambda: counts(first), "it runs")
        frozen = FrozenGroup.of(pod.uid)
        assert frozen.group == str(pod.group)
        held = run.make(frozen)
        counts(first)
        second = pod.start("b" * 64)
        until(lambda: (pod.group / ("b" * 64) / "cgroup.procs").read_text().split(), "it is in the group")
        assert not counts(first)
        assert not counts(second)
        assert frozen.left() == f"control group {pod.group} frozen"
        with pytest.raises(MachineError, match="there is control group"):
            run.make(frozen)  # whose end would thaw it for both
        assert run.undo(held)
        assert frozen.left() is None
        until(lambda: counts(first) and counts(second), "both go on")
        # At a deadline of its own, whoever does it.
        late = run.make(frozen, lasts_ns=300_000_000)
        until(lambda: run.undone_by(late) == "guardian", "the guardian thaws it")
        until(lambda: counts(first), "it goes on")


def test_a_group_is_thawed_when_its_maker_is_killed(pod: Pod, tmp_path: Path) -> None:
    child, state = pod.start(), tmp_path / "state"
    until(lambda: counts(child), "it runs")
    command = [sys.executable, "-c", MAKER, str(state), str(pod.group)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as maker:
        assert maker.stdout is not None
        assert maker.stdout.readline() == b"made\n"
        assert FrozenGroup(str(pod.group)).left() is not None
        maker.kill()
    until(lambda: not list(state.glob("[0-9a-f]*")), "the guardian ends the run")
    assert FrozenGroup(str(pod.group)).left() is None
    until(lambda: counts(child), "it goes on")


def test_a_group_that_is_gone_is_healed(pod: Pod, tmp_path: Path) -> None:
    state = tmp_path / "state"
    run = MachineRun.open(root=state)
    child = pod.start()
    until(lambda: counts(child), "it runs")
    run.make(FrozenGroup.of(pod.uid))
    pod.end()
    assert not pod.group.exists()
    (healed,) = heal(state, living=True)
    assert healed.left == []
