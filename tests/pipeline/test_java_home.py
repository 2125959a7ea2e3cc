"""A trimmed Java gets a stand-in that leaves out the module it lacks; any other is used as it is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from highwater_pipeline.java import Java
from highwater_pipeline.spark.java_home import home_for_spark


def _java(home: Path, modules: str) -> Java:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text('#!/bin/sh\nfor argument; do echo "<$argument>"; done\n')
    (home / "bin" / "java").chmod(0o755)
    (home / "release").write_text(f'JAVA_VERSION="25.0.2"\n{modules}\n')
    return Java("25.0.2", home, "JAVA_HOME")


@pytest.mark.parametrize("modules", ["", 'MODULES="java.base jdk.incubator.vector jdk.net"'])
def test_a_whole_java_is_used_as_it_is(tmp_path: Path, modules: str) -> None:
    java = _java(tmp_path / "java", modules)
    assert home_for_spark(java, tmp_path) == java.home


def test_a_trimmed_java_is_not_asked_for_what_it_lacks(tmp_path: Path) -> None:
    java = _java(tmp_path / "a java's home", 'MODULES="java.base java.se"')
    stand_in = tmp_path / "stand-in"
    stand_in.mkdir()
    home = home_for_spark(java, stand_in)
    said = subprocess.run(
        [home / "bin" / "java", "-cp", "a b/*", "--add-modules=jdk.incubator.vector", "$x", "--add-modules=other", "*"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.splitlines() == ["<-cp>", "<a b/*>", "<$x>", "<--add-modules=other>", "<*>"]
