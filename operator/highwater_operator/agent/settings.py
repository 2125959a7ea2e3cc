"""The settings of the agent, which it reads from environment variables: a DaemonSet sets nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kubernetes.utils.quantity import parse_quantity

from highwater_chaos.machine.errors import MachineError
from highwater_operator.agent.limits import Limits
from highwater_operator.agent.machine_run import STATE
from highwater_operator.agent.requests import LARGEST

HELP: Final = """\
environment:
  NODE_NAME                        name of the Kubernetes node (required)
  HIGHWATER_AGENT_TOKEN_FILE       file with the token that callers must show (required)
  HIGHWATER_AGENT_STATE            directory of the agent's journal (default: /var/lib/highwater/agent)
  HIGHWATER_AGENT_VOLUMES          directory of the volumes (default: /var/lib/highwater/volumes)
  HIGHWATER_AGENT_LARGEST_VOLUME   most that one volume may have (default: 64Gi)
  HIGHWATER_AGENT_NAMESPACE_VOLUMES  most that all volumes of a namespace on this node may have (default: 256Gi)
  HIGHWATER_AGENT_FREE_SPACE       what volumes leave free on the node's disk (default: 1Gi)
  HIGHWATER_KUBELET_DIR            directory of the kubelet (default: /var/lib/kubelet)
  HIGHWATER_AGENT_CSI_SOCKET       socket of the CSI driver; empty: there is none (default)
  HIGHWATER_AGENT_HOST             address on which to listen (default: 0.0.0.0)
  HIGHWATER_AGENT_PORT             port on which to listen; 0: any free port (default: 9405)
  HIGHWATER_AGENT_TLS_CERT         file with the certificate that callers are shown (required: there is no plain HTTP)
  HIGHWATER_AGENT_TLS_KEY          file with the certificate's key (required)
  HIGHWATER_AGENT_TLS_CLIENT_CA    file with the authority of client certificates (default: callers need none)

The directories of the journal and of the volumes must have the same paths on the node and in the agent's container.
The agent must be root, in a privileged container with hostPID.

exit status:
  0   ended by SIGTERM
  1   it cannot work on this machine; standard error says why
  2   a setting is missing or wrong; standard error names the variable
"""


@dataclass(frozen=True)
class Settings:
    """``node``: name of the Kubernetes node. ``state`` and ``volumes`` are on the node's disk, at the same paths inside
    the agent as outside. ``kubelet``: where the kubelet keeps pods' volumes. ``limits``: what volumes may take of the
    node's disk. ``tls_client_authority``: if there is one, callers must show a certificate of its beside the token.
    ``csi_socket``: where the CSI driver listens; None: there is none."""

    node: str
    token_file: Path
    tls_certificate: Path
    tls_key: Path
    state: Path = STATE
    volumes: Path = Path("/var/lib/highwater/volumes")
    kubelet: Path = Path("/var/lib/kubelet")
    limits: Limits = field(default_factory=Limits)
    host: str = "0.0.0.0"  # noqa: S104 - a pod's own network
    port: int = 9405
    tls_client_authority: Path | None = None
    csi_socket: Path | None = None

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

        def size(name: str, default: int) -> int:
            text = environment.get(name) or str(default)
            try:
                value: Any = parse_quantity(text)  # type: ignore[no-untyped-call]
            except ValueError as error:
                raise MachineError(f"{name} must be a size such as 64Gi, not {text[:60]!r}") from error
            if not 0 <= value <= LARGEST:
                raise MachineError(f"{name} must be a size from 0 to 16Ti, not {text[:60]!r}")
            return int(value)

        limits = Limits()
        port = environment.get("HIGHWATER_AGENT_PORT", "9405")
        if not port.isdigit() or int(port) > 65535:
            raise MachineError(f"HIGHWATER_AGENT_PORT must be a port, not {port!r}")
        return cls(
            node=needed("NODE_NAME", "the node's name (fieldRef spec.nodeName)"),
            token_file=Path(needed("HIGHWATER_AGENT_TOKEN_FILE", "a file with the token that callers must show")),
            tls_certificate=Path(
                needed("HIGHWATER_AGENT_TLS_CERT", "a file with the certificate that callers are shown")
            ),
            tls_key=Path(needed("HIGHWATER_AGENT_TLS_KEY", "a file with the certificate's key")),
            state=path("HIGHWATER_AGENT_STATE", cls.state),
            volumes=path("HIGHWATER_AGENT_VOLUMES", cls.volumes),
            kubelet=path("HIGHWATER_KUBELET_DIR", cls.kubelet),
            limits=Limits(
                size("HIGHWATER_AGENT_LARGEST_VOLUME", limits.largest),
                size("HIGHWATER_AGENT_NAMESPACE_VOLUMES", limits.namespace),
                size("HIGHWATER_AGENT_FREE_SPACE", limits.free),
            ),
            host=environment.get("HIGHWATER_AGENT_HOST") or cls.host,
            port=int(port),
            tls_client_authority=optional("HIGHWATER_AGENT_TLS_CLIENT_CA"),
            csi_socket=optional("HIGHWATER_AGENT_CSI_SOCKET"),
        )
