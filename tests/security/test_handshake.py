"""What comes before a client is known: out of turn, malformed, too large, too late. Each ends that connection alone."""

from __future__ import annotations

import socket
import ssl

import pytest
from raw_client import RawClient

from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.api_versions_request import ApiVersionsRequest
from highwater_runtime.wire.messages.metadata_request import MetadataRequest
from highwater_runtime.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from highwater_runtime.wire.messages.sasl_handshake_request import SaslHandshakeRequest


class Raw(RawClient):
    """Speaks first, before any handshake of SASL."""

    def __init__(self, cluster, listener="SASL"):
        super().__init__(cluster.brokers[0].ports[listener])

    def is_closed(self):
        """Waits for the server's end; whether nothing came before."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True


@pytest.fixture
def raw(cluster):
    connection = Raw(cluster)
    yield connection
    connection.socket.close()


def test_api_versions_may_come_first(raw):
    assert raw.ask(ApiVersionsRequest(), 3).error_code == ErrorCode.NONE
    assert raw.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1).mechanisms == [
        "SCRAM-SHA-256",
        "SCRAM-SHA-512",
        "PLAIN",
    ]
    assert raw.ask(ApiVersionsRequest(), 3).error_code == ErrorCode.NONE
    answer = raw.ask(SaslAuthenticateRequest(auth_bytes=b"\0carol\0carol-secret"), 2)
    assert (answer.error_code, answer.auth_bytes) == (ErrorCode.NONE, b"")
    assert len(raw.ask(MetadataRequest(), 12).brokers) == 2
    again = raw.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    assert again.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert raw.ask(SaslAuthenticateRequest(auth_bytes=b"x"), 2).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert len(raw.ask(MetadataRequest(), 12).brokers) == 2


def test_nothing_else_may(raw, cluster):
    with pytest.raises((EOFError, ConnectionResetError)):
        raw.ask(MetadataRequest(), 12)
    assert cluster.logged("MetadataRequest before authentication")


def test_a_mechanism_that_is_not_there(raw):
    answer = raw.ask(SaslHandshakeRequest(mechanism="GSSAPI"), 1)
    assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert raw.is_closed()


def test_the_first_version_of_the_handshake(raw):
    answer = raw.ask(SaslHandshakeRequest(mechanism="PLAIN"), 0)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert raw.is_closed()


def test_messages_without_handshake(raw):
    answer = raw.ask(SaslAuthenticateRequest(auth_bytes=b"\0carol\0carol-secret"), 2)
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert raw.is_closed()


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        ("PLAIN", b""),
        ("PLAIN", b"carol\0carol-secret"),
        ("PLAIN", b"\0carol\0carol-secret\0"),
        ("PLAIN", b"alice\0carol\0carol-secret"),
        ("PLAIN", b"\0\xff\xfe\0carol-secret"),
        ("PLAIN", b"\0node\0"),
        ("SCRAM-SHA-256", b""),
        ("SCRAM-SHA-256", b"n,,n=alice"),
        ("SCRAM-SHA-256", b"n,,n=alice,r="),
        ("SCRAM-SHA-256", b"p=tls-unique,,n=alice,r=abc"),
        ("SCRAM-SHA-256", b"n,a=bob,n=alice,r=abc"),
        ("SCRAM-SHA-512", b"\xff\xfe"),
    ],
)
def test_malformed_messages(raw, mechanism, message):
    assert raw.ask(SaslHandshakeRequest(mechanism=mechanism), 1).error_code == ErrorCode.NONE
    answer = raw.ask(SaslAuthenticateRequest(auth_bytes=message), 2)
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert answer.error_message == f"authentication failed: invalid credentials for {mechanism}"
    assert raw.is_closed()


def test_a_proof_that_was_heard_elsewhere_is_worth_nothing(cluster):
    """Two conversations of the same user: what one has proved does not fit the other."""
    from scramp import ScramClient

    first, second = Raw(cluster), Raw(cluster)
    client = ScramClient(["SCRAM-SHA-256"], "alice", "alice-secret")
    opening = client.get_client_first().encode()
    answers = []
    for connection in (first, second):
        connection.ask(SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1)
        answers.append(connection.ask(SaslAuthenticateRequest(auth_bytes=opening), 2).auth_bytes)
    assert answers[0] != answers[1]
    client.set_server_first(answers[0].decode())
    proof = client.get_client_final().encode()
    assert second.ask(SaslAuthenticateRequest(auth_bytes=proof), 2).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    final = first.ask(SaslAuthenticateRequest(auth_bytes=proof), 2)
    assert final.error_code == ErrorCode.NONE
    client.set_server_final(final.auth_bytes.decode())  # raises unless the server knows the password
    for connection in (first, second):
        connection.socket.close()


def test_who_is_not_known_may_not_send_much(cluster):
    def refused():
        attempt = Raw(cluster)
        attempt.socket.sendall((1_000_000).to_bytes(4, "big"))
        assert attempt.is_closed()
        return cluster.logged("at most 524288 are allowed")

    # The tests before this one may have used up the lines that connections may log in a second.
    cluster.until(refused, "the reason is in a log")


def test_who_says_nothing_is_let_go(raw, cluster):
    assert raw.is_closed()
    assert cluster.logged("not authenticated within 2 s")


def test_who_stops_in_the_middle_is_let_go(raw):
    raw.ask(SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1)
    assert raw.ask(SaslAuthenticateRequest(auth_bytes=b"n,,n=alice,r=abc"), 2).error_code == ErrorCode.NONE
    assert raw.is_closed()


@pytest.mark.parametrize("listener", ["TLS", "SECURE"])
def test_who_never_finishes_the_handshake_of_tls_is_let_go(cluster, listener):
    connection = Raw(cluster, listener)
    connection.socket.sendall(b"\x16\x03\x01\x02\x00\x01")  # the beginning of a ClientHello
    assert connection.is_closed()
    connection.socket.close()


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated:DeprecationWarning")
def test_old_tls_is_refused(cluster, certificates):
    context = certificates.context()
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with (
        socket.create_connection(("127.0.0.1", cluster.brokers[0].ports["TLS"]), timeout=60) as plain,
        pytest.raises(ssl.SSLError),
    ):
        context.wrap_socket(plain, server_hostname="127.0.0.1")


def test_others_are_served_meanwhile(cluster):
    """A hundred that are not known yet do not keep out one who is."""
    strangers = [Raw(cluster) for _ in range(100)]
    known = Raw(cluster)
    known.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    answer = known.ask(SaslAuthenticateRequest(auth_bytes=b"\0carol\0carol-secret"), 2)
    assert answer.error_code == ErrorCode.NONE
    assert len(known.ask(MetadataRequest(), 12).brokers) == 2
    assert all(stranger.is_closed() for stranger in strangers)
    for connection in (*strangers, known):
        connection.socket.close()
