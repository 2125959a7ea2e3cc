"""The timeline as HTML: one lane a thing that is drawn over time, all on one scale.

Each lane is an SVG whose inner part is stretched to the width of the page: its x are parts of the run, so that
``page.js`` zooms by a view box. Words stand beside the inner part, as they may not be stretched. Without JavaScript the
whole run is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Final

from markupsafe import Markup

from highwater_chaos.report.conditions import Condition
from highwater_chaos.report.timeline import PartitionLane, Span, Timeline

UNITS: Final = 1_000_000
"""Width of the run in the coordinates of a lane."""
COLORS: Final = 8
"""Classes ``b0`` to ``b7`` of the page's style: a colour for each broker, by id. Labels tell them apart too."""
_CHANGES: Final = 60
"""Changes of one partition that its table has."""
_EVIDENCE: Final = 6
"""Pieces of evidence that a fault's tooltip has; the table has all."""
_OPEN: Final = 4
"""Partitions of a run that are all unfolded."""
_STATES: Final = ("offline", "short", "full")


@dataclass(frozen=True, slots=True)
class Drawn:
    """A timeline as ``timeline.html.j2`` frames it. ``bands``: where faults were in force, behind all lanes."""

    end_ns: int
    units: int
    bands: Markup
    lanes: Markup


def draw(timeline: Timeline, conditions: Sequence[Condition] = (), found: frozenset[str] = frozenset()) -> Drawn:
    """Draw the whole timeline. ``found``: the partitions of which something was found; they come first, unfolded."""
    x = _Scale(timeline.end_ns)
    bands = "".join(f'<rect class="band" {_place(x, span, 4)} y="0" height="1"/>' for span in timeline.faults)
    lanes = "".join(_lanes(timeline, x, conditions, found))
    return Drawn(timeline.end_ns, UNITS, Markup(bands), Markup(lanes))  # noqa: S704 - numbers and escaped names


def _lanes(timeline: Timeline, x: _Scale, conditions: Sequence[Condition], found: frozenset[str]) -> Iterator[str]:
    yield _axis(x)
    yield _strip("phase", timeline.phases, x, "phase", always=True)
    yield _faults(timeline.faults, x)
    yield _throughput(timeline, x)
    yield _latency(timeline, x)
    for condition in sorted(conditions, key=lambda one: one.holds is not False):
        if condition.holds is False:
            yield _condition(condition, x)
    for node, spans in timeline.nodes.items():
        yield _strip(node, spans, x, "state")
    yield _quorum(timeline, x)
    yield from _partitions(timeline, x, found)
    held = [condition for condition in conditions if condition.holds is not False]
    if held:
        inside = "".join(_condition(condition, x) for condition in held)
        label = f"{len(held)} other assertion{'s' * (len(held) > 1)}"
        yield f'<details class="group"><summary>{_lane(label, 15, "")}</summary>{inside}</details>'


class _Scale:
    """Run time (ns) to a lane's coordinates."""

    def __init__(self, end_ns: int) -> None:
        self.end_ns = end_ns

    def __call__(self, time_ns: int) -> int:
        return round(min(max(time_ns, 0), self.end_ns) * UNITS / self.end_ns)


def _place(x: _Scale, span: Span, least: int = 1) -> str:
    left = x(span.start_ns)
    return f'x="{left}" width="{max(least, x(span.end_ns) - left)}"'


def _lane(label: str, height: int, body: str, *, note: str = "", words: str = "", data: str = "", css: str = "") -> str:
    """``body``: in the run's coordinates; ``words``: what must not be stretched; ``data``: how values are read off."""
    small = f"<small>{escape(note)}</small>" if note else ""
    return (
        f'<div class="lane{css}"><span class="label" title="{escape(label)}">{escape(label)}{small}</span>'
        f'<svg class="plot" height="{height}" aria-hidden="true"><svg class="scaled" viewBox="0 0 {UNITS} {height}"'
        f' preserveAspectRatio="none"{data}>{body}</svg>{words}</svg><output class="value"></output></div>'
    )


def _word(x: _Scale, start: int, end: int, y: int, text: str, css: str = "", *, before: int | None = None) -> str:
    """A text at ``start``, shown where it fits before ``end``; or, with ``before``, between that and ``start``."""
    left = x(start)
    least = "" if before is None else f' data-before="{x(before)}"'
    classes = f' class="{css}"' if css else ""
    return (
        f'<text{classes} x="{left / UNITS * 100:.3f}%" dx="4" y="{y}" data-a="{left}" data-b="{x(end)}"{least}>'
        f"{escape(text)}</text>"
    )


def _rect(x: _Scale, span: Span, height: int, css: str, title: str, *, y: int = 0) -> str:
    """``title``: its first line is what the page reads off under the cursor."""
    top = f' y="{y}"' if y else ""
    return f'<rect class="{css}" {_place(x, span)}{top} height="{height}"><title>{escape(title)}</title></rect>'


def _seconds(span: Span) -> str:
    return f"{span.start_ns / 1e9:.3f} s to {span.end_ns / 1e9:.3f} s"


def _axis(x: _Scale) -> str:
    step = _nice(x.end_ns / 10)
    marks = "".join(
        f'<text class="tick" x="{x(at) / UNITS * 100:.3f}%" y="12">{at / 1e9:g} s</text>'
        for at in range(0, x.end_ns + 1, step)
    )
    svg = f'<svg class="plot ticks" height="16" aria-hidden="true">{marks}</svg>'
    return f'<div class="lane axis"><span class="label"></span>{svg}</div>'


def _nice(rough_ns: float) -> int:
    steps = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000)
    return next((step for step in steps if step * 1_000_000 >= rough_ns), int(rough_ns // 1_000_000) + 1) * 1_000_000


def _strip(label: str, spans: Iterable[Span], x: _Scale, css: str, *, always: bool = False) -> str:
    body, words = "", ""
    for span in spans:
        body += _rect(x, span, 14, f"{css} {span.kind}", f"{span.label}\n{_seconds(span)}")
        if always or span.kind != "up":
            words += _word(x, span.start_ns, span.end_ns, 11, span.label, "on" if span.kind == "down" else "")
    return _lane(label, 14, body, words=words, data=' data-read="spans"')


def _faults(faults: Sequence[Span], x: _Scale) -> str:
    """Bars in as many rows as it takes to read each label on a large screen. A label may stand left of its bar."""
    rows: list[list[tuple[int, int]]] = []
    row_of: list[int] = []
    for span in faults:
        left, right, needed = x(span.start_ns), x(span.end_ns), round((6.2 * len(span.label) + 14) * UNITS / 1000)
        taken = (left, max(right, left + needed)) if left + needed <= UNITS else (left - needed, right)
        free = (index for index, row in enumerate(rows) if all(b <= taken[0] or taken[1] <= a for a, b in row))
        row_of.append(next(free, len(rows)))
        if row_of[-1] == len(rows):
            rows.append([])
        rows[row_of[-1]].append(taken)
    body, words = "", ""
    for span, row in zip(faults, row_of, strict=True):
        y = row * 17
        seen = "".join(f"\n{at / 1e9:.3f} s: {what}" for at, what in span.marks[:_EVIDENCE])
        body += _rect(x, span, 14, "fault", f"{span.label}\n{_seconds(span)}{seen}", y=y)
        body += "".join(
            f'<line class="mark" x1="{x(at)}" x2="{x(at)}" y1="{y}" y2="{y + 14}"/>' for at, _ in span.marks
        )
        others = [other for other, its in zip(faults, row_of, strict=True) if its == row and other is not span]
        before = max((other.end_ns for other in others if other.start_ns <= span.start_ns), default=0)
        after = min((other.start_ns for other in others if other.start_ns > span.start_ns), default=x.end_ns)
        words += _word(x, span.start_ns, max(after, span.end_ns), y + 11, span.label, before=before)
    note = "" if faults else "none"
    return _lane("faults", max(16, 17 * len(rows)), body, note=note, words=words, data=' data-read="spans"')


def _line(values: Sequence[float | None], bucket_ns: int, x: _Scale, top: float, height: int) -> Iterator[str]:
    """Points of each unbroken piece of a line."""
    piece: list[str] = []
    for index, value in enumerate([*values, None]):
        if value is not None:
            at = x(index * bucket_ns + bucket_ns // 2)
            piece.append(f"{at},{height - value / top * height:.1f}")
        elif piece:
            yield " ".join(piece if len(piece) > 1 else piece * 2)
            piece = []


def _throughput(timeline: Timeline, x: _Scale) -> str:
    height = 46
    rates: list[float | None] = [count / (timeline.bucket_ns / 1e9) for count in timeline.acked]
    top = max([1.0, *[rate for rate in rates if rate is not None]])
    points = next(_line(rates, timeline.bucket_ns, x, top, height))
    body = f'<polygon class="area" data-name="acknowledged/s" points="0,{height} {points} {UNITS},{height}"/>'
    for index, count in enumerate(timeline.failed):
        if count:
            start = index * timeline.bucket_ns
            span = Span(start, min(timeline.end_ns, start + timeline.bucket_ns), "", "")
            body += _rect(x, span, 4, "failed", f"{count} sends failed or unknown about {start / 1e9:.2f} s")
    data = f' data-read="line" data-top="{top:g}"'
    return _lane("acknowledged/s", height, body, note=f"up to {top:,.0f}", data=data)


def _latency(timeline: Timeline, x: _Scale) -> str:
    height = 46
    top = max([1.0, *[value for value in timeline.latency_p99 if value is not None]])
    body = "".join(
        f'<polyline class="{css}" data-name="{css}" points="{points}"/>'
        for values, css in ((timeline.latency_p99, "p99"), (timeline.latency_p50, "p50"))
        for points in _line(values, timeline.bucket_ns, x, top, height)
    )
    data = f' data-read="line" data-top="{top:g}" data-unit="ms"'
    return _lane("latency p50, p99", height, body, note=f"up to {top:,.0f} ms", data=data)


def _condition(condition: Condition, x: _Scale) -> str:
    """An assertion: the values that it compares, the bound, its phase, and where it was broken."""
    height = 46
    values = [value for one in condition.series for _, value in one.points]
    bounds = [] if condition.bound is None else [condition.bound]
    low = min([0.0, *values, *bounds])
    top = max([low + 1.0, *values, *bounds]) * 1.05
    body = "" if condition.span is None else _rect(x, condition.span, height, "within", f"phase {condition.during}")
    for at in condition.broken:
        body += _rect(x, Span(at, at + x.end_ns // 300, "", ""), 5, "broken", f"not as it must be at {at / 1e9:.3f} s")

    def y(value: float) -> str:
        return f"{height - (value - low) / (top - low) * (height - 2):.1f}"

    if condition.bound is not None:
        body += f'<line class="bound" x1="0" x2="{UNITS}" y1="{y(condition.bound)}" y2="{y(condition.bound)}"/>'
    for index, one in enumerate(condition.series):
        points = " ".join(f"{x(at)},{y(value)}" for at, value in one.points)
        name = escape(one.name, quote=True)
        body += f'<polyline class="series b{index % COLORS}" data-name="{name}" points="{points}"/>'
    data = f' data-read="line" data-top="{top:g}" data-low="{low:g}"'
    outcome = {True: "held", False: "did not hold", None: "not judged"}[condition.holds]
    return _lane(condition.name, height, body, note=outcome, data=data)


def _held(steps: Sequence[tuple[int, object]], end_ns: int) -> list[tuple[int, int, object]]:
    """Steps with the end of each, equal neighbours merged."""
    merged: list[tuple[int, object]] = []
    for time, value in steps:
        if not merged or merged[-1][1] != value:
            merged.append((time, value))
    ends = [*[time for time, _ in merged[1:]], end_ns]
    return [(time, end, value) for (time, value), end in zip(merged, ends, strict=False)]


def _quorum(timeline: Timeline, x: _Scale) -> str:
    body, words = "", ""
    for start, end, epoch in _held(timeline.quorum_epoch, x.end_ns):
        leader = next((name for time, name in timeline.quorum_leader if start <= time < end), "no leader yet")
        text = f"epoch {epoch}: {leader}"
        body += _rect(x, Span(start, end, text, "quorum"), 14, "quorum", text)
        words += _word(x, start, end, 11, text)
    return _lane(timeline.quorum_name, 14, body, words=words, data=' data-read="spans"')


# --- partitions -----------------------------------------------------------------------------------------------------


def _partitions(timeline: Timeline, x: _Scale, found: frozenset[str]) -> Iterator[str]:
    """Those with anomalies first, unfolded; the others by topic."""
    few = len(timeline.partitions) <= _OPEN
    topics: dict[str, list[PartitionLane]] = {}
    for lane in timeline.partitions:
        if lane.name in found:
            yield _partition(lane, x, unfolded=True, found=True)
        else:
            topics.setdefault(lane.name.rpartition("-")[0], []).append(lane)
    for topic, lanes in topics.items():
        inside = "".join(_partition(lane, x, unfolded=few) for lane in lanes)
        if len(lanes) == 1 or few:
            yield inside
            continue
        spans = _worst(lanes, x.end_ns)
        body = "".join(_rect(x, span, 14, f"worst {span.kind}", f"{span.label}\n{_seconds(span)}") for span in spans)
        words = "".join(
            _word(x, span.start_ns, span.end_ns, 11, span.label, "on" if span.kind == "offline" else "")
            for span in spans
            if span.kind != "full"
        )
        lane_ = _lane(f"{topic}, {len(lanes)} partitions", 14, body, words=words, data=' data-read="spans"')
        unfolded = " open" if len(lanes) <= 12 and len(topics) == 1 else ""
        yield f'<details class="group"{unfolded}><summary>{lane_}</summary>{inside}</details>'


def _worst(lanes: Sequence[PartitionLane], end_ns: int) -> list[Span]:
    """How many partitions of a topic were without a leader, or had a short ISR, over time."""
    changes: list[tuple[int, int, str | None]] = []
    for index, lane in enumerate(lanes):
        states = [
            (time, "offline" if leader < 0 else "short" if len(isr) < len(lane.replicas) else "full")
            for (time, leader), (_, isr) in zip(lane.leader, lane.isr, strict=True)
        ]
        changes += [(time, index, state) for time, state in states]
    state_of: dict[int, str | None] = {}
    steps: list[tuple[int, object]] = []
    for time, index, state in sorted(changes, key=lambda change: change[:2]):
        state_of[index] = state
        steps.append((time, tuple(sum(one == name for one in state_of.values()) for name in _STATES)))
    spans = []
    for start, end, counts in _held(steps, end_ns):
        assert isinstance(counts, tuple)
        offline, short, full = counts
        kind = "offline" if offline else "short" if short else "full"
        label = ", ".join(
            f"{count} {what}"
            for count, what in ((offline, "without a leader"), (short, "with a short ISR"), (full, "with all replicas"))
            if count
        )
        if end > start:
            spans.append(Span(start, end, label, kind))
    return spans


def _partition(lane: PartitionLane, x: _Scale, *, unfolded: bool, found: bool = False) -> str:
    summary = ' class="found"' if found else ""
    return (
        f'<details class="partition"{" open" if unfolded else ""}><summary{summary}>{_leader(lane, x)}</summary>'
        f"{_isr(lane, x)}{_offsets(lane, x)}{_changes(lane, x.end_ns)}</details>"
    )


def _leader(lane: PartitionLane, x: _Scale) -> str:
    """The leader, and below it a line where the ISR is short."""
    epochs = dict(lane.leader_epoch)
    body, words = "", ""
    for start, end, value in _held([(time, (leader, epochs[time])) for time, leader in lane.leader], x.end_ns):
        assert isinstance(value, tuple)
        leader, epoch = value
        name = f"leader {leader}, epoch {epoch}" if leader >= 0 else f"no leader, epoch {epoch}"
        css = f"leader b{leader % COLORS}" if leader >= 0 else "leader nobody"
        body += _rect(x, Span(start, end, name, css), 14, css, name)
        words += _word(x, start, end, 11, name, "on")
    for start, end, isr in _held(lane.isr, x.end_ns):
        assert isinstance(isr, list)
        if len(isr) < len(lane.replicas):
            body += _rect(x, Span(start, end, "", ""), 4, "isr short", f"ISR {_set(isr)}", y=15)
    return _lane(lane.name, 19, body, words=words, data=' data-read="spans"')


def _set(isr: Sequence[int]) -> str:
    return "{" + ", ".join(map(str, isr)) + "}"


def _isr(lane: PartitionLane, x: _Scale) -> str:
    body, words = "", ""
    for start, end, isr in _held(lane.isr, x.end_ns):
        assert isinstance(isr, list)
        css = "isr full" if len(isr) == len(lane.replicas) else "isr short"
        body += _rect(x, Span(start, end, "", ""), 14, css, f"ISR {_set(isr)}")
        words += _word(x, start, end, 11, _set(isr))
    return _lane("ISR", 14, body, words=words, data=' data-read="spans"')


def _offsets(lane: PartitionLane, x: _Scale) -> str:
    height = 78
    ends = [offset for steps in lane.log_end.values() for _, offset in steps]
    top = max([1, *ends, *[offset for _, offset in lane.high_watermark]])
    body = ""
    for node in sorted(lane.log_end):
        number = int(node.rpartition("-")[2])
        path = _staircase(lane.log_end[node], x, top, height)
        body += f'<path class="leo b{number % COLORS}" data-name="{escape(node)}" d="{path}"/>'
    if lane.high_watermark:
        body += f'<path class="hw" data-name="HW" d="{_staircase(lane.high_watermark, x, top, height)}"/>'
    return _lane("HW, log ends", height, body, note=f"up to {top:,}", data=f' data-read="steps" data-top="{top}"')


def _staircase(steps: Sequence[tuple[int, int]], x: _Scale, top: int, height: int) -> str:
    """A path that holds each value until the next, in tenths of a pixel of height: as short as such a path can be."""

    def y(value: int) -> int:
        return round((height - value / top * (height - 2)) * 10)

    at, level = x(steps[0][0]), y(steps[0][1])
    path = [f"M{at} {level / 10:g}"]
    for _, (time, value) in pairwise(steps):
        right, up = x(time) - at, y(value) - level
        if up:
            path.append(f"h{right}v{up / 10:g}" if right else f"v{up / 10:g}")
            at, level = at + right, level + up
    return "".join([*path, f"H{x(x.end_ns)}"])


def _changes(lane: PartitionLane, end_ns: int) -> str:
    """The same as a table: for those who do not see, and to copy from."""
    rows = [
        (time, leader, epoch, isr)
        for (time, leader), (_, epoch), (_, isr) in zip(lane.leader, lane.leader_epoch, lane.isr, strict=True)
        if time <= end_ns
    ]
    cells = "".join(
        f'<tr><td class="n"><button type="button" class="at" data-at="{time}">{time / 1e9:.3f} s</button></td>'
        f"<td>{leader if leader >= 0 else 'none'}</td><td>{epoch}</td><td>{_set(isr)}</td></tr>"
        for time, leader, epoch, isr in rows[:_CHANGES]
    )
    more = f"<p>… and {len(rows) - _CHANGES:,} more.</p>" if len(rows) > _CHANGES else ""
    return (
        f'<details class="changes"><summary>{len(rows):,} leader and ISR changes of {escape(lane.name)} as a table'
        f"</summary><table><thead><tr><th>time</th><th>leader</th><th>epoch</th><th>ISR</th></tr></thead><tbody>{cells}"
        f"</tbody></table>{more}</details>"
    )
