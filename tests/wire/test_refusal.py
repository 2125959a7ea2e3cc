"""Every request in every version can be refused: the answer fits the version and says so, wherever its place is."""

from __future__ import annotations

import pytest

from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from highwater_runtime.wire.messages.describe_groups_request import DescribeGroupsRequest
from highwater_runtime.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from highwater_runtime.wire.refusal import refusal
from highwater_runtime.wire.registry import APIS

NO_PLACE = {(ApiKey.DESCRIBE_LOG_DIRS, 1), (ApiKey.DESCRIBE_LOG_DIRS, 2)}
"""Their answers have an error for each log directory only; an empty one says nothing of any."""


def _codes(value) -> list[int]:
    """Every error code in a message, however deep."""
    found = []
    for name in getattr(type(value), "__slots__", ()):
        inner = getattr(value, name)
        if name == "error_code":
            found.append(inner)
        for part in inner if isinstance(inner, list) else [inner]:
            found += _codes(part)
    return found


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.key.name)
def test_every_request_can_be_refused(api, full_sample, as_carried):
    for version in api.request.versions():
        body = as_carried(full_sample(api.request), version)
        for message in (None, "not now"):
            answer = refusal(body, ErrorCode.REQUEST_TIMED_OUT, message, version=version)
            back = api.response.decode(answer.encode(version), version)
            stated = int(ErrorCode.REQUEST_TIMED_OUT) in _codes(back)
            assert stated == ((api.key, version) not in NO_PLACE), version
        for_nothing = refusal(api.request(), ErrorCode.INVALID_REQUEST, "no", version=version)
        assert api.response.decode(for_nothing.encode(version), version)


def test_each_item_is_answered_by_its_own_names():
    fetch = FetchRequest(topics=[FetchTopic(topic="orders", partitions=[FetchPartition(partition=3)])])
    (topic,) = refusal(fetch, ErrorCode.NOT_CONTROLLER, version=4).responses
    assert (topic.topic, topic.partitions[0].partition_index, topic.partitions[0].high_watermark) == ("orders", 3, -1)
    (group,) = refusal(DescribeGroupsRequest(groups=["readers"]), ErrorCode.NOT_CONTROLLER).groups
    assert group.group_id == "readers"
    users = AlterUserScramCredentialsRequest(
        deletions=[ScramCredentialDeletion(name="ada", mechanism=1), ScramCredentialDeletion(name="ada", mechanism=2)]
    )
    (result,) = refusal(users, ErrorCode.NOT_CONTROLLER, "not here").results
    assert (result.user, result.error_message) == ("ada", "not here")
