"""Security properties: what they come to, and what is wrong with them, in one line each."""

from __future__ import annotations

import hashlib
import shutil
import ssl
import subprocess
import sys

import pytest
import trustme
from hypothesis import given, settings
from hypothesis import strategies as st
from scramp import ScramClient, ScramMechanism

from highwater_runtime.config import ConfigError
from highwater_runtime.host.config.file import read_settings
from highwater_runtime.host.net.listeners import AuthenticationError
from highwater_runtime.host.security import node_security
from highwater_runtime.host.security.credentials import parse_bootstrap
from highwater_runtime.host.security.jaas import parse_jaas
from highwater_runtime.host.security.scram import ScramClient as OurClient
from highwater_runtime.host.security.scram import ScramServer
from highwater_runtime.host.security.tls import principal_of
from highwater_runtime.metadata.scram import ScramMechanism as Mechanism
from highwater_runtime.metadata.scram import credential_of
from highwater_runtime.ports import Endpoint
from highwater_runtime.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest

PLAIN_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required"


@pytest.fixture
def security_of(tmp_path):
    """``security_of(**changes)`` of a broker with a listener for clients and one for brokers."""

    def read(listeners="CLIENTS://127.0.0.1:0,INTERNAL://127.0.0.1:0", **changes):
        lines = {
            "process.roles": "broker",
            "node.id": "0",
            "cluster.id": "highwater-security-001",
            "controller.quorum.voters": "1000@127.0.0.1:9093",
            "listeners": listeners,
            "listener.security.protocol.map": "CLIENTS:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "INTERNAL",
            "log.dirs": str(tmp_path / "data"),
        } | {name.replace("__", "-").replace("_", "."): str(value) for name, value in changes.items()}
        path = tmp_path / "node.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        return node_security(read_settings(path))

    return read


def complaints(security_of, **changes):
    with pytest.raises(ConfigError) as caught:
        security_of(**changes)
    return str(caught.value).splitlines()


MAP = "CLIENTS:{},INTERNAL:{},CONTROLLER:{}"


def test_without_security_there_is_none(security_of):
    security = security_of()
    assert security.of("CLIENTS").ssl_context is None
    assert security.of("CLIENTS").authenticator is None
    assert security.outbound(Endpoint("127.0.0.1", 9093)).ssl_context is None
    assert security.bootstrap_records == ()


def test_controllers_and_brokers_are_met_in_their_own_ways(security_of, certificates):
    security = security_of(
        listener_security_protocol_map=MAP.format("SSL", "PLAINTEXT", "SSL"),
        ssl_keystore_location=certificates.node,
        ssl_truststore_location=certificates.ca,
    )
    assert security.outbound(Endpoint("127.0.0.1", 9093)).ssl_context is not None
    assert security.outbound(Endpoint("127.0.0.1", 9092)).ssl_context is None


def test_a_listeners_own_property_comes_first(security_of, certificates):
    security = security_of(
        listener_security_protocol_map=MAP.format("SSL", "SSL", "SSL"),
        ssl_keystore_location=certificates.node,
        ssl_truststore_location=certificates.ca,
        ssl_client_auth="required",
        ssl_enabled_protocols="TLSv1.3",
        listener_name_clients_ssl_client_auth="none",
        listener_name_clients_ssl_enabled_protocols="TLSv1.2,TLSv1.3",
        listener_name_internal_ssl_endpoint_identification_algorithm="",
    )
    clients, internal = security.of("CLIENTS").ssl_context, security.of("INTERNAL").ssl_context
    assert clients is not None
    assert internal is not None
    assert (clients.verify_mode, internal.verify_mode) == (ssl.CERT_NONE, ssl.CERT_REQUIRED)
    assert clients.minimum_version is ssl.TLSVersion.TLSv1_2
    assert internal.minimum_version is ssl.TLSVersion.TLSv1_3
    brokers = security.outbound(Endpoint("127.0.0.1", 1)).ssl_context
    controllers = security.outbound(Endpoint("127.0.0.1", 9093)).ssl_context
    assert brokers is not None
    assert controllers is not None
    assert (brokers.check_hostname, controllers.check_hostname) == (False, True)
    assert brokers.verify_mode is ssl.CERT_REQUIRED


def test_keys_may_be_in_the_properties_on_one_line(security_of, certificates):
    def one_line(path):
        return " ".join(path.read_text().split("\n"))

    security = security_of(
        listener_security_protocol_map=MAP.format("SSL", "SSL", "PLAINTEXT"),
        ssl_keystore_type="PEM",
        ssl_keystore_key=one_line(certificates.node.with_suffix(".key")),
        ssl_keystore_certificate_chain=one_line(certificates.node.with_suffix(".crt")),
        ssl_truststore_certificates=one_line(certificates.ca),
    )
    server = security.of("CLIENTS").ssl_context
    client = security.outbound(Endpoint("127.0.0.1", 1)).ssl_context
    assert _shake_hands(server, client) is not None


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_an_encrypted_key(security_of, certificates, tmp_path):
    encrypted = tmp_path / "encrypted.pem"
    key = certificates.node.with_suffix(".key")
    command = ["openssl", "pkcs8", "-topk8", "-in", key, "-passout", "pass:sesame", "-out", encrypted]
    subprocess.run(command, check=True)
    encrypted.write_text(encrypted.read_text() + certificates.node.with_suffix(".crt").read_text())
    changes = {
        "listener_security_protocol_map": MAP.format("SSL", "PLAINTEXT", "PLAINTEXT"),
        "ssl_keystore_location": encrypted,
    }
    assert security_of(**changes, ssl_key_password="sesame").of("CLIENTS").ssl_context is not None
    for password in ({}, {"ssl_key_password": "guess"}):
        (line,) = complaints(security_of, **changes, **password)
        assert "ssl.keystore.location" in line
        assert "guess" not in line


def _shake_hands(server, client, server_hostname="127.0.0.1"):
    """Both ends in memory; the server's, once both have finished."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname=server_hostname),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    waiting = list(ends)
    for _ in range(10):
        for end in list(waiting):
            try:
                end.do_handshake()
                waiting.remove(end)
            except ssl.SSLWantReadError:
                pass
    assert not waiting
    return ends[1]


def test_a_client_is_who_its_certificate_says(security_of, certificates):
    security = security_of(
        listener_security_protocol_map=MAP.format("SSL", "SSL", "SSL"),
        ssl_keystore_location=certificates.node,
        ssl_truststore_location=certificates.ca,
        ssl_client_auth="requested",
    )
    server = security.of("CLIENTS").ssl_context
    known = _shake_hands(server, certificates.context(client=certificates.client))
    assert principal_of(known).startswith("User:CN=bob\\, the builder,OU=")
    assert principal_of(_shake_hands(server, certificates.context())) == "User:ANONYMOUS"


def test_who_has_failed_a_handshake_is_told(security_of, certificates):
    security = security_of(
        listener_security_protocol_map=MAP.format("SSL", "SSL", "SSL"),
        ssl_keystore_location=certificates.node,
        ssl_truststore_location=certificates.ca,
        ssl_client_auth="required",
        ssl_enabled_protocols="TLSv1.2",
    )
    told = []
    security.handshake_failed = lambda listener, why: told.append((listener, why))
    with pytest.raises(ssl.SSLError):
        _shake_hands(security.of("CLIENTS").ssl_context, certificates.context())
    assert told == [("CLIENTS", "PEER_DID_NOT_RETURN_A_CERTIFICATE")]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"ssl_keystore_locatoin": "x"}, "did you mean 'ssl.keystore.location'"),
        ({"ssl_keystore_password": "x"}, "unknown property 'ssl.keystore.password', or one that is not supported"),
        ({"sasl_kerberos_service_name": "kafka"}, "not supported"),
        ({"listener_name_nobody_ssl_client_auth": "none"}, "no listener is called 'nobody'; there are clients"),
        ({"listener_name_clients_gssapi_sasl_jaas_config": "x"}, "no mechanism is called 'gssapi'"),
        ({"sasl_jaas_config": "x"}, "expected listener.name.<listener>.<mechanism>.sasl.jaas.config"),
        ({"highwater_scram_bootstrap": "alice:secret"}, "entry 1 is not of the form"),
        (
            {"listener_security_protocol_map": MAP.format("SSL", "PLAINTEXT", "PLAINTEXT")},
            "'listener.name.clients.ssl.keystore.location' is missing",
        ),
        (
            {"listener_security_protocol_map": MAP.format("PLAINTEXT", "SASL_PLAINTEXT", "PLAINTEXT")},
            "'listener.name.internal.scram-sha-256.sasl.jaas.config' is missing: expected username and password",
        ),
    ],
)
def test_what_is_wrong_is_told_in_a_line(security_of, changes, complaint):
    (line,) = complaints(security_of, **changes)
    assert complaint in line
    assert "secret" not in line


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"ssl_keystore_type": "JKS"}, "expected PEM"),
        ({"ssl_client_auth": "maybe"}, "expected none, requested or required"),
        ({"ssl_enabled_protocols": "SSLv3"}, "there are TLSv1.2, TLSv1.3"),
        ({"ssl_keystore_location": "/nowhere.pem"}, "No such file"),
        ({"ssl_truststore_location": "/nowhere.pem", "ssl_client_auth": "required"}, "No such file"),
        ({"ssl_keystore_key": "x"}, "either a file or the properties"),
        ({"highwater_authentication_timeout_ms": "0"}, "it must be above 0"),
    ],
)
def test_what_is_wrong_with_tls(security_of, certificates, changes, complaint):
    given = {
        "listener_security_protocol_map": MAP.format("SSL", "PLAINTEXT", "PLAINTEXT"),
        "ssl_keystore_location": certificates.node,
    }
    (line,) = complaints(security_of, **given | changes)
    assert complaint in line


def test_a_keystore_without_key(security_of, certificates):
    (line,) = complaints(
        security_of,
        listener_security_protocol_map=MAP.format("SSL", "PLAINTEXT", "PLAINTEXT"),
        ssl_keystore_location=certificates.ca,
    )
    assert "expected a private key in PKCS#8 and its certificates, in PEM" in line


def test_the_process_says_so_and_exits_with_2(tmp_path, certificates):
    config = tmp_path / "node.properties"
    config.write_text(
        "process.roles=broker\nnode.id=0\ncluster.id=highwater-security-001\n"
        "controller.quorum.voters=1000@127.0.0.1:9093\nlisteners=SSL://127.0.0.1:0\n"
        f"log.dirs={tmp_path / 'data'}\nssl.keystore.type=PKCS12\n"
    )
    command = [sys.executable, "-m", "highwater_runtime.host.main", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert f"{config}:7: property 'ssl.keystore.type': expected PEM" in done.stderr


# --- JAAS and bootstrap -----------------------------------------------------------------------------------------------


def test_jaas():
    found = parse_jaas(f'{PLAIN_LOGIN} username="me" password="p \\"q\\" \\\\" user_a="1" user_b=2 ;', "PLAIN")
    assert (found.username, found.password, found.users) == ("me", 'p "q" \\', {"a": "1", "b": "2"})
    assert "q" not in repr(found)
    assert parse_jaas(f"{SCRAM_LOGIN};", "SCRAM-SHA-512").username is None


@pytest.mark.parametrize(
    ("text", "mechanism", "complaint"),
    [
        ("", "PLAIN", "does not begin with"),
        (f'{PLAIN_LOGIN} username="a" password="secret"', "PLAIN", "does not end with ';'"),
        (f'{PLAIN_LOGIN} username="a" password="secret;', "PLAIN", "does not end with ';'"),
        (f'{PLAIN_LOGIN} username="a";', "PLAIN", "go together"),
        (f"{PLAIN_LOGIN};", "SCRAM-SHA-256", "SCRAM-SHA-256 needs ScramLoginModule"),
        (f'{SCRAM_LOGIN} user_a="secret";', "SCRAM-SHA-256", "no option user_a"),
        (f'{SCRAM_LOGIN} tokenauth="true";', "SCRAM-SHA-256", "no option tokenauth"),
    ],
)
def test_what_is_no_jaas(text, mechanism, complaint):
    with pytest.raises(ValueError, match=complaint) as caught:
        parse_jaas(text, mechanism)
    assert "secret" not in str(caught.value)


def test_bootstrap_credentials():
    found = parse_bootstrap('SCRAM-SHA-256=[name=a,password=p];SCRAM-SHA-512=[iterations=5000,password="x,y",name=a] ;')
    assert [(user, mechanism, c.iterations) for (user, mechanism), c in found.items()] == [
        ("a", Mechanism.SHA_256, 4096),
        ("a", Mechanism.SHA_512, 5000),
    ]
    again = credential_of(Mechanism.SHA_512, "x,y", found["a", Mechanism.SHA_512].salt, 5000)
    assert again == found["a", Mechanism.SHA_512]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("SCRAM-SHA-1=[name=a,password=p]", "entry 1 is not"),
        ("SCRAM-SHA-256=[name=a]", "lacks name or password"),
        ("SCRAM-SHA-256=[name=a,password=]", "lacks name or password"),
        ("SCRAM-SHA-256=[name=a,password=p,colour=red]", "something besides"),
        ("SCRAM-SHA-256=[name=a,password=p,iterations=17]", "must be 4096 to 16384, not 17"),
        ("SCRAM-SHA-256=[name=a,password=p];SCRAM-SHA-256=[name=a,password=q]", "has two credentials"),
    ],
)
def test_what_is_no_bootstrap(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        parse_bootstrap(text)


# --- SCRAM ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", list(Mechanism))
def test_credentials_are_those_of_another_implementation(mechanism):
    salt = b"a salt of 20 bytes.."
    theirs = ScramMechanism(mechanism.sasl_name).make_auth_info("pencil", iteration_count=4096, salt=salt)
    ours = credential_of(mechanism, "pencil", salt, 4096)
    assert theirs == (ours.salt, ours.stored_key, ours.server_key, ours.iterations)
    assert len(ours.stored_key) == hashlib.new(mechanism.digest).digest_size
    assert Mechanism.named(mechanism.sasl_name) is mechanism


def test_a_client_that_repeats_its_nonce_is_let_in():
    """librdkafka up to 2.6.0 does."""
    credential = credential_of(Mechanism.SHA_256, "pencil", b"a salt of 20 bytes..", 4096)
    server = ScramServer("SCRAM-SHA-256", lambda user: credential if user == "alice" else None)
    client = ScramClient(["SCRAM-SHA-256"], "alice", "pencil")
    client.set_server_first(server.respond(client.get_client_first().encode()).decode())
    client.nonce = client.c_nonce + client.nonce
    client.set_server_final(server.respond(client.get_client_final().encode()).decode())
    assert server.user == "alice"


@pytest.mark.parametrize(
    ("first", "why"),
    [
        ("r={nonce}x,s=YSBzYWx0IG9mIDIwIGJ5dGVzLi4=,i=1000000", "asks for 1000000 iterations"),
        ("r={nonce}x,s=YSBzYWx0IG9mIDIwIGJ5dGVzLi4=,i=1", "must not be < 4096"),
        ("r={nonce}x,s=%s,i=4096" % ("YSBz" * 1000), "a SCRAM message of"),
        ("r=another,s=YSBzYWx0IG9mIDIwIGJ5dGVzLi4=,i=4096", "nonce"),
        ("r={nonce}x,i=4096", "SCRAM message"),
        ("", "SCRAM message"),
    ],
)
def test_a_client_does_not_do_whatever_a_server_says(first, why):
    client = OurClient("SCRAM-SHA-256", "alice", "pencil")
    nonce = client.first().decode().rpartition("r=")[2]
    with pytest.raises(AuthenticationError, match=why):
        client.respond(first.format(nonce=nonce).encode())


@pytest.mark.parametrize("forged", ["x", "", "abc{nonce}x"])
def test_a_nonce_without_the_servers_part_is_not(forged):
    credential = credential_of(Mechanism.SHA_256, "pencil", b"a salt of 20 bytes..", 4096)
    server = ScramServer("SCRAM-SHA-256", lambda _: credential)
    client = ScramClient(["SCRAM-SHA-256"], "alice", "pencil")
    client.set_server_first(server.respond(client.get_client_first().encode()).decode())
    final = client.get_client_final()
    nonce = str(client.nonce)
    with pytest.raises(AuthenticationError):
        server.respond(final.replace(f"r={nonce}", f"r={forged.format(nonce=nonce)}").encode())
    assert server.user is None


@settings(max_examples=200, derandomize=True, database=None, deadline=None)
@given(st.lists(st.binary(max_size=80) | st.text(max_size=40).map(str.encode), min_size=1, max_size=3))
def test_any_messages_are_refused_or_answered(messages):
    credential = credential_of(Mechanism.SHA_256, "pencil", b"a salt of 20 bytes..", 4096)
    server = ScramServer("SCRAM-SHA-256", lambda _: credential)
    for message in messages:
        try:
            server.respond(message)
        except AuthenticationError:
            break
    assert server.user is None


def test_certificates_of_the_machine_are_the_default(security_of):
    authority = trustme.CA()
    security = security_of(listener_security_protocol_map=MAP.format("PLAINTEXT", "PLAINTEXT", "SSL"))
    context = security.outbound(Endpoint("127.0.0.1", 9093)).ssl_context
    assert context is not None
    assert authority.cert_pem.bytes() not in [
        ssl.DER_cert_to_PEM_cert(der).encode() for der in context.get_ca_certs(binary_form=True)
    ]
    assert context.verify_mode is ssl.CERT_REQUIRED


# --- nodes ------------------------------------------------------------------------------------------------------------

HEARTBEAT = BrokerHeartbeatRequest(broker_id=0, broker_epoch=1)


def refuses(security, listener, principal):
    authorize = security.of(listener).authorize
    return authorize is not None and authorize(principal, HEARTBEAT, 0) is not None


def test_a_certificate_makes_a_node(security_of, certificates):
    """The principal of the nodes is the one that their certificate gives them at a server."""
    protocols = {"ssl_keystore_location": certificates.node, "ssl_truststore_location": certificates.ca}
    security = security_of(
        listener_security_protocol_map=MAP.format("SSL", "SSL", "SSL"),
        listener_name_internal_ssl_client_auth="required",
        super_users="User:CN=broker-1,O=acme; User:operator",
        **protocols,
    )
    for listener in ("INTERNAL", "CLIENTS"):  # the nodes authenticate, so nobody passes for one elsewhere
        assert refuses(security, listener, "User:ANONYMOUS")
        assert refuses(security, listener, "User:CN=bob")
        assert not refuses(security, listener, "User:CN=broker-1,O=acme")
        assert not refuses(security, listener, "User:operator")
    shown = subject_of(certificates.node)
    assert "CN=node" in shown
    assert not refuses(security, "INTERNAL", shown)


def subject_of(certificate):
    command = ["openssl", "x509", "-in", str(certificate), "-noout", "-subject", "-nameopt", "RFC2253"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return f"User:{told.strip().removeprefix('subject=')}"


def test_without_authentication_everybody_is_a_node(security_of):
    security = security_of()
    assert not refuses(security, "CLIENTS", "User:ANONYMOUS")


def test_principals_are_of_users(security_of):
    (line,) = complaints(security_of, super_users="alice")
    assert "super.users" in line
    assert "'alice' does not begin with 'User:'" in line
