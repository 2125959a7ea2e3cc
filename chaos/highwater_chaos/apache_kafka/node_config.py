"""The properties and the JVM of one node of Apache Kafka.

An experiment's ``cluster.config`` goes in as it is, under Kafka's names, and wins over what is set here for small
clusters on one machine. What says who and where a node is cannot be set otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from highwater_runtime.ports import Endpoint

PLACES: Final = (
    "process.roles",
    "node.id",
    "controller.quorum.voters",
    "controller.listener.names",
    "listeners",
    "advertised.listeners",
    "listener.security.protocol.map",
    "inter.broker.listener.name",
    "log.dir",
    "log.dirs",
    "metadata.log.dir",
    "broker.id",
    "zookeeper.connect",
    "port",
    "host.name",
    "advertised.port",
    "advertised.host.name",
)
"""What the layout of the run says, and an experiment must not."""

CONTROLLERS_ADVERTISE: Final = (3, 9)
"""From here on a controller may have advertised listeners, and names them to the others (KIP-853)."""
_MOST_REPLICAS: Final = 3
_QUICK_TO_START: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""The client compiler alone, the serial collector."""
_OF_EVERY_JVM: Final = ("-XX:-UsePerfData", "-XX:+ExitOnOutOfMemoryError", "-Djava.awt.headless=true")


def zookeeper_mode_properties(
    *,
    node_id: int,
    bind: Endpoint,
    advertised: Endpoint,
    servers: Sequence[Endpoint],
    data: Path,
    brokers: int,
    config: Mapping[str, str | int | bool],
) -> dict[str, str | int | bool]:
    """``server.properties`` of a broker of ZooKeeper mode. ``servers``: where ZooKeeper's clients reach it."""
    return {
        **_small(brokers),
        # Its default is the session time-out: a broker that is slow to start would give up, and end.
        "zookeeper.connection.timeout.ms": 60_000,
        **config,
        "broker.id": node_id,
        "zookeeper.connect": ",".join(map(str, servers)),
        "listeners": f"PLAINTEXT://{bind}",
        "advertised.listeners": f"PLAINTEXT://{advertised}",
        "log.dirs": str(data),
    }


def _small(brokers: int) -> dict[str, str | int | bool]:
    """What suits so few brokers on one machine."""
    replicas = min(_MOST_REPLICAS, brokers)
    return {
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": min(2, replicas),
        "group.initial.rebalance.delay.ms": 0,
        # 128 MB by default, taken from the heap as soon as the node starts.
        "log.cleaner.dedupe.buffer.size": 2 * 1024 * 1024,
    }


def node_properties(
    *,
    role: Literal["broker", "controller"],
    node_id: int,
    bind: Endpoint,
    advertised: Endpoint,
    voters: Sequence[tuple[int, Endpoint]],
    data: Path,
    brokers: int,
    config: Mapping[str, str | int | bool],
    names_controllers: bool = False,
) -> dict[str, str | int | bool]:
    """``server.properties`` of a node of KRaft mode. ``voters``: id and address of every controller; ``brokers``: how
    many; ``names_controllers``: whether controllers of this release tell each other where they are."""
    replicas = min(_MOST_REPLICAS, brokers)
    properties: dict[str, str | int | bool] = {
        **_small(brokers),
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": min(2, replicas),
        **config,
        "process.roles": role,
        "node.id": node_id,
        "controller.quorum.voters": ",".join(f"{number}@{endpoint}" for number, endpoint in voters),
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "listeners": f"{'PLAINTEXT' if role == 'broker' else 'CONTROLLER'}://{bind}",
        "log.dirs": str(data),
    }
    if role == "controller" and names_controllers and advertised != bind:
        properties["advertised.listeners"] = f"CONTROLLER://{advertised}"
    if role == "broker":
        properties["advertised.listeners"] = f"PLAINTEXT://{advertised}"
        properties["inter.broker.listener.name"] = "PLAINTEXT"
    return properties


def misplaced(config: Mapping[str, object], switches: Iterable[str], at: str = "spec.cluster") -> list[str]:
    """What a cluster sets and must not, with the reason; ``at``: where it is in its file."""
    problems = [
        f"{at}.config.{name} is set by the place where the node runs: leave it out" for name in PLACES if name in config
    ]
    if names := ", ".join(sorted(switches)):
        problems.append(
            f"apache-kafka has none of the switches of our own runtime: leave {at}.switches out; found {names}"
        )
    return problems


def log4j_properties(log_file: Path) -> str:
    """The configuration of Log4j 1, with the lines that :func:`jvm_options` has from later releases."""
    return (
        "log4j.rootLogger=INFO, file\n"
        "log4j.appender.file=org.apache.log4j.FileAppender\n"
        f"log4j.appender.file.File={log_file}\n"
        "log4j.appender.file.layout=org.apache.log4j.PatternLayout\n"
        "log4j.appender.file.layout.ConversionPattern=%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %p %c - %m%n\n"
        "log4j.logger.kafka.server.KafkaConfig=WARN\n"
    )


def jvm_options(log_file: Path, *, heap_mb: int = 256, compile_fully: bool = False) -> tuple[str, ...]:
    """Options of a node's JVM, which logs to ``log_file``.

    By default small and quick to start, so that six fit on a laptop. ``compile_fully``: as Kafka's own scripts run it,
    for measuring.
    """
    fully = ("-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35")
    return (
        f"-Xms{min(64, heap_mb)}m",
        f"-Xmx{heap_mb}m",
        *(fully if compile_fully else _QUICK_TO_START),
        *_OF_EVERY_JVM,
        # A failing disk under a mapped index kills the JVM; what it has to say of that belongs to the run.
        f"-XX:ErrorFile={log_file}.crash",
        # Native libraries are unpacked there; a JVM that is killed leaves them behind.
        f"-Djava.io.tmpdir={log_file.parent}",
    )


def jvm_options_of_pod() -> tuple[str, ...]:
    """Options of a node's JVM in a container: its heap follows from the container's limit of memory."""
    return (
        "-XX:MaxRAMPercentage=40",  # beside it: classes, code, buffers, threads, and the process that watches it
        *_QUICK_TO_START,
        *_OF_EVERY_JVM,
        "-XX:+ErrorFileToStderr",
        # A pod that comes back has another address.
        "-Dsun.net.inetaddr.ttl=1",
        "-Dsun.net.inetaddr.negative.ttl=0",
    )
