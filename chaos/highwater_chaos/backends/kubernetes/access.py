"""How a run gets into a LogCluster with ``spec.security``: the operator puts its Secret for that before the runner.

Brokers are met as clients meet them, and controllers with the certificate of the harness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from highwater_chaos.backends.kubernetes.cluster import ClusterError
from highwater_chaos.kube.kinds import Json
from highwater_runtime.config import ConfigError
from highwater_runtime.host.net.listeners import OutboundSecurity
from highwater_runtime.host.security.client_config import ClientConfig, read_client_config
from highwater_runtime.ports import Endpoint

DIRECTORY: Final = "HIGHWATER_CLUSTER_ACCESS"
"""The variable with the directory of the Secret's files."""
BROKERS_FILE: Final = "client.properties"
CONTROLLERS_FILE: Final = "controllers.properties"


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """``file``, ``controllers_file``: the client properties, for programs that are clients."""

    file: Path
    controllers_file: Path
    brokers: ClientConfig
    controllers: ClientConfig

    @classmethod
    def read(cls, directory: Path) -> Self:
        """Raises ``ClusterError``: the files are not there, or wrong."""
        files = directory / BROKERS_FILE, directory / CONTROLLERS_FILE
        try:
            return cls(*files, *map(read_client_config, files))
        except ConfigError as error:
            raise ClusterError(f"how to get into the LogCluster cannot be read: {error}") from error

    def security(self, controllers: Iterable[Endpoint]) -> Callable[[Endpoint], OutboundSecurity]:
        """How the server at an endpoint is met."""
        found = frozenset(controllers)
        return lambda at: (self.controllers if at in found else self.brokers).outbound


def access_directory(environment: Mapping[str, str]) -> Path | None:
    """Where the operator has put it; None: nowhere."""
    directory = environment.get(DIRECTORY)
    return None if not directory else Path(directory)


def is_secured(cluster: Json) -> bool:
    """Whether a LogCluster has ``spec.security``."""
    return cluster["spec"].get("security") is not None
