"""Agents through the API server, for a caller outside the cluster: TLS over a port-forward to each one's pod.

Not by the API server's proxy (``pods/proxy``): that keeps the ``Authorization`` header for itself, and an agent answers
no caller that does not show its token.
"""

from __future__ import annotations

import os
import socket
from base64 import b64decode
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any, Final, cast

from kubernetes.stream.ws_client import PortForward

from highwater_chaos.backends.kubernetes.agent_trust import SERVER_NAME, Trust
from highwater_chaos.backends.kubernetes.agents import AgentClient, AgentSettings
from highwater_chaos.kube.client import Kube
from highwater_chaos.kube.kinds import CONFIG_MAP, SECRET, Json

_SECRET: Final = "highwater-agent-token"  # noqa: S105 - a Secret's name
_KEY: Final = "token"
_TLS_SECRET: Final = "highwater-agent-tls"  # noqa: S105 - a Secret's name
_TLS: Final = "tls"
_PATIENCE: Final = 3.0
_LAST_BYTES_WITHIN: Final = 1.0


class TokenError(Exception):
    """There is no token that agents would take, or nothing to know them by; the message says where it should be."""


class _Tunnel(HTTPConnection):
    """HTTPS over a port-forward that is opened when it is needed."""

    def __init__(self, opened: Callable[[], PortForward], port: int, trust: Trust, timeout: float) -> None:
        super().__init__("agent", port, timeout=timeout)
        self._opened = opened
        self._trust = trust
        self._forward: Any = None

    def connect(self) -> None:
        """See ``HTTPConnection``. Raises ``OSError``; if the node reported why, with its words."""
        self._forward = self._opened()
        made = self._forward.socket(self.port)
        made.settimeout(self.timeout)
        end = socket.socket(fileno=os.dup(made.fileno()))
        try:
            self.sock = self._trust.secured(cast("socket.socket", made))
        except OSError as error:
            _drain(end)
            reason = self._forward.error(self.port)
            raise (ConnectionError(reason) if reason else error) from error
        finally:
            end.close()

    def getresponse(self) -> HTTPResponse:
        """Return the response. If the node reported why the connection failed, the ConnectionError has its words."""
        try:
            return super().getresponse()
        except (OSError, HTTPException) as error:
            reason = None if self._forward is None else self._forward.error(self.port)
            raise ConnectionError(reason or str(error) or type(error).__name__) from error

    def close(self) -> None:
        super().close()
        if self._forward is not None:
            self._forward.close()


def _drain(end: socket.socket) -> None:
    """A forward's thread fails, with a traceback, if its other end goes while something is unread in it."""
    with suppress(OSError):
        end.settimeout(_LAST_BYTES_WITHIN)
        end.shutdown(socket.SHUT_WR)
        while end.recv(65536):
            pass


def secret_of(pods: list[Json]) -> str:
    """Name of the Secret with the token, by what the agents' pods mount."""
    return _mounted(pods, _KEY) or _SECRET


def trust_of(pods: list[Json]) -> str:
    """Name of the ConfigMap that says by what agents are known: that of the Secret with their certificate."""
    return _mounted(pods, _TLS) or _TLS_SECRET


def _mounted(pods: list[Json], name: str) -> str | None:
    for pod in pods:
        for volume in (pod.get("spec") or {}).get("volumes") or []:
            if volume["name"] == name and volume.get("secret"):
                return str(volume["secret"]["secretName"])
    return None


def _trust(api: Kube, namespace: str, name: str) -> Trust:
    published = (api.get(CONFIG_MAP, namespace, name) or {}).get("data") or {}
    if not published.get("ca.crt"):
        raise TokenError(
            f"ConfigMap {namespace}/{name} with the agents' authority in 'ca.crt': there is none; the operator makes it"
        )
    return Trust(published["ca.crt"], published.get("server-name") or SERVER_NAME)


def tunnelled(api: Kube, settings: AgentSettings, pods: list[Json]) -> dict[str, AgentClient]:
    """Agents by the name of their node, of those pods that run. Raises ``TokenError``, ``KubeError``."""
    running = [
        pod
        for pod in pods
        if (pod.get("status") or {}).get("podIP")
        and (pod.get("spec") or {}).get("nodeName")
        and not pod["metadata"].get("deletionTimestamp")
    ]
    if not running:
        return {}
    secret = secret_of(running)
    found = api.get(SECRET, settings.namespace, secret) or {}
    token = b64decode((found.get("data") or {}).get(_KEY, "")).decode().strip()
    if not token:
        raise TokenError(f"Secret {settings.namespace}/{secret} with the agents' token in {_KEY!r}: there is none")
    trust = _trust(api, settings.namespace, trust_of(running))
    clients: dict[str, AgentClient] = {}
    for pod in running:
        name, port = pod["metadata"]["name"], settings.port_of(pod)
        through = partial(_Tunnel, partial(api.forward, settings.namespace, name, port), port, trust)
        clients[pod["spec"]["nodeName"]] = AgentClient(
            f"{settings.namespace}/{name}:{port}", token, trust, patience=_PATIENCE, through=through
        )
    return clients
