"""What the pod of ``helm test`` runs: it fails where the installation does not work."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import start_http_server

from highwater_chaos.backends.local.layout import free_ports
from highwater_operator.main import CANNOT_BEGIN, main
from highwater_operator.metrics import REGISTRY

from .conftest import BASE

DEFINITION = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
EXPERIMENTS = "chaosexperiments.highwater.dev"


@pytest.fixture
def url() -> Iterator[str]:
    """Of an operator that serves its metrics."""
    (port,) = free_ports(1)
    server, thread = start_http_server(port, "127.0.0.1", REGISTRY)
    yield f"http://127.0.0.1:{port}/metrics"
    server.shutdown()
    thread.join()


@pytest.fixture
def check(kube_api: Any, tmp_path: Path, monkeypatch: Any) -> Any:
    """Run the command with the rights that are shipped."""
    rules = [one for one in yaml.safe_load_all((BASE / "rbac" / "operator.yaml").read_text()) if one is not None]
    user = kube_api.authorizer.add_manifests("the-test", "highwater-system/highwater-operator", rules)
    monkeypatch.setenv("KUBECONFIG", str(kube_api.kubeconfig(tmp_path / "kubeconfig", "the-test")))

    def run(url: str) -> None:
        monkeypatch.setattr(sys, "argv", ["highwater-operator", f"--check={url}"])
        main()
        assert user.refused == []

    return run


def test_an_installation_that_works(check: Any, url: str, capsys: Any) -> None:
    check(url)
    assert capsys.readouterr().out == "the operator answers, and the definitions are those of its version\n"


@pytest.mark.parametrize("lacks", ["operator", "page", "field", "definition"])
def test_what_is_not_there_is_named(check: Any, kube_api: Any, url: str, capsys: Any, lacks: str) -> None:
    said = {
        "operator": "no operator answers at http://127.0.0.1:",
        "page": "does not work: expected status 200, found 404",
        "field": f"DefinitionsOutdated: the installed definitions are not of this version and lack {EXPERIMENTS}:"
        " status.journal",
        "definition": f"the API server does not know {EXPERIMENTS}",
    }[lacks]
    if lacks == "field":
        found = kube_api.get(*DEFINITION, EXPERIMENTS)
        del found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["journal"]
        kube_api.patch(*DEFINITION, EXPERIMENTS, "", {"spec": found["spec"]})
    elif lacks == "definition":
        kube_api.delete(*DEFINITION, EXPERIMENTS, "")
    elif lacks == "operator":
        url = f"http://127.0.0.1:{free_ports(1)[0]}/metrics"
    elif lacks == "page":
        api = kube_api.configuration().host
        url = f"{api}/nothing-here"
    with pytest.raises(SystemExit) as ended:
        check(url)
    assert ended.value.code == CANNOT_BEGIN
    assert said in capsys.readouterr().err
