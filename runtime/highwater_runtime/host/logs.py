"""The log of a node, in lines of :mod:`highwater_runtime.log_lines`."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from typing import Any, Final, Literal, TextIO

from highwater_runtime.log_lines import JsonLines, TextLines, log_what_is_not_caught

LogFormat = Literal["text", "json"]

_NAME: Final = "highwater.node"
WARNING_BURST: Final = 50
WARNINGS_PER_SECOND: Final = 10
"""About connections of clients."""


class NodeLog:
    """The log of one node: ``node`` stands in every line."""

    __slots__ = ("_logger", "_node")

    def __init__(self, node: str) -> None:
        self._node = node
        self._logger = logging.getLogger(_NAME)

    def debug(self, event: str, **fields: Any) -> None:
        """Log details that help only in a search for a fault."""
        self._write(logging.DEBUG, event, fields)

    def info(self, event: str, **fields: Any) -> None:
        """A step of the node's life."""
        self._write(logging.INFO, event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        """Something that a peer or an operator did wrong, and that cost nothing else."""
        self._write(logging.WARNING, event, fields)

    def error(self, event: str, *, exception: BaseException | None = None, **fields: Any) -> None:
        """Something that ends the node or is a bug, with the traceback of ``exception``."""
        self._write(logging.ERROR, event, fields, exception)

    def _write(self, level: int, event: str, fields: dict[str, Any], exception: BaseException | None = None) -> None:
        if self._logger.isEnabledFor(level):
            self._logger.log(level, event, exc_info=exception, extra={"node": self._node, "fields": fields})


class LimitedLog:
    """Warnings that peers can cause as often as they like: a burst of them, then so many in a second.

    A further line says how many were left out.
    """

    __slots__ = ("_allowed", "_left_out", "_log", "_loop", "_timer")

    def __init__(self, log: NodeLog, loop: asyncio.AbstractEventLoop) -> None:
        self._log = log
        self._loop = loop
        self._allowed = WARNING_BURST
        self._left_out = 0
        self._timer: asyncio.TimerHandle | None = None

    def warning(self, event: str, **fields: Any) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(1.0, self._next_second)
        if self._allowed:
            self._allowed -= 1
            self._log.warning(event, **fields)
        else:
            self._left_out += 1

    def _next_second(self) -> None:
        self._timer = None
        if self._left_out:
            self._log.warning("warnings left out", count=self._left_out)
            self._left_out = 0
        self._allowed = min(WARNING_BURST, self._allowed + WARNINGS_PER_SECOND)
        if self._allowed < WARNING_BURST:
            self._timer = self._loop.call_later(1.0, self._next_second)


def configure(
    log_format: LogFormat, *, stream: TextIO | None = None, level: str = "INFO", component: str = "node"
) -> None:
    """Send the logs of all nodes of this process to ``stream`` (standard error), and what asyncio and kazoo warn of.

    On Kubernetes ``POD_NAMESPACE`` and ``POD_NAME`` are in each line, as JSON.
    """
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(JsonLines(component, **_pod()) if log_format == "json" else TextLines())
    if log_format == "json":
        log_what_is_not_caught()
    for name in (_NAME, "highwater", "asyncio", "kazoo"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        # Below a warning, kazoo logs every request, and passwords.
        logger.setLevel(level if name != "kazoo" or level == "ERROR" else "WARNING")
        logger.propagate = False


def _pod() -> dict[str, str]:
    namespace, name = os.environ.get("POD_NAMESPACE"), os.environ.get("POD_NAME")
    return {"namespace": namespace, "kind": "Pod", "name": name} if namespace and name else {}
