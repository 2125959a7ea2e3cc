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

The socket itself, and the methods about rules: :mod:`.control_socket`.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from time import monotonic_ns
from typing import Any, Final

from highwater_runtime.host.metrics import Sample
from highwater_runtime.host.node import HostedNode
from highwater_runtime.host.process.control_socket import ControlSocket, Method, RuleMethods
from highwater_runtime.ports.coordination import SessionKey

_PROBE: Final = ".highwater-flush-probe"


class ControlServer(ControlSocket):
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
        rules = RuleMethods(node.server.interference)
        methods: dict[str, Method] = {
            "ping": lambda _: {"node": node.name, "incarnation": node.incarnation},
            "addRule": rules.add,
            "ruleMatches": rules.matches,
            "removeRule": rules.remove,
            "dropRule": rules.drop,
            "hasRule": lambda params: rules.has(params["key"]),
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
        super().__init__(node.log, methods)
        self._flush_begun_ns: int | None = None
        self._flush_ended: str | None = None

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

        ``{"waitingNs": n, "stalled": true}`` while it has not completed for so long, and whether ``diskStall`` is in
        force: a disk may be slow without it. Once ``{"ended": "ok"}`` or ``{"ended": "EIO"}`` (any errno), after which
        the next call begins another. A disk on which none can begin answers so at once.
        """
        disk = self._node.disk
        if disk is None:
            raise ValueError("this node has no disk")
        if self._flush_ended is not None:
            ended, self._flush_ended, self._flush_begun_ns = self._flush_ended, None, None
            return {"ended": ended}
        if self._flush_begun_ns is not None:
            return {"waitingNs": monotonic_ns() - self._flush_begun_ns, "stalled": disk.is_stalled}
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
        return {"waitingNs": 0, "stalled": disk.is_stalled}

    def _flushed(self, failure: OSError | None) -> None:
        self._flush_ended = "ok" if failure is None else _name_of(failure)


def _name_of(failure: OSError) -> str:
    return errno.errorcode.get(failure.errno or 0, str(failure))
