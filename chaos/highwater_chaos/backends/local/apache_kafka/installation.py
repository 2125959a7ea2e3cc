"""Gets Apache Kafka from Maven Central, once, and keeps it in the user's cache.

Kafka comes as the jars of ``org.apache.kafka:kafka_2.13`` with what they need at run time, fetched by ``mvn`` itself
(its settings, mirrors and proxies count), in a version that is pinned here: the observer reads log lines and metadata
records, which belong to a version. Beside the jars lie two things that are made of them once: a class-data archive,
with which a node starts in half the CPU time, and the records with which a new cluster begins
(``bootstrap.checkpoint``).

The directory ``~/.cache/highwater/apache-kafka-<version>`` may be deleted at any time.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from highwater_chaos.backends.local.apache_kafka.training import make_class_archive
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.ownership import check_kept
from highwater_pipeline.java import Java, JavaNotFoundError, find_java, search_path

VERSION: Final = "4.3.1"
"""Needs Java 17."""

_SLF4J: Final = "1.7.36"
"""The version whose API Kafka brings along; without a binding a node would log nothing."""
_MAVEN_SECONDS: Final = 900
_TOOL_SECONDS: Final = 120
_LAST_LINES: Final = 5

_POM: Final = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>dev.highwater</groupId>
  <artifactId>apache-kafka</artifactId>
  <version>{VERSION}</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>{VERSION}</version>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId>
      <artifactId>slf4j-simple</artifactId>
      <version>{_SLF4J}</version>
    </dependency>
  </dependencies>
</project>
"""

_log = logging.getLogger(__name__)


class ApacheKafkaUnavailableError(RuntimeError):
    """Apache Kafka cannot be had on this machine; the message says what is missing and what to do."""


@dataclass(frozen=True, slots=True)
class Installation:
    """Jars in ``directory/lib``, run by ``java``."""

    directory: Path
    java: Java

    @property
    def class_path(self) -> str:
        """All jars in order of name: a class-data archive is for one class path, letter by letter."""
        return ":".join(str(jar) for jar in sorted((self.directory / "lib").glob("*.jar")))

    @property
    def class_archive(self) -> Path:
        """Where the class-data archive for this Java is, or would be."""
        return self.directory / f"classes-java-{self.java.full_version}.jsa"

    def command(self, main: str, *arguments: str, options: Sequence[str] = ()) -> tuple[str, ...]:
        """The command line that runs the class ``main``; ``options`` are the JVM's."""
        archive = self.class_archive
        shared = ("-Xshare:auto", f"-XX:SharedArchiveFile={archive}") if archive.exists() else ()
        return (str(self.java.home / "bin" / "java"), *shared, *options, "-cp", self.class_path, main, *arguments)

    def bootstrap_checkpoint(self, metadata_version: str | None = None) -> bytes:
        """The file ``bootstrap.checkpoint`` of a new cluster's nodes: the features that it begins with.

        ``metadata_version`` as Kafka names it (``3.9-IV0``); None: that of this version. Made by Kafka's own
        StorageTool, once for each version. Raises :class:`ApacheKafkaUnavailableError` where Kafka refuses the version.
        """
        kept = self.directory / f"bootstrap-{metadata_version or 'default'}.checkpoint"
        if not kept.exists():
            with tempfile.TemporaryDirectory(dir=self.directory) as name:
                made = self._format(Path(name), metadata_version)
                made.rename(kept)
        return kept.read_bytes()

    def _format(self, scratch: Path, metadata_version: str | None) -> Path:
        config = scratch / "node.properties"
        config.write_text(
            "process.roles=controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:9093\n"
            "listeners=CONTROLLER://127.0.0.1:9093\ncontroller.listener.names=CONTROLLER\n"
            f"log.dirs={scratch}/data\n",
            encoding="utf-8",
        )
        release = () if metadata_version is None else ("--release-version", metadata_version)
        _run(
            self.command(
                "kafka.tools.StorageTool", "format", "-t", "highwater-checkpoint00", "-c", str(config), *release
            ),
            _TOOL_SECONDS,
            f"formatting for metadata.version {metadata_version or 'of ' + VERSION}",
        )
        return scratch / "data" / "bootstrap.checkpoint"


def available() -> str | None:
    """Why Apache Kafka cannot be run here; None where it can, if need be after a download. Quick: fetches nothing."""
    try:
        find_java(who="Apache Kafka")
    except JavaNotFoundError as error:
        return str(error)
    directory = _directory()
    try:
        for place in (directory, *directory.rglob("*")):  # what is in them is run
            check_kept(place, "set XDG_CACHE_HOME to a directory of your own")
    except MachineError as error:
        return str(error)
    if not _is_installed(directory) and _maven() is None:
        return (
            f"the jars of Apache Kafka {VERSION} are not in {directory}, and there is no mvn on PATH to fetch"
            " them: install Maven (apt install maven)"
        )
    return None


def install() -> Installation:
    """The installation, made first where it is not there yet (some 45 MB from Maven Central, once).

    Raises :class:`ApacheKafkaUnavailableError`.
    """
    if why := available():
        raise ApacheKafkaUnavailableError(why)
    installation = Installation(_directory(), find_java(who="Apache Kafka"))
    directory = installation.directory
    directory.parent.mkdir(parents=True, exist_ok=True)
    with _only_one(directory.with_name(f"{directory.name}.lock")):
        if not _is_installed(directory):
            _log.info("fetching Apache Kafka %s from Maven Central into %s", VERSION, directory)
            _fetch(directory)
        if not installation.class_archive.exists():
            problem = make_class_archive(installation.command, installation.class_archive)
            if problem is not None:
                _log.warning("Apache Kafka starts without a class-data archive, and so slowly: %s", problem)
        installation.bootstrap_checkpoint()
    return installation


def _directory() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache.absolute() / "highwater" / f"apache-kafka-{VERSION}"


def _maven() -> str | None:
    return shutil.which("mvn", path=search_path(os.environ))


def _is_installed(directory: Path) -> bool:
    return (directory / "lib").is_dir()


def _fetch(directory: Path) -> None:
    directory.mkdir(exist_ok=True)
    maven = _maven()
    assert maven is not None, "it was looked for before"
    with tempfile.TemporaryDirectory(dir=directory) as name:
        scratch = Path(name)
        (scratch / "pom.xml").write_text(_POM, encoding="utf-8")
        _run(
            (
                maven, "--batch-mode", "--no-transfer-progress", "--quiet", "--file", str(scratch / "pom.xml"),
                "dependency:copy-dependencies", f"-DoutputDirectory={scratch / 'lib'}", "-DincludeScope=runtime",
            ),
            _MAVEN_SECONDS,
            f"fetching Apache Kafka {VERSION} with mvn",
        )  # fmt: skip
        (scratch / "lib").rename(directory / "lib")  # whole or not at all


def _run(argv: Sequence[str], seconds: float, what: str) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - the user's own mvn and Java
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


@contextmanager
def _only_one(path: Path) -> Iterator[None]:
    """Runs on one machine wait for each other's download."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
