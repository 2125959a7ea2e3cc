"""API key -> request and response class, supported versions, header versions.

The ranges are what the codec can carry. What a node advertises to clients is its own decision (a broker, for one,
offers Produce from version 0 although it refuses versions below 3, because librdkafka asks for that).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Final

from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.codec import WireError
from highwater_runtime.wire.message import Message


class UnknownApiError(WireError):
    """No API of this build has the key."""


@dataclass(frozen=True, slots=True)
class Api:
    """One API and how its messages are framed."""

    key: ApiKey
    request: type[Message]
    response: type[Message]
    min_version: int
    max_version: int
    flexible_since: int

    def supports(self, version: int) -> bool:
        """Return whether the codec knows ``version``."""
        return self.min_version <= version <= self.max_version

    def request_header_version(self, version: int) -> int:
        """Return 2 for flexible requests, else 1. (Only ControlledShutdown 0 had version 0, without client id.)"""
        return 2 if version >= self.flexible_since else 1

    def response_header_version(self, version: int) -> int:
        """Return 1 for flexible responses, else 0. ApiVersions has 0, because its reader may not know the version."""
        return 1 if version >= self.flexible_since and self.key is not ApiKey.API_VERSIONS else 0


_KEYS: Final = (
    ApiKey.PRODUCE,
    ApiKey.FETCH,
    ApiKey.LIST_OFFSETS,
    ApiKey.METADATA,
    ApiKey.LEADER_AND_ISR,
    ApiKey.STOP_REPLICA,
    ApiKey.UPDATE_METADATA,
    ApiKey.CONTROLLED_SHUTDOWN,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.FIND_COORDINATOR,
    ApiKey.JOIN_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.LIST_GROUPS,
    ApiKey.SASL_HANDSHAKE,
    ApiKey.API_VERSIONS,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.DELETE_RECORDS,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.DESCRIBE_LOG_DIRS,
    ApiKey.SASL_AUTHENTICATE,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.DELETE_GROUPS,
    ApiKey.ELECT_LEADERS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.OFFSET_DELETE,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey.VOTE,
    ApiKey.BEGIN_QUORUM_EPOCH,
    ApiKey.END_QUORUM_EPOCH,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.ALTER_PARTITION,
    ApiKey.UPDATE_FEATURES,
    ApiKey.FETCH_SNAPSHOT,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.BROKER_REGISTRATION,
    ApiKey.BROKER_HEARTBEAT,
    ApiKey.UNREGISTER_BROKER,
    ApiKey.ALLOCATE_PRODUCER_IDS,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    ApiKey.READ_OFFSET,
    ApiKey.METADATA_READ,
    ApiKey.ZOOKEEPER_CONNECT,
    ApiKey.ZOOKEEPER,
    ApiKey.ZOOKEEPER_PROPOSE,
    ApiKey.ZOOKEEPER_VALIDATE,
    ApiKey.ZOOKEEPER_TOUCH,
)
"""The APIs of this build, ascending."""


def _message(key: ApiKey, kind: str) -> type[Message]:
    """Return the class for ``FETCH`` and ``request``: ``fetch_request.FetchRequest``."""
    module = import_module(f"highwater_runtime.wire.messages.{key.name.lower()}_{kind}")
    message: type[Message] = getattr(module, f"{key.name}_{kind}".title().replace("_", ""))
    if not issubclass(message, Message) or (key, kind) != (message.API_KEY, message.KIND):
        raise ValueError(f"expected the {kind} with key {int(key)}, found {message} in {module.__name__}")
    return message


def _api(key: ApiKey) -> Api:
    request, response = _message(key, "request"), _message(key, "response")
    shape = (request.MIN_VERSION, request.MAX_VERSION, request.FLEXIBLE_SINCE)
    if shape != (response.MIN_VERSION, response.MAX_VERSION, response.FLEXIBLE_SINCE):
        raise ValueError(f"{request.NAME} and {response.NAME} differ in their versions")
    return Api(key, request, response, *shape)


APIS: Final[dict[int, Api]] = {key: _api(key) for key in _KEYS}
"""By key, ascending."""


def api_of(key: int) -> Api:
    """Return the API with ``key``. Raises UnknownApiError."""
    api = APIS.get(key)
    if api is None:
        raise UnknownApiError(f"no API with key {key} in this build")
    return api
