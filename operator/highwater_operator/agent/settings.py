"""What the agent must be told, from its environment: a DaemonSet sets no more than that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from highwater_chaos.machine.errors import MachineError


@dataclass(frozen=True)
class Settings:
    """``node``: name of the Kubernetes node. ``state`` and ``volumes`` are on the node's disk, at the same paths inside
    the agent as outside. ``kubelet``: where the kubelet keeps pods' volumes. ``tls_*``: without a certificate the agent
    speaks plain HTTP; with a client authority, callers must show a certificate beside the token."""

    node: str
    token_file: Path
    state: Path = Path("/var/lib/highwater/agent")
    volumes: Path = Path("/var/lib/highwater/volumes")
    kubelet: Path = Path("/var/lib/kubelet")
    host: str = "0.0.0.0"  # noqa: S104 - a pod's own network
    port: int = 9405
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    tls_client_authority: Path | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """Raises ``MachineError`` that names the variable that is missing or wrong."""

        def needed(name: str, what: str) -> str:
            value = environment.get(name, "")
            if not value:
                raise MachineError(f"{name} is not set; expected {what}")
            return value

        def path(name: str, default: Path) -> Path:
            value = Path(environment.get(name) or default)
            if not value.is_absolute():
                raise MachineError(f"{name} must be an absolute path, not {str(value)!r}")
            return value

        def optional(name: str) -> Path | None:
            return Path(environment[name]) if environment.get(name) else None

        port = environment.get("HIGHWATER_AGENT_PORT", "9405")
        if not port.isdigit() or int(port) > 65535:
            raise MachineError(f"HIGHWATER_AGENT_PORT must be a port, not {port!r}")
        found = cls(
            node=needed("NODE_NAME", "the node's name (fieldRef spec.nodeName)"),
            token_file=Path(needed("HIGHWATER_AGENT_TOKEN_FILE", "a file with the token that callers must show")),
            state=path("HIGHWATER_AGENT_STATE", cls.state),
            volumes=path("HIGHWATER_AGENT_VOLUMES", cls.volumes),
            kubelet=path("HIGHWATER_KUBELET_DIR", cls.kubelet),
            host=environment.get("HIGHWATER_AGENT_HOST") or cls.host,
            port=int(port),
            tls_certificate=optional("HIGHWATER_AGENT_TLS_CERT"),
            tls_key=optional("HIGHWATER_AGENT_TLS_KEY"),
            tls_client_authority=optional("HIGHWATER_AGENT_TLS_CLIENT_CA"),
        )
        if (found.tls_certificate is None) != (found.tls_key is None):
            raise MachineError("HIGHWATER_AGENT_TLS_CERT and HIGHWATER_AGENT_TLS_KEY must both be set, or neither")
        if found.tls_client_authority is not None and found.tls_certificate is None:
            raise MachineError("HIGHWATER_AGENT_TLS_CLIENT_CA needs HIGHWATER_AGENT_TLS_CERT")
        return found
