"""The agent's port: TLS and nothing else, known by its authority and its name, with a certificate that may change."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from agent_world import TOKEN, Agent, World
from cryptography import x509
from waiting import until

from highwater_chaos.backends.kubernetes.agent_trust import Trust
from highwater_chaos.backends.kubernetes.agents import AgentClient, AgentError
from highwater_chaos.machine.errors import MachineError
from highwater_operator.agent.settings import Settings


def client(agent: Agent, trust: Trust) -> AgentClient:
    return AgentClient(f"https://127.0.0.1:{agent.port}", TOKEN, trust, patience=0.0)


def refusal(agent: Agent, trust: Trust) -> str:
    with pytest.raises(AgentError) as refused:
        client(agent, trust).faults()
    assert refused.value.status == 0
    return str(refused.value).partition("no answer: ")[2]


def test_a_caller_verifies_the_authority_and_the_name(agent: Agent, world: World, tmp_path: Path) -> None:
    assert _answers(agent, Trust(world.authority_file))
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(str(other))
    assert refusal(agent, Trust(other)).startswith(f"its certificate is not signed by {other}")
    assert refusal(agent, Trust()).startswith("its certificate is not signed by the authority that is trusted")
    assert (
        refusal(agent, Trust(world.authority_file, "somebody-else"))
        == "its certificate is for another name; expected somebody-else"
    )
    assert refusal(agent, Trust(tmp_path / "none")) == (
        f"there are no certificates to trust yet; expected the operator to make {tmp_path / 'none'}"
    )


@pytest.mark.usefixtures("world")
def test_plain_http_is_refused(agent: Agent) -> None:
    for path in ("/v1/faults", "/healthz"):
        with socket.create_connection(("127.0.0.1", agent.port), 10) as plain:
            plain.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
            try:
                answer = plain.recv(4096)
            except ConnectionResetError:
                answer = b""
        assert b"HTTP" not in answer, answer


def test_strangers_do_not_fill_the_log(agent: Agent, world: World) -> None:
    """Neither TLS, nor within it HTTP: each was a traceback of 20 lines in the node's log, for the asking."""
    before = len(agent.log.read_text().splitlines())
    trust = ssl.create_default_context(cafile=str(world.authority_file))
    for number in range(40):
        with socket.create_connection(("127.0.0.1", agent.port), 10) as plain:
            end = trust.wrap_socket(plain, server_hostname="highwater-agent") if number % 2 else plain
            end.sendall(b"GET /\xff\xfe nonsense\r\n\r\n")
            with suppress(ConnectionResetError):
                end.recv(4096)
    assert _answers(agent, Trust(world.authority_file))
    assert len(agent.log.read_text().splitlines()) - before < 10, agent.log.read_text()[-3000:]


def test_a_token_is_not_sent_to_a_stranger(world: World) -> None:
    """It listens where an agent was, and speaks neither TLS nor with the right certificate."""
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        asking = AgentClient(f"https://127.0.0.1:{port}", TOKEN, Trust(world.authority_file), patience=0.0)
        from threading import Thread

        heard: list[bytes] = []

        def listen() -> None:
            connection, _ = stranger.accept()
            with connection:
                heard.append(connection.recv(65536))
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

        listening = Thread(target=listen)
        listening.start()
        with pytest.raises(AgentError, match="it does not speak TLS as expected"):
            asking.faults()
        listening.join(30)
    assert heard
    assert TOKEN.encode() not in heard[0]


def test_a_certificate_is_renewed_while_the_agent_works(agent: Agent, world: World, tmp_path: Path) -> None:
    first = agent.process.pid
    successor = trustme.CA()
    successor_file = tmp_path / "successor.pem"
    successor.cert_pem.write_to_path(str(successor_file))
    try:
        world.issue(successor)
        trust = Trust(successor.cert_pem.bytes().decode())

        def renewed() -> bool:
            try:
                client(agent, trust).faults()
            except AgentError:
                return False
            return True

        until(renewed, "the agent shows the new certificate")
        assert refusal(agent, Trust(world.authority_file)).startswith("its certificate is not signed by")
        assert "the certificate was renewed" in agent.log.read_text()
        (shown,) = [
            line.split()[1]
            for line in agent.ask("GET", "/metrics", verify=str(successor_file)).text.splitlines()
            if line.startswith("highwater_agent_certificate_expires_timestamp_seconds ")
        ]
        certificate = x509.load_pem_x509_certificate(world.certificate.read_bytes())
        assert float(shown) == certificate.not_valid_after_utc.timestamp()
        # One that cannot be read, as between two writes: the one before goes on.
        world.certificate.write_text("nonsense")
        until(lambda: "going on with the one before" in agent.log.read_text(), "it says so")
        assert _answers(agent, trust)
    finally:
        world.issue()
    until(lambda: _answers(agent, Trust(world.authority_file)), "the old one again")
    assert agent.process.poll() is None
    assert agent.process.pid == first


def _answers(agent: Agent, trust: Trust) -> bool:
    try:
        client(agent, trust).faults()
    except AgentError:
        return False
    return True


def test_one_that_has_expired_is_told_on_both_sides(agent: Agent, world: World) -> None:
    ended = datetime.now(UTC) - timedelta(minutes=5)
    try:
        world.issue(not_before=ended - timedelta(days=1), not_after=ended)
        until(lambda: not _answers(agent, Trust(world.authority_file)), "callers refuse it")
        assert refusal(agent, Trust(world.authority_file)).startswith(
            "its certificate has expired; expected one that the operator renews"
        )
        said = f"expired at {ended:%Y-%m-%d %H:%M} UTC: callers refuse this agent until the operator has renewed it"
        until(lambda: said in agent.log.read_text(), "the agent says so")
    finally:
        world.issue()
    until(lambda: _answers(agent, Trust(world.authority_file)), "a new one is taken")


_WHOLE = {
    "NODE_NAME": "n",
    "HIGHWATER_AGENT_TOKEN_FILE": "t",
    "HIGHWATER_AGENT_TLS_CERT": "c",
    "HIGHWATER_AGENT_TLS_KEY": "k",
}


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "NODE_NAME is not set"),
        ({"NODE_NAME": "n"}, "HIGHWATER_AGENT_TOKEN_FILE is not set"),
        ({"NODE_NAME": "n", "HIGHWATER_AGENT_TOKEN_FILE": "t"}, "HIGHWATER_AGENT_TLS_CERT is not set"),
        ({**_WHOLE, "HIGHWATER_AGENT_TLS_KEY": ""}, "HIGHWATER_AGENT_TLS_KEY is not set"),
        ({**_WHOLE, "HIGHWATER_AGENT_PORT": "x"}, "must be a port"),
        ({**_WHOLE, "HIGHWATER_AGENT_STATE": "here"}, "absolute path"),
    ],
)
def test_an_agent_that_is_not_told_enough_says_what_is_missing(environment: dict[str, str], said: str) -> None:
    with pytest.raises(MachineError, match=said):
        Settings.from_environment(environment)
