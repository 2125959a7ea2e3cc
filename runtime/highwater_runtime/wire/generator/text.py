"""Small pieces of Python text that classes and codecs have in common."""

from __future__ import annotations

from highwater_runtime.wire.generator.schema import Field, SchemaSyntaxError

INDENT = "    "

_PYTHON = {
    "bool": "bool",
    "float64": "float",
    "uuid": "UUID",
    "string": "str",
    "bytes": "bytes",
    "records": "bytes",
}


def quoted(text: str) -> str:
    """``text`` as a string literal."""
    return f'"{text}"'


def quoted_bytes(value: bytes) -> str:
    """``value`` as a bytes literal with double quotes, as everywhere in the generated code."""
    return 'b"' + "".join(f"\\x{byte:02x}" for byte in value) + '"'


def is_list(field: Field) -> bool:
    """Whether the field holds a list."""
    return field.is_array


def element_type(field: Field) -> str:
    """The Python type of one element, or of the value if the field is no array."""
    if field.struct is not None:
        return field.type
    return _PYTHON.get(field.type, "int")


def python_type(field: Field) -> str:
    """The annotation of the field's attribute."""
    plain = f"list[{element_type(field)}]" if field.is_array else element_type(field)
    return f"{plain} | None" if field.nullable.last >= 0 else plain


def default_of(field: Field) -> str:
    """The default value as an expression that shares no mutable object; lists and structs are made in place."""
    if field.default == "null":
        if field.nullable.last < 0:
            if field.type == "records":
                return 'b""'
            raise SchemaSyntaxError(f"{field.name}: null default, but the field is not nullable")
        return "None"
    if field.is_array:
        return "[]"
    if field.struct is not None:
        return f"{field.type}()"
    match field.type:
        case "string":
            return quoted(field.default or "")
        case "bytes" | "records":
            return 'b""'
        case "uuid":
            return "ZERO_UUID"
        case "bool":
            return {"true": "True", "false": "False"}[field.default or "false"]
        case "float64":
            return str(float(field.default or "0"))
        case _:
            return str(int(field.default or "0", 0))


def is_default(field: Field, value: str) -> str:
    """A condition that is true where the expression ``value`` holds the field's default."""
    if field.struct is not None and not field.is_array and field.default != "null":
        return " and ".join(is_default(inner, f"{value}.{inner.name}") for inner in field.struct.fields)
    default = default_of(field)
    if default == "None":
        return f"{value} is None"
    if field.is_array:
        return f"({value} is not None and not {value})" if field.nullable.last >= 0 else f"not {value}"
    if field.type == "bool":
        return value if default == "True" else f"not {value}"
    return f"{value} == {default}"
