"""The bodies of encoders and decoders for one message in one version.

Both walk the fields in schema order and collect a *run* of fixed-size pieces (numbers, UUIDs, lengths of one byte) until
something of variable size comes: then the run becomes one ``struct`` call. The empty section of tagged fields, a zero
byte at the end of nearly every flexible struct, is part of the run.
"""

from __future__ import annotations

from highwater_runtime.wire.generator.schema import PRIMITIVES, Field, Message, Struct
from highwater_runtime.wire.generator.text import INDENT, default_of, element_type, is_default

_RUN_CODES = {"bool": "T", "uuid": "U"}


def _code(type_name: str) -> str:
    """The letter of a fixed-size type in the names of packers."""
    return _RUN_CODES.get(type_name, PRIMITIVES[type_name][0])


class _Lines:
    """Lines under construction, with indentation and unique names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1
        self._counts: dict[str, int] = {}

    def add(self, text: str) -> None:
        self.lines.append(INDENT * self.depth + text)

    def fresh(self, prefix: str) -> str:
        self._counts[prefix] = self._counts.get(prefix, 0) + 1
        return f"{prefix}{self._counts[prefix]}"


def _regular_and_tagged(struct: Struct, version: int) -> tuple[list[Field], list[Field]]:
    present = [f for f in struct.fields if version in f.versions]
    regular = [f for f in present if f.tag is None]
    tagged = sorted((f for f in present if f.tag is not None), key=lambda f: f.tag or 0)
    return regular, tagged


def _compact(message: Message, version: int, field: Field) -> bool:
    return message.is_flexible(version) and not field.inflexible


# ---------------------------------------------------------------------------------------------------- encoding


def encoder_body(message: Message, version: int) -> list[str]:
    """The body of ``def _encode_vN(m) -> list[bytes]``."""
    encoder = _Encoder(message, version)
    encoder.out.add("out: list[bytes] = []")
    encoder.out.add("add = out.append")
    encoder.struct(message.root, "m")
    encoder.flush()
    encoder.out.add("return out")
    return encoder.out.lines


class _Encoder:
    def __init__(self, message: Message, version: int) -> None:
        self.message = message
        self.version = version
        self.out = _Lines()
        self.run: list[tuple[str, str]] = []
        self.sink = "add"

    def flush(self) -> None:
        """Turn the collected run into one ``struct`` call."""
        if not self.run:
            return
        codes = "".join(code for code, _ in self.run)
        values = ", ".join(value for code, value in self.run if code != "x")
        if set(codes) == {"x"}:
            self.out.add(f'{self.sink}(b"{chr(92)}x00")' if len(codes) == 1 else f"{self.sink}(bytes({len(codes)}))")
        else:
            self.out.add(f"{self.sink}(_pack_{codes}({values}))")
        self.run = []

    def struct(self, struct: Struct, var: str) -> None:
        """All fields of ``var``; leaves what is of fixed size at the end in the run."""
        for field in struct.fields:
            if self.version not in field.versions and not field.ignorable:
                self.out.add(f"if not ({is_default(field, f'{var}.{field.name}')}):")
                self.out.add(
                    f'{INDENT}raise not_in_version("{self.message.name}", "{struct.name}.{field.name}", {var}.{field.name})'
                )
        regular, tagged = _regular_and_tagged(struct, self.version)
        for field in regular:
            self.value(struct, field, f"{var}.{field.name}")
        if self.message.is_flexible(self.version):
            if tagged:
                self.tagged(struct, tagged, var)
            else:
                self.run.append(("x", ""))

    def value(self, struct: Struct, field: Field, value: str) -> None:
        if field.is_array:
            self.array(struct, field, value)
        elif field.struct is not None:
            self.struct(field.struct, value)
        elif field.type in PRIMITIVES:
            self.run.append((_code(field.type), f"{value}.bytes" if field.type == "uuid" else value))
        else:
            self.variable(struct, field, value, nullable=self.version in field.nullable)

    def length(self, compact: bool, code: str, length: str) -> None:
        """Write ``length`` (an expression; compact ones have 1 added already)."""
        if not compact:
            self.run.append((code, length))
            return
        self.flush()
        self.out.add(f"{self.sink}(UVARINT[{length}] if {length} < 128 else uvarint({length}))")

    def variable(self, struct: Struct, field: Field, value: str, *, nullable: bool) -> None:
        """A string, bytes or records."""
        compact = _compact(self.message, self.version, field)
        code = "h" if field.type == "string" else "i"
        raw, size = self.out.fresh("b"), self.out.fresh("n")
        convert = ".encode()" if field.type == "string" else ""
        one = " + 1" if compact else ""
        if nullable:
            self.flush()
            self.out.add(f"if {value} is None:")
            null = 'b"\\x00"' if compact else ('b"\\xff\\xff"' if code == "h" else 'b"\\xff\\xff\\xff\\xff"')
            self.out.add(f"{INDENT}{self.sink}({null})")
            self.out.add("else:")
            self.out.depth += 1
        self.out.add(f"{raw} = {value}{convert}")
        self.out.add(f"{size} = len({raw}){one}")
        if field.type == "string":
            self.out.add(f"if {size} > {32768 if compact else 32767}:")
            self.out.add(f'{INDENT}raise short_string("{struct.name}", "{field.name}", len({raw}))')
        self.length(compact, code, size)
        self.flush()
        self.out.add(f"{self.sink}({raw})")
        if nullable:
            self.out.depth -= 1

    def array(self, struct: Struct, field: Field, value: str) -> None:
        compact = _compact(self.message, self.version, field)
        items, size = self.out.fresh("l"), self.out.fresh("n")
        nullable = self.version in field.nullable
        self.out.add(f"{items} = {value}")
        if nullable:
            self.flush()
            self.out.add(f"if {items} is None:")
            null = 'b"\\x00"' if compact else 'b"\\xff\\xff\\xff\\xff"'
            self.out.add(f"{INDENT}{self.sink}({null})")
            self.out.add("else:")
            self.out.depth += 1
        if field.nullable.last >= 0 and not nullable:
            self.out.add(f"if {items} is None:")
            self.out.add(f'{INDENT}raise not_in_version("{self.message.name}", "{struct.name}.{field.name}", None)')
        self.out.add(f"{size} = len({items}){' + 1' if compact else ''}")
        self.length(compact, "i", size)
        self.flush()
        if field.type in PRIMITIVES and field.type != "uuid":
            self.out.add(f"if {items}:")
            self.out.add(f'{INDENT}{self.sink}(encode_array("{PRIMITIVES[field.type][0]}", {items}))')
        else:
            item = self.out.fresh("e")
            self.out.add(f"for {item} in {items}:")
            self.out.depth += 1
            if field.struct is not None:
                self.struct(field.struct, item)
            elif field.type == "uuid":
                self.run.append(("U", f"{item}.bytes"))
            else:
                self.variable(struct, field, item, nullable=False)
            self.flush()
            self.out.depth -= 1
        if nullable:
            self.out.depth -= 1

    def tagged(self, struct: Struct, fields: list[Field], var: str) -> None:
        self.flush()
        unset = " and ".join(is_default(f, f"{var}.{f.name}") for f in fields)
        self.out.add(f"if {unset}:")
        self.out.add(f'{INDENT}{self.sink}(b"\\x00")')
        self.out.add("else:")
        self.out.depth += 1
        count = self.out.fresh("k")
        pieces = self.out.fresh("t")
        self.out.add(f"{count} = 0")
        self.out.add(f"{pieces}: list[bytes] = []")
        outer = self.sink
        for field in fields:
            inner = self.out.fresh("p")
            self.out.add(f"if not ({is_default(field, f'{var}.{field.name}')}):")
            self.out.depth += 1
            self.out.add(f"{count} += 1")
            self.out.add(f"{inner}: list[bytes] = []")
            self.sink = f"{inner}.append"
            self.value(struct, field, f"{var}.{field.name}")
            self.flush()
            payload = self.out.fresh("q")
            self.out.add(f'{payload} = b"".join({inner})')
            self.out.add(f"{pieces} += (uvarint({field.tag}), uvarint(len({payload})), {payload})")
            self.out.depth -= 1
        self.sink = outer
        self.out.add(f'{self.sink}(uvarint({count}) + b"".join({pieces}))')
        self.out.depth -= 1


# ---------------------------------------------------------------------------------------------------- decoding


def decoder_body(message: Message, version: int) -> list[str]:
    """The body of ``def _decode_vN(data, pos) -> (message, position after it)``."""
    decoder = _Decoder(message, version)
    out = decoder.out
    out.add("size = len(data)")
    out.add("try:")
    out.depth += 1
    out.add(f"m = {message.name}.__new__({message.name})")
    decoder.struct(message.root, "m")
    decoder.flush()
    out.depth -= 1
    out.add("except DECODE_FAULTS as fault:")
    out.add(f'{INDENT}raise malformed("{message.name}", pos, fault) from fault')
    out.add("return m, pos")
    return out.lines


class _Decoder:
    def __init__(self, message: Message, version: int) -> None:
        self.message = message
        self.version = version
        self.out = _Lines()
        self.run: list[tuple[str, str]] = []
        self.after: list[str] = []

    def flush(self) -> None:
        """Turn the collected run into one ``struct`` call, then do what had to wait for it."""
        if self.run:
            codes = "".join(code for code, _ in self.run)
            size = sum(16 if c == "U" else {"T": 1, "b": 1, "B": 1, "h": 2, "H": 2, "i": 4, "I": 4}.get(c, 8) for c in codes)
            if codes == "B":
                self.out.add(f"{self.run[0][1]} = data[pos]")
            else:
                targets = ", ".join(target for _, target in self.run)
                if len(self.run) == 1:
                    targets = f"({targets},)"
                self.out.add(f"{targets} = _unpack_{codes}(data, pos)")
            self.out.add(f"pos += {size}")
        for line in self.after:
            self.out.add(line)
        self.run = []
        self.after = []

    def struct(self, struct: Struct, var: str) -> None:
        """All fields of ``var``, which has been made without its constructor."""
        for field in struct.fields:
            if self.version not in field.versions or field.tag is not None:
                default = default_of(field)
                self.out.add(f"{var}.{field.name} = {default}")
        regular, tagged = _regular_and_tagged(struct, self.version)
        for field in regular:
            self.value(field, f"{var}.{field.name}", struct)
        if self.message.is_flexible(self.version):
            self.tagged(struct, tagged, var)

    def value(self, field: Field, target: str, struct: Struct) -> None:
        if field.is_array:
            self.array(field, target, struct)
        elif field.struct is not None:
            made = self.out.fresh("o")
            self.out.add(f"{made} = {field.type}.__new__({field.type})")
            self.out.add(f"{target} = {made}")
            self.struct(field.struct, made)
        elif field.type == "uuid":
            raw = self.out.fresh("u")
            self.run.append(("U", raw))
            self.after.append(f"{target} = uuid_of({raw})")
        elif field.type in PRIMITIVES:
            self.run.append((_code(field.type), target))
        else:
            self.variable(field, target, struct, nullable=self.version in field.nullable)

    def length(self, compact: bool, code: str) -> str:
        """Read a length into a new variable (compact ones are still one too large), and end the run."""
        name = self.out.fresh("n")
        self.run.append(("B" if compact else code, name))
        self.flush()
        if compact:
            self.out.add(f"if {name} > 127:")
            self.out.add(f"{INDENT}{name}, pos = uvarint_at(data, pos - 1)")
        return name

    def variable(self, field: Field, target: str, struct: Struct, *, nullable: bool) -> None:
        compact = _compact(self.message, self.version, field)
        name = self.length(compact, "h" if field.type == "string" else "i")
        null = f"{name} == 0" if compact else f"{name} == -1"
        bad = f"{name} == 0" if compact else f"{name} < 0"
        true_length = f"{name} - 1" if compact else name
        end = self.out.fresh("z")
        if nullable:
            self.out.add(f"if {null}:")
            self.out.add(f"{INDENT}{target} = None")
            self.out.add("else:")
            self.out.depth += 1
        self.out.add(f"{end} = pos + {true_length}")
        check = f"{end} > size" if nullable and compact else f"{bad} or {end} > size"
        self.out.add(f"if {check}:")
        self.raise_overrun(f"{struct.name}.{field.name}", true_length)
        if field.type == "string":
            self.out.add(f'{target} = str(data[pos:{end}], "utf-8")')
        else:
            self.out.add(f"{target} = bytes(data[pos:{end}])")
        self.out.add(f"pos = {end}")
        if nullable:
            self.out.depth -= 1

    def raise_overrun(self, field: str, length: str) -> None:
        self.out.add(f'{INDENT}raise overrun("{self.message.name}", "{field}", {length}, pos, size)')

    def array(self, field: Field, target: str, struct: Struct) -> None:
        compact = _compact(self.message, self.version, field)
        name = self.length(compact, "i")
        items = self.out.fresh("l")
        if self.version in field.nullable:
            self.out.add(f"if {name} == {0 if compact else -1}:")
            self.out.add(f"{INDENT}{target} = None")
            self.out.add("else:")
            self.out.depth += 1
        if compact:
            self.out.add(f"{name} -= 1")
        width = PRIMITIVES[field.type][1] if field.type in PRIMITIVES else 1
        needed = name if width == 1 else f"{name} * {width}"
        self.out.add(f"if {name} < 0 or {needed} > size - pos:")
        self.raise_overrun(f"{struct.name}.{field.name}", name)
        if field.type in PRIMITIVES and field.type != "uuid":
            self.out.add(f'{target} = decode_array("{PRIMITIVES[field.type][0]}", {name}, data, pos) if {name} else []')
            self.out.add(f"pos += {needed}")
        else:
            self.out.add(f"{items}: list[{element_type(field)}] = []")
            self.out.add(f"{target} = {items}")
            self.out.add(f"for _ in range({name}):")
            self.out.depth += 1
            item = self.out.fresh("e")
            if field.struct is not None:
                self.out.add(f"{item} = {field.type}.__new__({field.type})")
                self.out.add(f"{items}.append({item})")
                self.struct(field.struct, item)
                self.flush()
            else:
                if field.type == "uuid":
                    self.run.append(("U", item))
                    self.after.append(f"{items}.append(uuid_of({item}))")
                    self.flush()
                else:
                    self.variable(field, item, struct, nullable=False)
                    self.out.add(f"{items}.append({item})")
            self.out.depth -= 1
        if self.version in field.nullable:
            self.out.depth -= 1

    def tagged(self, struct: Struct, fields: list[Field], var: str) -> None:
        count = self.out.fresh("k")
        self.run.append(("B", count))
        if not fields:
            self.after += [f"if {count}:", f'{INDENT}pos = skip_tagged("{self.message.name}", data, pos - 1)']
            self.flush()
            return
        self.flush()
        out = self.out
        out.add(f"if {count}:")
        out.depth += 1
        out.add(f"{count}, pos = uvarint_at(data, pos - 1)")
        out.add(f"for _ in range({count}):")
        out.depth += 1
        tag, length, limit = out.fresh("g"), out.fresh("s"), out.fresh("y")
        out.add(f"{tag}, pos = uvarint_at(data, pos)")
        out.add(f"{length}, pos = uvarint_at(data, pos)")
        out.add(f"{limit} = pos + {length}")
        out.add(f"if {limit} > size:")
        self.raise_overrun(f"{struct.name} tagged field", length)
        for index, field in enumerate(fields):
            out.add(f"{'if' if index == 0 else 'elif'} {tag} == {field.tag}:")
            out.depth += 1
            self.value(field, f"{var}.{field.name}", struct)
            self.flush()
            out.depth -= 1
        out.add("else:")
        out.add(f"{INDENT}pos = {limit}")
        out.add(f"if pos != {limit}:")
        out.add(f'{INDENT}raise DecodeError("{self.message.name}", pos, "tagged field of another length than announced")')
        out.depth -= 2
