"""No program of ours takes code from the working directory, which may be anybody's.

A directory has a module under every name that Python, its packages and ours have. Each writes down who ran it. Spark is
started there by ``cli/test_spark_environment.py``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from highwater_chaos.backends.local.layout import free_ports

TOP = Path(__file__).parents[2]
STARTERS = [
    path
    for part in ("chaos", "operator", "pipeline", "runtime", "manifests", "helm")
    for path in (TOP / part).rglob("*")
    if path.suffix in {".py", ".yaml", ".tpl"}
]


@pytest.fixture
def found(tmp_path: Path) -> Path:
    """Who ran a module of the working directory."""
    return tmp_path / "found"


@pytest.fixture
def here(poisoned_directory: Callable[[Path, Path], Path], found: Path, tmp_path: Path) -> Path:
    """The working directory."""
    return poisoned_directory(tmp_path / "here", found)


@pytest.fixture
def highwater(here: Path, found: Path, tmp_path: Path) -> Callable[..., None]:
    """Runs the command there, as it is installed. The search path for programs has the directory first."""
    environment = {
        **os.environ,
        "PATH": f":.:{os.environ['PATH']}",
        "XDG_DATA_HOME": str(tmp_path / "share"),
        "HIGHWATER_STATE_DIR": str(tmp_path / "state"),
    }

    def run(*arguments: object, **more: str) -> None:
        command = [str(Path(sys.executable).with_name("highwater")), *map(str, arguments)]
        done = subprocess.run(command, cwd=here, env=environment | more, capture_output=True, text=True, check=False)
        assert not found.exists(), found.read_text()
        assert done.returncode == 0, done.stdout + done.stderr

    return run


@pytest.mark.thorough
@pytest.mark.whole_machine
def test_what_a_run_starts(highwater: Callable[..., None], small_file: Callable[..., Path], tmp_path: Path) -> None:
    file = small_file("- inject: {kill: {target: {broker: 0}, restartAfter: 100ms}}")
    highwater("run", file, "--backend", "local", "--out", tmp_path / "runs")
    (run,) = (tmp_path / "runs").iterdir()
    highwater("check", run)


def test_what_a_cluster_starts(highwater: Callable[..., None]) -> None:
    (port,) = free_ports(1)
    highwater("cluster", "up", "--brokers", "1", "--port", port)  # or nothing of it stays
    highwater("cluster", "down", "--wipe")


@pytest.mark.thorough
def test_an_empty_element_of_the_users_path(highwater: Callable[..., None], here: Path) -> None:
    """Until a module of ours is there, nobody can take the directory out of the path."""
    names = "import sys; print(*sys.modules)"
    first = subprocess.check_output([sys.executable, "-I", "-c", names], text=True).split()
    for name in {*first, "sitecustomize", "usercustomize", "highwater_chaos"}:
        (here / f"{name}.py").unlink(missing_ok=True)
    highwater("doctor", PYTHONPATH=":")


def test_a_path_that_the_user_gave_stays(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": f":theirs:{tmp_path}"}
    look = "import os, sys, highwater_chaos; print(os.environ['PYTHONPATH'], os.getcwd() in sys.path)"
    command = [sys.executable, "-P", "-c", look]
    said = subprocess.check_output(command, cwd=tmp_path / "..", env=environment, text=True)
    assert said.split() == [f"{tmp_path.parent}/theirs:{tmp_path}", "False"]


def test_every_python_that_is_started_is_told() -> None:
    """Where a Python is started, it gets ``-P`` or ``-I`` first. Only what judges is started by multiprocessing."""
    starts = [
        (path, start)
        for path in STARTERS
        for start in re.findall(r"(?:sys\.executable|python3)\W+(-\w+)", path.read_text())
    ]
    assert {path for path, option in starts if option not in {"-P", "-I"}} == set()
    assert {"own_program.py", "write_probe.py", "class_archive.py", "runner_job.py", "token.yaml"} <= {
        path.name for path, _ in starts
    }
    assert [path.name for path in STARTERS if re.search(r"""get_context\("(?!fork")""", path.read_text())] == [
        "processes.py"
    ]
    assert [
        path for path in STARTERS if re.search(r"ProcessPoolExecutor\((?!\w+, multiprocessing)", path.read_text())
    ] == []
