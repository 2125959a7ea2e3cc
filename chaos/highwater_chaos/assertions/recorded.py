"""The samples that the harness took itself, as series.

A series gets the labels that its node gave it and ``node``. It ends, as in a Prometheus, when its node is asked again
and says nothing of it, and when its node's process ends; a node that just does not answer is believed for
:data:`LOOKBACK_MS`, and then no more.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from highwater_chaos.assertions.phases import Span
from highwater_chaos.assertions.unknown import NOT_KNOWN
from highwater_chaos.experiment import Assertion
from highwater_chaos.promql.evaluate import Evaluator, Result, holds
from highwater_chaos.promql.language import Expression, Labels, Selector
from highwater_chaos.promql.parse import parse
from highwater_chaos.promql.series import Series, SeriesStore
from highwater_chaos.promql.vectors import EvaluationError
from highwater_pipeline.arrow import without_pandas  # noqa: F401 - before the first array

LOOKBACK_MS: Final = 5_000
"""Nodes are sampled every second."""
_ROUND_MS: Final = 250
"""Samples that come closer after each other than this belong to one round of asking every node."""
_STOPPED: Final = b'"node-stopped"'
_NS: Final = 1_000_000
_ASKED: Final = {"time_ns": pa.int64(), "node": pa.string(), "incarnation": pa.int32()}
"""By what a sample says when a process was asked."""

Process = tuple[str, int]
"""A node's name and incarnation."""


@dataclass(frozen=True, slots=True)
class RecordedSamples:
    """What can be asked of a run's samples."""

    store: SeriesStore
    rounds_ms: Sequence[int]
    """When samples were taken, of all nodes of which something could be known: the end of each round, ascending."""

    name: str = "samples"

    def instants(self, expression: Expression, span: Span) -> Sequence[int]:
        """When to look, in a phase: whenever every node has been asked."""
        del expression
        return [at for at in self.rounds_ms if span.start_ms <= at <= span.end_ms]

    def at(self, expression: Expression, span: Span, time_ms: int) -> Result:
        """The expression's result. Raises ``EvaluationError``."""
        del span
        return Evaluator(self.store, LOOKBACK_MS).at(expression, time_ms)

    def has_samples(self, selector: Selector, span: Span) -> bool:
        """Whether anything that the selector means was sampled in the phase."""
        start, end = span.start_ms - selector.offset_ms, span.end_ms - selector.offset_ms
        return any(series.between(start, end)[0] for series in self.store.select(selector.matchers))

    def metric_names(self) -> Sequence[str]:
        """Every metric that was sampled."""
        return self.store.names()


def read_samples(directory: Path, names: Collection[str] | None = None) -> RecordedSamples:
    """The samples of a run directory. ``names``: only of these metrics, beside what tells when nodes were asked.

    Raises:
        OSError: it has none.
        ValueError: a file is torn.
    """
    table = pq.read_table(directory / "metrics" / "samples.parquet")
    unknown = pc.equal(table["name"].cast(pa.string()), NOT_KNOWN)
    unknown_ms = {at // _NS for at in table.filter(unknown)["time_ns"].to_pylist()}
    table = table.filter(pc.invert(unknown))
    ends = _ends(directory / "events" / "nodes")
    rows = _rows(table if names is None else _of(table, names))
    times = sorted({row.time_ns // _NS for row in rows})
    rounds = [
        at
        for at, after in zip(times, [*times[1:], None], strict=True)
        if (after is None or after - at > _ROUND_MS) and at not in unknown_ms
    ]
    return RecordedSamples(SeriesStore(series_of(rows, ends)), rounds)


def _of(table: pa.Table, names: Collection[str]) -> pa.Table:
    """The samples of these metrics, and one of each time at which a process was asked: by those others end."""
    table = table.combine_chunks()
    kept = pc.is_in(table["name"].cast(pa.string()), value_set=pa.array(sorted(names), pa.string())).to_pylist()
    asked = zip(*(table[name].cast(kind).to_pylist() for name, kind in _ASKED.items()), strict=True)
    before: tuple[Any, ...] | None = None
    for index, process in enumerate(asked):
        kept[index] = kept[index] or process != before
        before = process
    return table.filter(pa.array(kept, pa.bool_()))


class Taken(Protocol):
    """A sample as a backend took it."""

    @property
    def time_ns(self) -> int: ...
    @property
    def node(self) -> str: ...
    @property
    def incarnation(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def labels(self) -> Mapping[str, str]: ...
    @property
    def value(self) -> float: ...


def holds_at_last(assertion: Assertion, samples: Iterable[Taken]) -> bool | None:
    """Whether the assertion's condition is as it should be by the latest of these samples; None: they do not say."""
    rows = [
        _Row(one.time_ns, one.node, one.incarnation, _labels(one.name, one.node, one.labels), one.value)
        for one in samples
    ]
    if not rows:
        return None
    latest = max(row.time_ns for row in rows) // _NS
    try:
        result = Evaluator(SeriesStore(series_of(rows, {})), LOOKBACK_MS).at(parse(assertion.promql), latest)
    except (EvaluationError, ValueError):
        return None
    return holds(result) != bool(assertion.never)


@dataclass(frozen=True, slots=True)
class _Row:
    time_ns: int
    node: str
    incarnation: int
    labels: Labels
    value: float


def _rows(table: pa.Table) -> list[_Row]:
    columns = {name: table[name] for name in table.column_names}
    names = columns["name"].cast(pa.string()).to_pylist()
    nodes = columns["node"].cast(pa.string()).to_pylist()
    known: dict[tuple[str, str, tuple[tuple[str, str], ...]], Labels] = {}
    made: list[_Row] = []
    for time_ns, node, incarnation, name, given, value in zip(
        columns["time_ns"].to_pylist(),
        nodes,
        columns["incarnation"].to_pylist(),
        names,
        columns["labels"].to_pylist(),
        columns["value"].to_pylist(),
        strict=True,
    ):
        key = (name, node, tuple(given))
        labels = known.get(key)
        if labels is None:
            labels = known[key] = _labels(name, node, dict(given))
        made.append(_Row(time_ns, node, incarnation, labels, value))
    return made


def _labels(name: str, node: str, given: Mapping[str, str]) -> Labels:
    there = {**given, "node": node, "__name__": name}
    return tuple(sorted((label, value) for label, value in there.items() if value))


def _ends(events: Path) -> dict[Process, int]:
    """When each process that ended did so, in nanoseconds of run time. ``events``: their file without a suffix."""
    ends: dict[Process, int] = {}
    for row in _stops(events):
        if row["kind"] == "node-stopped":
            ends[row["node"], row["incarnation"]] = row["time_ns"]
    return ends


def _stops(events: Path) -> Iterator[Mapping[str, Any]]:
    """Events that may be of nodes that stopped."""
    parquet = events.with_suffix(".parquet")
    if parquet.exists():
        with pq.ParquetFile(parquet) as file:
            for batch in file.iter_batches(columns=["kind", "node", "incarnation", "time_ns"]):
                yield from batch.filter(pc.equal(batch["kind"], "node-stopped")).to_pylist()
        return
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    with events.with_suffix(".jsonl").open("rb") as lines:
        for line in lines:
            if _STOPPED in line:
                yield decode(line)


def series_of(rows: Iterable[_Row], ends: Mapping[Process, int]) -> list[Series]:
    """Series with the marks of their ends. What came in late of a process that had ended is left out."""
    taken: dict[Process, list[int]] = {}
    series: dict[Labels, Series] = {}
    owners: dict[Labels, list[int]] = {}
    for row in sorted(rows, key=lambda row: row.time_ns):
        process, at = (row.node, row.incarnation), row.time_ns // _NS
        if row.time_ns >= ends.get(process, row.time_ns + 1):
            continue
        times = taken.setdefault(process, [])
        if not times or times[-1] < at:
            times.append(at)
        one = series.setdefault(row.labels, Series(row.labels))
        if one.times_ms and one.times_ms[-1] == at:
            one.values[-1] = row.value
            continue
        one.times_ms.append(at)
        one.values.append(row.value)
        owners.setdefault(row.labels, []).append(row.incarnation)
    for labels, one in series.items():
        node = dict(labels)["node"]
        _mark(one, owners[labels], {key[1]: times for key, times in taken.items() if key[0] == node}, node, ends)
    return list(series.values())


def _mark(
    series: Series, owners: Sequence[int], taken: Mapping[int, list[int]], node: str, ends: Mapping[Process, int]
) -> None:
    times: list[int] = []
    values: list[float | None] = []
    for index, (at, value) in enumerate(zip(series.times_ms, series.values, strict=True)):
        times.append(at)
        values.append(value)
        asked = taken[owners[index]]
        following = bisect_right(asked, at)
        end = ends.get((node, owners[index]))
        gone = asked[following] if following < len(asked) else None if end is None else max(end // _NS, at + 1)
        again = series.times_ms[index + 1] if index + 1 < len(series.times_ms) else None
        if gone is not None and (again is None or gone < again):
            times.append(gone)
            values.append(None)
    series.times_ms, series.values = times, values
