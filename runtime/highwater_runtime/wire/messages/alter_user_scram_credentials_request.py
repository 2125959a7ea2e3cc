from __future__ import annotations

from highwater_runtime.wire.message import Int8, Int32, Message, Struct, field


class ScramCredentialDeletion(Struct):
    name: str = field()
    mechanism: Int8 = field()  # 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.


class ScramCredentialUpsertion(Struct):
    name: str = field()
    mechanism: Int8 = field()
    iterations: Int32 = field()
    salt: bytes = field()
    salted_password: bytes = field()


class AlterUserScramCredentialsRequest(Message, kind="request", key=51, versions="0", flexible="0+"):
    """Set or delete SCRAM credentials (KIP-554). The password itself does not travel, only what salting made of it."""

    deletions: list[ScramCredentialDeletion] = field()
    upsertions: list[ScramCredentialUpsertion] = field()
