"""The wheel alone, without the checkout, has all that the main job needs."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = {"highwater_runtime", "highwater_pipeline", "highwater_chaos", "highwater_operator"}
RUN = "from highwater_chaos.cli import main; main()"


@pytest.mark.thorough
def test_a_wheel_runs_a_shipped_experiment_by_name(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
        top = {name.partition("/")[0] for name in archive.namelist()}
    assert {one for one in top if not one.endswith(".dist-info")} == PARTS, "neither tests nor the laboratory"
    command = [sys.executable, "-c", RUN, "run", "last-isr-member", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    where = [sys.executable, "-c", "import highwater_chaos; print(highwater_chaos.__file__)"]
    found = subprocess.run(where, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout
    assert Path(found.strip()).is_relative_to(installed), "and not the checkout"
