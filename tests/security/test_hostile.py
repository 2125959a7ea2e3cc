"""What clients try that are no nodes, and what they can learn before they have authenticated."""

from __future__ import annotations

import uuid

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from raw_client import RawClient
from scramp import ScramClient

from highwater_runtime.host.net.listeners import AuthenticationError
from highwater_runtime.host.security.scram import MOST_BYTES, ScramServer
from highwater_runtime.host.security.server import MOST_REQUESTS
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.alter_partition_request import AlterPartitionRequest
from highwater_runtime.wire.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from highwater_runtime.wire.messages.api_versions_request import ApiVersionsRequest
from highwater_runtime.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from highwater_runtime.wire.messages.broker_registration_request import BrokerRegistrationRequest
from highwater_runtime.wire.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from highwater_runtime.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from highwater_runtime.wire.messages.metadata_request import MetadataRequest
from highwater_runtime.wire.messages.read_offset_request import ReadOffsetRequest
from highwater_runtime.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from highwater_runtime.wire.messages.sasl_handshake_request import SaslHandshakeRequest
from highwater_runtime.wire.messages.vote_request import VoteRequest


class Client(RawClient):
    """A connection to one port, authenticated or not."""

    def first_of(self, user, mechanism="SCRAM-SHA-256"):
        """What the server says first of a user: salt and iterations."""
        assert self.ask(SaslHandshakeRequest(mechanism=mechanism), 1).error_code == ErrorCode.NONE
        opening = ScramClient([mechanism], user, "guessed").get_client_first().encode()
        answer = self.ask(SaslAuthenticateRequest(auth_bytes=opening), 2)
        assert answer.error_code == ErrorCode.NONE, answer.error_message
        fields = dict(part.split("=", 1) for part in answer.auth_bytes.decode().split(","))
        return fields["s"], int(fields["i"])

    def log_in(self, user, password, mechanism="SCRAM-SHA-256"):
        assert self.ask(SaslHandshakeRequest(mechanism=mechanism), 1).error_code == ErrorCode.NONE
        scram = ScramClient([mechanism], user, password)
        answer = self.ask(SaslAuthenticateRequest(auth_bytes=scram.get_client_first().encode()), 2)
        scram.set_server_first(answer.auth_bytes.decode())
        answer = self.ask(SaslAuthenticateRequest(auth_bytes=scram.get_client_final().encode()), 2)
        assert answer.error_code == ErrorCode.NONE, answer.error_message
        return self


@pytest.fixture
def connect(cluster):
    made = []

    def connect(node, listener, user=None, password=""):
        secure = listener in ("CONTROLLER", "SECURE", "TLS")
        client = Client(node.ports[listener], cluster.certificates.context() if secure else None)
        made.append(client)
        return client.log_in(user, password) if user else client

    yield connect
    for client in made:
        client.socket.close()


NODE_ONLY = [
    (BrokerRegistrationRequest(broker_id=66, incarnation_id=uuid.uuid4(), rack=None), 3),
    (BrokerHeartbeatRequest(broker_id=0, broker_epoch=1), 0),
    (AlterPartitionRequest(broker_id=0, broker_epoch=1), 3),
    (VoteRequest(cluster_id=None), 1),
    (EndQuorumEpochRequest(cluster_id=None), 0),
    (ReadOffsetRequest(), 0),
    (FetchRequest(replica_state=ReplicaState(replica_id=0), cluster_id=None), 15),
]


@pytest.mark.parametrize(("request_", "version"), NODE_ONLY, ids=lambda one: getattr(one, "NAME", ""))
def test_a_controller_takes_requests_of_nodes_from_nodes_alone(cluster, connect, request_, version):
    refused = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    alice = connect(cluster.controllers[0], "CONTROLLER", "alice", "alice-secret")
    assert alice.ask(request_, version).error_code == refused
    node = connect(cluster.controllers[0], "CONTROLLER", "node", "node-secret")
    assert node.ask(request_, version).error_code != refused
    assert cluster.logged("principal=User:alice", cluster.controllers)


@pytest.mark.parametrize("listener", ["SASL", "TLS"])
def test_a_client_cannot_fetch_as_a_replica(cluster, connect, listener):
    """A Fetch with a replica id can move a high watermark. TLS without certificate: such clients are anonymous."""
    topic = cluster.topic(f"replica-{listener.lower()}", 1)
    known = {"user": "alice", "password": "alice-secret"} if listener == "SASL" else {}
    clients = [connect(broker, listener, **known) for broker in cluster.brokers]

    def ids():
        return {one.topic_id for one in clients[0].ask(MetadataRequest(topics=None), 12).topics if one.name == topic}

    cluster.until(ids, "the broker that is asked to know the topic")  # another has said that there are leaders
    (topic_id,) = ids()

    def fetch(client, replica_id):
        partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
        request = FetchRequest(
            replica_state=ReplicaState(replica_id=replica_id, replica_epoch=-1),
            cluster_id=None,
            max_wait_ms=0,
            topics=[FetchTopic(topic_id=topic_id, partitions=[partition])],
        )
        response = client.ask(request, 15)
        return response.error_code, response.responses[0].partitions[0].error_code

    def consumed():
        return {fetch(client, -1)[1] for client in clients}

    cluster.until(lambda: ErrorCode.NONE in consumed(), "the leader to lead")
    assert ErrorCode.TOPIC_AUTHORIZATION_FAILED not in consumed()
    for client in clients:
        assert fetch(client, 1) == (ErrorCode.NONE, ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def test_a_client_cannot_change_the_password_of_the_nodes(cluster):
    admin = AdminClient(cluster.librdkafka("SECURE"))
    sha_256 = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    change = UserScramCredentialUpsertion("node", sha_256, b"mine")
    (future,) = admin.alter_user_scram_credentials([change]).values()
    with pytest.raises(KafkaException, match="CLUSTER_AUTHORIZATION_FAILED"):
        future.result(60)


def test_nobody_can_tell_which_users_exist(cluster, connect):
    """Salt and iterations of a name are the same at each broker and each time, for users and for others."""
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        seen = {
            user: {connect(broker, "SASL").first_of(user, mechanism) for broker in cluster.brokers for _ in range(2)}
            for user in ("alice", "nobody", "somebody")
        }
        assert all(len(answers) == 1 for answers in seen.values()), seen
        found = {user: next(iter(answers)) for user, answers in seen.items()}
        assert len({salt for salt, _ in found.values()}) == 3
        assert len({len(salt) for salt, _ in found.values()}) == 1
    refusals = {_refusal(connect(cluster.brokers[0], "SASL"), user) for user in ("alice", "nobody")}
    assert len(refusals) == 1


def _refusal(client, user):
    client.ask(SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1)
    scram = ScramClient(["SCRAM-SHA-256"], user, "wrong")
    answer = client.ask(SaslAuthenticateRequest(auth_bytes=scram.get_client_first().encode()), 2)
    scram.set_server_first(answer.auth_bytes.decode())
    answer = client.ask(SaslAuthenticateRequest(auth_bytes=scram.get_client_final().encode()), 2)
    return answer.error_code, answer.error_message, answer.auth_bytes


def refused(client, request, version):
    """The error of a request after which the server closes the connection; None: it closes without a response."""
    try:
        answer = client.ask(request, version)
    except (EOFError, OSError):
        return None
    with pytest.raises((EOFError, OSError)):
        client.ask(ApiVersionsRequest(client_software_name="x", client_software_version="1"), 3)
    return answer.error_code


@pytest.mark.parametrize("letter", ["a", "é", "\u0627"])
def test_a_long_name_is_refused_before_it_is_prepared(cluster, connect, letter, monkeypatch):
    """RFC 4013 is applied letter by letter: 400,000 of them took 3 s, in which nobody else was served."""
    client = connect(cluster.brokers[0], "SASL")
    assert client.ask(SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1).error_code == ErrorCode.NONE
    name = letter * (MOST_BYTES // len(letter.encode()))
    opening = SaslAuthenticateRequest(auth_bytes=f"n,,n={name},r=abc".encode())
    assert refused(client, opening, 2) == ErrorCode.SASL_AUTHENTICATION_FAILED
    alice = connect(cluster.brokers[0], "SASL", "alice", "alice-secret")
    monkeypatch.setattr("scramp.core.saslprep", lambda _: pytest.fail("a long name was prepared"))
    server = ScramServer("SCRAM-SHA-256", lambda _: pytest.fail("a long name was looked up"))
    with pytest.raises(AuthenticationError, match="bytes; at most 1024 are allowed"):
        server.respond(opening.auth_bytes)
    long = AlterUserScramCredentialsRequest(
        upsertions=[
            ScramCredentialUpsertion(
                name=letter * 256, mechanism=1, iterations=4096, salt=b"s" * 16, salted_password=b"p"
            )
        ]
    )
    (result,) = alice.ask(long, 0).results
    assert result.error_code == ErrorCode.UNACCEPTABLE_CREDENTIAL


def test_who_is_not_known_yet_asks_no_more_than_a_client_must(cluster, connect):
    client = connect(cluster.brokers[0], "SASL")
    introduction = ApiVersionsRequest(client_software_name="x", client_software_version="1")
    for _ in range(MOST_REQUESTS):
        assert client.ask(introduction, 3).error_code == ErrorCode.NONE
    assert refused(client, introduction, 3) is None
