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
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from highwater_chaos.backends.local.program import Role

MAX_TEXT: Final = 1 << 16
"""A request that changes the ISRs of a few hundred partitions is that long."""
MAX_BYTES: Final = 64 * 1024 * 1024
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


def events_file(log: Path) -> Path:
    """Where a node that logs to ``log`` writes for the harness."""
    return log.with_name(f"{log.name}.events")


def log4j2_properties(log: Path, role: Role | None) -> str:
    """The configuration of Log4j 2 for a node that logs to ``log``. ``role`` None: nothing is for the harness."""
    levels: Mapping[str, str] = {
        **_QUIET,
        **({} if role is None else _OF_CONTROLLERS if role == "controller" else _OF_BROKERS),
    }
    lines = [
        "status = WARN",
        "shutdownHook = disable",  # a node that is asked to stop logs until its end
        "appender.log.type = File",
        "appender.log.name = log",
        f"appender.log.fileName = {log}",
        "appender.log.layout.type = PatternLayout",
        "appender.log.layout.pattern = %d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %p %c - %m%n",
        "rootLogger.level = INFO",
        "rootLogger.appenderRef.log.ref = log",
        "rootLogger.appenderRef.log.level = INFO",
    ]
    if role is not None:
        events = events_file(log)
        lines += [
            "appender.events.type = RollingFile",
            "appender.events.name = events",
            f"appender.events.fileName = {events}",
            f"appender.events.filePattern = {events}.%i",
            "appender.events.layout.type = PatternLayout",
            "appender.events.layout.alwaysWriteExceptions = false",
            f"appender.events.layout.pattern = {_LINE}",
            "appender.events.policies.type = SizeBasedTriggeringPolicy",
            f"appender.events.policies.size = {MAX_BYTES} B",
            "appender.events.strategy.type = DefaultRolloverStrategy",
            "appender.events.strategy.max = 1",
            "rootLogger.appenderRef.events.ref = events",
        ]
    for number, (logger, level) in enumerate(levels.items()):
        lines += [f"logger.{number}.name = {logger}", f"logger.{number}.level = {level}"]
    return "".join(line.replace("\\", "\\\\") + "\n" for line in lines)
