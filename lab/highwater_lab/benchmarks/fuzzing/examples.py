"""Inputs to start from: one full and one empty example of each message."""

# What is fuzzed is imported late, while atheris watches imports to instrument them.
# ruff: noqa: PLC0415

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from highwater_lab.benchmarks.fuzzing import agent
from highwater_lab.benchmarks.fuzzing.protocol import all_messages


def _full(struct: Any, version: int) -> Any:
    """A message with something in every field."""
    filled: dict[str, Any] = {}
    for field in struct.fields:
        if version not in field.versions:
            continue
        if field.struct is not None:
            one = _full(field.struct, version)
        else:
            one = {"bool": True, "uuid": UUID(int=7), "string": "ab", "bytes": b"cd", "records": b"ef"}.get(
                field.type, 3
            )
        filled[field.name] = [one, one] if field.is_array else one
    return struct.cls(**filled)


def examples(target: str) -> Iterator[bytes]:
    """Inputs that reach deep at once."""
    from highwater_runtime.log.control import build_leader_change
    from highwater_runtime.log.records import Record, build_batch
    from highwater_runtime.wire.framing import encode_request, encode_response
    from highwater_runtime.wire.records_codec import METADATA_RECORDS, encode_metadata_record
    from highwater_runtime.wire.registry import APIS
    from highwater_runtime.wire.versioned import encode_versioned

    if target == "batches":
        record = Record(key=b"k", value=b"v", headers=(("h", b"w"), ("n", None)))
        batch = build_batch([b"a", record, b""], producer_id=1, producer_epoch=0, base_sequence=0, timestamp_ms=5)
        for data in (batch, batch + build_batch([], last_offset=3), build_leader_change(1, [1, 2], [2])):
            yield b"\0" + data
            yield b"\1" + data
        return
    if target == "sasl":
        yield b"\0\0user\0guess"
        for kind in (b"\x40", b"\xff"):
            yield kind + b"n,,n=user,r=abcdefgh\0\0c=biws,r=abcdefghij,p=" + b"A" * 43 + b"="
            yield kind + b"r=abcdefghij,s=QSQhYSBzYWx0IGhlcmU=,i=4096\0\0v=" + b"A" * 43 + b"="
        return
    if target.startswith("agent-"):
        yield from agent.EXAMPLES[target]
        return
    keys = list(APIS)
    for index, (cls, version) in enumerate(all_messages()):
        for message in (cls(), _full(cls.SCHEMA, version)):
            try:
                body = message.encode(version)
            except ValueError:
                continue  # null is the default of a field that this version has, and cannot have as null
            if target == "messages":
                yield index.to_bytes(2, "big") + body
            elif target in ("requests", "stream") and cls.KIND == "request":
                frame = b"".join(encode_request(message, version, 7, "client"))
                yield frame[4:] if target == "requests" else b"\3" + frame * 2
            elif target == "responses" and cls.KIND == "response":
                frame = b"".join(encode_response(message, version, 7))
                yield bytes((keys.index(cls.API_KEY), version - cls.MIN_VERSION)) + frame[4:]
            elif target == "metadata-records" and cls.KIND == "metadata" and cls.API_KEY in METADATA_RECORDS:
                yield encode_metadata_record(message, version)
            elif target == "coordinator-records" and cls.KIND in ("coordinator", "data"):
                yield encode_versioned(message, version)
