"""What a node of Apache Kafka logs, and how: Log4j 2 behind SLF4J, set up for each incarnation by a file.

Kafka logs all that it does to its replicas, most of it at the levels debug and trace. Log4j 2 writes that with its own
appenders, so no Java of ours runs in a node. One file is for people (``kafka.N.log``, INFO and above). The other
one is for the harness (``events.N.jsonl``): a JSON object a line with

* ``seq``: the number of the line in this process. A line that is missing shows.
* ``ns``: CLOCK_MONOTONIC when the line came about, which is one clock for all processes of a machine;
* ``wall``: ms of the wall clock; ``level``, ``logger``, ``thread``;
* ``text``: the message, at most :data:`MAX_TEXT` characters, with line ends and quotes escaped.

A line is written before the call that logs returns, so a killed process leaves at most one line that is not whole. The
file is replaced when it has grown to :data:`MAX_BYTES`, and one older file is kept: a node cannot fill the disk.

In a pod people read the standard output, and all incarnations append to one file, as our own nodes do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from highwater_chaos.apache_kafka.versions import Mode

OBSERVER: Final = "metadata-observer"
"""Client id of all that the harness's observers ask."""
MAX_TEXT: Final = 1 << 16
"""A request that changes the ISRs of a few hundred partitions is that long."""
MAX_BYTES: Final = 64 * 1024 * 1024
LINES_KNOWN: Final[dict[Mode, tuple[str, ...]]] = {
    "kraft": ("3.3.2", "3.4.1", "3.5.2", "3.6.2", "3.9.2", "4.0.2", "4.3.1", "4.4.0"),
    "zookeeper": (),
}
"""The releases whose lines tests read."""
_QUIET: Final = {
    # Each prints its whole configuration, a hundred lines at a time.
    "org.apache.kafka.common.config.AbstractConfig": "WARN",
    "kafka.server.KafkaConfig": "WARN",
    "kafka.utils.Log4jControllerRegistration$": "ERROR",
}
_OF_BROKERS: Final = {
    "kafka.cluster.Partition": "DEBUG",  # high watermarks, ISRs
    "kafka.log.Log": "TRACE",  # appends, until 2.8
    "kafka.log.UnifiedLog": "TRACE",
    "org.apache.kafka.storage.internals.log.UnifiedLog": "TRACE",  # since 4.0
    "state.change.logger": "TRACE",
    "kafka.server.AlterIsrManagerImpl": "DEBUG",
    "kafka.server.DefaultAlterIsrManager": "DEBUG",
    "kafka.server.DefaultAlterPartitionManager": "DEBUG",
    "org.apache.kafka.server.partition.DefaultAlterPartitionManager": "DEBUG",
}
_OF_CONTROLLERS: Final = {"kafka.request.logger": "DEBUG"}
"""All requests with their answers. A controller has few."""
_LINE: Final = (
    '{"seq":%sn,"ns":%nano,"wall":%d{UNIX_MILLIS},"level":"%p","logger":"%enc{%c}{JSON}",'
    '"thread":"%enc{%maxLen{%t}{100}}{JSON}","text":"%enc{%maxLen{%m}{' + str(MAX_TEXT) + '}}{JSON}"}%n'
)


def lines_known(release: str, mode: Mode) -> bool:
    """Return whether it is known what this release's brokers log of their replicas."""
    return release in LINES_KNOWN[mode]


def events_file(log: Path) -> Path:
    """Where a node that logs to ``log`` writes for the harness."""
    return log.with_name(f"{log.name}.events")


def log4j2_properties(log: Path, role: Literal["broker", "controller", "zookeeper"] | None) -> str:
    """The configuration of Log4j 2 for a node that logs to ``log``. ``role`` None: nothing is for the harness."""
    for_people = ("appender.log.type = File", f"appender.log.fileName = {log}")
    if role is None:
        return _rendered(for_people, (), _QUIET)
    events = events_file(log)
    for_harness = (
        "appender.events.type = RollingFile",
        f"appender.events.fileName = {events}",
        f"appender.events.filePattern = {events}.%i",
        "appender.events.policies.type = SizeBasedTriggeringPolicy",
        f"appender.events.policies.size = {MAX_BYTES} B",
        "appender.events.strategy.type = DefaultRolloverStrategy",
        "appender.events.strategy.max = 1",
    )
    return _rendered(for_people, for_harness, {**_QUIET, **_levels(role)})


def log4j2_properties_of_pod(events: Path, role: Literal["broker", "controller"], *, known: bool) -> str:
    """The same for a node in a pod: for people to the standard output, for the harness appended to ``events``.
    ``known``: whether it is known what this release logs of replicas; else that is left out."""
    for_harness = ("appender.events.type = File", f"appender.events.fileName = {events}")
    levels = {**_QUIET, **(_levels(role) if known else {})}
    return _rendered(("appender.log.type = Console",), for_harness, levels)


def _levels(role: str) -> Mapping[str, str]:
    return _OF_CONTROLLERS if role == "controller" else _OF_BROKERS


def _rendered(for_people: Sequence[str], for_harness: Sequence[str], levels: Mapping[str, str]) -> str:
    lines = [
        "status = WARN",
        "shutdownHook = disable",  # a node that is asked to stop logs until its end
        *for_people,
        "appender.log.name = log",
        "appender.log.layout.type = PatternLayout",
        "appender.log.layout.pattern = %d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %p %c - %m%n",
        "rootLogger.level = INFO",
        "rootLogger.appenderRef.log.ref = log",
        "rootLogger.appenderRef.log.level = INFO",
    ]
    if for_harness:
        lines += [
            *for_harness,
            "appender.events.name = events",
            "appender.events.layout.type = PatternLayout",
            "appender.events.layout.alwaysWriteExceptions = false",
            f"appender.events.layout.pattern = {_LINE}",
            "rootLogger.appenderRef.events.ref = events",
        ]
    for number, (logger, level) in enumerate(levels.items()):
        lines += [f"logger.{number}.name = {logger}", f"logger.{number}.level = {level}"]
    return "".join(line.replace("\\", "\\\\") + "\n" for line in lines)
