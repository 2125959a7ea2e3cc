"""The harness's control socket: one JSON object a line, answered in order.

``{"id":1,"method":"ping","params":{}}`` is answered by ``{"id":1,"result":…}`` or ``{"id":1,"error":"…"}``. Methods:

=============== ========================================================= ==========================================
``ping``                                                                  ``{"node":…, "incarnation":…}``
``addRule``     ``action``, ``rpc``, ``sources``, ``destinations``,       the rule's id; see :mod:`~..net.interference`
                ``part``, ``delayNs``; ``key``
``ruleMatches`` ``rule`` or ``key``                                       how many messages it has acted upon
``removeRule``  ``rule``                                                  lets go what is held, in order
``dropRule``    ``key``                                                   the same; nothing for a key without a rule
``hasRule``     ``key``                                                   whether the server applies the rule of that
                                                                          key, or still holds messages because of it
``session``                                                               ``{"id":…, "password":…}`` (hex) of a broker's
                                                                          ZooKeeper session; null: it has none
``metrics``                                                               ``[{"name":…, "labels":{…}, "value":…}]``
``clock``       ``offsetNs``, ``rate``                                    skews the node's clock
``clockError``                                                            ``{"offsetNs":…, "rate":…}`` as it is now
``diskStall``   ``on``                                                    holds fsyncs that must not block
``isStalled``                                                             whether it does
``diskProbe``                                                             flushes a file on the node's own disk, see
                                                                          :meth:`ControlServer.probe_disk`
=============== ========================================================= ==========================================

A rule may be added under a ``key`` of the caller's, so that it can be taken back by one who never heard its id; adding
under a key that has a rule already changes nothing and answers with that rule's id.

The socket is for the harness. A process that can open it (mode 0600) may do all that.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable
from pathlib import Path
from time import monotonic_ns
from typing import Any, Final

import msgspec

from highwater_runtime.host.metrics import Sample
from highwater_runtime.host.net.interference import ServerRule
from highwater_runtime.host.node import HostedNode
from highwater_runtime.host.unix_path import short_path
from highwater_runtime.ports.coordination import SessionKey

_MAX_LINE_BYTES: Final = 1024 * 1024
_PROBE: Final = ".highwater-flush-probe"
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode


class ControlServer:
    """Serves the control socket of one node; ``samples`` are its metrics and the host's, ``session`` is the key of its
    ZooKeeper session, if it has one."""

    def __init__(
        self,
        node: HostedNode,
        samples: Callable[[], list[Sample]],
        session: Callable[[], SessionKey | None] = lambda: None,
    ) -> None:
        self._node = node
        self._samples = samples
        self._path: Path | None = None
        self._server: asyncio.Server | None = None
        self._methods: dict[str, Callable[[dict[str, Any]], Any]] = {
            "ping": lambda _: {"node": node.name, "incarnation": node.incarnation},
            "addRule": self._add_rule,
            "ruleMatches": lambda params: node.server.interference.matches(
                params["rule"] if "rule" in params else self._keys[params["key"]]
            ),
            "removeRule": lambda params: node.server.interference.remove(params["rule"]),
            "dropRule": self._drop_rule,
            "hasRule": lambda params: self._has_rule(params["key"]),
            "session": lambda _: None if (key := session()) is None else {"id": key.id, "password": key.password.hex()},
            "metrics": lambda _: [
                {"name": name, "labels": dict(labels), "value": value} for name, labels, value in self._samples()
            ],
            "clock": lambda params: node.clock.set_skew(int(params["offsetNs"]), float(params["rate"])),
            "clockError": lambda _: {
                "offsetNs": node.clock.wall_error_ns(),
                "rate": node.clock.rate_ppm / 1_000_000,
            },
            "diskStall": self._stall_disk,
            "isStalled": lambda _: node.disk is not None and node.disk.is_stalled,
            "diskProbe": self.probe_disk,
        }
        self._keys: dict[str, int] = {}
        self._flush_begun_ns: int | None = None
        self._flush_ended: str | None = None

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
            self._node.log.warning("control connection closed", why=str(error))
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

    def _add_rule(self, params: dict[str, Any]) -> int:
        key = params.get("key")
        if key is not None and self._has_rule(key):
            return self._keys[key]
        number = self._node.server.interference.add(
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

    def _drop_rule(self, params: dict[str, Any]) -> int | None:
        """Returns how many messages it has acted upon; None: there was none of that key."""
        if not self._has_rule(params["key"]):
            return None
        number = self._keys[params["key"]]
        self._node.server.interference.remove(number)
        return self._node.server.interference.matches(number)

    def _has_rule(self, key: str) -> bool:
        """As the server has it: what was asked for is no evidence."""
        return self._keys.get(key) in self._node.server.interference.rules

    def _stall_disk(self, params: dict[str, Any]) -> None:
        disk = self._node.disk
        if disk is None:
            raise ValueError("this node has no disk")
        on = params["on"]
        if not isinstance(on, bool):
            raise ValueError(f"on must be true or false, not {on!r}")
        self._node.run(lambda: disk.stall(on))

    def probe_disk(self, _: dict[str, Any]) -> dict[str, Any]:
        """Begin a flush where none is going on, or say how the last one does.

        ``{"waitingNs": n}`` while it has not completed for so long; once ``{"ended": "ok"}`` or ``{"ended": "EIO"}``
        (any errno), after which the next call begins another. A disk on which none can begin answers so at once.
        """
        disk = self._node.disk
        if disk is None:
            raise ValueError("this node has no disk")
        if self._flush_ended is not None:
            ended, self._flush_ended, self._flush_begun_ns = self._flush_ended, None, None
            return {"ended": ended}
        if self._flush_begun_ns is not None:
            return {"waitingNs": monotonic_ns() - self._flush_begun_ns}
        try:
            file = disk.open(_PROBE, create=True)
            try:
                file.pwrite(0, b"probe")
                self._flush_begun_ns = monotonic_ns()
                file.fsync_later(self._flushed)
            finally:
                file.close()
                disk.unlink(_PROBE)
        except OSError as failure:
            self._flush_begun_ns = None
            return {"ended": _name_of(failure)}
        return {"waitingNs": 0}

    def _flushed(self, failure: OSError | None) -> None:
        self._flush_ended = "ok" if failure is None else _name_of(failure)


def _name_of(failure: OSError) -> str:
    return errno.errorcode.get(failure.errno or 0, str(failure))
