"""Reads and writes tables as JSON Lines and Parquet, strictly: a bad line is an error that names file and line.

A history that is read in part is worse than none, because missing rows cannot fail a check. So nothing is skipped,
guessed or repaired: unknown fields, missing fields, wrong types and torn lines are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final, Generic, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from highwater_pipeline.tables.remote import AnyPath, RemotePath, arrow_of, reaching
from highwater_pipeline.tables.rows import Row, RowKind
from highwater_pipeline.tables.screening import suspects

T = TypeVar("T")

_SHOWN: Final = 160
_PART: Final = 8 << 20
"""Bytes of a file that are rows in memory at once."""
MOST_LINE: Final = 256 << 20
"""Bytes of one line. What is longer is no line, and would fill the memory."""
_PART_ROWS: Final = 1 << 16
"""Rows of a Parquet file that are read at once."""
GROUP: Final = 1 << 17
"""Rows of a Parquet file that are written at once."""


class BadTableError(ValueError):
    """A file is not the table that it should be; the message says where, what was expected and what was found."""


def jsonl_parts(path: AnyPath, kind: RowKind[Row], run_id: str) -> Iterator[pa.Table]:
    """Yield a JSON Lines file as Arrow tables of ``kind.schema``, some megabytes each; ``run_id`` stands where lines
    name none.

    Raises :class:`BadTableError` for the first bad line, ``OSError`` where the file cannot be read.
    """
    with path.open("rb") as file:
        yield from _parse(file, kind, run_id, str(path))


class LinesReader(Generic[Row]):
    """Decodes lines that come one after the other, as :func:`jsonl_parts` does; ``name`` is what errors call them."""

    def __init__(self, kind: RowKind[Row], run_id: str, name: str) -> None:
        self._kind: Final[RowKind[Row]] = kind
        self._run_id: Final = run_id
        self._name: Final = name
        self._number = 0
        self._previous: Row | None = None

    def read(self, lines: Sequence[bytes]) -> pa.Table:
        """Return the next lines, without their ends, as a table. Raises :class:`BadTableError`."""
        table, self._previous = _part(lines, self._kind, self._run_id, self._name, self._number, self._previous)
        self._number += len(lines)
        return table


def lines_in_parts(lines: Iterable[bytes], kind: RowKind[Row], run_id: str, name: str) -> Iterator[pa.Table]:
    """As :func:`jsonl_parts`, from lines without their ends; ``name`` is what errors call them."""
    reader = LinesReader(kind, run_id, name)
    for some in gathered(lines, len, _PART):
        yield reader.read(some)


def gathered(items: Iterable[T], size_of: Callable[[T], int], least: int) -> Iterator[list[T]]:
    """Items in lists whose sizes together are at least ``least``, but for the last list."""
    some: list[T] = []
    size = 0
    for item in items:
        some.append(item)
        size += size_of(item)
        if size >= least:
            yield some
            some, size = [], 0
    if some:
        yield some


def _parse(file: BinaryIO, kind: RowKind[Row], run_id: str, path: str) -> Iterator[pa.Table]:
    number, previous, partial = 0, None, b""
    while data := file.read(_PART):
        *lines, partial = (partial + data).split(b"\n")
        table, previous = _part(lines, kind, run_id, path, number, previous)
        yield table
        number += len(lines)
        if len(partial) > MOST_LINE:
            raise BadTableError(
                f"{path}:{number + 1}: expected lines of at most {MOST_LINE >> 20} MiB, found a longer one:"
                f" {_shown(partial[:_SHOWN])}"
            )
    if partial:
        raise BadTableError(
            f"{path}:{number + 1}: expected a line feed at the end, found a torn line: {_shown(partial)}"
        )


def _part(
    lines: Sequence[bytes], kind: RowKind[Row], run_id: str, path: str, before: int, previous: Row | None
) -> tuple[pa.Table, Row | None]:
    """Some lines as a table, and the last row. ``before``: how many lines precede them; ``previous``: the last row of
    these."""
    rows = _good_rows(lines, kind, previous)
    if rows is None:
        rows = _line_by_line(lines, kind, path, before, previous)
    try:
        return kind.to_table(rows, run_id, lines), rows[-1] if rows else previous
    except (OverflowError, UnicodeError, pa.ArrowException) as error:
        raise _not_for_arrow(rows, kind, lines, path, before) from error


def _good_rows(lines: Sequence[bytes], kind: RowKind[Row], previous: Row | None) -> list[Row] | None:
    """Decode all lines in one call: twice as fast. None: something is wrong, which is then looked for line by line."""
    try:
        rows: list[Row] = msgspec.json.Decoder(kind.row).decode_lines(b"\n".join(lines))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if len(rows) != len(lines):
        return None
    for row in rows:
        if kind.complaint(row, previous):
            return None
        previous = row
    return rows


def _line_by_line(
    lines: Sequence[bytes], kind: RowKind[Row], path: str, before: int, previous: Row | None
) -> list[Row]:
    """Decode lines. Raises :class:`BadTableError` for the first that is wrong."""
    decode = msgspec.json.Decoder(kind.row).decode
    complaint = kind.complaint
    rows: list[Row] = []
    number = before
    try:
        for number, line in enumerate(lines, start=before + 1):
            row = decode(line)
            if wrong := complaint(row, previous):
                raise BadTableError(f"{path}:{number}: {wrong}; the line: {_shown(line)}")
            rows.append(row)
            previous = row
    except UnicodeDecodeError as error:
        raise BadTableError(
            f"{path}:{number}: expected UTF-8, found: {error}; {_line(lines, number, before)}"
        ) from error
    except RecursionError as error:
        raise BadTableError(
            f"{path}:{number}: expected a row, found too many levels; {_line(lines, number, before)}"
        ) from error
    except msgspec.DecodeError as error:  # ValidationError included
        what = str(error) if isinstance(error, msgspec.ValidationError) else f"expected a JSON object, found: {error}"
        raise BadTableError(f"{path}:{number}: {what}; {_line(lines, number, before)}") from error
    return rows


def _line(lines: Sequence[bytes], number: int, before: int) -> str:
    return f"the line: {_shown(lines[number - before - 1])}"


def _not_for_arrow(
    rows: Sequence[Row], kind: RowKind[Row], lines: Sequence[bytes], path: str, before: int
) -> BadTableError:
    """The first line with a number or a string that no column can hold: JSON has larger integers than 64 bits."""
    for number, (row, line) in enumerate(zip(rows, lines, strict=True), start=before + 1):
        try:
            kind.to_table([row], "", [line])
        except (OverflowError, UnicodeError, pa.ArrowException) as error:
            return BadTableError(
                f"{path}:{number}: expected integers of 64 bits and text, found: {error}; {_shown(line)}"
            )
    return BadTableError(f"{path}: expected a table that fits into memory")


def parquet_parts(path: AnyPath, kind: RowKind[Row]) -> Iterator[pa.Table]:
    """Yield a Parquet file in parts, as Arrow tables of ``kind.schema``. A column that may be null may be missing.

    Raises :class:`BadTableError` where the columns or their types are others, or a column that must not be null is.
    """
    before = kind.schema.empty_table()  # the last row so far
    number = 0
    try:
        where, filesystem = arrow_of(path)
        with pq.ParquetFile(where, filesystem=filesystem) as file:
            _columns_fit(path, file.schema_arrow, kind)
            for batch in _batches(file):
                batch.validate(full=True)  # text is UTF-8
                part = _cast(path, pa.Table.from_batches([batch]), kind)
                if part.num_rows:
                    _ensure_rows(path, pa.concat_tables([before, part]).combine_chunks(), kind, number)
                    number += part.num_rows
                    before = part.take([part.num_rows - 1])  # a copy: a slice would keep the memory of all
                yield part
    except MemoryError:  # one of Arrow's is an ArrowException too; the file may be good
        raise
    except (pa.ArrowException, OSError) as error:
        raise BadTableError(f"{path}: expected a Parquet file, found: {error}") from error


def _batches(file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    """All rows. A batch has fewer of them where they hold lists: one poll can have thousands of records."""
    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)
        values = max((group.column(column).num_values for column in range(group.num_columns)), default=0)
        rows = _PART_ROWS * group.num_rows // max(values, 1)
        yield from file.iter_batches(min(max(rows, 1), _PART_ROWS), row_groups=[number])


def _columns_fit(path: AnyPath, found: pa.Schema, kind: RowKind[Row]) -> None:
    for field in kind.schema:
        if field.name not in found.names and not field.nullable:
            raise BadTableError(f"{path}: expected a column `{field.name}`, found {', '.join(sorted(found.names))}")
    for name in found.names:
        if name not in kind.schema.names:
            raise BadTableError(f"{path}: expected columns {', '.join(kind.schema.names)}, found `{name}` too")
        if found.names.count(name) > 1:
            raise BadTableError(f"{path}: expected a column `{name}`, found {found.names.count(name)}")
        expected = kind.schema.field(name).type
        if not _is_of_type(found.field(name).type, expected):
            raise BadTableError(f"{path}: expected `{name}` to be {expected}, found {found.field(name).type}")


def _is_of_type(found: pa.DataType, expected: pa.DataType) -> bool:
    """Whether all that a column of type ``found`` can say is of the type ``expected``, and not converted by a guess."""
    types = pa.types
    if types.is_null(found):
        return True
    if types.is_dictionary(found):
        return _is_of_type(found.value_type, expected)
    if types.is_list(expected):
        is_list = types.is_list(found) or types.is_large_list(found) or types.is_fixed_size_list(found)
        return bool(is_list) and _is_of_type(found.value_type, expected.value_type)
    if types.is_struct(expected):
        fields = {field.name: field.type for field in expected}
        return bool(types.is_struct(found)) and all(
            field.name in fields and _is_of_type(field.type, fields[field.name]) for field in found
        )
    if types.is_integer(expected):
        return bool(types.is_integer(found))
    if types.is_boolean(expected):
        return bool(types.is_boolean(found))
    texts = (types.is_string, types.is_large_string, types.is_string_view)
    return any(is_it(found) for is_it in (*texts, types.is_binary, types.is_large_binary))


def _cast(path: AnyPath, table: pa.Table, kind: RowKind[Row]) -> pa.Table:
    for field in kind.schema:
        if field.name not in table.schema.names:  # as a line may leave it out
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    try:
        made = table.select(kind.schema.names).cast(kind.schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, ValueError) as error:
        raise BadTableError(f"{path}: expected the columns of {kind.name}, found: {error}") from error
    for name in made.schema.names:
        if pa.types.is_list(made.schema.field(name).type) and pc.list_flatten(made[name]).null_count:
            raise BadTableError(f"{path}: expected lists without nulls in `{name}`, found a null in one")
    return made


def _ensure_rows(path: AnyPath, table: pa.Table, kind: RowKind[Row], number: int) -> None:
    """Raise :class:`BadTableError` for the first row that is wrong, as a line would be. If ``number`` is above 0, the
    first row is the last of the part before, and is good; ``number``: of the first that is new."""
    found = suspects(table, kind)
    found = found[found > 0] if number else found
    first = number - 1 if number else 0
    wanted = table.select([name for name in kind.row.__struct_fields__ if name in table.schema.names])
    rows, before = (wanted.take(pa.array(positions)).to_pylist() for positions in (found, np.maximum(found - 1, 0)))
    for position, row, previous in zip(found.tolist(), rows, before, strict=True):
        try:
            wrong = kind.complaint(
                msgspec.convert(row, kind.row), msgspec.convert(previous, kind.row) if position else None
            )
        except msgspec.ValidationError as error:
            wrong = str(error)
        if wrong:
            raise BadTableError(f"{path}: row {first + position}: {wrong}; the row: {_shown(str(row).encode())}")


def write_parquet(path: AnyPath, table: pa.Table) -> None:
    """Write a table as one Parquet file, replacing it; its directory is made where it is missing."""
    make_parent(path)
    where, filesystem = arrow_of(path)
    with reaching(path):
        pq.write_table(table, where, filesystem=filesystem, compression="zstd")


class TableFile:
    """A Parquet file that is written while its table grows: :meth:`add` takes the rows that come next.

    In memory are no more than ``group`` rows and the part that is added. The bytes depend on the rows alone, and not on
    the parts that they came in. If the process dies before the file is closed, the footer is missing, and no reader
    takes it.
    """

    def __init__(self, path: Path, schema: pa.Schema, group: int = GROUP) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A writer that was given up ends its own file when it goes, which may be later.
        path.unlink(missing_ok=True)
        self._schema: Final = schema
        self._group: Final = group
        self._writer: Final = pq.ParquetWriter(path, schema, compression="zstd")
        self._waiting: list[pa.Table] = []
        self.waiting_rows = 0
        """Rows that are in memory."""

    def add(self, part: pa.Table) -> None:
        """Write or keep some more rows. Raises ``OSError``."""
        self._waiting.append(part)
        self.waiting_rows += part.num_rows
        if self.waiting_rows < self._group:
            return
        table = pa.concat_tables(self._waiting)
        whole = table.num_rows - table.num_rows % self._group
        for start in range(0, whole, self._group):
            self._writer.write_table(table.slice(start, self._group).combine_chunks())
        # A copy: a slice would keep the memory of all.
        self._waiting = [pa.concat_tables([table.slice(whole)]).combine_chunks()]
        self.waiting_rows = table.num_rows - whole

    def close(self) -> None:
        """Write what is left. Raises ``OSError``."""
        if self.waiting_rows:
            self._writer.write_table(pa.concat_tables(self._waiting).combine_chunks())
        self._waiting, self.waiting_rows = [], 0
        self._writer.close()


def make_parent(path: AnyPath) -> None:
    """Make the directory of a file where it is missing."""
    if isinstance(path, RemotePath):
        path.parent.make_directory()
    else:
        path.parent.mkdir(parents=True, exist_ok=True)


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
