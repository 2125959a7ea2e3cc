"""Compiles constructors, encoders and decoders from the source that is written for them."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from struct import Struct
from types import CodeType
from typing import Any

from highwater_runtime.wire import codec
from highwater_runtime.wire.codec import Buffer
from highwater_runtime.wire.generator.decoding import decoder_body
from highwater_runtime.wire.generator.encoding import encoder_body
from highwater_runtime.wire.generator.text import INDENT, default_of
from highwater_runtime.wire.schema import MessageSchema, StructSchema


def make_constructor(struct: StructSchema) -> Callable[..., None]:
    """Return an ``__init__`` that takes each field by name."""
    parameters, body = [], []
    for field in struct.fields:
        name, default = field.name, default_of(field)
        if default == "[]":
            parameters.append(f"{name}=EMPTY")
            body.append(f"self.{name} = [] if {name} is EMPTY else {name}")
        elif default.endswith("()"):
            parameters.append(f"{name}=None")
            body.append(f"self.{name} = {default} if {name} is None else {name}")
        else:
            parameters.append(f"{name}={default}")
            body.append(f"self.{name} = {name}")
    keywords = f", *, {', '.join(parameters)}" if parameters else ""
    lines = [f"def __init__(self{keywords}):", *(INDENT + line for line in body or ["pass"])]
    return compiled(f"{struct.name}.__init__", lines, struct)


def make_encoder(message: MessageSchema, version: int) -> Callable[[Any], list[bytes]]:
    """Return the function from a message to the pieces of its bytes in ``version``."""
    lines = ["def encode(m):", *encoder_body(message, version)]
    return compiled(f"{message.name} encode v{version}", lines, message.root)


def make_decoder(message: MessageSchema, version: int) -> Callable[[Buffer, int], tuple[Any, int]]:
    """Return the function from bytes in ``version`` and a position to a message and the position after it."""
    lines = ["def decode(data, pos):", *decoder_body(message, version)]
    return compiled(f"{message.name} decode v{version}", lines, message.root)


def compiled(title: str, lines: list[str], struct: StructSchema) -> Callable[..., Any]:
    """Return the one function that ``lines`` define. ``title`` names it in tracebacks."""
    source = "\n".join([*lines, ""])
    file = f"<{title}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    code = compile(source, file, "exec")
    used = {*code.co_names, *(name for part in code.co_consts if isinstance(part, CodeType) for name in part.co_names)}
    known = {**vars(codec), **{inner.name: inner.cls for inner in _structs(struct)}}
    names = {name: known[name] for name in used & known.keys()}
    names |= {name: _packer(name) for name in used if name.startswith(("_pack_", "_unpack_"))}
    names["__name__"] = struct.cls.__module__
    made: dict[str, Callable[..., Any]] = {}
    exec(code, names, made)  # noqa: S102 (our own text: nothing of a peer's goes into it)
    (function,) = made.values()
    return function


def _packer(name: str) -> Callable[..., Any]:
    """Return what ``_pack_iq`` or ``_unpack_iq`` stand for. ``U`` are the 16 bytes of a UUID, ``T`` is a bool."""
    _, action, codes = name.split("_")
    packer = Struct(">" + codes.replace("U", "16s").replace("T", "?"))
    return packer.pack if action == "pack" else packer.unpack_from


def _structs(struct: StructSchema) -> Iterator[StructSchema]:
    yield struct
    for field in struct.fields:
        if field.struct is not None:
            yield from _structs(field.struct)
