"""Help and configuration errors of the programs that pods run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from highwater_operator.agent import main as agent
from highwater_operator.agent.settings import Settings
from highwater_operator.main import CANNOT_BEGIN
from highwater_operator.main import main as operator
from highwater_operator.zookeeper.main import run as zookeeper

PROGRAMS = [
    pytest.param(agent.main, "highwater-agent", id="agent"),
    pytest.param(operator, "highwater-operator", id="operator"),
    pytest.param(zookeeper, "highwater-zookeeper", id="zookeeper"),
]


@pytest.mark.parametrize(("program", "name"), PROGRAMS)
def test_help_needs_no_configuration(program: Any, name: str, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.delenv("NODE_NAME", raising=False)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    with pytest.raises(SystemExit) as ended:
        program(["--help"])
    shown = capsys.readouterr()
    assert (ended.value.code, shown.err) == (0, "")
    assert shown.out.startswith(f"usage: {name}")
    assert "``" not in shown.out, "help is plain text"


def test_the_agents_help_names_every_variable_that_it_reads(capsys: Any) -> None:
    class Recorder(dict[str, str]):
        def __init__(self) -> None:
            files = dict.fromkeys(("TOKEN_FILE", "TLS_CERT", "TLS_KEY"), "/t")
            super().__init__(NODE_NAME="n", **{f"HIGHWATER_AGENT_{name}": file for name, file in files.items()})
            self.read: set[str] = set()

        def get(self, name: str, default: Any = None) -> Any:
            self.read.add(name)
            return super().get(name, default)

    environment = Recorder()
    defaults = Settings.from_environment(environment)
    with pytest.raises(SystemExit):
        agent.main(["--help"])
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.startswith("  H")}
    assert environment.read - {"NODE_NAME"} == set(lines)
    for name, value in (
        ("HIGHWATER_AGENT_STATE", defaults.state),
        ("HIGHWATER_AGENT_VOLUMES", defaults.volumes),
        ("HIGHWATER_KUBELET_DIR", defaults.kubelet),
        ("HIGHWATER_AGENT_HOST", defaults.host),
        ("HIGHWATER_AGENT_PORT", defaults.port),
    ):
        assert f"(default: {value})" in lines[name]


def test_an_agent_without_its_node_name_says_which_variable_is_missing(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.delenv("NODE_NAME", raising=False)
    assert agent.main([]) == 2
    assert (
        capsys.readouterr().err
        == "highwater-agent: NODE_NAME is not set; expected the node's name (fieldRef spec.nodeName)\n"
    )


def test_an_operator_without_an_api_server_exits_with_status_2(monkeypatch: Any, tmp_path: Path, capsys: Any) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setattr(sys, "argv", ["highwater-operator"])
    with pytest.raises(SystemExit) as ended:
        operator()
    assert ended.value.code == CANNOT_BEGIN
    assert capsys.readouterr().err.startswith("highwater-operator: no API server is configured: ")
