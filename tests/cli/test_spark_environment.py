"""The user's environment, and Spark's own failures: a verdict, or one line and the documented status."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.base.distribution import missing_extra
from highwater_pipeline.java import find_java
from highwater_pipeline.spark import class_archive
from highwater_pipeline.spark.session import first_lines, settings_for

HIGHWATER = Path(sys.executable).with_name("highwater")
OF_ANOTHER_SPARK = {
    "PYSPARK_PYTHON": "/nonexistent/python3",
    "PYSPARK_DRIVER_PYTHON": "jupyter",
    "PYSPARK_SUBMIT_ARGS": "--master yarn --no-such-option pyspark-shell",
    "PYSPARK_GATEWAY_PORT": "1",
    "PYSPARK_GATEWAY_SECRET": "x",
    "SPARK_HOME": "/opt/another/spark",
    "SPARK_REMOTE": "sc://localhost:1",
    "SPARK_CONNECT_MODE_ENABLED": "1",
    "SPARK_SUBMIT_OPTS": "-XX:NoSuchOption",
    "SPARK_DIST_CLASSPATH": "/nonexistent",
    "SPARK_PREPEND_CLASSES": "1",
    "SPARK_SCALA_VERSION": "2.12",
}


@pytest.mark.thorough
@pytest.mark.spark
def test_a_local_master_takes_neither_interpreter_nor_spark_from_the_environment(
    failed_run: Path, poisoned_directory: Callable[[Path, Path], Path], tmp_path: Path
) -> None:
    """Nor code from the working directory."""
    (tmp_path / "spark-defaults.conf").write_text("spark.pyspark.python /nonexistent\nspark.master local[1]\n")
    environment = {**os.environ, **OF_ANOTHER_SPARK, "SPARK_CONF_DIR": str(tmp_path)}
    here = poisoned_directory(tmp_path / "here", tmp_path / "found")
    environment["PATH"] = f":.:{environment['PATH']}"
    before = sorted(here.iterdir())
    here.chmod(0o555)
    command = [HIGHWATER, "check", failed_run, "--engine", "spark", "--json"]
    done = subprocess.run(command, env=environment, cwd=here, capture_output=True, text=True, check=False)
    assert not (tmp_path / "found").exists(), (tmp_path / "found").read_text()
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["verdict"] == "fail"
    assert len(done.stderr.splitlines()) == 2
    assert sorted(here.iterdir()) == before  # root may write there, and PySpark 4.0 did


def test_what_a_user_has_configured_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two collectors cannot be asked for, so ours goes when the user has options of Java."""
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    ours = settings_for("local[2]", ["-Dx"], "highwater check runs")
    assert (ours["spark.app.name"], ours["spark.sql.adaptive.enabled"]) == ("highwater check runs", "false")
    assert ours["spark.driver.extraJavaOptions"] == "-XX:+UseParallelGC -XX:TieredStopAtLevel=1 -Dx"
    (tmp_path / "spark-defaults.conf").write_text(
        "# spark.ui.enabled true\n\nspark.sql.adaptive.enabled true\nspark.app.name=mine\n"
        "spark.driver.extraJavaOptions  -XX:+UseSerialGC -Dy=1 2\nspark.sql.shuffle.partitions: 9\n"
        "spark.pyspark.python /x\n"
    )
    users = settings_for("local[2]", ["-Dx"], "highwater check runs")
    gone = {"spark.app.name", "spark.sql.adaptive.enabled", "spark.sql.shuffle.partitions"}
    assert users == {key: value for key, value in ours.items() if key not in gone} | {
        "spark.driver.extraJavaOptions": "-Dx -XX:+UseSerialGC -Dy=1 2"
    }
    asked = settings_for("local[2]", ["-Dx"], "highwater check runs", {"spark.app.name": "hers", "spark.python.x": "1"})
    assert asked == users | {"spark.app.name": "hers", "spark.python.x": "1"}


def test_the_master_is_asked_for_or_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert settings_for(None, [], "x")["spark.master"] == "local[*]"
    (tmp_path / "spark-defaults.conf").write_text("spark.master spark://configured:7077\n")
    assert settings_for(None, [], "x")["spark.master"] == "spark://configured:7077"
    conf = {"spark.master": "local[1]"}
    assert settings_for(None, [], "x", conf)["spark.master"] == "local[1]"
    assert settings_for("local[3]", [], "x", conf)["spark.master"] == "local[3]"


@pytest.mark.spark
def test_what_spark_cannot_do_is_one_line(failed_run: Path, tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.memory.fraction 7\n")
    environment = {**os.environ, "SPARK_CONF_DIR": str(tmp_path)}
    command = [HIGHWATER, "check", failed_run, "--engine", "spark", "--json"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 254
    assert json.loads(done.stdout)["valid"] == "unknown"
    _judging, why = done.stderr.splitlines()
    assert why.startswith("Spark "), why
    assert "Traceback" not in why


@pytest.mark.spark
@pytest.mark.parametrize("number", [pytest.param(signal.SIGTERM, marks=pytest.mark.thorough), signal.SIGINT])
def test_an_interruption_is_quiet(failed_run: Path, tmp_path: Path, number: signal.Signals) -> None:
    started = subprocess.Popen(
        [HIGHWATER, "check", failed_run, "--engine", "spark"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stderr is not None
    assert started.stderr.readline().startswith("judging ")
    children = Path(f"/proc/{started.pid}/task/{started.pid}/children")
    while not (machines := children.read_text().split()) and started.poll() is None:
        time.sleep(0.05)
    started.send_signal(number)
    _, said = started.communicate(timeout=60)
    assert started.returncode == 2, said
    assert [line for line in said.splitlines() if not line.startswith("highwater: interrupted")] == []
    # Of a JVM that has not told its port yet, none would ever end it.
    assert machines
    deadline = time.monotonic() + 60
    while any(Path("/proc", one).exists() for one in machines):
        assert time.monotonic() < deadline, machines
        time.sleep(0.05)


def test_a_workers_exception_is_one_line() -> None:
    stack = 'Traceback (most recent call last):\n  File "worker.py", line 1\n    x()\nModuleNotFoundError: no y\n'
    told = first_lines(RuntimeError(f"An exception was thrown from the Python worker.\n{stack}\n\tat org.apache.Spark"))
    assert told == "An exception was thrown from the Python worker. ModuleNotFoundError: no y"


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("pyspark.sql", "pipeline"),
        ("py4j", "pipeline"),
        ("pandas", "pipeline"),
        ("kubernetes", "operator"),
        ("confluent_kafka", "drivers"),
        ("kazoo.client", "zookeeper"),
        ("psutil", "chaos"),
        ("no_such_module", None),
        ("highwater_chaos.gone", None),
    ],
)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(
    highwater: Any, monkeypatch: pytest.MonkeyPatch, module: str, extra: str | None
) -> None:
    error = ModuleNotFoundError(f"No module named {module!r}", name=module)
    said = missing_extra(error)
    assert (said is None) == (extra is None)
    if extra is not None:
        assert said is not None
        assert said.endswith(f"pip install 'highwater-chaos[{extra}]'")

    def lacks(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("highwater_chaos.cli.validate.load_experiment", lacks)
    done = highwater("validate", highwater.write("a.yaml", ""))
    assert done.status == (254 if extra else 255)
    assert ("Traceback" in done.err) == (extra is None)


def test_every_command_that_needs_spark_says_so_where_it_is_missing(failed_run: Path, tmp_path: Path) -> None:
    """In a real interpreter that has no PySpark."""
    block = "import sys\nfor name in ('pyspark', 'py4j'):\n    sys.modules[name] = None\n"
    (tmp_path / "sitecustomize.py").write_text(block)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    shutil.copytree(failed_run, tmp_path / "run")
    for arguments in (
        ["check", "run", "--engine", "spark"],
        ["campaign", "random", "--engine", "spark", "--seeds", "1..1"],
    ):
        done = subprocess.run(
            [HIGHWATER, *arguments, "--engine", "spark"],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 254, done.stderr
        assert "pip install 'highwater-chaos[pipeline]'" in done.stderr.splitlines()[-1]
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "lacks", "status", "extra"),
    [
        ("highwater_chaos.__main__:main", "typer", 254, "chaos"),
        ("highwater_operator.commands:operator", "pydantic", 2, "operator"),
        ("highwater_operator.commands:agent", "aiohttp", 2, "agent"),
    ],
)
def test_a_command_without_its_extra_says_which_one_it_needs(command: str, lacks: str, status: int, extra: str) -> None:
    module, function = command.split(":")
    program = f"import sys; sys.modules[{lacks!r}] = None; from {module} import {function}; {function}()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    name = {"chaos": "highwater"}.get(extra, f"highwater-{extra}")
    needs = f"expected the package {lacks}; found none: pip install 'highwater-chaos[{extra}]'"
    assert (done.returncode, done.stderr) == (status, f"{name}: {needs}\n")


@pytest.mark.thorough
def test_the_archive_of_classes_is_made_where_sessions_look_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    class_archive._own.cache_clear()
    assert class_archive.jvm_options(find_java()) == []
    program = [sys.executable, "-m", "highwater_pipeline.spark.warm_up"]
    made = subprocess.run(program, check=True, capture_output=True, text=True).stdout
    assert made == f"{class_archive.archive_path(find_java())}\n"
    class_archive._own.cache_clear()
    assert class_archive.jvm_options(find_java())[0] == "-Xshare:auto"
    class_archive._own.cache_clear()
