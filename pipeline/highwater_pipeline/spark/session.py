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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import as_file, files
from typing import IO, Final

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from highwater_pipeline.java import Java, find_java
from highwater_pipeline.spark import class_archive

DEFAULT_MASTER: Final = "local[*]"

_ALWAYS: Final = {
    "spark.app.name": "highwater",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # The kernels are the work, and Spark cannot see how heavy they are: what it would merge into one task as too small
    # to be worth two is exactly what should run side by side.
    "spark.sql.adaptive.enabled": "false",
    "spark.python.worker.reuse": "true",
}
_LOCAL: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
_JVM: Final = ("-XX:+UseParallelGC", "-XX:TieredStopAtLevel=1")


class SparkFailed(RuntimeError):  # noqa: N818 - says what happened
    """Spark did not start; the message has the end of what its JVM said."""


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
    os.environ["JAVA_HOME"] = str(java.home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")  # it only prints a line
    # The JVM inherits no stream of ours: stdout may be somebody's JSON, and what the JVM says before logging is set up
    # (incubator modules, the launcher's warnings) is of interest only where it then fails.
    with tempfile.TemporaryFile() as said:
        try:
            gateway = launch_gateway(conf, {"stdout": said, "stderr": said})  # type: ignore[no-untyped-call]
            SparkContext(conf=conf, gateway=gateway)
        except PySparkRuntimeError as error:
            raise SparkFailed(f"Spark did not start on {master} with Java {java.version}: {_tail(said)}") from error
    return SparkSession.builder.getOrCreate()


def _tail(said: IO[bytes], size: int = 2000) -> str:
    said.seek(0)
    return said.read()[-size:].decode("utf-8", "replace").strip()
