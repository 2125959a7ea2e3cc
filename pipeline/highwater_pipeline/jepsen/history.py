"""Reads a history that Jepsen stored (``history.edn``) as the operations of a run.

Of its Kafka workloads: ``[:send k v]``, acknowledged as ``[:send k [offset v]]``, and ``[:poll {k [[offset v] …]}]``;
``assign`` and ``subscribe`` name keys, and so does the ``:rebalance-log`` of a poll or transaction during which the
group moved some. Of its register workloads: ``read``, ``write``, and ``cas`` with
``[expected new]``; with ``jepsen.independent`` each value is ``[key value]``. Operations of the nemesis and what is no
operation of a client (``debug-topic-partitions``) are left out. Values must be integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TextIO

import msgspec
import pyarrow as pa

from highwater_pipeline.jepsen.edn import BadEdnError, Keyword, read_edn
from highwater_pipeline.tables.files import BadTableError
from highwater_pipeline.tables.rows import OPERATION_ROWS, REGISTER_OPERATIONS, MicroOp, Operation
from highwater_pipeline.tables.run_tables import RunParts
from highwater_pipeline.tables.settings import UNKNOWN, Settings

_TYPES: Final = ("invoke", "ok", "fail", "info")
_POLLS: Final = ("poll", "txn")
_OF_LOGS: Final = ("send", "poll", "txn", "assign", "subscribe", "crash")
_PART_ROWS: Final = 1 << 16
_PAIR: Final = 2
_SHOWN: Final = 160
_MOST_LINE: Final = 64 << 20
"""Characters."""
_ONLY_REGISTER: Final = "x"
"""The key, if a history has one register."""

Model = Literal["log", "register"]


def open_jepsen(path: Path, model: Model = "log", settings: Settings | None = None) -> RunParts:
    """Open a history in EDN, one operation after the other or in one vector; it is read part by part.

    ``OSError`` and ``BadTableError`` are raised while the operations are gone through.
    """
    return RunParts(path.stem, _parts(path, model), settings=settings or UNKNOWN, history_name=str(path))


def _parts(path: Path, model: Model) -> Iterator[pa.Table]:
    rows: list[Operation] = []
    try:
        with path.open(encoding="utf-8") as lines:
            for row in _operations(path, _bounded(lines), model):
                rows.append(row)
                if len(rows) >= _PART_ROWS:
                    yield OPERATION_ROWS.to_table(rows, path.stem)
                    rows = []
    except UnicodeDecodeError as error:
        raise BadTableError(f"{path}: expected UTF-8: {error}") from error
    yield OPERATION_ROWS.to_table(rows, path.stem)


def _bounded(text: TextIO) -> Iterator[str]:
    """Yield the lines. Raises :class:`BadEdnError` if one is so long that it should not be held in memory."""
    number = 0
    while line := text.readline(_MOST_LINE + 1):
        number += 1
        if len(line) > _MOST_LINE:
            raise BadEdnError(
                number,
                f"expected lines of at most {_MOST_LINE >> 20} MiB, found a longer one: write one operation a line",
            )
        yield line


def _operations(path: Path, lines: Iterable[str], model: Model) -> Iterator[Operation]:
    previous: Operation | None = None
    reader = _Registers() if model == "register" else _Logs()
    number = 0
    try:
        for number, found in read_edn(lines, within_vector=True):
            if not isinstance(found, dict):
                raise BadTableError(f"{path}:{number}: expected a map, an operation, found {_shown(found)}")
            row = _operation(found, reader, 0 if previous is None else previous.index + 1)
            if row is None:
                continue
            if wrong := OPERATION_ROWS.complaint(row, previous):
                raise BadTableError(f"{path}:{number}: {wrong}; the operation: {_shown(found)}")
            yield row
            previous = row
    except BadEdnError as error:
        raise BadTableError(f"{path}:{error.line}: {error}") from error
    except _NotJepsenError as error:
        raise BadTableError(f"{path}:{number}: {error}; the operation: {_shown(found)}") from error
    if reader.unread is not None and previous is None:
        raise BadTableError(f"{path}: expected operations of a {model}, found only others, such as {reader.unread!r}")


class _NotJepsenError(ValueError):
    """An operation is not as Jepsen writes it."""


def _operation(found: Mapping[Any, Any], reader: _Logs | _Registers, index: int) -> Operation | None:
    """Return the row; None if it is no operation of a client."""
    process = found.get("process")
    if isinstance(process, Keyword):
        return None
    f = found.get("f")
    if not reader.reads(f):
        return None
    kind = found.get("type")
    if kind not in _TYPES:
        raise _NotJepsenError(f"expected :type to be one of {', '.join(f':{one}' for one in _TYPES)}, found {kind!r}")
    error = found.get("error")
    value = reader.value(str(f), str(kind), found.get("value"))
    if kind != "invoke" and f in _POLLS and value is not None and (log := found.get("rebalance-log")) is not None:
        value = [*_moved(log, value), *value]
    return Operation(
        index=_integer(found.get("index", index), ":index"),
        time=_integer(found.get("time", index), ":time"),
        process=_integer(process, ":process"),
        type=msgspec.convert(str(kind), Literal["invoke", "ok", "fail", "info"]),
        f=str(f),  # type: ignore[arg-type]  # one that the reader reads
        value=value,
        error=None if error is None else str(error),
    )


def _moved(log: Any, polled: list[MicroOp]) -> list[MicroOp]:
    """An ``assign`` for each key that a rebalance log names; if it does not say which, for each that was polled.

    A log is a vector of ``{:type :revoked, :keys [k …]}``, or has two, ``:before`` and ``:during`` the operation.
    """
    if isinstance(log, dict):
        log = [entry for one in log.values() for entry in _sequence(one or (), ":rebalance-log")]
    keys: dict[str, None] = {}
    for entry in log if isinstance(log, list) else _sequence(log, ":rebalance-log"):
        named = entry.get("keys") if isinstance(entry, dict) else None
        if named is None:
            keys.update(dict.fromkeys(one.key for one in polled if one.op == "poll"))
        else:
            keys.update(dict.fromkeys(map(str, _sequence(named, ":keys of a :rebalance-log"))))
    return [MicroOp("assign", key) for key in keys]


class _Logs:
    """Operations on topic-partitions."""

    unread: str | None = None

    def reads(self, f: Any) -> bool:
        if f in _OF_LOGS:
            return True
        self.unread = str(f)
        return False

    def value(self, f: str, kind: str, value: Any) -> list[MicroOp]:
        if f in ("assign", "subscribe"):
            return [MicroOp("assign", str(key)) for key in _sequence(value or (), ":value")]
        if f == "crash" or value is None:
            return []
        return [one for step in _sequence(value, ":value") for one in self._step(step, kind)]

    def _step(self, step: Any, kind: str) -> Iterator[MicroOp]:
        match step:
            case ("send", key, (offset, value)):
                yield MicroOp("send", str(key), _optional(offset, "an offset"), _integer(value, "a value"))
            case ("send", key, value):
                yield MicroOp("send", str(key), None, _integer(value, "a value"))
            case ("poll",) | ("poll", None):
                return
            case ("poll", dict() as polled):
                if kind == "invoke":
                    return
                for key, records in polled.items():
                    for record in _sequence(records, "the records of a poll"):
                        offset, value = _pair(record, "a record [offset value]")
                        yield MicroOp("poll", str(key), _integer(offset, "an offset"), _integer(value, "a value"))
            case _:
                raise _NotJepsenError(
                    f"expected [:send key value], [:send key [offset value]] or [:poll {{…}}], found {_shown(step)}"
                )


class _Registers:
    """Operations on registers."""

    unread: str | None = None

    def __init__(self) -> None:
        self._independent: bool | None = None

    def reads(self, f: Any) -> bool:
        if f in REGISTER_OPERATIONS:
            return True
        self.unread = str(f)
        return False

    def value(self, f: str, kind: str, value: Any) -> list[MicroOp] | None:
        if self._independent is None and f != "cas" and value is not None:
            self._independent = isinstance(value, tuple)
        key = _ONLY_REGISTER
        if self._independent and value is not None:
            name, value = _pair(value, "[key value]")
            key = str(name)
        if value is None and (f != "read" or kind not in ("invoke", "ok")):
            return None
        match f:
            case "cas":
                expected, new = _pair(value, "[expected new]")
                return [
                    MicroOp("read", key, None, _optional(expected, "a value")),
                    MicroOp("write", key, None, _integer(new, "a value")),
                ]
            case "write":
                return [MicroOp("write", key, None, _integer(value, "a value"))]
            case _:
                return [MicroOp("read", key, None, _optional(value, "a value"))]


def _sequence(found: Any, what: str) -> tuple[Any, ...]:
    if isinstance(found, frozenset):
        return tuple(sorted(found, key=str))
    if not isinstance(found, tuple):
        raise _NotJepsenError(f"expected {what} to be a vector, found {_shown(found)}")
    return found


def _pair(found: Any, what: str) -> tuple[Any, Any]:
    if not isinstance(found, tuple) or len(found) != _PAIR:
        raise _NotJepsenError(f"expected {what}, found {_shown(found)}")
    return found[0], found[1]


def _integer(found: Any, what: str) -> int:
    if not isinstance(found, int) or isinstance(found, bool) or not -(1 << 63) <= found < 1 << 63:
        raise _NotJepsenError(f"expected {what} to be an integer of 64 bits, found {_shown(found)}")
    return found


def _optional(found: Any, what: str) -> int | None:
    return None if found is None else _integer(found, what)


def _shown(found: Any) -> str:
    text = repr(found)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
