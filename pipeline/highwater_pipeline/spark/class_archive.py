"""Spark's classes, loaded once and kept: a class-data archive halves the CPU time of a cold start.

A JVM that starts Spark parses and verifies some ten thousand classes each time. It can write them to an archive when it
exits (dynamic CDS, Java 13 and newer) and map that into memory from then on. The archive belongs to one Java and one
Spark; a JVM that finds another than its own ignores it. It lives in the user's cache and may be deleted at any time.

A JVM runs what is in it. So only a file that this user alone can have written is used, also if the cache is another
user's (``sudo -E``), and the JVM gets it by a descriptor: nobody can put another in its place meanwhile.

``python -m highwater_pipeline.spark.warm_up`` makes it (half a minute, once); sessions use it where it is.
"""

from __future__ import annotations

import functools
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyspark

from highwater_pipeline.java import Java, find_java

_TRAIN: Final = """
import sys
from pathlib import Path
from pyspark import SparkContext
from highwater_pipeline.spark import open_session, spark_checker
archive, run = sys.argv[1:]
with open_session("local[2]", [f"-XX:ArchiveClassesAtExit={archive}"]) as session:
    spark_checker(session, [run])
gateway = SparkContext._gateway
gateway.shutdown()
gateway.proc.stdin.close()
sys.exit(gateway.proc.wait())
"""
_HISTORY: Final = (
    '{"index":0,"time":0,"process":0,"type":"invoke","f":"send","value":[{"op":"send","key":"t-0","value":1}]}\n'
    '{"index":1,"time":1,"process":0,"type":"ok","f":"send","value":[{"op":"send","key":"t-0","offset":0,"value":1}]}\n'
)


def archive_path(java: Java) -> Path:
    """Where the archive for this Java and this Spark is, or would be."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache.absolute() / "highwater" / f"spark-{pyspark.__version__}-java-{java.full_version}.jsa"


def jvm_options(java: Java) -> list[str]:
    """Return the JVM options that use the archive; none if there is no archive of this user's own."""
    archive = _own(archive_path(java))
    return [] if archive is None else ["-Xshare:auto", f"-XX:SharedArchiveFile={archive}"]


@functools.cache
def _own(path: Path) -> Path | None:
    """A name for the file that stays its own as long as this process lives; None: there is none, or others may have
    written it."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    found = os.fstat(fd)
    if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022:
        return Path(f"/proc/{os.getpid()}/fd/{fd}")
    os.close(fd)
    return None


def make_archive(timeout_s: float = 600) -> Path:
    """Make the archive again, by judging a history of two lines, and return where it is.

    Raises :class:`~highwater_pipeline.java.JavaNotFoundError`; ``subprocess.SubprocessError`` where Spark does not run.
    """
    path = archive_path(find_java())
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as directory:
        unfinished, history = Path(directory) / "classes.jsa", Path(directory) / "operations.jsonl"
        history.write_text(_HISTORY, encoding="ascii")
        command: Sequence[str] = [sys.executable, "-P", "-c", _TRAIN, str(unfinished), str(history)]
        subprocess.run(command, check=True, timeout=timeout_s, stdout=sys.stderr, cwd="/")  # noqa: S603 - our own interpreter
        unfinished.rename(path)  # whole or not at all: another session may be looking
    return path
