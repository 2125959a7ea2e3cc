"""A control socket: one JSON object a line, answered in order; and the methods about rules, which every server has.

A rule may be added under a ``key`` of the caller's, so that it can be taken back by one who never heard its id; adding
under a key that has a rule already changes nothing and answers with that rule's id.

The socket is for the harness. A process that can open it (mode 0600) may do all that.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from highwater_runtime.host.logs import NodeLog
from highwater_runtime.host.net.interference import Interference, ServerRule
from highwater_runtime.host.unix_path import short_path

_MAX_LINE_BYTES: Final = 1024 * 1024
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode

Method = Callable[[dict[str, Any]], Any]
"""Gets the parameters; returns the result, as JSON can hold it."""


class ControlSocket:
    """Serves ``methods``, by name."""

    def __init__(self, log: NodeLog, methods: Mapping[str, Method]) -> None:
        self._log = log
        self._methods = methods
        self._path: Path | None = None
        self._server: asyncio.Server | None = None

    async def start(self, path: Path) -> None:
        """Listen at ``path``, in the place of whatever a dead process left there. Raises ``OSError``."""
        path.unlink(missing_ok=True)
        before = os.umask(0o177)
        try:
            with short_path(path) as name:
                self._server = await asyncio.start_unix_server(self._serve, name, limit=_MAX_LINE_BYTES)
        finally:
            os.umask(before)
        self._path = path

    def close(self) -> None:
        """Stop listening and take the socket away."""
        if self._server is not None:
            self._server.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write(self.answer(line) + b"\n")
                await writer.drain()
        except (OSError, ValueError) as error:
            self._log.warning("control connection closed", why=str(error))
        except asyncio.CancelledError:
            return  # the loop closes; the stream's own callback cannot bear a cancelled task (Python 3.11)
        finally:
            writer.close()

    def answer(self, line: bytes) -> bytes:
        """Carry out one request; returns the answer, without line end."""
        number: Any = None
        try:
            request = _decode(line)
            number = request.get("id")
            method = self._methods.get(request["method"])
            if method is None:
                return _encode({"id": number, "error": f"unknown method {request['method']!r}"})
            return _encode({"id": number, "result": method(request.get("params") or {})})
        except KeyError as error:
            return _encode({"id": number, "error": f"missing or unknown: {error}"})
        except (ValueError, TypeError, AttributeError, OSError) as error:
            return _encode({"id": number, "error": str(error)})


class RuleMethods:
    """The methods about the rules of one server."""

    def __init__(self, interference: Interference) -> None:
        self._interference = interference
        self._keys: dict[str, int] = {}

    def matches(self, params: dict[str, Any]) -> int:
        """How many messages a rule has acted upon, by its id or key."""
        return self._interference.matches(params["rule"] if "rule" in params else self._keys[params["key"]])

    def remove(self, params: dict[str, Any]) -> None:
        """Let go what it holds, in order."""
        self._interference.remove(params["rule"])

    def add(self, params: dict[str, Any]) -> int:
        key = params.get("key")
        if key is not None and self.has(key):
            return self._keys[key]
        number = self._interference.add(
            ServerRule(
                action=params["action"],
                rpc=params["rpc"],
                sources=frozenset(params.get("sources") or ()),
                destinations=frozenset(params.get("destinations") or ()),
                part=params.get("part") or "request",
                delay_ns=int(params.get("delayNs") or 0),
            )
        )
        if key is not None:
            self._keys[str(key)] = number
        return number

    def drop(self, params: dict[str, Any]) -> int | None:
        """Returns how many messages it has acted upon; None: there was none of that key."""
        if not self.has(params["key"]):
            return None
        number = self._keys[params["key"]]
        self._interference.remove(number)
        return self._interference.matches(number)

    def has(self, key: str) -> bool:
        """As the server has it: what was asked for is no evidence."""
        return self._keys.get(key) in self._interference.rules
