"""From one message's schema to the source of its module: classes first, then one encoder and decoder per layout.

Versions with the same layout share a function. Within a function everything is inline: runs of fixed-size fields become
one ``struct`` call, a version never shows as a condition, and only the rare cases (lengths above 127, tagged fields
that are present) leave the straight line.
"""

from __future__ import annotations

import re

from highwater_runtime.wire.generator.decoding import decoder_body
from highwater_runtime.wire.generator.encoding import encoder_body
from highwater_runtime.wire.generator.schema import NO_VERSION, Field, Message, SchemaSyntaxError, Struct
from highwater_runtime.wire.generator.text import INDENT, default_of, is_list, python_type, quoted

_KIND_WORDS = {
    "request": "Request body",
    "response": "Response body",
    "metadata": "Record of the metadata log",
    "coordinator": "Record of __consumer_offsets",
    "data": "Data",
    "header": "Header",
}


def module_name(message: Message) -> str:
    """``FetchRequest`` -> ``fetch_request``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", message.name).lower()


def emit_module(message: Message) -> str:
    """The complete source of the message's module."""
    body: list[str] = []
    for struct in _in_order_of_use(message):
        body += ["", "", *_class_lines(message, struct)]
    body += _codec_lines(message)
    source = "\n".join(body)
    return "\n".join([*_header_lines(message, source), source, ""])


def _in_order_of_use(message: Message) -> list[Struct]:
    """Inner structs before those that contain them, the message last."""
    done: list[Struct] = []

    def visit(struct: Struct) -> None:
        for field in struct.fields:
            if field.struct is not None and field.struct not in done:
                visit(field.struct)
        if struct not in done:
            done.append(struct)

    visit(message.root)
    return done


def _header_lines(message: Message, source: str) -> list[str]:
    key = "" if message.key is None else f", key {message.key}"
    lines = [
        f'"""{message.name}: {_KIND_WORDS[message.kind].lower()}{key}, versions {_range(message)}.',
        "",
        f"Generated from ``schemas/{message.source}``: edit that, then ``python -m highwater_runtime.wire.generate``.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from collections.abc import Callable",
    ]
    packers = sorted(set(re.findall(r"\b_(?:pack|unpack)_\w+", source)))
    if packers:
        lines.append("from struct import Struct")
    lines.append("from typing import ClassVar, Final")
    if re.search(r"\bUUID\b", source):
        lines.append("from uuid import UUID")
    names = [
        name
        for name in (
            "DECODE_FAULTS",
            "EMPTY",
            "ENCODE_FAULTS",
            "UVARINT",
            "ZERO_UUID",
            "Buffer",
            "DecodeError",
            "decode_array",
            "encode_array",
            "malformed",
            "not_in_version",
            "overrun",
            "short_string",
            "show",
            "skip_tagged",
            "unencodable",
            "unsupported",
            "uuid_of",
            "uvarint",
            "uvarint_at",
        )
        if re.search(rf"\b{name}\b", source)
    ]
    lines += ["", "from highwater_runtime.wire.codec import (", *(f"{INDENT}{name}," for name in names), ")", ""]
    for packer in packers:
        _, action, codes = packer.split("_", 2)
        method = "pack" if action == "pack" else "unpack_from"
        lines.append(f'{packer}: Final = Struct(">{_struct_codes(codes)}").{method}')
    return lines


def _struct_codes(name: str) -> str:
    """The struct format of a packer's name: ``U`` stands for the 16 bytes of a UUID, ``T`` for a bool."""
    return name.replace("U", "16s").replace("T", "?")


def _range(message: Message) -> str:
    first, last = message.versions.first, message.versions.last
    return f"{first}" if first == last else f"{first} to {last}"


def _class_lines(message: Message, struct: Struct) -> list[str]:
    lines = [f"class {struct.name}:", *_class_doc(message, struct), ""]
    if struct is message.root:
        flexible = message.flexible.first if message.flexible.first <= message.versions.last else NO_VERSION
        lines += [
            f"    API_KEY: ClassVar[int] = {-1 if message.key is None else message.key}",
            f'    NAME: ClassVar[str] = "{message.name}"',
            f'    KIND: ClassVar[str] = "{message.kind}"',
            f"    MIN_VERSION: ClassVar[int] = {message.versions.first}",
            f"    MAX_VERSION: ClassVar[int] = {message.versions.last}",
            f"    FLEXIBLE_SINCE: ClassVar[int] = {flexible}",
            "",
        ]
    slots = ", ".join(quoted(f.name) for f in struct.fields)
    lines.append(f"    __slots__ = ({slots}{',' if len(struct.fields) == 1 else ''})")
    for field in struct.fields:
        lines.append(f"    {field.name}: {python_type(field)}")
    lines += ["", *_init_lines(struct), "", *_eq_lines(struct), "", *_repr_lines(struct)]
    if struct is message.root:
        lines += ["", *_entry_points(message)]
    return lines


def _class_doc(message: Message, struct: Struct) -> list[str]:
    about = list(struct.doc) or [f"Part of :class:`{message.name}`."]
    about[0] = about[0][0].upper() + about[0][1:]
    if not struct.fields:
        return [f'    """{" ".join(about)}"""']
    lines = [f'    """{about[0]}', *(f"    {line}" for line in about[1:]), ""]
    for field in struct.fields:
        notes = _field_notes(message, field)
        lines.append(f"    ``{field.name}`` {python_type_doc(field)}{notes}{': ' + field.doc if field.doc else ''}")
        lines.append("")
    lines[-1] = '    """'
    return lines


def python_type_doc(field: Field) -> str:
    """The schema's type, as the documentation shows it."""
    return f"[]{field.type}" if field.is_array else field.type


def _field_notes(message: Message, field: Field) -> str:
    notes = []
    first = max(field.versions.first, message.versions.first)
    last = min(field.versions.last, message.versions.last)
    if (first, last) != (message.versions.first, message.versions.last):
        if first > last:
            notes.append("not in these versions")
        elif last == message.versions.last:
            notes.append(f"v{first}+")
        else:
            notes.append(f"v{first}-{last}")
    if field.tag is not None:
        notes.append(f"tag {field.tag}")
    return f" ({', '.join(notes)})" if notes else ""


def _init_lines(struct: Struct) -> list[str]:
    if not struct.fields:
        return ["    def __init__(self) -> None:", "        pass"]
    lines = ["    def __init__(", "        self,", "        *,"]
    body = []
    for field in struct.fields:
        if is_list(field) and field.default is None:
            lines.append(f"        {field.name}: {python_type(field)} = EMPTY,")
            body.append(f"        self.{field.name} = [] if {field.name} is EMPTY else {field.name}")
        elif field.struct is not None and not field.is_array and field.default is None:
            lines.append(f"        {field.name}: {field.type} | None = None,")
            body.append(f"        self.{field.name} = {field.type}() if {field.name} is None else {field.name}")
        else:
            lines.append(f"        {field.name}: {python_type(field)} = {default_of(field)},")
            body.append(f"        self.{field.name} = {field.name}")
    return [*lines, "    ) -> None:", *body]


def _eq_lines(struct: Struct) -> list[str]:
    terms = [f"self.{f.name} == other.{f.name}" for f in struct.fields] or ["True"]
    return [
        "    def __eq__(self, other: object) -> bool:",
        f"        if not isinstance(other, {struct.name}):",
        "            return NotImplemented",
        "        return (",
        f"            {terms[0]}",
        *(f"            and {term}" for term in terms[1:]),
        "        )",
    ]


def _repr_lines(struct: Struct) -> list[str]:
    lines = ["    def __repr__(self) -> str:", "        return ("]
    parts = []
    for field in struct.fields:
        plain = field.is_array or field.type not in ("bytes", "records")
        parts.append(f"{field.name}={{self.{field.name}!r}}" if plain else f"{field.name}={{show(self.{field.name})}}")
    if not parts:
        return [lines[0], f'        return "{struct.name}()"']
    for index, part in enumerate(parts):
        opening = f"{struct.name}(" if index == 0 else ""
        closing = ")" if index == len(parts) - 1 else ", "
        lines.append(f'            f"{opening}{part}{closing}"')
    return [*lines, "        )"]


def _entry_points(message: Message) -> list[str]:
    name, first, last = message.name, message.versions.first, message.versions.last
    return [
        "    def encode(self, version: int) -> bytes:",
        '        """The bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""',
        '        return b"".join(self.encode_parts(version))',
        "",
        "    def encode_parts(self, version: int) -> list[bytes]:",
        '        """As :meth:`encode`, in pieces; record batches are pieces of their own and not copied."""',
        "        encoder = _ENCODERS.get(version)",
        "        if encoder is None:",
        f'            raise unsupported("{name}", version, {first}, {last})',
        "        try:",
        "            return encoder(self)",
        "        except ENCODE_FAULTS as fault:",
        f'            raise unencodable("{name}", version, fault) from fault',
        "",
        "    @classmethod",
        f"    def decode(cls, data: Buffer, version: int) -> {name}:",
        '        """Inverse of :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""',
        "        decoder = _DECODERS.get(version)",
        "        if decoder is None:",
        f'            raise unsupported("{name}", version, {first}, {last})',
        "        message, end = decoder(data, 0)",
        "        if end != len(data):",
        f'            raise DecodeError("{name}", end, f"{{len(data) - end}} bytes left over")',
        "        return message",
        "",
        "    @classmethod",
        f"    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[{name}, int]:",
        '        """The message that starts at ``position``, and the position after it. Raises DecodeError."""',
        "        decoder = _DECODERS.get(version)",
        "        if decoder is None:",
        f'            raise unsupported("{name}", version, {first}, {last})',
        "        return decoder(data, position)",
    ]


def _codec_lines(message: Message) -> list[str]:
    versions = range(message.versions.first, message.versions.last + 1)
    lines: list[str] = []
    tables: dict[str, dict[int, str]] = {"encode": {}, "decode": {}}
    for action, body_of in (("encode", encoder_body), ("decode", decoder_body)):
        layouts: dict[str, list[int]] = {}
        for version in versions:
            layouts.setdefault("\n".join(body_of(message, version)), []).append(version)
        for body, members in layouts.items():
            function = f"_{action}_v{members[0]}"
            signature = (
                f"def {function}(m: {message.name}) -> list[bytes]:"
                if action == "encode"
                else f"def {function}(data: Buffer, pos: int) -> tuple[{message.name}, int]:"
            )
            lines += ["", "", signature, f"    # versions {', '.join(map(str, members))}", body]
            tables[action].update(dict.fromkeys(members, function))
    lines += ["", "", f"_ENCODERS: Final[dict[int, Callable[[{message.name}], list[bytes]]]] = {{"]
    lines += [f"    {version}: {tables['encode'][version]}," for version in versions]
    lines += ["}", f"_DECODERS: Final[dict[int, Callable[[Buffer, int], tuple[{message.name}, int]]]] = {{"]
    lines += [f"    {version}: {tables['decode'][version]}," for version in versions]
    return [*lines, "}"]


def emit_catalog(messages: list[Message]) -> str:
    """The module that lists every pair of request and response, by key."""
    requests = {m.key: m for m in messages if m.kind == "request" and m.key is not None}
    responses = {m.key: m for m in messages if m.kind == "response" and m.key is not None}
    if requests.keys() != responses.keys():
        raise SchemaSyntaxError(f"keys with a request or a response only: {requests.keys() ^ responses.keys()}")
    lines = [
        '"""Every API that has schemas: its request and its response class.',
        "",
        "Generated from ``schemas``: edit those, then ``python -m highwater_runtime.wire.generate``.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import Final",
        "",
        "from highwater_runtime.wire.codec import Message",
    ]
    for key in sorted(requests):
        lines += [
            f"from highwater_runtime.wire.messages.{module_name(message)} import {message.name}"
            for message in (requests[key], responses[key])
        ]
    lines += ["", "PAIRS: Final[tuple[tuple[type[Message], type[Message]], ...]] = ("]
    lines += [f"    ({requests[key].name}, {responses[key].name})," for key in sorted(requests)]
    return "\n".join([*lines, ")", ""])
