"""A Kubernetes API server for every test that wants one: ``kube_api``, real HTTP on loopback, no cluster behind it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for ``import api_server`` from any test below this folder

if TYPE_CHECKING:
    from api_server import ApiServer

CRDS = sorted((Path(__file__).parents[2] / "manifests" / "base" / "crds").glob("*.yaml"))


@pytest.fixture(autouse=True)
def no_certificates_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every client of HTTPS parses more than a hundred of them, 40 ms each time, and the server here speaks HTTP.

    Tests of TLS bring their own.
    """
    monkeypatch.setenv("SSL_CERT_FILE", os.devnull)


@pytest.fixture
def bare_kube_api() -> Iterator[ApiServer]:
    """A server without Highwater's definitions."""
    from api_server import ApiServer

    with ApiServer() as api:
        yield api


@pytest.fixture
def kube_api(bare_kube_api: ApiServer) -> ApiServer:
    """A server with Highwater's definitions applied, as a cluster has them once the chart is installed."""
    bare_kube_api.apply_file(*CRDS)
    return bare_kube_api


@pytest.fixture
def kubeconfig(kube_api: ApiServer, tmp_path: Path) -> Path:
    """For what reads its server from a file."""
    return kube_api.kubeconfig(tmp_path / "kubeconfig")
