"""The compiled build is used where it is asked for and fits, and a run leaves the same recordings with it."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from highwater_runtime import compiled

ROOT = Path(__file__).parents[2]
BUILDER = ROOT / "scripts" / "compile_runtime.py"
A_FEW = ("log.records", "log.varint", "log.epoch_cache", "sim.loop")


def python(*arguments, build=None):
    environment = {name: value for name, value in os.environ.items() if name != compiled.SETTING}
    if build is not None:
        environment[compiled.SETTING] = str(build)
    return subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def empty(tmp_path):
    """A build that fits and has no modules: nothing has to be compiled to see what is said of a build."""
    return write_manifest(tmp_path)


def write_manifest(folder, **changed):
    manifest = {
        "made_by": "mypyc 1.2.3",
        "sources": compiled.digest_of_sources(),
        "suffix": compiled.SUFFIX,
        "modules": {},
    }
    (folder / compiled.MANIFEST).write_text(json.dumps(manifest | changed))
    return folder


def digests(folder, build, *arguments):
    """Of what seeds leave behind, a line each."""
    file = folder / f"digests-{'python' if build is None else 'compiled'}"
    done = python("-m", "benchmarks.random_seeds", *arguments, "--digests", file, build=build)
    assert done.returncode == 0, done.stderr
    return file.read_text().splitlines()


def test_a_few_modules_compiled_leave_the_same_recordings(tmp_path):
    build = tmp_path / "build"
    only = [argument for module in A_FEW for argument in ("--only", module)]
    done = python(BUILDER, build, "--optimize", "0", "--jobs", "1", *only)
    assert done.returncode == 0, done.stdout + done.stderr
    where = "import importlib, sys; print(*(importlib.import_module(m).__file__ for m in sys.argv[1:]), sep='\\n')"
    names = [f"highwater_runtime.{module}" for module in (*A_FEW, "log.segments")]
    *own, other = python("-c", where, *names, build=build).stdout.split()
    assert all(file.startswith(str(build)) and file.endswith(compiled.SUFFIX) for file in own)
    assert other.endswith("segments.py")
    assert python(BUILDER, build, *only).stdout.startswith(f"{build} fits")
    seeds = ("--only", "late-fetches", "--seeds", "1..1")
    assert digests(tmp_path, build, *seeds) == digests(tmp_path, None, *seeds)


@pytest.mark.thorough
def test_all_modules_compiled_leave_the_same_recordings(tmp_path):
    build = ROOT / "build" / "compiled"
    done = python(BUILDER, build)
    assert done.returncode == 0, done.stdout + done.stderr
    seeds = ("--seeds", "1..2")
    assert digests(tmp_path, build, *seeds) == digests(tmp_path, None, *seeds)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"sources": "of yesterday"}, "built from other sources"),
        ({"suffix": ".cpython-27-pdp11.so"}, "built for .cpython-27-pdp11.so"),
        (None, "no finished build is there"),
    ],
)
def test_a_build_that_does_not_fit_is_refused(tmp_path, changed, why):
    if changed is not None:
        write_manifest(tmp_path, **changed)
    done = python("-c", "import highwater_runtime", build=tmp_path)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: {compiled.SETTING}={tmp_path}: {why}")
    assert last.endswith("build it again (make compiled), or unset HIGHWATER_COMPILED")


def test_every_change_of_a_source_is_another_build(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled, "SOURCES", tmp_path)
    (tmp_path / "one.py").write_text("a = 1\n")
    seen = [compiled.digest_of_sources()]
    (tmp_path / "one.py").write_text("a = 2\n")
    seen.append(compiled.digest_of_sources())
    (tmp_path / "one.py").rename(tmp_path / "two.py")
    seen.append(compiled.digest_of_sources())
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "three.py").touch()
    seen.append(compiled.digest_of_sources())
    assert len(set(seen)) == 4


def test_commands_and_runs_say_what_they_run_on(empty):
    highwater = ("-c", "from highwater_chaos.cli import main; main()", "--version")
    assert python(*highwater, build=empty).stdout.endswith(" (runtime compiled by mypyc 1.2.3)\n")
    assert "compiled" not in python(*highwater).stdout
    here = ("-c", "from highwater_chaos.run_environment import environment_here as e; print(e()['runtime'])")
    assert python(*here, build=empty).stdout == "compiled by mypyc 1.2.3\n"
    assert python(*here).stdout == "Python\n"


def test_mutants_are_refused(empty):
    campaign = ("-c", "from highwater_chaos.cli import main; main()", "campaign", "--mutants", "--seeds", "1")
    done = python(*campaign, build=empty)
    assert done.returncode == 254
    assert "--mutants: bugs are put into Python, and the runtime is compiled by mypyc 1.2.3" in done.stderr
    for how in ("applied(next(iter(CATALOGUE.values())))", "watching(CATALOGUE.values())"):
        done = python("-c", f"from highwater_chaos.campaign.mutants import *\nwith {how}: pass", build=empty)
        assert done.returncode == 1
        assert "the runtime is compiled by mypyc 1.2.3; unset HIGHWATER_COMPILED" in done.stderr


def test_the_list_of_modules_is_of_those_there_are():
    spec = importlib.util.spec_from_file_location("compile_runtime", BUILDER)
    builder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(builder)
    for pattern in builder.COMPILED:
        assert list(compiled.SOURCES.glob(pattern)), pattern
    assert not any(name.startswith("highwater_runtime.wire.messages") for name in builder.modules_to_compile())
