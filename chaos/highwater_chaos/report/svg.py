"""Lanes of the timeline as SVG, one function a kind of lane; all share one time scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from highwater_chaos.report.timeline import PartitionLane, Span, Timeline

WIDTH = 1180
LEFT = 150
RIGHT = 20
COLORS = ("#2f6fde", "#e07b00", "#17936f", "#a34bc9", "#c43d5f", "#6b7a1e", "#008fb3", "#8a5a2b")
"""One colour for each broker, by id. Labels and order distinguish brokers too."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A drawn lane: what stands left of it, its height in pixels and its SVG, with y counted from the lane's top."""

    label: str
    height: int
    body: str
    note: str = ""


def lanes_of(timeline: Timeline) -> list[Lane]:
    """Every lane of the page, top to bottom."""
    x = TimeScale(timeline.end_ns)
    lanes = [
        _faults(timeline, x),
        _throughput(timeline, x),
        _latency(timeline, x),
        *[_strip(node, spans, x) for node, spans in timeline.nodes.items()],
    ]
    for partition in timeline.partitions:
        lanes += [_leader(partition, x), _isr(partition, x), _offsets(partition, x)]
    lanes.append(_quorum(timeline, x))
    return lanes


def page_svg(timeline: Timeline) -> str:
    """The whole timeline as one SVG element."""
    x = TimeScale(timeline.end_ns)
    lanes = lanes_of(timeline)
    parts: list[str] = []
    top = 24
    for lane in lanes:
        note = f'<tspan class="note" x="{LEFT - 10}" dy="13">{escape(lane.note)}</tspan>' if lane.note else ""
        middle = min(lane.height // 2 + 4, 26)
        label = f'<text class="label" x="{LEFT - 10}" y="{middle}">{escape(lane.label)}{note}</text>'
        parts.append(f'<g transform="translate(0 {top})">{label}{lane.body}</g>')
        top += lane.height + 7
    bands = "".join(_band(span, x, top) for span in timeline.faults)
    return (
        f'<svg id="timeline" viewBox="0 0 {WIDTH} {top + 8}" data-end="{timeline.end_ns}" data-left="{LEFT}" '
        f'data-right="{WIDTH - RIGHT}" role="img" aria-label="timeline of the run">'
        f'<g class="bands">{bands}</g>{_axis(x, top)}{"".join(parts)}'
        f'<line id="cursor" y1="18" y2="{top}" x1="-9" x2="-9"/><text id="clock" y="12" x="-99"></text></svg>'
    )


class TimeScale:
    """Run time (ns) to pixels."""

    def __init__(self, end_ns: int) -> None:
        self.end_ns = end_ns
        self._scale = (WIDTH - LEFT - RIGHT) / end_ns

    def __call__(self, time_ns: int) -> float:
        """The x of a run time, in pixels."""
        return round(LEFT + time_ns * self._scale, 1)


def _axis(x: TimeScale, bottom: int) -> str:
    step = _nice(x.end_ns / 1e9 / 10)
    marks, second = [], 0.0
    while second * 1e9 <= x.end_ns:
        at = x(int(second * 1e9))
        marks.append(f'<line class="grid" x1="{at}" x2="{at}" y1="18" y2="{bottom}"/>')
        marks.append(f'<text class="tick" x="{at}" y="12">{second:g} s</text>')
        second += step
    return "".join(marks)


def _nice(rough: float) -> float:
    steps = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600)
    return next((step for step in steps if step >= rough), rough)


def _band(span: Span, x: TimeScale, bottom: int) -> str:
    left, right = x(span.start_ns), x(span.end_ns)
    return f'<rect class="band" x="{left}" y="18" width="{max(1.5, right - left):.1f}" height="{bottom - 18}"/>'


def _rect(x: TimeScale, start: int, end: int, height: int, css: str, title: str, fill: str = "") -> str:
    left, right = x(start), x(end)
    style = f' style="fill:{fill}"' if fill else ""
    return (
        f'<rect class="{css}"{style} x="{left}" y="0" width="{max(0.8, right - left):.1f}" height="{height}">'
        f"<title>{escape(title)}</title></rect>"
    )


def _text_in(x: TimeScale, start: int, end: int, y: int, text: str, css: str = "in") -> str:
    room = x(end) - x(start)
    if room < 6.2 * len(text) + 4:
        return ""
    return f'<text class="{css}" x="{x(start) + 4}" y="{y}">{escape(text)}</text>'


def _seconds(span: Span) -> str:
    return f"{span.start_ns / 1e9:.3f} s to {span.end_ns / 1e9:.3f} s"


def _faults(timeline: Timeline, x: TimeScale) -> Lane:
    rows: list[int] = []
    body: list[str] = []
    for span in timeline.faults:
        # The label may run on to the right of a short fault, so a row is free only behind it.
        label_end = x(span.start_ns) + max(x(span.end_ns) - x(span.start_ns), 6.2 * len(span.label) + 12)
        row = next((index for index, busy in enumerate(rows) if busy <= span.start_ns), len(rows))
        if row == len(rows):
            rows.append(0)
        rows[row] = int((label_end - LEFT) / (WIDTH - LEFT - RIGHT) * x.end_ns)
        y = row * 17
        width = max(3.0, x(span.end_ns) - x(span.start_ns))
        anchor_left = label_end > WIDTH - RIGHT
        text_x = x(span.start_ns) - 4 if anchor_left else x(span.start_ns) + 4
        anchor = ' text-anchor="end"' if anchor_left else ""
        body.append(
            f'<rect class="fault" x="{x(span.start_ns)}" y="{y}" width="{width:.1f}" height="14">'
            f"<title>{escape(f'{span.label}: {_seconds(span)}')}</title></rect>"
            f'<text class="faultname" x="{text_x}" y="{y + 11}"{anchor}>{escape(span.label)}</text>'
        )
    return Lane("faults", max(16, 17 * len(rows)), "".join(body), "" if timeline.faults else "none")


def _points(values: Sequence[float | None], bucket_ns: int, x: TimeScale, top: float, height: int) -> list[list[str]]:
    runs: list[list[str]] = [[]]
    for index, value in enumerate(values):
        if value is None:
            runs.append([])
            continue
        at = x(min(x.end_ns, index * bucket_ns + bucket_ns // 2))
        runs[-1].append(f"{at},{height - value / top * height:.1f}")
    return [run for run in runs if run]


def _throughput(timeline: Timeline, x: TimeScale) -> Lane:
    height = 46
    seconds = timeline.bucket_ns / 1e9
    rates: list[float | None] = [count / seconds for count in timeline.acked]
    top = max([1.0, *[rate for rate in rates if rate is not None]])
    (points,) = _points(rates, timeline.bucket_ns, x, top, height)
    body = f'<polygon class="area" points="{x(0)},{height} {" ".join(points)} {x(x.end_ns)},{height}"/>'
    for index, count in enumerate(timeline.failed):
        if count:
            start = index * timeline.bucket_ns
            title = f"{count} sends failed or unknown about {start / 1e9:.2f} s"
            body += _rect(x, start, min(x.end_ns, start + timeline.bucket_ns), 4, "failed", title)
    return Lane("acknowledged/s", height, body, f"up to {top:,.0f}")


def _latency(timeline: Timeline, x: TimeScale) -> Lane:
    height = 46
    known = [value for value in timeline.latency_p99 if value is not None]
    top = max([1.0, *known])
    body = ""
    for values, css in ((timeline.latency_p99, "p99"), (timeline.latency_p50, "p50")):
        for run in _points(values, timeline.bucket_ns, x, top, height):
            body += f'<polyline class="{css}" points="{" ".join(run if len(run) > 1 else run * 2)}"/>'
    return Lane("latency p50, p99", height, body, f"up to {top:,.0f} ms")


def _strip(node: str, spans: Sequence[Span], x: TimeScale) -> Lane:
    body = "".join(
        _rect(x, span.start_ns, span.end_ns, 13, f"state {span.kind}", f"{node} {span.label}: {_seconds(span)}")
        + (_text_in(x, span.start_ns, span.end_ns, 10, span.label) if span.kind != "up" else "")
        for span in spans
    )
    return Lane(node, 13, body)


def _held(steps: Sequence[tuple[int, object]], end_ns: int) -> list[tuple[int, int, object]]:
    """Steps with the end of each, equal neighbours merged."""
    merged: list[tuple[int, object]] = []
    for time, value in steps:
        if not merged or merged[-1][1] != value:
            merged.append((time, value))
    ends = [*[time for time, _ in merged[1:]], end_ns]
    return [(time, end, value) for (time, value), end in zip(merged, ends, strict=False)]


def _leader(lane: PartitionLane, x: TimeScale) -> Lane:
    epochs = dict(lane.leader_epoch)
    body = ""
    pairs = [(time, (leader, epochs[time])) for time, leader in lane.leader]
    for start, end, value in _held(pairs, x.end_ns):
        assert isinstance(value, tuple)
        leader, epoch = value
        name = f"broker {leader}, epoch {epoch}" if leader >= 0 else f"no leader, epoch {epoch}"
        fill = COLORS[leader % len(COLORS)] if leader >= 0 else "#333"
        body += _rect(x, start, end, 15, "leader", name, fill) + _text_in(x, start, end, 11, name, "on")
    return Lane(f"{lane.name} leader", 15, body)


def _isr(lane: PartitionLane, x: TimeScale) -> Lane:
    body = ""
    for start, end, value in _held(lane.isr, x.end_ns):
        assert isinstance(value, list)
        text = "{" + ", ".join(map(str, value)) + "}"
        css = "isr full" if len(value) == len(lane.replicas) else "isr short"
        body += _rect(x, start, end, 15, css, f"ISR {text}") + _text_in(x, start, end, 11, text)
    return Lane("ISR", 15, body)


def _offsets(lane: PartitionLane, x: TimeScale) -> Lane:
    height = 78
    ends = [offset for steps in lane.log_end.values() for _, offset in steps]
    top = max([1, *ends, *[offset for _, offset in lane.high_watermark]])
    body = ""
    for node in sorted(lane.log_end):
        color = COLORS[int(node.rpartition("-")[2]) % len(COLORS)]
        path = _staircase(lane.log_end[node], x, top, height)
        body += f'<path class="leo" style="stroke:{color}" d="{path}"><title>log end of {escape(node)}</title></path>'
    if lane.high_watermark:
        path = _staircase(lane.high_watermark, x, top, height)
        body += f'<path class="hw" d="{path}"><title>high watermark (the leader\'s)</title></path>'
    return Lane("HW, log ends", height, body, f"up to {top:,}")


def _staircase(steps: Sequence[tuple[int, int]], x: TimeScale, top: int, height: int) -> str:
    """An SVG path that holds each value until the next; steps closer than a third of a pixel are merged."""
    thinned = [steps[0]]
    for before, step in pairwise(steps):
        if x(step[0]) - x(thinned[-1][0]) >= 0.3 or step[1] < before[1]:
            thinned.append(step)
    if thinned[-1] != steps[-1]:
        thinned.append(steps[-1])
    level = [f"{height - value / top * (height - 2):.1f}" for _, value in thinned]
    path = f"M{x(thinned[0][0])} {level[0]}"
    for (time, _), y in zip(thinned[1:], level[1:], strict=True):
        path += f"H{x(time)}V{y}"
    return path + f"H{x(x.end_ns)}"


def _quorum(timeline: Timeline, x: TimeScale) -> Lane:
    body = ""
    for start, end, epoch in _held(timeline.quorum_epoch, x.end_ns):
        leader = next((name for time, name in timeline.quorum_leader if start <= time < end), "no leader yet")
        text = f"epoch {epoch}: {leader}"
        body += _rect(x, start, end, 15, "quorum", text) + _text_in(x, start, end, 11, text)
    return Lane(timeline.quorum_name, 15, body)
