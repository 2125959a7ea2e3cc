"""API key -> request and response class, supported versions, header versions.

The ranges are what the codec can carry. What a node advertises to clients is its own decision (a broker, for one,
offers Produce from version 0 although it refuses versions below 3, because librdkafka asks for that).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.codec import Message, WireError
from highwater_runtime.wire.messages.catalog import PAIRS


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
        """Whether the codec knows ``version``."""
        return self.min_version <= version <= self.max_version

    def request_header_version(self, version: int) -> int:
        """2 for flexible requests, else 1. (Version 0, without client id, was ControlledShutdown 0's alone.)"""
        return 2 if version >= self.flexible_since else 1

    def response_header_version(self, version: int) -> int:
        """1 for flexible responses, else 0; ApiVersions always 0, since its reader may not know the version."""
        return 1 if version >= self.flexible_since and self.key is not ApiKey.API_VERSIONS else 0


def _api(request: type[Message], response: type[Message]) -> Api:
    shape = (request.MIN_VERSION, request.MAX_VERSION, request.FLEXIBLE_SINCE)
    if shape != (response.MIN_VERSION, response.MAX_VERSION, response.FLEXIBLE_SINCE):
        raise ValueError(f"{request.NAME} and {response.NAME} differ in their versions")
    return Api(ApiKey(request.API_KEY), request, response, *shape)


APIS: Final[dict[int, Api]] = {request.API_KEY: _api(request, response) for request, response in PAIRS}
"""By key, ascending."""


def api_of(key: int) -> Api:
    """The API with ``key``. Raises UnknownApiError."""
    api = APIS.get(key)
    if api is None:
        raise UnknownApiError(f"no API with key {key} in this build")
    return api
