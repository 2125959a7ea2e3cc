"""What encoders and decoders share: which fields a version has, in which form, and the lines under construction."""

from __future__ import annotations

from highwater_runtime.wire.generator.text import INDENT
from highwater_runtime.wire.schema import PRIMITIVES, Field, MessageSchema, StructSchema

_RUN_CODES = {"bool": "T", "uuid": "U"}


def code_of(type_name: str) -> str:
    """The letter of a fixed-size type in the names of packers."""
    return _RUN_CODES.get(type_name, PRIMITIVES[type_name][0])


_CODE_SIZES = {"T": 1, "b": 1, "B": 1, "x": 1, "h": 2, "H": 2, "i": 4, "I": 4, "q": 8, "d": 8, "U": 16}


def code_size(code: str) -> int:
    """Bytes that a letter in the name of a packer stands for."""
    return _CODE_SIZES[code]


class Lines:
    """Lines under construction, with indentation and unique names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1
        self._counts: dict[str, int] = {}

    def add(self, text: str) -> None:
        """Append a line at the current depth."""
        self.lines.append(INDENT * self.depth + text)

    def fresh(self, prefix: str) -> str:
        """A variable name that has not been used in this function."""
        self._counts[prefix] = self._counts.get(prefix, 0) + 1
        return f"{prefix}{self._counts[prefix]}"


def regular_and_tagged(struct: StructSchema, version: int) -> tuple[list[Field], list[Field]]:
    """The fields that ``version`` has: those in place, in schema order, and the tagged ones, by tag."""
    present = [f for f in struct.fields if version in f.versions]
    regular = [f for f in present if f.tag is None]
    tagged = sorted((f for f in present if f.tag is not None), key=lambda f: f.tag or 0)
    return regular, tagged


def least_size(message: MessageSchema, version: int, field: Field, *, element: bool = False) -> int:
    """The fewest bytes that a field (or, with ``element``, one element of its array) can have on the wire; at least 1.

    What a count promises is compared with this before anything is made: so a small frame cannot ask for much.
    """
    if field.is_array and not element:
        return 1 if is_compact(message, version, field) else 4
    if field.type in PRIMITIVES:
        return PRIMITIVES[field.type][1]
    if field.struct is None:
        return 1 if is_compact(message, version, field) else (2 if field.type == "string" else 4)
    if version in field.nullable and not field.is_array:
        return 1
    regular, _ = regular_and_tagged(field.struct, version)
    return max(1, sum(least_size(message, version, inner) for inner in regular) + message.is_flexible(version))


def is_compact(message: MessageSchema, version: int, field: Field) -> bool:
    """Whether the field's length is a varint."""
    return message.is_flexible(version) and not field.inflexible
