"""A Spark session that is up in seconds and quiet: what matters where a person waits for one run to be judged.

Measured on two cores: the web UI, the second-stage compiler and two hundred shuffle partitions cost most of the 20
seconds that a default session takes to its first result; Parallel GC beats the default collector on columnar work.
Where the caller names a master that is not local, only what does not depend on the machine is set, and Spark's own
configuration (``spark-defaults.conf``, ``SPARK_CONF_DIR``) says the rest.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import as_file, files
from pathlib import Path
from typing import IO, Final

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from highwater_pipeline.java import Java, find_java, search_path
from highwater_pipeline.spark import class_archive
from highwater_pipeline.spark.java_home import home_for_spark

DEFAULT_MASTER: Final = "local[*]"

_ALWAYS: Final = {
    "spark.app.name": "highwater",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # The kernels are the work, and Spark cannot see how heavy they are: what it would merge into one task as too small
    # to be worth two is exactly what should run side by side.
    "spark.sql.adaptive.enabled": "false",
    "spark.python.worker.reuse": "true",
    "spark.executorEnv.PYTHONSAFEPATH": "1",  # on other machines; see below
}
_LOCAL: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
_JVM: Final = ("-XX:+UseParallelGC", "-XX:TieredStopAtLevel=1")


class SparkFailed(RuntimeError):  # noqa: N818 - says what happened
    """Spark did not start. The message has the end of its JVM's output."""


@contextmanager
def open_session(master: str | None = None, jvm_options: Sequence[str] | None = None) -> Iterator[SparkSession]:
    """A Spark session on ``master`` (None: the active session if there is one, else all cores of this machine).

    ``jvm_options`` are added to the driver's (None: those for the class-data archive, where there is one). A session
    that this function started ends with it. Raises :class:`~highwater_pipeline.java.JavaNotFound` where there
    is no Java for it, :class:`SparkFailed` where it does not come up.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    java = find_java()
    with as_file(files("highwater_pipeline.spark") / "log4j2.properties") as log4j2:
        options = class_archive.jvm_options(java) if jvm_options is None else jvm_options
        session = _start(
            master or DEFAULT_MASTER, java, [*_JVM, *options, f"-Dlog4j2.configurationFile={log4j2.as_uri()}"]
        )
        try:
            yield session
        finally:
            with suppress(Py4JError, OSError):  # the JVM may be gone
                session.stop()


def cores(master: str) -> int:
    """How many tasks a local master runs at once: ``local`` 1, ``local[4]`` 4, ``local[*]`` all cores."""
    inside = master.partition("[")[2].rstrip("]").partition(",")[0]
    if not inside:
        return 1
    return (os.cpu_count() or 1) if inside == "*" else int(inside)


def _start(master: str, java: Java, jvm_options: Sequence[str]) -> SparkSession:
    conf = SparkConf().setMaster(master).setAll(list(_ALWAYS.items()))
    conf.set("spark.driver.extraJavaOptions", " ".join(jvm_options))
    if master.startswith("local"):
        conf.setAll(list(_LOCAL.items()))
        conf.set("spark.sql.shuffle.partitions", str(max(2, cores(master))))
    # The JVM inherits no stream of ours: stdout may be a caller's JSON, and what the JVM says before logging is set up
    # (incubator modules, the launcher's warnings) is of interest only where it then fails.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryDirectory() as stand_in:
        environment = {
            "JAVA_HOME": str(home_for_spark(java, Path(stand_in))),
            "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable),
            # Its daemon and its workers find no module in the working directory, which may be anybody's.
            "PYTHONSAFEPATH": "1",
            "PATH": search_path(os.environ),  # spark-submit is a script
            # The launcher's own JVM prints a command line, and is gone.
            "SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }
        if master.startswith("local"):
            # Otherwise it asks what address this machine's name has, and gives up if that cannot be resolved, as in
            # containers.
            environment["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
        try:
            with _set(environment):
                # A process has one JVM for Spark: a second session finds that of the first.
                gateway = SparkContext._gateway or launch_gateway(conf, {"stdout": output, "stderr": output})  # type: ignore[no-untyped-call]
                SparkContext(conf=conf, gateway=gateway)
                return SparkSession.builder.getOrCreate()
        except (PySparkException, Py4JError) as error:
            raise SparkFailed(
                f"Spark did not start on {master} with Java {java.version}: {first_lines(error)}: {_tail(output)}"
            ) from error


@contextmanager
def _set(variables: Mapping[str, str]) -> Iterator[None]:
    """Environment variables for the block's time."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def first_lines(error: Exception) -> str:
    """What went wrong, and in Java's words, without where in Java's code. The words of an error of Java are asked of
    the JVM, which may be gone."""
    try:
        words = str(error)
    except (Py4JError, OSError):
        words = getattr(error, "errmsg", type(error).__name__)
    return " ".join(words.split("\n\tat ")[0].split())


def _tail(output: IO[bytes], size: int = 2000) -> str:
    output.seek(0)
    return output.read()[-size:].decode("utf-8", "replace").strip()
