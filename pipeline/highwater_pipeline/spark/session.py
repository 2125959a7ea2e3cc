"""A Spark session that is up in seconds and quiet: what matters where a person waits for one run to be judged.

Measured on two cores: the web UI, the second-stage compiler and two hundred shuffle partitions cost most of the 20
seconds that a default session takes to its first result; Parallel GC beats the default collector on columnar work.
Where the caller names a master that is not local, only what does not depend on the machine is set, and Spark's own
configuration (``spark-defaults.conf``, ``SPARK_CONF_DIR``) says the rest.

A user's environment is often that of another Spark. On a local master interpreter and Spark are ours, so what
names others (:data:`_OF_ANOTHER_SPARK`) does not count there; on a master elsewhere ``PYSPARK_PYTHON`` is the path of
Python on the executors. What makes PySpark talk to a server of Spark Connect never counts.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import as_file, files
from pathlib import Path
from typing import IO, Final

import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from highwater_pipeline.java import Java, find_java, search_path
from highwater_pipeline.spark import class_archive
from highwater_pipeline.spark.driver import IN_DRIVER
from highwater_pipeline.spark.java_home import home_for_spark

DEFAULT_MASTER: Final = "local[*]"

_DEFAULTS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # The kernels are the work, and Spark cannot see how heavy they are: what it would merge into one task as too small
    # to be worth two is exactly what should run side by side.
    "spark.sql.adaptive.enabled": "false",
    "spark.python.worker.reuse": "true",
}
"""Where ``spark-defaults.conf`` does not say otherwise."""
_ALWAYS: Final = {"spark.executorEnv.PYTHONSAFEPATH": "1"}  # on other machines; see below
_LOCAL: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
_MASTER: Final = "spark.master"
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_JVM: Final = ("-XX:+UseParallelGC", "-XX:TieredStopAtLevel=1")


_OF_ANOTHER_SPARK: Final = (
    "PYSPARK_DRIVER_PYTHON",
    "PYSPARK_DRIVER_PYTHON_OPTS",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_CLASSPATH",
    "SPARK_DIST_CLASSPATH",
    "SPARK_ENV_LOADED",
    "SPARK_JARS_DIR",
    "SPARK_PREPEND_CLASSES",
    "SPARK_SCALA_VERSION",
    "SPARK_SUBMIT_OPTS",
    "SPARK_TESTING",
)
_OF_A_SERVER: Final = ("SPARK_API_MODE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_LOCAL_REMOTE", "SPARK_REMOTE")
_OF_ANOTHER_JVM: Final = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")
_LONGEST: Final = 500
"""Characters of a failure in Spark's words."""


class SparkFailedError(RuntimeError):
    """Spark did not start, or could not do a job. The message is one line, in Spark's words."""


@contextmanager
def open_session(
    master: str | None = None,
    jvm_options: Sequence[str] | None = None,
    *,
    name: str = "highwater",
    conf: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """A Spark session on ``master`` (None: the active session if there is one, else ``spark.master`` of ``conf`` or of
    ``spark-defaults.conf``, else all cores of this machine).

    ``jvm_options`` are added to the driver's (None: those for the class-data archive, where there is one). ``conf``:
    Spark's properties, which ``spark-defaults.conf`` does not override. ``name``: of the application, unless one of
    both has one. A session that this function started ends with it.
    Raises :class:`~highwater_pipeline.java.JavaNotFoundError` where there
    is no Java for it, :class:`SparkFailedError` where it does not come up.
    """
    _quieten_py4j()
    for variable in _OF_A_SERVER:
        os.environ.pop(variable, None)  # PySpark asks for them with each call
    active = SparkSession.getActiveSession()
    if active is not None:
        with _in_one_line():
            yield active
        return
    java = find_java()
    with as_file(files("highwater_pipeline.spark") / "log4j2.properties") as log4j2:
        options = class_archive.jvm_options(java) if jvm_options is None else jvm_options
        options = [*options, f"-Dlog4j2.configurationFile={log4j2.as_uri()}"]
        session = _start(java, settings_for(master, options, name, conf or {}))
        try:
            with _in_one_line():
                yield session
        finally:
            with suppress(Py4JError, PySparkException, OSError):  # the JVM may be gone
                session.stop()


def _quieten_py4j() -> None:
    """It logs the stack of each call that an interruption ends, by its own logger and by the root."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    logging.getLogger().removeFilter(_is_not_of_py4j)
    logging.getLogger().addFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


@contextmanager
def _in_one_line() -> Iterator[None]:
    """What Spark says went wrong in a job, as :class:`SparkFailedError`."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        within: BaseException | None = error
        while within is not None:
            if isinstance(within, KeyboardInterrupt):  # in a call of the JVM
                raise KeyboardInterrupt from error
            within = within.__cause__ or within.__context__
        raise SparkFailedError(f"Spark could not do it: {first_lines(error)}") from error


def cores(master: str) -> int:
    """How many tasks a local master runs at once: ``local`` 1, ``local[4]`` 4, ``local[*]`` all cores."""
    inside = master.partition("[")[2].rstrip("]").partition(",")[0]
    if not inside:
        return 1
    return (os.cpu_count() or 1) if inside == "*" else int(inside)


def settings_for(
    master: str | None, jvm_options: Sequence[str], name: str, conf: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The settings that Spark is started with: what ``conf`` or ``spark-defaults.conf`` says of our defaults is the
    user's."""
    users = {**_defaults_of_user(), **(conf or {})}
    master = master or users.get(_MASTER) or DEFAULT_MASTER
    is_local = master.startswith("local")
    ours = {**_DEFAULTS, "spark.app.name": name}
    if is_local:
        ours |= {**_LOCAL, "spark.sql.shuffle.partitions": str(max(2, cores(master)))}
    found = {key: value for key, value in ours.items() if key not in users} | dict(conf or {}) | _ALWAYS
    if is_local:  # interpreter and Spark are ours
        found |= dict.fromkeys(("spark.pyspark.python", "spark.pyspark.driver.python"), sys.executable)
    # Two collectors cannot be asked for: with options of the user's, ours are those that no other can contradict.
    java = [*jvm_options, users[_JAVA_OPTIONS]] if _JAVA_OPTIONS in users else [*_JVM, *jvm_options]
    return {**found, _MASTER: master, _JAVA_OPTIONS: " ".join(java)}


def _defaults_of_user() -> dict[str, str]:
    """What ``spark-defaults.conf`` sets, where Spark looks for it; empty if there is none that can be read."""
    directory = os.environ.get("SPARK_CONF_DIR") or Path(pyspark.__file__).parent / "conf"
    try:
        lines = (Path(directory) / "spark-defaults.conf").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    pairs = (re.split(r"\s*[=:\s]\s*", line.strip(), maxsplit=1) for line in lines)
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2 and not pair[0].startswith(("#", "!"))}


def _start(java: Java, settings: Mapping[str, str]) -> SparkSession:
    conf, master = SparkConf().setAll(list(settings.items())), settings[_MASTER]
    is_local = master.startswith("local")
    # The JVM inherits no stream of ours: stdout may be a caller's JSON, and what the JVM says before logging is set up
    # (incubator modules, the launcher's warnings) is of interest only where it then fails.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryDirectory() as stand_in:
        environment: dict[str, str | None] = {
            "JAVA_HOME": str(home_for_spark(java, Path(stand_in))),
            "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable),
            # Its daemon and its workers find no module in the working directory, which may be anybody's.
            "PYTHONSAFEPATH": "1",
            "PATH": search_path(os.environ),  # spark-submit is a script
            # The launcher's own JVM prints a command line, and is gone.
            "SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }
        if is_local:
            if IN_DRIVER not in os.environ:
                environment |= dict.fromkeys((*_OF_ANOTHER_SPARK, *_OF_ANOTHER_JVM))
                environment |= {"PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(_home())}
            # Otherwise it asks what address this machine's name has, and gives up if that cannot be resolved, as in
            # containers.
            environment["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
        try:
            with _set(environment):
                # A process has one JVM for Spark: a second session finds that of the first.
                with _no_child_left():
                    gateway = SparkContext._gateway or launch_gateway(conf, {"stdout": output, "stderr": output})  # type: ignore[no-untyped-call]
                SparkContext(conf=conf, gateway=gateway)
                return SparkSession.builder.getOrCreate()
        except (PySparkException, Py4JError, OSError) as error:
            raise SparkFailedError(
                f"Spark did not start on {master} with Java {java.version}: {first_lines(error)}: {_tail(output)}"
            ) from error


def _home() -> Path:
    """Where the Spark of the PySpark that was imported is. Raises :class:`SparkFailedError` if it is that of another
    one."""
    home = Path(pyspark.__file__).parent
    if not (home / "jars").is_dir():
        raise SparkFailedError(
            f"expected the PySpark that pip installed, which brings its Spark; found {home} (PySpark"
            f" {pyspark.__version__}), which has no jars: leave it out of PYTHONPATH"
        )
    return home


@contextmanager
def _no_child_left() -> Iterator[None]:
    """End the JVM that the block has started if the block is interrupted.

    A JVM ends when the pipe from its parent does, but only after it has written down its port. An interruption before
    that removes the directory for it, and the JVM stays for ever.
    """
    before = _children()
    try:
        yield
    except BaseException:
        for child in _children() - before:
            with suppress(ProcessLookupError, ChildProcessError):  # it has ended, or somebody has waited for it
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        raise


def _children() -> set[int]:
    """Processes that this thread has started. Empty where the kernel does not tell."""
    try:
        return set(map(int, Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text("ascii").split()))
    except FileNotFoundError:
        return set()


@contextmanager
def _set(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Environment variables for the block's time; None: not set."""
    before = {name: os.environ.get(name) for name in variables}
    _put(variables)
    try:
        yield
    finally:
        _put(before)


def _put(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def first_lines(error: Exception) -> str:
    """What went wrong in a line, and in Java's words, without where in Java's code; of a Python worker the exception,
    without where in Python's. The words of an error of Java are asked of the JVM, which may be gone."""
    try:
        words = str(error)
    except (Py4JError, OSError):
        words = getattr(error, "errmsg", type(error).__name__)
    words = words.split("\n\tat ")[0]
    before, of_worker, stack = words.partition("Traceback (most recent call last):")
    if of_worker:
        raised = [line for line in stack.splitlines() if line and not line.startswith(" ")]
        words = f"{before} {raised[-1] if raised else ''}"
    return " ".join(words.split())[:_LONGEST]


def _tail(output: IO[bytes]) -> str:
    """The end of the JVM's output, as one line, without stacks."""
    output.seek(0)
    lines = output.read()[-20 * _LONGEST :].decode("utf-8", "replace").splitlines()
    told = [line for line in lines if not line.startswith(("\tat ", "    "))]
    errors = [line for line in told if "rror" in line or "xception" in line]
    return " ".join(" ".join(errors or told).split())[-_LONGEST:]
