"""What commands do in a Kubernetes cluster, for installations that have its client."""

from __future__ import annotations

import importlib
from typing import Any

from highwater_chaos.base.distribution import installing
from highwater_chaos.cli.exits import UsageError


def cluster_commands(command: str) -> Any:
    """Import what needs the Kubernetes client, an optional package. Raises :class:`UsageError` if it is missing."""
    try:
        return importlib.import_module("highwater_chaos.cli.kubernetes")
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("kubernetes"):
            raise
        raise UsageError(f"{command} needs the Kubernetes client: {installing('operator')}") from error
