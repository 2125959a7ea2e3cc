"""Kafka's client properties: what clients make of them at a real cluster, and what is wrong with them."""

from __future__ import annotations

import asyncio
import os
import re

import pytest

from highwater_runtime.config import ConfigError
from highwater_runtime.host import HostedNode
from highwater_runtime.host.security.client_config import endpoints, read_client_config
from highwater_runtime.ports import SECOND, ClientCore, Endpoint, RpcFailure
from highwater_runtime.wire.messages.metadata_request import MetadataRequest

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@pytest.fixture
def config_of(tmp_path):
    """``config_of(text)`` of a file with that text."""

    def read(text):
        path = tmp_path / "client.properties"
        path.write_text(text)
        return read_client_config(path)

    return read


class Asks(ClientCore):
    """A client core that asks one server for its metadata, once."""

    def __init__(self, ports, server, answered):
        self._ports, self._server, self._answered = ports, server, answered

    def start(self):
        self._ports.network.send(self._server, MetadataRequest(), 12, self._answered, timeout_ns=5 * SECOND)


def ask(config, server):
    """What a client with that configuration gets from a server, and why it was refused."""

    async def run():
        refused = []
        answer = asyncio.get_running_loop().create_future()
        node = HostedNode(
            "client", lambda ports: Asks(ports, server, answer.set_result), security=config.security, negotiates=True
        )
        node.network.refused = lambda _, why: refused.append(why)
        await node.start()
        found = await answer
        node.kill()
        return found, refused

    return asyncio.run(run())


LOGINS = {
    "TLS": "security.protocol=SSL\n",
    "MUTUAL": "security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.location={client}\n",
    "SASL": f"security.protocol : SASL_PLAINTEXT\nsasl.mechanism PLAIN\nsasl.jaas.config={PLAIN} \\\n"
    "   username='dave' password='d\\\\\"ave;';\n",
    "SECURE": f"security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\nsasl.jaas.config={SCRAM} \\\n"
    '   username="alice" \\\n   password="alice-512";\n',
}


@pytest.mark.parametrize("listener", LOGINS)
def test_every_way_in(listener, cluster, certificates, config_of):
    text = f"ssl.truststore.type=PEM\nssl.truststore.location={certificates.ca}\n" if listener != "SASL" else ""
    config = config_of(text + LOGINS[listener].format(client=certificates.client))
    (server, *_) = endpoints(cluster.bootstrap(listener))
    answer, refused = ask(config, server)
    assert refused == []
    assert len(answer.brokers) == 2


@pytest.mark.parametrize(
    ("listener", "changed", "why"),
    [
        ("SECURE", ("alice-512", "wrong"), "authentication failed: SASL_AUTHENTICATION_FAILED"),
        ("SASL", ("PLAIN\n", "SCRAM-SHA-256\n"), "authentication failed: SASL_AUTHENTICATION_FAILED"),
        ("SECURE", ("{ca}", "{other_ca}"), "TLS handshake failed: unable to get local issuer certificate"),
        ("TLS", ("security.protocol=SSL", "security.protocol=PLAINTEXT"), "another protocol"),
        ("SASL", ("SASL_PLAINTEXT", "SASL_SSL"), "ended during the TLS handshake"),
    ],
)
def test_each_refusal_says_why(listener, changed, why, cluster, certificates, config_of):
    text = ("ssl.truststore.location={ca}\n" + LOGINS[listener]).replace(*changed)
    if "SCRAM-SHA-256" in changed[1]:
        text = text.replace(PLAIN, SCRAM)
    if listener == "SASL" and "SASL_SSL" not in text:
        text = text.partition("\n")[2]
    config = config_of(text.format(ca=certificates.ca, other_ca=certificates.other_ca, client=certificates.client))
    (server, *_) = endpoints(cluster.bootstrap(listener))
    answer, refused = ask(config, server)
    assert isinstance(answer, RpcFailure)
    assert re.search(why, refused[0]), refused


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("security.protocl=SSL", "did you mean 'security.protocol'"),
        ("acks=all", "'acks' is not supported here; leave it out"),
        ("MIIBcorrecthorse/abc+", ":1: what is on this line is not supported here"),
        ("security.protocol=TLS", "one of PLAINTEXT, SSL"),
        ("bootstrap.servers=broker", "'broker' is not host:port"),
        ("ssl.truststore.password=s3cret", "JKS and PKCS12 stores are not supported"),
        ("security.protocol=SSL\nssl.truststore.type=JKS", "PEM, the only type"),
        ("security.protocol=SSL\nssl.truststore.location=/dev/zero", "no regular file"),
        ("security.protocol=SASL_SSL", "GSSAPI, is not supported"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER", "one of PLAIN, SCRAM"),
        ("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN", "'sasl.jaas.config' is missing"),
        (f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={SCRAM} username=s3cret;", "needs Plain"),
        (f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN} password=s3cret", "end with ';'"),
        (f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN};", "it has none"),
        ("sasl.mechanism=PLAIN\nsasl.mechanism=PLAIN", "was given before"),
    ],
)
def test_wrong_properties_are_named_and_never_shown(text, why, config_of):
    with pytest.raises(ConfigError) as caught:
        config_of(text)
    assert why in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_only_a_bounded_regular_file_is_read(tmp_path):
    real, link, pipe = tmp_path / "real", tmp_path / "link", tmp_path / "pipe"
    real.write_text("bootstrap.servers=[::1]:9092, kafka\\u002Dhost:9093")
    link.symlink_to(real)  # as Kubernetes mounts secrets
    assert read_client_config(link).bootstrap == (Endpoint("::1", 9092), Endpoint("kafka-host", 9093))
    os.truncate(real, 1 << 30)
    os.mkfifo(pipe)
    for path, why in ((link, "more than 1048576 bytes"), (pipe, "no regular file"), (tmp_path, "Is a directory")):
        with pytest.raises(ConfigError, match=why):
            read_client_config(path)
