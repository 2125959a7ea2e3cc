"""Agents through the API server, for a caller outside the cluster: each connection is a port-forward to its pod.

Not by the API server's proxy (``pods/proxy``): that keeps the ``Authorization`` header for itself, and an agent answers
no caller that does not show its token.
"""

from __future__ import annotations

import socket
from base64 import b64decode
from collections.abc import Callable
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any, Final, cast

from kubernetes.stream.ws_client import PortForward

from highwater_chaos.backends.kubernetes.agents import AgentClient, AgentSettings
from highwater_chaos.kube.client import Kube
from highwater_chaos.kube.kinds import SECRET, Json

_SECRET: Final = "highwater-agent-token"  # noqa: S105 - a Secret's name
_KEY: Final = "token"
_PATIENCE: Final = 3.0


class TokenError(Exception):
    """There is no token that agents would take; the message says where it was looked for."""


class _Tunnel(HTTPConnection):
    """HTTP over a port-forward that is opened when it is needed."""

    def __init__(self, opened: Callable[[], PortForward], port: int, timeout: float) -> None:
        super().__init__("agent", port, timeout=timeout)
        self._opened = opened
        self._forward: Any = None

    def connect(self) -> None:
        """See ``HTTPConnection``. Raises ``ConnectionError``."""
        self._forward = self._opened()
        made = self._forward.socket(self.port)
        made.settimeout(self.timeout)
        self.sock = cast("socket.socket", made)

    def getresponse(self) -> HTTPResponse:
        """Return the response. If the node reported why the connection failed, the ConnectionError has its words."""
        try:
            return super().getresponse()
        except (OSError, HTTPException) as error:
            reason = None if self._forward is None else self._forward.error(self.port)
            raise ConnectionError(reason or str(error) or type(error).__name__) from error

    def close(self) -> None:
        """Both ends."""
        super().close()
        if self._forward is not None:
            self._forward.close()


def secret_of(pods: list[Json]) -> str:
    """Name of the Secret with the token, by what the agents' pods mount."""
    for pod in pods:
        for volume in (pod.get("spec") or {}).get("volumes") or []:
            if volume["name"] == _KEY and volume.get("secret"):
                return str(volume["secret"]["secretName"])
    return _SECRET


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
    clients: dict[str, AgentClient] = {}
    for pod in running:
        name, port = pod["metadata"]["name"], settings.port_of(pod)
        through = partial(_Tunnel, partial(api.forward, settings.namespace, name, port), port)
        clients[pod["spec"]["nodeName"]] = AgentClient(
            f"{settings.namespace}/{name}:{port}", token, patience=_PATIENCE, through=through
        )
    return clients
