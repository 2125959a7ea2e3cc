"""The messages and services of the Container Storage Interface, from ``csi.binpb``."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from google.protobuf import (
    descriptor_pb2,  # noqa: F401 - this and the next two are known to the pool before the file that refers to them
    descriptor_pool,
    message_factory,
    timestamp_pb2,  # noqa: F401
    wrappers_pb2,  # noqa: F401
)

DESCRIPTOR = descriptor_pool.Default().AddSerializedFile(files(__package__).joinpath("csi.binpb").read_bytes())


def __getattr__(name: str) -> Any:
    """The class of the message ``name``: protobuf refuses fields that it does not have."""
    if name not in DESCRIPTOR.message_types_by_name:
        raise AttributeError(f"csi.proto has no message {name!r}")
    return message_factory.GetMessageClass(DESCRIPTOR.message_types_by_name[name])
