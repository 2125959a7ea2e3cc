from __future__ import annotations

from pathlib import Path

import pytest
import requests
import trustme
from agent_world import Agent, World

from highwater_chaos.machine.errors import MachineError
from highwater_operator.agent.settings import Settings


def test_callers_show_a_certificate_where_that_is_asked_for(agent: Agent, world: World, tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    for name in ("127.0.0.1", "operator"):
        made = authority.issue_cert(name)
        made.private_key_pem.write_to_path(str(tmp_path / f"{name}.key"))
        made.cert_chain_pems[0].write_to_path(str(tmp_path / f"{name}.pem"))
    agent.stop()
    secure = Agent(
        world,
        HIGHWATER_AGENT_TLS_CERT=str(tmp_path / "127.0.0.1.pem"),
        HIGHWATER_AGENT_TLS_KEY=str(tmp_path / "127.0.0.1.key"),
        HIGHWATER_AGENT_TLS_CLIENT_CA=str(tmp_path / "ca.pem"),
    )
    try:
        secure.verify = str(tmp_path / "ca.pem")
        with pytest.raises(requests.exceptions.RequestException):
            secure.ask("GET", "/v1/faults")
        secure.certificate = (str(tmp_path / "operator.pem"), str(tmp_path / "operator.key"))
        assert secure.ask("GET", "/v1/faults").status_code == 200
        assert secure.ask("GET", "/v1/faults", token="wrong").status_code == 401
    finally:
        secure.stop()


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "NODE_NAME is not set"),
        ({"NODE_NAME": "n"}, "HIGHWATER_AGENT_TOKEN_FILE is not set"),
        ({"NODE_NAME": "n", "HIGHWATER_AGENT_TOKEN_FILE": "t", "HIGHWATER_AGENT_PORT": "x"}, "must be a port"),
        ({"NODE_NAME": "n", "HIGHWATER_AGENT_TOKEN_FILE": "t", "HIGHWATER_AGENT_TLS_CERT": "c"}, "must both be set"),
        ({"NODE_NAME": "n", "HIGHWATER_AGENT_TOKEN_FILE": "t", "HIGHWATER_AGENT_STATE": "here"}, "absolute path"),
    ],
)
def test_an_agent_that_is_not_told_enough_says_what_is_missing(environment: dict[str, str], said: str) -> None:
    with pytest.raises(MachineError, match=said):
        Settings.from_environment(environment)
