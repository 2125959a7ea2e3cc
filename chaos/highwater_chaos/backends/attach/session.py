"""Questions to servers of a cluster, one at a time, each answered within a bound: for what is done outside of a run."""

from __future__ import annotations

import concurrent.futures
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from highwater_chaos.backends.local.client_loop import ClientLoop, ClientLoopError
from highwater_chaos.base.user_error import UserError
from highwater_runtime.config import ConfigError
from highwater_runtime.host import HostedNode
from highwater_runtime.host.security.client_config import ClientConfig, endpoints, read_client_config
from highwater_runtime.ports import SECOND, ApiMessage, ClientCore, Endpoint, Ports, RpcFailure
from highwater_runtime.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from highwater_runtime.wire.messages.metadata_response import MetadataResponse

CLIENT_ID: Final = "highwater-attach"
METADATA_VERSION: Final = 12
_ASK_S: Final = 5.0
_LOOP_S: Final = 2.0
"""More than the answer's own time, for the thread."""


class UnreachableError(UserError):
    """No server of the cluster answers, or lets the client in. The message says why, for each that was asked."""


@dataclass(frozen=True, slots=True)
class Access:
    """How to get into a cluster. ``file``: the client properties, absolute; None: without any protection."""

    bootstrap: tuple[Endpoint, ...]
    file: Path | None = None

    @classmethod
    def of(cls, bootstrap: str | None, file: Path | None) -> Access:
        """From the command line. The file's ``bootstrap.servers`` count if no others are given.

        Raises:
            UserError: neither names a server, or the file is wrong.
        """
        found = ClientConfig()
        if file is not None:
            file = file.absolute()
            found = _read(file)
        try:
            servers = found.bootstrap if bootstrap is None else endpoints(bootstrap)
        except ValueError as error:
            raise UserError(f"--bootstrap: expected host:port, several separated by commas; {error}") from error
        if not servers:
            raise UserError(
                "--backend attach: which cluster? Give --bootstrap HOST:PORT, or bootstrap.servers in --client-config"
            )
        return cls(servers, file)

    def config(self) -> ClientConfig:
        """The client properties. Raises ``UserError``."""
        return ClientConfig() if self.file is None else _read(self.file)


def _read(file: Path) -> ClientConfig:
    try:
        return read_client_config(file)
    except ConfigError as error:
        raise UserError(f"--client-config: {error}") from error


class Session:
    """A client that asks what it is told to. Close it."""

    def __init__(self, access: Access) -> None:
        self.access = access
        config = access.config()
        self._refused: dict[Endpoint, str] = {}
        self._core: _Asking | None = None
        self._loop = ClientLoop(lambda: None)
        self._node = self._loop.wait(self._host(config))

    async def _host(self, config: ClientConfig) -> HostedNode:
        def make(ports: Ports) -> _Asking:
            self._core = _Asking(ports)
            return self._core

        node = HostedNode(CLIENT_ID, make, security=config.security, negotiates=True)
        node.network.refused = self._refused.__setitem__
        await node.start()
        return node

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call(self._node.kill)
        self._loop.close()

    def ask(self, to: Endpoint, request: ApiMessage, version: int, seconds: float = _ASK_S) -> Any:
        """The response of one server.

        Raises:
            UnreachableError: there is none.
        """
        answer: concurrent.futures.Future[Any] = concurrent.futures.Future()
        core = self._core
        assert core is not None, "made when the node was started"
        self._refused.pop(to, None)
        self._loop.post(lambda: core.ask(to, request, version, seconds, answer))
        try:
            found = answer.result(seconds + _LOOP_S)
        except concurrent.futures.TimeoutError:
            found = RpcFailure.TIMED_OUT
        if isinstance(found, RpcFailure):
            raise UnreachableError(f"{to}: {self._refused.get(to, f'{request.NAME}: {found.value}')}")
        return found

    def metadata(self, topics: list[str], seconds: float = _ASK_S) -> MetadataResponse:
        """The answer of the first bootstrap server that gives one.

        Raises:
            UnreachableError: none does.
        """
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in topics], allow_auto_topic_creation=False
        )
        whys: list[str] = []
        until = time.monotonic() + 4 * seconds
        for server in self.access.bootstrap:
            try:
                response: MetadataResponse = self.ask(server, request, METADATA_VERSION, seconds)
            except UnreachableError as error:
                whys.append(str(error))
                if time.monotonic() > until:
                    break
            else:
                return response
        raise UnreachableError("; ".join(whys))


class _Asking(ClientCore):
    """A client core."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports

    def ask(
        self,
        to: Endpoint,
        request: ApiMessage,
        version: int,
        seconds: float,
        answer: concurrent.futures.Future[Any],
    ) -> None:
        timeout_ns = int(seconds * SECOND)
        self._ports.network.send(to, request, version, answer.set_result, timeout_ns=timeout_ns)


__all__ = ["Access", "ClientLoopError", "Session", "UnreachableError"]
