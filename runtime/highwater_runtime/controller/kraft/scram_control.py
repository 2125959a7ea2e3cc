"""AlterUserScramCredentials: setting and deleting what users authenticate against (KIP-554).

Rules in words: all changes of one user happen or none; a user and mechanism may be named once in a request; a deletion
needs something to delete; iterations and salt have bounds. Credentials need a metadata.version that knows their record.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from highwater_runtime.controller.decision import Decision, RefusedError
from highwater_runtime.metadata import MetadataImage
from highwater_runtime.metadata.scram import (
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    MIN_SALT_BYTES,
    MOST_NAME_BYTES,
    ScramMechanism,
    credential_of_salted,
    credential_record,
)
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from highwater_runtime.wire.messages.alter_user_scram_credentials_response import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from highwater_runtime.wire.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord


def alter_user_scram_credentials(
    image: MetadataImage, request: AlterUserScramCredentialsRequest
) -> Decision[AlterUserScramCredentialsResponse]:
    """Change the credentials of each user for himself.

    Raises:
        RefusedError: UNSUPPORTED_VERSION where metadata.version is too low for the records.
    """
    if not image.metadata_version.scram_supported:
        raise RefusedError(
            ErrorCode.UNSUPPORTED_VERSION,
            f"metadata.version {image.metadata_version.version} knows no SCRAM credentials; 3.5-IV2 does",
        )
    changes: list[ScramCredentialDeletion | ScramCredentialUpsertion] = [*request.deletions, *request.upsertions]
    named = Counter((change.name, change.mechanism) for change in changes)
    of_user: dict[str, list[ScramCredentialDeletion | ScramCredentialUpsertion]] = {}
    for change in changes:
        of_user.setdefault(change.name, []).append(change)
    records: list[Any] = []
    results: list[AlterUserScramCredentialsResult] = []
    for user, own_changes in of_user.items():
        try:
            own = [_record(image, change, named[change.name, change.mechanism]) for change in own_changes]
        except RefusedError as refused:
            result = AlterUserScramCredentialsResult(user=user, error_code=refused.code, error_message=refused.message)
        else:
            records += own
            result = AlterUserScramCredentialsResult(user=user, error_message=None)
        results.append(result)
    return Decision(AlterUserScramCredentialsResponse(results=results), records)


def _record(image: MetadataImage, change: ScramCredentialDeletion | ScramCredentialUpsertion, times: int) -> Any:
    if not change.name:
        raise RefusedError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "a user name must not be empty")
    if len(change.name.encode()) > MOST_NAME_BYTES:
        raise RefusedError(
            ErrorCode.UNACCEPTABLE_CREDENTIAL, f"a user name has at most {MOST_NAME_BYTES} bytes of UTF-8"
        )
    if times > 1:
        raise RefusedError(
            ErrorCode.DUPLICATE_RESOURCE, "a user's credential for one mechanism cannot be altered twice in a request"
        )
    try:
        mechanism = ScramMechanism(change.mechanism)
    except ValueError:
        raise RefusedError(
            ErrorCode.UNSUPPORTED_SASL_MECHANISM, f"there is no SCRAM mechanism {change.mechanism}"
        ) from None
    if isinstance(change, ScramCredentialDeletion):
        if (change.name, mechanism) not in image.scram_credentials:
            raise RefusedError(ErrorCode.RESOURCE_NOT_FOUND, "there is no such credential to delete")
        return RemoveUserScramCredentialRecord(name=change.name, mechanism=int(mechanism))
    if not MIN_ITERATIONS <= change.iterations <= MAX_ITERATIONS:
        raise RefusedError(
            ErrorCode.UNACCEPTABLE_CREDENTIAL,
            f"iterations must be {MIN_ITERATIONS} to {MAX_ITERATIONS}, not {change.iterations}",
        )
    if len(change.salt) < MIN_SALT_BYTES or not change.salted_password:
        raise RefusedError(
            ErrorCode.UNACCEPTABLE_CREDENTIAL, f"a salt of at least {MIN_SALT_BYTES} bytes and a password are needed"
        )
    credential = credential_of_salted(mechanism, change.salt, change.salted_password, change.iterations)
    return credential_record(change.name, mechanism, credential)
