"""Requests that only nodes may send, and who is a node. There are no other access rules (ACLs).

An authenticated client could otherwise register as a broker, change an ISR, vote, or move a high watermark by a Fetch
with a replica id. Kafka's authorizer asks for CLUSTER_ACTION on these requests (``KafkaApis`` and ``ControllerApis`` of
Kafka 4.0); responses are the same as there.

The nodes are the principal that this node itself shows to others, and those in ``super.users``. A client that
could change the password of a node could become one, so only nodes may change the SCRAM credentials of a node.
"""

from __future__ import annotations

from typing import Any, Final

from highwater_runtime.host.net.listeners import Authorize
from highwater_runtime.ports import ApiMessage
from highwater_runtime.raft.messages import is_metadata_fetch
from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages import fetch_response
from highwater_runtime.wire.messages.alter_user_scram_credentials_request import AlterUserScramCredentialsRequest
from highwater_runtime.wire.messages.fetch_request import FetchRequest
from highwater_runtime.wire.refusal import refusal

NODE_ONLY: Final = frozenset(
    {
        ApiKey.LEADER_AND_ISR,
        ApiKey.STOP_REPLICA,
        ApiKey.UPDATE_METADATA,
        ApiKey.CONTROLLED_SHUTDOWN,
        ApiKey.WRITE_TXN_MARKERS,
        ApiKey.VOTE,
        ApiKey.BEGIN_QUORUM_EPOCH,
        ApiKey.END_QUORUM_EPOCH,
        ApiKey.FETCH_SNAPSHOT,
        ApiKey.ALTER_PARTITION,
        ApiKey.ENVELOPE,
        ApiKey.BROKER_REGISTRATION,
        ApiKey.BROKER_HEARTBEAT,
        ApiKey.ALLOCATE_PRODUCER_IDS,
        ApiKey.CONTROLLER_REGISTRATION,
        ApiKey.ASSIGN_REPLICAS_TO_DIRS,
        ApiKey.UPDATE_RAFT_VOTER,
        ApiKey.READ_OFFSET,
    }
)
_SOMETIMES: Final = frozenset({ApiKey.FETCH, ApiKey.ALTER_USER_SCRAM_CREDENTIALS})
_USER: Final = "User:"


def only_nodes(principals: frozenset[str], *, is_controller: bool) -> Authorize:
    """The rule of a node for which ``principals`` are the nodes. A controller serves every Fetch to nodes alone."""
    users = frozenset(name.removeprefix(_USER) for name in principals)

    def authorize(principal: str, body: Any, version: int) -> ApiMessage | None:
        key = body.API_KEY
        if (key not in NODE_ONLY and key not in _SOMETIMES) or principal in principals:
            return None
        match body:
            case FetchRequest() if is_controller or is_metadata_fetch(body):
                pass
            case FetchRequest():
                if body.replica_id < 0 and body.replica_state.replica_id < 0:
                    return None
                return _refused_fetch(body)
            case AlterUserScramCredentialsRequest():
                changed = {one.name for one in body.deletions} | {one.name for one in body.upsertions}
                if users.isdisjoint(changed):
                    return None
            case _:
                pass
        return refusal(body, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, version=version)

    return authorize


def _refused_fetch(body: FetchRequest) -> ApiMessage:
    """To a follower that is no node, as Kafka's brokers: an error for each partition."""
    m = fetch_response
    return m.FetchResponse(
        responses=[
            m.FetchableTopicResponse(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=[
                    m.PartitionData(
                        partition_index=one.partition,
                        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                        high_watermark=-1,
                        records=b"",
                    )
                    for one in topic.partitions
                ],
            )
            for topic in body.topics
        ]
    )


def parse_principals(text: str) -> frozenset[str]:
    """From ``User:alice;User:CN=bob,O=acme``. Raises ``ValueError``."""
    found = frozenset(one for part in text.split(";") if (one := part.strip()))
    for one in found:
        if not one.startswith(_USER) or one == _USER:
            raise ValueError(f"{one!r} does not begin with {_USER!r}, followed by a name")
    return found
