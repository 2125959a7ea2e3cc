"""DescribeUserScramCredentials: who can authenticate by SCRAM, and with how many iterations (KIP-554)."""

from __future__ import annotations

from collections import Counter

from highwater_runtime.metadata import MetadataImage
from highwater_runtime.ports import InboundRequest
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.describe_user_scram_credentials_request import DescribeUserScramCredentialsRequest
from highwater_runtime.wire.messages.describe_user_scram_credentials_response import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)


def handle(request: InboundRequest, image: MetadataImage) -> None:
    """Answer a DescribeUserScramCredentialsRequest: all users where none are named."""
    body: DescribeUserScramCredentialsRequest = request.body
    infos: dict[str, list[CredentialInfo]] = {}
    for (user, mechanism), credential in image.scram_credentials.items():
        infos.setdefault(user, []).append(CredentialInfo(mechanism=int(mechanism), iterations=credential.iterations))
    if not body.users:
        results = [_result(user, found) for user, found in infos.items()]
    else:
        named = Counter(user.name for user in body.users)
        results = [_asked(user, times, infos.get(user)) for user, times in named.items()]
    request.reply(DescribeUserScramCredentialsResponse(error_message=None, results=results))


def _asked(user: str, times: int, found: list[CredentialInfo] | None) -> DescribeUserScramCredentialsResult:
    if times > 1:
        return _refused(user, ErrorCode.DUPLICATE_RESOURCE, f"user {user!r} is named {times} times")
    if found is None:
        return _refused(user, ErrorCode.RESOURCE_NOT_FOUND, f"user {user!r} has no SCRAM credential")
    return _result(user, found)


def _result(user: str, infos: list[CredentialInfo]) -> DescribeUserScramCredentialsResult:
    return DescribeUserScramCredentialsResult(
        user=user, error_message=None, credential_infos=sorted(infos, key=lambda info: info.mechanism)
    )


def _refused(user: str, error: ErrorCode, message: str) -> DescribeUserScramCredentialsResult:
    return DescribeUserScramCredentialsResult(user=user, error_code=error, error_message=message)
