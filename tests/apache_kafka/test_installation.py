"""Jars are fetched once, as a whole or not at all, by one process at a time; then nothing is needed to fetch them.

``mvn`` is a script here that leaves what it was asked for: the tests are of what is around it. Those in
``test_real.py`` fetch releases with Maven itself.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from waiting import until

from highwater_chaos.apache_kafka import fetching, installation
from highwater_chaos.apache_kafka.fetching import ApacheKafkaUnavailableError
from highwater_chaos.apache_kafka.installation import Installation
from highwater_chaos.apache_kafka.versions import needs_old_java, release_parts
from highwater_pipeline.java import Java

pytestmark = pytest.mark.usefixtures("apache_kafka")

OLD = "2.8.2"
"""It has no KRaft mode, so no Java runs to install it."""

Maven = Callable[[str], None]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "highwater" / f"apache-kafka-{OLD}"


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Maven:
    """Puts a script in the place of mvn; ``$POM`` is what it is to fetch, ``$LIB`` where. It gives Log4j at once."""

    def put(body: str) -> None:
        program = tmp_path / "bin" / "mvn"
        program.parent.mkdir(exist_ok=True)
        program.write_text(
            "#!/bin/sh\n"
            'ALL="$*"\nwhile [ $# -gt 0 ]; do case "$1" in --file) POM=$2;; -DoutputDirectory=*) LIB=${1#*=};; esac\n'
            "shift; done\n"
            "if grep -q log4j-slf4j-impl $POM; then mkdir -p $LIB; exit; fi\n"
            f'echo "$ALL" >> {tmp_path}/calls\n'
            f"mkdir -p $LIB\n{body}\n",
            encoding="utf-8",
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    return put


def calls(tmp_path: Path) -> list[str]:
    file = tmp_path / "calls"
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def test_a_release_is_fetched_once_and_hashes_must_be_right(home: Path, maven: Maven, tmp_path: Path) -> None:
    maven("cp $POM $LIB/kafka.jar")
    installed = installation.install(OLD)
    pom = (home / "lib" / "kafka.jar").read_text(encoding="utf-8")
    assert "<artifactId>kafka_2.13</artifactId>" in pom
    assert f"<version>{OLD}</version>" in pom
    assert installed.release == OLD
    assert sorted(path.name for path in home.iterdir()) == ["lib"]
    (call,) = calls(tmp_path)
    assert "--strict-checksums" in call
    maven("exit 1")
    assert installation.install(OLD) == installed


@pytest.mark.parametrize(
    ("release", "artifact", "by_log4j_2"),
    [
        ("1.0.2", "kafka_2.12", False),
        ("1.1.1", "kafka_2.12", True),
        ("2.3.1", "kafka_2.12", True),
        ("2.4.0", "kafka_2.13", True),
    ],
)
def test_releases_are_packaged_and_log_in_their_own_ways(
    tmp_path: Path, maven: Maven, monkeypatch: pytest.MonkeyPatch, release: str, artifact: str, by_log4j_2: bool
) -> None:
    """Of a release that logs by SLF4J, whatever stands behind it gives way to Log4j 2, also in caches of before."""
    maven("cp $POM $LIB/kafka.jar")
    fetching.fetch_jars(release, tmp_path / "jars")
    pom = (tmp_path / "jars" / "lib" / "kafka.jar").read_text(encoding="utf-8")
    assert f"<artifactId>{artifact}</artifactId>" in pom
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fetching.fetch_log4j(tmp_path / "highwater" / f"log4j-{fetching.LOG4J}")
    for jar in ("slf4j-simple-1.7.36.jar", "slf4j-log4j12-1.7.25.jar"):
        (tmp_path / "jars" / "lib" / jar).touch()
    (tmp_path / "highwater" / f"log4j-{fetching.LOG4J}" / "lib" / "log4j-core.jar").touch()
    jars = installation.Installation(tmp_path / "jars", Java((17, 0, 0), tmp_path, "a test"), release).class_path
    names = [Path(jar).name for jar in jars.split(":")]
    bindings = ["log4j-core.jar"] if by_log4j_2 else ["slf4j-log4j12-1.7.25.jar", "slf4j-simple-1.7.36.jar"]
    assert names == ["kafka.jar", *bindings]


def test_a_download_that_fails_leaves_nothing_and_the_next_one_succeeds(home: Path, maven: Maven) -> None:
    maven("echo half > $LIB/kafka.jar; echo 'Checksum validation failed'; exit 1")
    with pytest.raises(ApacheKafkaUnavailableError, match="Checksum validation failed"):
        installation.install(OLD)
    assert not (home / "lib").exists()
    (home / "fetching-of-a-process-that-was-killed").mkdir()
    maven("echo whole > $LIB/kafka.jar")
    installation.install(OLD)
    assert (home / "lib" / "kafka.jar").read_text(encoding="utf-8") == "whole\n"
    assert sorted(path.name for path in home.iterdir()) == ["lib"]


def test_processes_wait_for_the_one_that_fetches(home: Path, maven: Maven, tmp_path: Path) -> None:
    """The second one tries while the first is at it."""
    go = tmp_path / "go"
    os.mkfifo(go)
    maven(f"echo whole > $LIB/kafka.jar; read _ < {go}")
    spawn = multiprocessing.get_context("spawn")
    first, second = (spawn.Process(target=installation.install, args=(OLD,), daemon=True) for _ in range(2))
    first.start()
    until(lambda: len(calls(tmp_path)) == 1, "the first fetches")
    second.start()
    until(lambda: waits_for_a_lock(second.pid) or len(calls(tmp_path)) == 2, "the second waits, or fetches")
    assert len(calls(tmp_path)) == 1
    go.write_text("on\n", encoding="utf-8")
    for process in (first, second):
        process.join(120)
        assert process.exitcode == 0
    assert len(calls(tmp_path)) == 1
    assert (home / "lib" / "kafka.jar").exists()


def waits_for_a_lock(pid: int | None) -> bool:
    lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    return any("-> FLOCK" in line and f" {pid} " in line for line in lines)


def test_old_java_is_for_those_that_need_it() -> None:
    assert [
        release for release in ("1.1.1", "2.0.0", "2.3.1", "2.4.0", "3.4.1") if needs_old_java(release_parts(release))
    ] == [
        "2.0.0",
        "2.3.1",
    ]


def test_what_cannot_be_fetched_is_named(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = shutil.which("java")
    assert java is not None
    monkeypatch.setenv("JAVA_HOME", str(Path(java).resolve().parents[1]))
    monkeypatch.setenv("PATH", str(tmp_path))
    why = installation.available("3.4.1")
    assert why is not None
    assert "the jars of Apache Kafka 3.4.1 are not in" in why


@pytest.mark.parametrize("release", ["3.9.2", "4.4.0"])
def test_what_an_installation_keeps_is_for_every_user(release: str, tmp_path: Path) -> None:
    """An image is made by root, and its nodes run as another user."""
    made = installation.install(release)
    (tmp_path / "lib").symlink_to(made.directory / "lib")
    files = Installation(tmp_path, made.java, release).first_files()
    kept = [path for path in (tmp_path / "formatted-default").rglob("*") if path.is_file()]
    assert {str(path.relative_to(tmp_path / "formatted-default")) for path in kept} == files.keys() != set()
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o644}
