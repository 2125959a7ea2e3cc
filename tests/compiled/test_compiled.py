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
CHECK = ROOT / "scripts" / "check_compiled.py"
A_FEW = ("log.records", "log.varint", "sim.clock", "sim.invariants.partitions", "sim.loop")
"""No class outside derives from one in them; invariants are among them."""


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


builder = load(BUILDER)
compiles = pytest.mark.skipif(bool(builder.lacks()), reason=f"no {builder.lacks()}: nothing can be compiled here")


def python(*arguments, build=None):
    ours = (compiled.SETTING, "PYTEST_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
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


def only(*modules):
    return [argument for module in modules for argument in ("--only", module)]


def digests(folder, build, *arguments):
    """Of what runs leave behind, a line each, with the names of the invariants that did not hold."""
    file = folder / f"digests-{'python' if build is None else 'compiled'}"
    done = python("-m", "highwater_lab.benchmarks.random_seeds", *arguments, "--digests", file, build=build)
    assert done.returncode == 0, done.stderr
    return file.read_text().splitlines()


@compiles
def test_a_few_modules_compiled_leave_the_same_recordings_and_find_the_same(tmp_path):
    build = tmp_path / "build"
    done = python(BUILDER, build, "--optimize", "0", "--jobs", "1", *only(*A_FEW))
    assert done.returncode == 0, done.stdout + done.stderr
    where = "import importlib, sys; print(*(importlib.import_module(m).__file__ for m in sys.argv[1:]), sep='\\n')"
    names = [f"highwater_runtime.{module}" for module in (*A_FEW, "log.segments")]
    *own, other = python("-c", where, *names, build=build).stdout.split()
    assert all(file.startswith(str(build)) and file.endswith(compiled.SUFFIX) for file in own)
    assert other.endswith("segments.py")
    assert python(BUILDER, build, *only(*A_FEW)).stdout.startswith(f"{build} fits")

    derives = "import runpy; from highwater_runtime.sim.clock import SimTimer as T; X = type('Late', (T,), {})"
    done = python("-c", f"{derives}; runpy.run_path('{CHECK}', run_name='__main__')", build=build)
    assert done.returncode == 1
    assert "Late is Python and derives from highwater_runtime.sim.clock.SimTimer, which is compiled" in done.stderr

    must_fail = ("--failing", "--only", "unclean-election")
    kraft, zookeeper = digests(tmp_path, build, *must_fail)
    for line in (kraft, zookeeper):
        assert line.endswith(" committed-loss hw-regression isr-incomplete")
    assert [kraft, zookeeper] == digests(tmp_path, None, *must_fail)


@compiles
@pytest.mark.thorough
@pytest.mark.parametrize("runs", [("--seeds", "1..2"), ("--failing",)], ids=["random", "must fail"])
def test_all_modules_compiled_leave_the_same_recordings(tmp_path, runs):
    build = ROOT / "build" / "compiled"
    done = python(BUILDER, build)
    assert done.returncode == 0, done.stdout + done.stderr
    assert digests(tmp_path, build, *runs) == digests(tmp_path, None, *runs)


@compiles
@pytest.mark.thorough
def test_compiled_invariants_find_what_is_put_into_python(tmp_path):
    """The tests that put bugs into the runtime, with nothing compiled but the invariants."""
    build = tmp_path / "build"
    files = [Path(file) for file in builder.COMPILED if file.startswith("sim/invariants/")]
    invariants = [".".join(file.with_suffix("").parts) for file in files]
    assert len(invariants) > 3
    done = python(BUILDER, build, "--optimize", "0", *only(*invariants))
    assert done.returncode == 0, done.stdout + done.stderr
    bugs = ("tests/invariants/test_mutations.py", "tests/raft/test_quorum_invariants.py")
    sets_an_attribute = "not pre_votes_granted_before"  # of the invariants themselves, which cannot be if compiled
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", *bugs, "-k", sets_an_attribute, build=build)
    assert done.returncode == 0, done.stdout


@compiles
@pytest.mark.thorough
def test_a_build_that_cannot_work_is_not_left_to_be_used(tmp_path):
    done = python(BUILDER, tmp_path / "build", "--optimize", "0", *only("sim.loop", "log.varint"))
    assert done.returncode == 1
    assert "sim.clock.SimTimer is Python and derives from highwater_runtime.sim.loop.Cancellable" in done.stderr
    assert not (tmp_path / "build").exists()


@pytest.mark.parametrize(
    ("modules", "why"),
    [
        (["log.records"], "expected two modules or more"),
        (["log.records", "log.missing"], "expected modules that are compiled, as log.records; found log.records, log."),
    ],
)
def test_what_cannot_be_built_is_refused(tmp_path, modules, why):
    stale = tmp_path / "stale"  # that is why one builds again
    done = python(BUILDER, tmp_path / "build", *only(*modules), build=stale)
    assert done.returncode == 1
    assert done.stderr.startswith(f"--only: {why}")
    assert not (tmp_path / "build").exists()


def test_without_a_compiler_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    done = python(BUILDER, tmp_path / "build")
    assert done.returncode == 1
    assert done.stderr == f"no {builder.lacks()}: needed to compile for this Python\n"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"sources": "of yesterday"}, "built from other sources"),
        ({"suffix": ".cpython-27-pdp11.so"}, "built for .cpython-27-pdp11.so"),
        ({"modules": {"highwater_runtime.log.log": "log.so"}}, "the build is not whole, log.so is missing"),
        (None, "no finished build is there"),
        ('{"sources": "', "no finished build is there"),
        ("{}", "no finished build is there"),
        ("[]", "no finished build is there"),
    ],
)
def test_a_build_that_does_not_fit_is_refused(tmp_path, changed, why):
    if isinstance(changed, str):
        (tmp_path / compiled.MANIFEST).write_text(changed)
    elif changed is not None:
        write_manifest(tmp_path, **changed)
    done = python("-c", "import highwater_runtime", build=tmp_path)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: {compiled.SETTING}={tmp_path}: {why}")
    assert last.endswith("build it again (make compiled), or unset HIGHWATER_COMPILED")
    assert not builder.fits(tmp_path, ["highwater_runtime.log.log"]), "it is built again"


def test_a_command_with_a_build_that_does_not_fit_is_bad_usage(tmp_path):
    for arguments in (["--version"], ["scenarios"]):
        done = python("-c", "from highwater_chaos.cli import main; main()", *arguments, build=tmp_path)
        assert done.returncode == 254
        assert done.stderr.startswith(f"HIGHWATER_COMPILED={tmp_path}: no finished build is there; build it again")


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
    here = ("-c", "from highwater_chaos.run.environment import environment_here as e; print(e()['runtime'])")
    assert python(*here, build=empty).stdout == "compiled by mypyc 1.2.3\n"
    assert python(*here).stdout == "Python\n"


def test_mutants_are_refused(empty):
    campaign = ("-m", "highwater_lab", "campaign", "--mutants", "--seeds", "1")
    done = python(*campaign, build=empty)
    assert done.returncode == 254
    assert "--mutants: bugs are put into Python, and the runtime is compiled by mypyc 1.2.3" in done.stderr
    for how in ("applied(next(iter(CATALOGUE.values())))", "watching(CATALOGUE.values())"):
        done = python("-c", f"from highwater_lab.mutants import *\nwith {how}: pass", build=empty)
        assert done.returncode == 1
        assert "the runtime is compiled by mypyc 1.2.3; unset HIGHWATER_COMPILED" in done.stderr


def test_the_list_of_modules_is_of_those_there_are():
    for pattern in builder.COMPILED:
        assert list(compiled.SOURCES.glob(pattern)), pattern
    assert not any(name.startswith("highwater_runtime.wire.messages") for name in builder.modules_to_compile())
