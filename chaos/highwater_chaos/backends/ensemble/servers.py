"""How a real ZooKeeper server is configured and started: Apache ZooKeeper as Debian packages it.

The servers of an ensemble know each other by their number (``myid``), 1 and up. An ensemble of one has a quorum, too
(``standaloneEnabled=false``), since the harness observes its leader. A session lasts 2 to 20 ticks, so the tick is a
part of the brokers' session time-out.

ZooKeeper syncs its log, but not the snapshots that it takes at its start. A young server that loses power has a log and
no snapshot, and by default refuses to start ("Something is broken!", ZOOKEEPER-3056). The log is whole, since nothing
purges it here; so the server may trust it (``snapshot.trust.empty``).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Final, NamedTuple

from highwater_pipeline.java import Java, JavaNotFoundError, find_java

CLIENT_PORT: Final = 2181
QUORUM_PORT: Final = 2888
ELECTION_PORT: Final = 3888
MYID: Final = "myid"
JARS: Final = tuple(Path("/usr/share/java") / name for name in ("zookeeper.jar", "slf4j-simple.jar"))
"""Of Debian's packages ``zookeeper`` and ``libslf4j-java``; the former's manifest names what else it needs."""
TICKS_OF_A_SESSION: Final = 9
SYNC_TICKS: Final = 5
_INIT_TICKS: Final = 20
"""Servers of a busy machine take long to load and to find each other."""
JVM_OPTIONS: Final = (
    "-Xmx128m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dzookeeper.preAllocSize=64",
    "-Dzookeeper.commitLogCount=10000",
    "-Dzookeeper.jmx.log4j.disable=true",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSZ",
)
"""``preAllocSize`` (KiB): a transaction log takes what is written, not 64 MiB at once. ``commitLogCount``: how many
transactions a leader remembers for those who were away."""
_LEAST_SILENCE_S: Final = 3.0
MAIN_CLASS: Final = "org.apache.zookeeper.server.quorum.QuorumPeerMain"


class Member(NamedTuple):
    """One server: where it is reached, by its clients and by its peers."""

    host: str
    client_port: int = CLIENT_PORT
    quorum_port: int = QUORUM_PORT
    election_port: int = ELECTION_PORT


def tick_ms(session_timeout_ms: int) -> int:
    """``tickTime`` for sessions of brokers that last so long."""
    return max(1, session_timeout_ms // TICKS_OF_A_SESSION)


def silence_s(session_timeout_ms: int) -> float:
    """How long a leader may say nothing to those that follow it, in seconds; it is longer on a busy machine than the
    servers would have it."""
    return max(_LEAST_SILENCE_S, SYNC_TICKS * tick_ms(session_timeout_ms) / 1000)


def server_config(
    members: Mapping[int, Member], own: int, *, data: str | PurePath, session_timeout_ms: int, bind: str
) -> str:
    """The text of ``zoo.cfg`` for the server number ``own``; its clients reach it at the address ``bind``."""
    settings: dict[str, object] = {
        "tickTime": tick_ms(session_timeout_ms),
        "initLimit": _INIT_TICKS,
        "syncLimit": SYNC_TICKS,
        "dataDir": data,
        "clientPort": members[own].client_port,
        "clientPortAddress": bind,
        "standaloneEnabled": "false",
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "srvr,ruok",
        "maxClientCnxns": 0,
        "snapshot.trust.empty": "true",
    }
    for number, member in sorted(members.items()):
        settings[f"server.{number}"] = f"{member.host}:{member.quorum_port}:{member.election_port}"
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def command(config: Path) -> tuple[str, ...]:
    """The command line of a server on this machine. Raises :class:`ZooKeeperUnavailableError`."""
    java = _java()
    return (
        *(str(java.home / "bin" / "java"), *JVM_OPTIONS),
        *("-cp", ":".join(map(str, JARS)), MAIN_CLASS, str(config)),
    )


class ZooKeeperUnavailableError(RuntimeError):
    """ZooKeeper cannot be run on this machine; the message says what is missing and what to do."""


def available() -> str | None:
    """Why ZooKeeper's servers cannot run on this machine; None: they can."""
    try:
        _java()
    except ZooKeeperUnavailableError as error:
        return str(error)
    return None


def _java() -> Java:
    if missing := [str(jar) for jar in JARS if not jar.exists()]:
        raise ZooKeeperUnavailableError(
            f"mode zookeeper needs ZooKeeper's servers, and {' and '.join(missing)} is not there:"
            " as root, apt-get install zookeeper libslf4j-java (scripts/system-packages does it)"
        )
    try:
        return find_java(who="ZooKeeper")
    except JavaNotFoundError as error:
        raise ZooKeeperUnavailableError(str(error)) from error
