"""SCRAM credentials of a node: those of the metadata log, and those that it begins with.

A new cluster has no credentials, so its nodes could not even talk to each other to agree on some. Hence
``highwater.scram.bootstrap``, as Kafka has ``kafka-storage format --add-scram``: it is in the file of every node,
holds until the node has seen the metadata log, and is written there by the first active controller. From then on only
the metadata log counts, so that a credential can be changed and deleted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, Final

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


class ScramCredentials:
    """Looks credentials up. ``bootstrap`` are those of the node's file."""

    def __init__(self, bootstrap: Credentials) -> None:
        self._bootstrap = bootstrap
        self._image: Callable[[], MetadataImage | None] = lambda: None

    def read_from(self, image: Callable[[], MetadataImage | None]) -> None:
        """Look into the image that ``image`` returns from now on; None, or one without records: there is none yet."""
        self._image = image

    def find(self, user: str, mechanism: ScramMechanism) -> ScramCredential | None:
        """The credential in force; None if the user has none for the mechanism."""
        image = self._image()
        known = self._bootstrap if image is None or image.offset < 0 else image.scram_credentials
        return known.get((user, mechanism))

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
