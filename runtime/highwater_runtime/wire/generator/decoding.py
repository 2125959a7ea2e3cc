"""The body of a decoder: one message, one version, straight down.

Collects runs as the encoder does. A compact length, nearly always one byte, is read within the run; the rare longer one
is read again as a varint. Objects are made without their constructors, which saves one Python call for each.
"""

from __future__ import annotations

from highwater_runtime.wire.generator.layout import (
    Lines,
    code_of,
    code_size,
    is_compact,
    least_size,
    regular_and_tagged,
)
from highwater_runtime.wire.generator.text import INDENT, default_of
from highwater_runtime.wire.schema import PRIMITIVES, Field, MessageSchema, StructSchema


def decoder_body(message: MessageSchema, version: int) -> list[str]:
    """Return the body of ``def decode(data, pos)``, which returns the message and the position after it."""
    decoder = _Decoder(message, version)
    out = decoder.out
    out.add("size = len(data)")
    out.add("try:")
    out.depth += 1
    decoder.make("m", message.root)
    decoder.struct(message.root, "m")
    decoder.flush()
    out.depth -= 1
    out.add("except DECODE_FAULTS as fault:")
    out.add(f'{INDENT}raise malformed("{message.name}", pos, fault) from fault')
    out.add("return m, pos")
    return out.lines


class _Decoder:
    def __init__(self, message: MessageSchema, version: int) -> None:
        self.message = message
        self.version = version
        self.out = Lines()
        self.run: list[tuple[str, str]] = []
        self.after: list[str] = []
        self.made: dict[str, str] = {}

    def flush(self) -> None:
        """Turn the collected run into one ``struct`` call, then do what had to wait for it."""
        if self.run:
            codes = "".join(code for code, _ in self.run)
            size = sum(code_size(code) for code in codes)
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

    def struct(self, struct: StructSchema, var: str) -> None:
        """All fields of ``var``, which has been made without its constructor."""
        for field in struct.fields:
            if self.version not in field.versions or field.tag is not None:
                self.default(field, f"{var}.{field.name}")
        regular, tagged = regular_and_tagged(struct, self.version)
        for field in regular:
            self.value(field, f"{var}.{field.name}", struct)
        if self.message.is_flexible(self.version):
            self.tagged(struct, tagged, var)

    def make(self, name: str, struct: StructSchema) -> None:
        """An object without values."""
        self.out.add(f"{name} = new({struct.name})")

    def default(self, field: Field, target: str) -> None:
        """Give ``target`` its default value, structs field by field: that is cheaper than their constructors."""
        if field.struct is None or field.is_array or field.default is None:
            self.out.add(f"{target} = {default_of(field)}")
            return
        made = self.made[target] = self.out.fresh("o")
        self.make(made, field.struct)
        self.out.add(f"{target} = {made}")
        for inner in field.struct.fields:
            self.default(inner, f"{made}.{inner.name}")

    def value(self, field: Field, target: str, struct: StructSchema) -> None:
        if field.is_array:
            self.array(field, target, struct)
        elif field.struct is not None and self.version in field.nullable:
            self.nullable_struct(field.struct, target)
        elif field.struct is not None:
            made = self.made.get(target)  # a tagged field: its default is there already, and is filled again
            if made is None:
                made = self.out.fresh("o")
                self.make(made, field.struct)
                self.out.add(f"{target} = {made}")
            self.struct(field.struct, made)
        elif field.type == "uuid":
            raw = self.out.fresh("u")
            self.run.append(("U", raw))
            self.after.append(f"{target} = uuid_of({raw})")
        elif field.type in PRIMITIVES:
            self.run.append((code_of(field.type), target))
        else:
            self.variable(field, target, struct, nullable=self.version in field.nullable)

    def nullable_struct(self, struct: StructSchema, target: str) -> None:
        """A byte that says whether there is one, and the struct."""
        present, made = self.out.fresh("h"), self.out.fresh("o")
        self.run.append(("b", present))
        self.flush()
        self.out.add(f"if {present} < 0:")
        self.out.add(f"{INDENT}{target} = None")
        self.out.add("else:")
        self.out.depth += 1
        self.make(made, struct)
        self.out.add(f"{target} = {made}")
        self.struct(struct, made)
        self.flush()
        self.out.depth -= 1

    def length(self, compact: bool, code: str) -> str:
        """Read a length into a new variable (compact ones are still one too large), and end the run."""
        name = self.out.fresh("n")
        self.run.append(("B" if compact else code, name))
        self.flush()
        if compact:
            self.out.add(f"if {name} > 127:")
            self.out.add(f"{INDENT}{name}, pos = uvarint_at(data, pos - 1)")
        return name

    def variable(self, field: Field, target: str, struct: StructSchema, *, nullable: bool) -> None:
        compact = is_compact(self.message, self.version, field)
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

    def array(self, field: Field, target: str, struct: StructSchema) -> None:
        compact = is_compact(self.message, self.version, field)
        name = self.length(compact, "i")
        items = self.out.fresh("l")
        if self.version in field.nullable:
            self.out.add(f"if {name} == {0 if compact else -1}:")
            self.out.add(f"{INDENT}{target} = None")
            self.out.add("else:")
            self.out.depth += 1
        if compact:
            self.out.add(f"{name} -= 1")
        width = least_size(self.message, self.version, field, element=True)
        needed = name if width == 1 else f"{name} * {width}"
        self.out.add(f"if {name} < 0 or {needed} > size - pos:")
        self.raise_overrun(f"{struct.name}.{field.name}", name)
        if field.type in PRIMITIVES and field.type != "uuid":
            self.out.add(f'{target} = decode_array("{PRIMITIVES[field.type][0]}", {name}, data, pos) if {name} else []')
            self.out.add(f"pos += {needed}")
        else:
            self.out.add(f"{items} = []")
            self.out.add(f"{target} = {items}")
            self.out.add(f"for _ in range({name}):")
            self.out.depth += 1
            item = self.out.fresh("e")
            if field.struct is not None:
                self.make(item, field.struct)
                self.out.add(f"{items}.append({item})")
                self.struct(field.struct, item)
                self.flush()
            elif field.type == "uuid":
                self.run.append(("U", item))
                self.after.append(f"{items}.append(uuid_of({item}))")
                self.flush()
            else:
                self.variable(field, item, struct, nullable=False)
                self.out.add(f"{items}.append({item})")
            self.out.depth -= 1
        if self.version in field.nullable:
            self.out.depth -= 1

    def tagged(self, struct: StructSchema, fields: list[Field], var: str) -> None:
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
        out.add(f"if {count} > 127:")
        out.add(f"{INDENT}{count}, pos = uvarint_at(data, pos - 1)")
        out.add(f"for _ in range({count}):")
        out.depth += 1
        tag, length, limit = out.fresh("g"), out.fresh("s"), out.fresh("y")
        out.add(f"{tag} = data[pos]")
        out.add(f"{length} = data[pos + 1]")
        out.add(f"if {tag} > 127 or {length} > 127:")
        out.add(f"{INDENT}{tag}, pos = uvarint_at(data, pos)")
        out.add(f"{INDENT}{length}, pos = uvarint_at(data, pos)")
        out.add("else:")
        out.add(f"{INDENT}pos += 2")
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
        out.add(
            f'{INDENT}raise DecodeError("{self.message.name}", pos, "tagged field of another length than announced")'
        )
        out.depth -= 2
