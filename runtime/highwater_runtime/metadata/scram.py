"""SCRAM credentials (RFC 5802, KIP-554): what a cluster keeps of a password, so that it can check it without having it.

The metadata log holds salt, iterations, stored key and server key of each user and mechanism. Neither key is enough to
log in. A server that has both can check a client's proof, and can prove to the client that it knows the user.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from enum import IntEnum
from hashlib import new as new_hash
from hashlib import pbkdf2_hmac
from typing import Final

from highwater_runtime.wire.messages.user_scram_credential_record import UserScramCredentialRecord

MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 16_384
MIN_SALT_BYTES: Final = 12
"""A shorter salt is refused when it is set, since clients may refuse it when they log in."""

MOST_NAME_BYTES: Final = 255
"""Of a user's name in UTF-8. Whoever has a longer one could not log in: messages before that are bounded."""


class ScramMechanism(IntEnum):
    """Mechanisms by their number in records and requests."""

    SHA_256 = 1
    SHA_512 = 2

    @classmethod
    def named(cls, name: str) -> ScramMechanism:
        """From ``SCRAM-SHA-256`` or ``SCRAM-SHA-512``. Raises ``ValueError``."""
        for mechanism in cls:
            if mechanism.sasl_name == name:
                return mechanism
        raise ValueError(f"{name!r} is not one of {', '.join(m.sasl_name for m in cls)}")

    @property
    def sasl_name(self) -> str:
        """As SASL knows it: ``SCRAM-SHA-256``."""
        return f"SCRAM-{self.name.replace('_', '-')}"

    @property
    def digest(self) -> str:
        """The hash function, by its name in ``hashlib``."""
        return self.name.replace("_", "").lower()


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """What one user authenticates against by one mechanism."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


def credential_of_salted(
    mechanism: ScramMechanism, salt: bytes, salted_password: bytes, iterations: int
) -> ScramCredential:
    """The credential of a password that was salted already, as AlterUserScramCredentials brings it."""
    digest = mechanism.digest
    client_key = hmac.digest(salted_password, b"Client Key", digest)
    return ScramCredential(
        salt=salt,
        stored_key=new_hash(digest, client_key).digest(),
        server_key=hmac.digest(salted_password, b"Server Key", digest),
        iterations=iterations,
    )


def credential_of(mechanism: ScramMechanism, password: str, salt: bytes, iterations: int) -> ScramCredential:
    """The credential of ``password``; takes milliseconds on purpose."""
    salted = pbkdf2_hmac(mechanism.digest, password.encode(), salt, iterations)
    return credential_of_salted(mechanism, salt, salted, iterations)


def credential_record(user: str, mechanism: ScramMechanism, credential: ScramCredential) -> UserScramCredentialRecord:
    """The record that gives ``user`` the credential."""
    return UserScramCredentialRecord(
        name=user,
        mechanism=int(mechanism),
        salt=credential.salt,
        stored_key=credential.stored_key,
        server_key=credential.server_key,
        iterations=credential.iterations,
    )
