"""What another user may have put into the cache or beside the clusters is neither run nor obeyed."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.apache_kafka import installation
from highwater_chaos.apache_kafka.versions import newest
from highwater_chaos.local_cluster.record import ClusterRecord, NodeProcess, NodeRecord, point_to
from highwater_chaos.machine.kernel.identity import Identity
from highwater_pipeline.java import find_java
from highwater_pipeline.spark import class_archive

SOMEBODY = 12_345


def given(place: Path) -> None:
    os.chown(place, SOMEBODY, SOMEBODY)


def opened(place: Path) -> None:
    place.chmod(0o777 if place.is_dir() else 0o666)


def linked(place: Path) -> None:
    """Somebody's link leads to what is this user's own, and may lead elsewhere any time."""
    real = place.rename(place.with_name(f"{place.name}-real"))
    place.symlink_to(real)
    os.lchown(place, SOMEBODY, SOMEBODY)


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, who can give files away")
HOW = [pytest.param(opened), pytest.param(given, marks=as_root), pytest.param(linked, marks=as_root)]
How = Callable[[Path], None]


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "1000"])
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("what", ["", "clusters", "clusters/mine", "clusters/mine/cluster.json"])
@pytest.mark.parametrize("how", HOW)
def test_no_cluster_of_somebody_else_is_found_or_ended(
    highwater: Any, victim: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch, how: How, what: str
) -> None:
    home = highwater.folder / "data" / "highwater"
    monkeypatch.setenv("XDG_DATA_HOME", str(home.parent))
    identity = Identity.of(victim.pid)
    assert identity is not None
    node = NodeRecord("broker-0", "broker", 0, 9092, process=NodeProcess.of(identity))
    record = ClusterRecord("mine", str(home / "clusters" / "mine"), "id", (node,), {})
    record.path.mkdir(parents=True)
    record.save()
    how(home / what)
    for command in (("status",), ("down",), ("down", "--wipe"), ("up",)):
        done = highwater("cluster", *command, "--name", "mine")
        assert (done.status, len(done.err.splitlines())) == (254, 1), done.err
        assert str(home / what) in done.err
        assert "choose a directory of your own (--data, XDG_DATA_HOME)" in done.err
    time.sleep(0.1)
    assert victim.poll() is None
    assert (home / "clusters" / "mine" / "cluster.json").exists()


@pytest.mark.parametrize("how", HOW)
def test_no_pointer_of_somebody_else_is_followed(highwater: Any, monkeypatch: pytest.MonkeyPatch, how: How) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(highwater.folder))
    point_to("mine", highwater.folder / "elsewhere")
    pointer = highwater.folder / "highwater" / "clusters" / "mine.json"
    how(pointer)
    done = highwater("cluster", "down", "--name", "mine")
    assert (done.status, str(pointer) in done.err) == (254, True), done.err


@pytest.mark.parametrize("what", ["highwater", "kafka", "kafka/lib", "kafka/lib/kafka.jar", "kafka/classes.jsa"])
@pytest.mark.parametrize("how", HOW)
def test_no_jar_of_somebody_else_is_run(
    highwater: Any, tiny: str, monkeypatch: pytest.MonkeyPatch, how: How, what: str
) -> None:
    cache = highwater.folder / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    kafka = cache / "highwater" / f"apache-kafka-{newest('kraft')}"
    (kafka / "lib").mkdir(parents=True)
    for file in ("lib/kafka.jar", "classes.jsa"):
        (kafka / file).write_bytes(b"planted")
    assert installation.available() is None
    place = cache / "highwater" if what == "highwater" else kafka / what.removeprefix("kafka").removeprefix("/")
    how(place)
    file = highwater.write("kafka.yaml", tiny.replace("  cluster:\n", "  cluster:\n    runtime: apache-kafka\n"))
    done = highwater("run", file, "--backend", "local")
    assert done.status == 254
    assert str(place) in done.err
    assert "set XDG_CACHE_HOME to a directory of your own" in done.err


@pytest.mark.parametrize("how", HOW)
def test_no_class_archive_of_somebody_else_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: How) -> None:
    """Spark starts without it. What is put in its place later is not run either."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    archive = class_archive.archive_path(find_java())
    archive.parent.mkdir()
    archive.write_bytes(b"my own")
    archive.chmod(0o444)
    try:
        _, option = class_archive.jvm_options(find_java())
        archive.rename(archive.with_suffix(".old"))
        archive.write_bytes(b"planted")
        assert Path(option.partition("=")[2]).read_bytes() == b"my own"
        class_archive._own.cache_clear()
        how(archive)
        assert class_archive.jvm_options(find_java()) == []
    finally:
        class_archive._own.cache_clear()
