"""Small pieces of Python text that constructors, encoders and decoders have in common."""

from __future__ import annotations

from highwater_runtime.wire.schema import Field

INDENT = "    "


def quoted_bytes(value: bytes) -> str:
    """Return ``value`` as a bytes literal."""
    return 'b"' + "".join(f"\\x{byte:02x}" for byte in value) + '"'


def default_of(field: Field) -> str:
    """Return the default value as an expression that shares no mutable object; lists and structs are made in place."""
    if field.default is None:
        return "None"
    if field.is_array:
        return "[]"
    if field.struct is not None:
        return f"{field.type}()"
    return "ZERO_UUID" if field.type == "uuid" else repr(field.default)


def is_default(field: Field, value: str) -> str:
    """Return a condition that is true if the expression ``value`` holds the field's default."""
    if field.default is None:
        return f"{value} is None"
    if field.is_array:
        return f"({value} is not None and not {value})" if field.nullable.last >= 0 else f"not {value}"
    if field.struct is not None:
        return " and ".join(is_default(inner, f"{value}.{inner.name}") for inner in field.struct.fields)
    if field.type == "bool":
        return value if field.default else f"not {value}"
    return f"{value} == {default_of(field)}"
