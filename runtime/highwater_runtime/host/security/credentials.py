"""SCRAM credentials of a node: those of the metadata log, and those that it begins with.

A new cluster has no credentials, so its nodes could not even talk to each other to agree on some. Hence
``highwater.scram.bootstrap``, as Kafka has ``kafka-storage format --add-scram``: it is in the file of every node,
holds until the node has seen the metadata log, and is written there by the first active controller. From then on only
the metadata log counts, so that a credential can be changed and deleted.
"""

from __future__ import annotations

import hmac
import os
import re
from collections.abc import Callable, Mapping
from hashlib import new as new_hash
from hashlib import shake_256
from typing import Any, Final, NamedTuple

from highwater_runtime.metadata import MetadataImage
from highwater_runtime.metadata.scram import (
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    MIN_SALT_BYTES,
    ScramCredential,
    ScramMechanism,
    credential_of,
    credential_record,
)

Credentials = dict[tuple[str, ScramMechanism], ScramCredential]

_ENTRY: Final = re.compile(r"\s*(SCRAM-SHA-(?:256|512))=\[([^\]]*)\]\s*(?:[;,]|$)")
_FIELD: Final = re.compile(r'\s*(name|password|iterations)=(?:"([^"]*)"|([^,"\]]*))\s*(?:,|$)')
_SALT_BYTES: Final = 32
_DIGITS: Final = b"0123456789abcdefghijklmnopqrstuvwxyz"
_BASE_36: Final = re.compile(rb"[0-9a-z]+")
"""The form of the salts that Kafka's own clients make."""


_Known = Mapping[tuple[str, ScramMechanism], ScramCredential]


class _Shape(NamedTuple):
    """What a client that has not authenticated sees of a credential."""

    iterations: int
    salt_bytes: int
    is_base_36: bool


class ScramCredentials:
    """Looks credentials up. ``bootstrap`` are those of the node's file."""

    def __init__(self, bootstrap: Credentials, cluster_id: str) -> None:
        self._bootstrap = bootstrap
        self._decoy_key = hmac.digest(cluster_id.encode(), b"highwater SCRAM decoys", "sha256")
        self._image: Callable[[], MetadataImage | None] = lambda: None
        self._shapes_of: _Known | None = None
        self._shapes_by_mechanism: dict[ScramMechanism, list[_Shape]] = {}

    def read_from(self, image: Callable[[], MetadataImage | None]) -> None:
        """Look into the image that ``image`` returns from now on; None, or one without records: there is none yet."""
        self._image = image

    def find(self, user: str, mechanism: ScramMechanism) -> ScramCredential:
        """The credential in force. A user that has none for the mechanism gets a decoy, which no password fits."""
        image = self._image()
        known = self._bootstrap if image is None or image.offset < 0 else image.scram_credentials
        decoy = self._decoy(user, mechanism, known)  # made in any case, so that time tells nothing
        return known.get((user, mechanism), decoy)

    def _decoy(self, user: str, mechanism: ScramMechanism, known: _Known) -> ScramCredential:
        """What makes an unknown user look like a known one (RFC 5802, section 9).

        The same for a name at every node and after every start: a salt that changes would tell. Only who knows the
        cluster's id could compute it. Nobody gets that id before authentication. Iterations and form of the salt are
        like those of users that exist.
        """

        def derived(purpose: bytes, nbytes: int) -> bytes:
            seed = b"\0".join((purpose, mechanism.sasl_name.encode(), user.encode("utf-8", "surrogatepass")))
            return shake_256(self._decoy_key + seed).digest(nbytes)

        shapes = self._shapes(mechanism, known)
        shape = shapes[int.from_bytes(derived(b"shape", 8)) % len(shapes)]
        salt = derived(b"salt", shape.salt_bytes)
        if shape.is_base_36:
            salt = bytes(_DIGITS[byte % len(_DIGITS)] for byte in salt)
        size = new_hash(mechanism.digest).digest_size
        return ScramCredential(
            salt=salt,
            stored_key=os.urandom(size),
            server_key=os.urandom(size),
            iterations=shape.iterations,
        )

    def _shapes(self, mechanism: ScramMechanism, known: _Known) -> list[_Shape]:
        """What credentials of ``mechanism`` look like; never empty."""
        if known is not self._shapes_of:
            self._shapes_of = known
            found: dict[ScramMechanism, set[_Shape]] = {}
            for (_, of), one in known.items():
                shape = _Shape(one.iterations, len(one.salt), _BASE_36.fullmatch(one.salt) is not None)
                found.setdefault(of, set()).add(shape)
            self._shapes_by_mechanism = {of: sorted(shapes) for of, shapes in found.items()}
        return self._shapes_by_mechanism.get(mechanism) or [_Shape(MIN_ITERATIONS, _SALT_BYTES, False)]

    def bootstrap_records(self) -> tuple[Any, ...]:
        """The records with which a new metadata log begins."""
        return tuple(credential_record(user, mechanism, found) for (user, mechanism), found in self._bootstrap.items())


def parse_bootstrap(text: str) -> Credentials:
    """From ``SCRAM-SHA-256=[name=alice,password=secret,iterations=8192];…``; iterations may be left out.

    Raises:
        ValueError: it is not of that form; the message shows no secret.
    """
    found: Credentials = {}
    position = 0
    while position < len(text):
        entry = _ENTRY.match(text, position)
        if entry is None:
            raise ValueError(f"entry {len(found) + 1} is not of the form SCRAM-SHA-256=[name=…,password=…]")
        fields = _fields(entry[2], len(found) + 1)
        mechanism = ScramMechanism.named(entry[1])
        iterations = int(fields.get("iterations", MIN_ITERATIONS))
        if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
            raise ValueError(f"iterations must be {MIN_ITERATIONS} to {MAX_ITERATIONS}, not {iterations}")
        key = fields["name"], mechanism
        if key in found:
            raise ValueError(f"user {key[0]!r} has two credentials for {mechanism.sasl_name}")
        salt = os.urandom(max(_SALT_BYTES, MIN_SALT_BYTES))
        found[key] = credential_of(mechanism, fields["password"], salt, iterations)
        position = entry.end()
    return found


def _fields(text: str, number: int) -> dict[str, str]:
    fields: dict[str, str] = {}
    position = 0
    while position < len(text):
        match = _FIELD.match(text, position)
        if match is None:
            raise ValueError(f"entry {number} has something besides name, password and iterations")
        fields[match[1]] = match[3].strip() if match[2] is None else match[2]
        position = match.end()
    if not fields.get("name") or not fields.get("password"):
        raise ValueError(f"entry {number} lacks name or password")
    return fields
