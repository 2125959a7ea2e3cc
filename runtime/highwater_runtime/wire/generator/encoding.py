"""The body of an encoder: one message, one version, straight down.

Walks the fields in schema order and collects a *run* of fixed-size pieces (numbers, UUIDs, old-style lengths) until
something of variable size comes: then the run becomes one ``struct`` call. The empty section of tagged fields, a zero
byte at the end of nearly every flexible struct, is part of the run.
"""

from __future__ import annotations

from highwater_runtime.wire.generator.layout import Lines, code_of, code_size, is_compact, regular_and_tagged
from highwater_runtime.wire.generator.text import INDENT, default_of, is_default, quoted_bytes
from highwater_runtime.wire.schema import PRIMITIVES, Field, MessageSchema, StructSchema


def encoder_body(message: MessageSchema, version: int) -> list[str]:
    """Return the body of ``def encode(m)``, which returns the pieces of the bytes."""
    encoder = _Encoder(message, version)
    encoder.out.add("out = []")
    encoder.struct(message.root, "m")
    encoder.flush()
    encoder.out.add("return out")
    return encoder.out.lines


class _Encoder:
    def __init__(self, message: MessageSchema, version: int) -> None:
        self.message = message
        self.version = version
        self.out = Lines()
        self.run: list[tuple[str, str]] = []
        self.sink = "out.append"

    def flush(self) -> None:
        """Turn the collected run into one ``struct`` call."""
        if self.run:
            self.out.add(f"{self.sink}({self.pack_call(self.run)})")
            self.run = []

    @staticmethod
    def pack_call(run: list[tuple[str, str]]) -> str:
        """The expression for the bytes of a run."""
        codes = "".join(code for code, _ in run)
        if set(codes) == {"x"}:
            return quoted_bytes(bytes(len(codes)))
        if codes == "U":
            return run[0][1]
        values = ", ".join(value for code, value in run if code != "x")
        return f"_pack_{codes}({values})"

    def struct(self, struct: StructSchema, var: str) -> None:
        """All fields of ``var``; leaves what is of fixed size at the end in the run."""
        for field in struct.fields:
            if self.version not in field.versions and not field.ignorable:
                self.out.add(f"if not ({is_default(field, f'{var}.{field.name}')}):")
                self.raise_not_in_version(struct, field, f"{var}.{field.name}")
        regular, tagged = regular_and_tagged(struct, self.version)
        for field in regular:
            self.value(struct, field, f"{var}.{field.name}")
        if self.message.is_flexible(self.version):
            if tagged:
                self.tagged(struct, tagged, var)
            else:
                self.run.append(("x", ""))

    def raise_not_in_version(self, struct: StructSchema, field: Field, value: str) -> None:
        name = f"{struct.name}.{field.name}"
        self.out.add(f'{INDENT}raise not_in_version("{self.message.name}", "{name}", {value})')

    def value(self, struct: StructSchema, field: Field, value: str, *, present: bool = False) -> None:
        """Write a field; ``present``: the code around has made sure that it is not null."""
        nullable = self.version in field.nullable and not present
        if field.nullable.last >= 0 and not nullable and not present:
            self.out.add(f"if {value} is None:")
            self.raise_not_in_version(struct, field, "None")
        if field.is_array:
            self.array(struct, field, value, nullable=nullable)
        elif field.struct is not None and nullable:
            self.nullable_struct(field.struct, value)
        elif field.struct is not None:
            self.struct(field.struct, value)
        elif field.type in PRIMITIVES:
            self.run.append((code_of(field.type), f"{value}.bytes" if field.type == "uuid" else value))
        else:
            self.variable(struct, field, value, nullable=nullable)

    def nullable_struct(self, struct: StructSchema, value: str) -> None:
        """A byte that says whether there is one: -1 for null, else 1."""
        self.flush()
        self.out.add(f"if {value} is None:")
        self.out.add(f'{INDENT}{self.sink}(b"\\xff")')
        self.out.add("else:")
        self.out.depth += 1
        self.run.append(("b", "1"))
        self.struct(struct, value)
        self.flush()
        self.out.depth -= 1

    def length(self, compact: bool, code: str, length: str) -> None:
        """Write ``length`` (an expression; compact ones have 1 added already)."""
        if not compact:
            self.run.append((code, length))
        elif self.run:
            short = self.pack_call([*self.run, ("B", length)])
            self.out.add(f"{self.sink}({short} if {length} < 128 else {self.pack_call(self.run)} + uvarint({length}))")
            self.run = []
        else:
            self.out.add(f"{self.sink}(UVARINT[{length}] if {length} < 128 else uvarint({length}))")

    def variable(self, struct: StructSchema, field: Field, value: str, *, nullable: bool) -> None:
        """A string, bytes or records."""
        compact = is_compact(self.message, self.version, field)
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

    def array(self, struct: StructSchema, field: Field, value: str, *, nullable: bool) -> None:
        compact = is_compact(self.message, self.version, field)
        items, size = self.out.fresh("l"), self.out.fresh("n")
        self.out.add(f"{items} = {value}")
        if nullable:
            self.flush()
            self.out.add(f"if {items} is None:")
            null = 'b"\\x00"' if compact else 'b"\\xff\\xff\\xff\\xff"'
            self.out.add(f"{INDENT}{self.sink}({null})")
            self.out.add("else:")
            self.out.depth += 1
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

    def tagged(self, struct: StructSchema, fields: list[Field], var: str) -> None:
        self.flush()
        unset = " and ".join(is_default(f, f"{var}.{f.name}") for f in fields)
        self.out.add(f"if {unset}:")
        self.out.add(f'{INDENT}{self.sink}(b"\\x00")')
        self.out.add("else:")
        self.out.depth += 1
        count = self.out.fresh("k")
        pieces = self.out.fresh("t")
        self.out.add(f"{count} = 0")
        self.out.add(f"{pieces} = []")
        outer = self.sink
        for field in fields:
            self.out.add(f"if not ({is_default(field, f'{var}.{field.name}')}):")
            self.out.depth += 1
            self.out.add(f"{count} += 1")
            self.tagged_value(struct, field, var, pieces)
            self.out.depth -= 1
        self.sink = outer
        self.out.add(f'{self.sink}(UVARINT[{count}] + b"".join({pieces}))')
        self.out.depth -= 1

    def tagged_value(self, struct: StructSchema, field: Field, var: str, pieces: str) -> None:
        """Tag, size and value of one tagged field, appended to the list ``pieces``."""
        inner = self.out.fresh("p")
        self.sink = f"{inner}.append"
        before = len(self.out.lines)
        self.value(struct, field, f"{var}.{field.name}", present=default_of(field) == "None")
        if len(self.out.lines) == before:  # all of it is in the run: its size is known here
            size = sum(code_size(code) for code, _ in self.run)
            self.run = [("B", str(field.tag)), ("B", str(size)), *self.run]
            self.sink = f"{pieces}.append"
            self.flush()
            return
        self.flush()
        self.out.lines.insert(before, f"{INDENT * self.out.depth}{inner} = []")
        payload = self.out.fresh("q")
        self.out.add(f'{payload} = b"".join({inner})')
        self.out.add(f"{pieces} += (UVARINT[{field.tag}], uvarint(len({payload})), {payload})")
