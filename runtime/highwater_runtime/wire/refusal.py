"""The response that refuses a request as a whole, in the shape of that request.

Most responses have an error at the top. Some have one for each item only, and then the same error goes to every item
that was asked for; where versions differ in this, the version decides. Requests about one group, topic or user at a
time are in ``_BY_ITEM``; a request that is not there has its error at the top, or no place for one at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from highwater_runtime.ports import ApiMessage
from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.message import Struct
from highwater_runtime.wire.registry import api_of
from highwater_runtime.wire.schema import StructSchema, Versions


class _Items(NamedTuple):
    """For each item in the field ``asked`` of a request its response has one in the field ``answered``, in these
    versions. Where there is ``inner``, the error is in the items within the items."""

    asked: str
    answered: str
    inner: _Items | None = None
    versions: str = "0+"


_PARTITIONS: Final = _Items("partitions", "partitions")

_BY_ITEM: Final[Mapping[int, tuple[_Items, ...]]] = {
    ApiKey.PRODUCE: (_Items("topic_data", "responses", _Items("partition_data", "partition_responses")),),
    ApiKey.FETCH: (_Items("topics", "responses", _PARTITIONS, "0-6"),),
    ApiKey.LIST_OFFSETS: (_Items("topics", "topics", _PARTITIONS),),
    ApiKey.METADATA: (_Items("topics", "topics"),),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (_Items("topics", "topics", _PARTITIONS),),
    ApiKey.CREATE_TOPICS: (_Items("topics", "topics"),),
    ApiKey.DELETE_TOPICS: (_Items("topic_names", "responses"), _Items("topics", "responses")),
    ApiKey.CREATE_PARTITIONS: (_Items("topics", "results"),),
    ApiKey.DELETE_RECORDS: (_Items("topics", "topics", _PARTITIONS),),
    ApiKey.ELECT_LEADERS: (
        _Items("topic_partitions", "replica_election_results", _Items("partitions", "partition_result"), "0"),
    ),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (_Items("topics", "topics"),),
    ApiKey.DESCRIBE_CONFIGS: (_Items("resources", "results"),),
    ApiKey.ALTER_CONFIGS: (_Items("resources", "responses"),),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (_Items("resources", "responses"),),
    ApiKey.FIND_COORDINATOR: (_Items("coordinator_keys", "coordinators", versions="4+"),),
    ApiKey.OFFSET_COMMIT: (_Items("topics", "topics", _PARTITIONS),),
    ApiKey.OFFSET_FETCH: (
        _Items("topics", "topics", _Items("partition_indexes", "partitions"), "0-1"),
        _Items("groups", "groups", versions="8+"),
    ),
    ApiKey.DESCRIBE_GROUPS: (_Items("groups", "groups"),),
    ApiKey.DELETE_GROUPS: (_Items("groups_names", "results"),),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (_Items("deletions", "results"), _Items("upsertions", "results")),
}

_IDENTITIES: Final = (
    *("name", "topic", "topic_id", "index", "partition", "partition_index", "partition_id"),
    *("group_id", "key", "resource_type", "resource_name", "user"),
)
"""Fields that say which item is meant. Most have the same name in the response as in the request."""
_OTHER_NAMES: Final[Mapping[tuple[int, str], str]] = {
    (ApiKey.FETCH, "partition"): "partition_index",
    (ApiKey.ALTER_USER_SCRAM_CREDENTIALS, "name"): "user",
}
_UNANSWERED: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("base_offset", "high_watermark", "low_watermark", "committed_offset", "node_id", "port"), -1),
    **{"metadata": "", "records": b"", "configs": None, "error_message": None},
}
"""What an item has in place of an answer, in fields whose default says something else."""


def refusal(body: Any, error: ErrorCode, message: str | None = None, *, version: int | None = None) -> ApiMessage:
    """Return the response with ``error`` for everything in the request ``body``, and with ``message`` if it has a
    field for it.

    ``version`` is the request's, by default the newest one. It matters to those few requests whose versions have the
    error in different places.
    """
    api = api_of(body.API_KEY)
    refused = _Refusal(api.key, int(error), message, api.max_version if version is None else version)
    response: Any = api.response()
    refused.state(response)
    for items in _BY_ITEM.get(api.key, ()):
        if refused.version in Versions.parse(items.versions):
            refused.answer(response, body, items)
    if api.key == ApiKey.ALTER_USER_SCRAM_CREDENTIALS:  # one result for each user, whatever is asked of it
        response.results = list({result.user: result for result in response.results}.values())
    return response  # type: ignore[no-any-return]


class _Refusal(NamedTuple):
    key: int
    code: int
    message: str | None
    version: int

    def state(self, answer: Any) -> None:
        """Set the error, and the message, where this version of ``answer`` has a place for them."""
        for field in answer.SCHEMA.fields:
            if self.version in field.versions:
                if field.name == "error_code":
                    answer.error_code = self.code
                elif field.name == "error_message" and self.message is not None:
                    answer.error_message = self.message

    def answer(self, response: Any, request: Any, items: _Items) -> None:
        """Add to ``response`` what answers these items of ``request``."""
        struct = next(field.struct for field in response.SCHEMA.fields if field.name == items.answered)
        for item in getattr(request, items.asked) or ():
            answer = self._unanswered(item, struct)
            if items.inner is None:
                self.state(answer)
            else:
                self.answer(answer, item, items.inner)
            getattr(response, items.answered).append(answer)

    def _unanswered(self, item: Any, struct: StructSchema) -> Any:
        """Return the answer for ``item`` without the error."""
        answer = struct.cls()
        fields = {field.name: field for field in struct.fields}
        values = {name: value for name, value in _UNANSWERED.items() if name in fields}
        if isinstance(item, Struct):
            named = {_OTHER_NAMES.get((self.key, name), name): getattr(item, name) for name in item.__slots__}
            values |= {name: value for name, value in named.items() if name in _IDENTITIES and name in fields}
        else:
            values[next(name for name in fields if name in _IDENTITIES)] = item
        for name, value in values.items():
            if value is not None or self.version in fields[name].nullable:
                setattr(answer, name, value)
        return answer
