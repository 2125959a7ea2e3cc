"""How the real server is started: Debian's packages ``libzookeeper-java`` and ``default-jre-headless``."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

JARS: Final = ("/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-simple.jar")
_JAVA: Final = "/usr/lib/jvm/default-java/bin/java"
"""Where the package has it; ``java`` on the path is made by a script that not every base image has run."""
_MAIN: Final = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_OPTIONS: Final = (
    "-XX:MaxRAMPercentage=40",  # of the container's limit, in which the launcher lives too
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-XX:+ExitOnOutOfMemoryError",
    # A pod that comes back has another address.
    "-Dsun.net.inetaddr.ttl=1",
    "-Dsun.net.inetaddr.negative.ttl=0",
    "-Dzookeeper.preAllocSize=64",
    "-Dzookeeper.commitLogCount=10000",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSS",
)


def missing() -> list[str]:
    """Files that the server needs and that are not there."""
    return [path for path in (*JARS, java()) if not Path(path).exists()]


def java() -> str:
    """The Java to start it with."""
    return _JAVA if Path(_JAVA).exists() else shutil.which("java", path="/usr/local/bin:/usr/bin:/bin") or _JAVA


def command(configuration: Path) -> Sequence[str]:
    """The server's process."""
    return (java(), *_OPTIONS, "-cp", ":".join(JARS), _MAIN, str(configuration))
