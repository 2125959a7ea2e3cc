"""The Job that makes the token: with no more than its rights, once, and never again."""

from __future__ import annotations

import base64

import pytest

from highwater_chaos.kube.client import Kube
from highwater_operator.agent_token import main, make_token

from .conftest import BASE


@pytest.fixture
def installed(kube_api):
    kube_api.apply_file(BASE / "namespace.yaml", *sorted((BASE / "rbac").glob("*.yaml")))
    return kube_api


def secret(api):
    return api.get("v1", "Secret", "highwater-agent-token", "highwater-system")


def test_makes_the_secret_once(installed, base, tmp_path, monkeypatch, capsys):
    (container,) = base["Job", "highwater-agent-token"]["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["python3", "-P", "-m", "highwater_operator.agent_token"]
    monkeypatch.setenv("KUBECONFIG", str(installed.kubeconfig(tmp_path / "kubeconfig")))
    main(container["args"])
    made = secret(installed)
    assert len(base64.b64decode(made["data"]["token"])) == 64
    main(container["args"])
    assert secret(installed) == made
    assert capsys.readouterr().out.splitlines() == [
        "Secret highwater-system/highwater-agent-token: made",
        "Secret highwater-system/highwater-agent-token: there already, left as it is",
    ]


def test_an_api_server_that_refuses_is_an_error_that_says_so(kube_api, base, tmp_path, monkeypatch):
    # No namespace, no Secret.
    monkeypatch.setenv("KUBECONFIG", str(kube_api.kubeconfig(tmp_path / "kubeconfig")))
    with pytest.raises(SystemExit, match=r"could not create Secret nowhere/x: .*404"):
        main(["--namespace", "nowhere", "--name", "x"])


def test_two_tokens_are_never_the_same(installed):
    kube = Kube(installed.configuration())
    assert make_token(kube, "highwater-system", "one")
    assert make_token(kube, "highwater-system", "two")
    one, two = (installed.get("v1", "Secret", name, "highwater-system") for name in ("one", "two"))
    assert one["data"] != two["data"]
