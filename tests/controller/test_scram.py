"""SCRAM credentials in the metadata log: set, changed, deleted, and kept by snapshots."""

from __future__ import annotations

from hashlib import pbkdf2_hmac
from typing import Any

import pytest

from highwater_runtime.broker.apis import scram_credentials
from highwater_runtime.controller.decision import RefusedError
from highwater_runtime.controller.kraft import scram_control
from highwater_runtime.controller.kraft.settings import bootstrap
from highwater_runtime.metadata import MetadataImage, MetadataVersion, ScramCredentialChanged, differences, image_of
from highwater_runtime.metadata import snapshot_records as records_of
from highwater_runtime.metadata.image import MetadataReplayError
from highwater_runtime.metadata.scram import ScramMechanism, credential_of, credential_record
from highwater_runtime.ports import InboundRequest
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from highwater_runtime.wire.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from highwater_runtime.wire.records_codec import decode_metadata_record, encode_metadata_record

SALT = b"a salt of 20 bytes.."
SHA_256, SHA_512 = ScramMechanism


def upsertion(name="alice", mechanism: int = SHA_256, password="secret", iterations=4096, salt=SALT):
    salted = pbkdf2_hmac("sha256" if mechanism == SHA_256 else "sha512", password.encode(), salt, max(1, iterations))
    return ScramCredentialUpsertion(
        name=name, mechanism=int(mechanism), iterations=iterations, salt=salt, salted_password=salted
    )


def deletion(name="alice", mechanism: int = SHA_256):
    return ScramCredentialDeletion(name=name, mechanism=int(mechanism))


@pytest.fixture
def image() -> MetadataImage:
    image = MetadataImage()
    for offset, record in enumerate(bootstrap(MetadataVersion.latest())):
        image.apply(record, offset)
    return image


def alter(image: MetadataImage, *changes: Any) -> list[tuple[str, ErrorCode]]:
    """Ask, apply what follows as a replay would, and return the results."""
    request = AlterUserScramCredentialsRequest(
        deletions=[c for c in changes if isinstance(c, ScramCredentialDeletion)],
        upsertions=[c for c in changes if isinstance(c, ScramCredentialUpsertion)],
    )
    decision = scram_control.alter_user_scram_credentials(image, request)
    for record in decision.records:
        image.apply(decode_metadata_record(encode_metadata_record(record, 0)), image.offset + 1)
    return [(result.user, ErrorCode(result.error_code)) for result in decision.response.results]


def test_a_credential_is_what_the_password_makes(image):
    assert alter(image, upsertion(), upsertion(mechanism=SHA_512)) == [("alice", ErrorCode.NONE)]
    assert image.scram_credentials == {
        ("alice", mechanism): credential_of(mechanism, "secret", SALT, 4096) for mechanism in ScramMechanism
    }


def test_the_last_one_counts_until_it_is_deleted(image):
    alter(image, upsertion())
    alter(image, upsertion(password="other", iterations=5000))
    assert image.scram_credentials["alice", SHA_256] == credential_of(SHA_256, "other", SALT, 5000)
    assert alter(image, deletion()) == [("alice", ErrorCode.NONE)]
    assert image.scram_credentials == {}


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ([upsertion(name="")], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([upsertion(iterations=4095)], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([upsertion(iterations=16_385)], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([upsertion(salt=b"short")], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([upsertion(mechanism=3)], ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ([deletion(mechanism=0)], ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ([deletion()], ErrorCode.RESOURCE_NOT_FOUND),
        ([upsertion(), upsertion()], ErrorCode.DUPLICATE_RESOURCE),
        ([deletion(name="bob"), upsertion(name="bob")], ErrorCode.DUPLICATE_RESOURCE),
    ],
)
def test_what_is_refused_changes_nothing(image, changes, error):
    alter(image, upsertion(name="bob"))
    before = dict(image.scram_credentials)
    results = alter(image, *changes, upsertion(name="carol"))
    assert results == [(changes[0].name, error), ("carol", ErrorCode.NONE)]
    del image.scram_credentials["carol", SHA_256]
    assert image.scram_credentials == before


def test_one_wrong_change_of_a_user_stops_his_others(image):
    assert alter(image, upsertion(), upsertion(mechanism=SHA_512, iterations=1)) == [
        ("alice", ErrorCode.UNACCEPTABLE_CREDENTIAL)
    ]
    assert image.scram_credentials == {}


def test_old_clusters_have_no_credentials():
    image = MetadataImage()
    (record,) = bootstrap(MetadataVersion.of("3.5-IV1"))
    image.apply(record, 0)
    with pytest.raises(RefusedError, match=r"3\.5-IV1 knows no SCRAM"):
        alter(image, upsertion())


def test_the_first_controller_writes_those_of_the_bootstrap():
    record = credential_record("node", SHA_256, credential_of(SHA_256, "secret", SALT, 4096))
    image = MetadataImage()
    for offset, one in enumerate(bootstrap(MetadataVersion.latest(), (record,))):
        image.apply(one, offset)
    assert list(image.scram_credentials) == [("node", SHA_256)]


def test_snapshots_copies_and_differences(image):
    alter(image, upsertion(), upsertion(name="bob", mechanism=SHA_512))
    again = image_of(records_of(image), image.offset + 1)
    assert again.scram_credentials == image.scram_credentials
    later = image.copy()
    alter(later, deletion(), upsertion(name="carol"), upsertion(name="bob", mechanism=SHA_512, password="new"))
    assert list(image.scram_credentials) == [("alice", SHA_256), ("bob", SHA_512)]
    assert list(differences(image, later)) == [
        ScramCredentialChanged("alice", SHA_256),
        ScramCredentialChanged("bob", SHA_512),
        ScramCredentialChanged("carol", SHA_256),
    ]


def test_a_log_that_deletes_what_is_not_there_is_corrupt(image):
    alter(image, upsertion())
    decision = scram_control.alter_user_scram_credentials(
        image, AlterUserScramCredentialsRequest(deletions=[deletion()])
    )
    image.apply(decision.records[0], 10)
    with pytest.raises(MetadataReplayError, match="no such credential"):
        image.apply(decision.records[0], 11)


def describe(image: MetadataImage, *users: str) -> dict[str, Any]:
    answers: list[Any] = []
    body = DescribeUserScramCredentialsRequest(users=[UserName(name=user) for user in users] if users else None)
    scram_credentials.handle(InboundRequest(body, 0, "admin", "peer", answers.append), image)
    (response,) = answers
    response.encode(0)
    return {
        result.user: ErrorCode(result.error_code) or [(i.mechanism, i.iterations) for i in result.credential_infos]
        for result in response.results
    }


def test_describing_shows_mechanisms_and_iterations(image):
    alter(image, upsertion(mechanism=SHA_512), upsertion(iterations=5000), upsertion(name="bob"))
    assert describe(image) == {"alice": [(1, 5000), (2, 4096)], "bob": [(1, 4096)]}
    assert describe(image, "bob", "nobody") == {"bob": [(1, 4096)], "nobody": ErrorCode.RESOURCE_NOT_FOUND}
    assert describe(image, "bob", "bob") == {"bob": ErrorCode.DUPLICATE_RESOURCE}


def test_the_controller_serves_it(cluster):
    response = cluster.ask(AlterUserScramCredentialsRequest(upsertions=[upsertion()]))
    assert [(r.user, r.error_code) for r in response.results] == [("alice", ErrorCode.NONE)]
    assert ("alice", SHA_256) in cluster.controller.committed_image.scram_credentials
