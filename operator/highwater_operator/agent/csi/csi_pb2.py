"""The messages and services of the Container Storage Interface, from ``csi.binpb``; ``csi_pb2.pyi`` has their types."""

from __future__ import annotations

from importlib.resources import files

from google.protobuf import (
    descriptor_pb2,  # noqa: F401 - this and the next two are known to the pool before the file that refers to them
    descriptor_pool,
    message_factory,
    timestamp_pb2,  # noqa: F401
    wrappers_pb2,  # noqa: F401
)

DESCRIPTOR = descriptor_pool.Default().AddSerializedFile(files(__package__).joinpath("csi.binpb").read_bytes())

globals().update(
    {name: message_factory.GetMessageClass(found) for name, found in DESCRIPTOR.message_types_by_name.items()}
)
