"""Which tracks the timeline of a run has, and what is drawn in each. All share one time axis.

Partitions in which something was found are open; when there are many, the others fold into one, so that a page about a
hundred of them can be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from highwater_chaos.report.shapes import (
    NOMINAL,
    Step,
    TimeScale,
    band,
    curve,
    curves,
    duration_ticks,
    held,
    level,
    line,
    mark,
    notch,
    room_of,
    running_on,
    span,
    tick,
)
from highwater_chaos.report.timeline import Mark, PartitionLane, Series, Span, Timeline

COLORS: Final = 8
"""Brokers take these in turn, by id: classes ``b0`` to ``b7`` of the style. Labels tell them apart, too."""
_OPEN: Final = 6
"""Partitions that are open at first, at most."""
_SINGLE: Final = 12
"""Partitions that stand by themselves, at most; of more, those without findings fold into one. Nodes likewise."""
_POINTS: Final = 60_000
"""Points of all curves of offsets together, more or less, which bounds the page."""
_FEW, _MANY = 40, 3000
"""Points of one of them, at least and at most."""
_SPANS: Final = 25_000
"""Leaders and ISRs that are drawn of partitions without findings, at most."""
_FOLDED: Final = 300
"""Partitions without findings that are drawn one by one, at most."""
_ROW: Final = 17


@dataclass(frozen=True, slots=True)
class Track:
    """One row: what stands left of it, its height in pixels and its SVG. ``summary``: what it shows, in words, for
    those who do not see it."""

    label: str
    height: int
    body: Markup
    note: str = ""
    summary: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Folder:
    """Tracks below one that stays in sight."""

    head: Track
    tracks: tuple[Track | Folder, ...]
    is_open: bool


@dataclass(frozen=True, slots=True)
class Drawn:
    """The timeline of a page. ``brokers``: their names and the classes of their colours; ``folds``: whether anything
    can be folded."""

    end_ns: int
    bands: Markup
    axis: Markup
    tracks: tuple[Track | Folder, ...]
    brokers: tuple[tuple[str, str], ...]
    folds: bool


def draw(timeline: Timeline) -> Drawn:
    """Draw a timeline."""
    x = TimeScale(timeline.end_ns)
    tracks: list[Track | Folder] = []
    if timeline.phases:
        tracks.append(_strip("phases", timeline.phases, x, kind="phases"))
    if timeline.marks:
        tracks.append(_marks(timeline.marks, x))
    tracks += [*_faults(timeline, x), _throughput(timeline, x), _latency(timeline, x)]
    tracks += [_series(one, x) for one in timeline.assertions]
    tracks += _nodes(timeline, x)
    partitions = list(_partitions(timeline, x))
    tracks += partitions
    tracks.append(_quorum(timeline, x))
    leaders = {leader for lane in timeline.partitions for _, leader in lane.leader if leader >= 0}
    ids = sorted(leaders.union(*(lane.replicas for lane in timeline.partitions)))
    return Drawn(
        timeline.end_ns,
        _markup("".join(band(x, start, end) for start, end in _united(timeline.faults))),
        _markup("".join(tick(x, time, f"{time / 1e9:g} s") for time in duration_ticks(timeline.end_ns))),
        tuple(tracks),
        tuple((f"broker-{broker}", color_of(broker)) for broker in ids[:COLORS]),
        any(isinstance(track, Folder) for track in tracks),
    )


def _united(spans: Sequence[Span]) -> list[tuple[int, int]]:
    """When at least one of them held. Bands on top of each other would hide what is drawn on them."""
    united: list[tuple[int, int]] = []
    for one in sorted(spans, key=lambda one: one.start_ns):
        if united and one.start_ns <= united[-1][1]:
            united[-1] = united[-1][0], max(united[-1][1], one.end_ns)
        else:
            united.append((one.start_ns, one.end_ns))
    return united


def color_of(broker: int) -> str:
    """Return the class of a broker's colour."""
    return f"b{broker % COLORS}"


def _markup(text: str) -> Markup:
    return Markup(text)  # noqa: S704 - shapes escape what they are given


def _marks(marks: Sequence[Mark], x: TimeScale) -> Track:
    body = "".join(mark(x, one.time_ns, "bad", one.text) for one in marks)
    said = "; ".join(f"{_time(one.time_ns)}: {one.text}" for one in marks[:20])
    return Track("found", 15, _markup(body), summary=said, kind="marks")


def _faults(timeline: Timeline, x: TimeScale) -> Iterator[Track]:
    """Faults of nodes and links, then those of messages, each with the messages that it caught, where that is known."""
    for name, of_messages in (("faults", False), ("message faults", True)):
        spans = [one for one in timeline.faults if one.of_messages == of_messages]
        if not spans and of_messages:
            continue
        rows: list[list[tuple[int, int]]] = []
        body: list[str] = []
        for one in spans:
            shown = _brief(one.label)
            taken = _with_text(one, shown, x)
            row = next((index for index, busy in enumerate(rows) if not _overlaps(busy, taken)), len(rows))
            if row == len(rows):
                rows.append([])
            rows[row].append(taken)
            body.append(running_on(x, one.start_ns, one.end_ns, "fault", one.label, shown, row * _ROW))
            body += [notch(x, time, "caught", f"{one.label}: acted on a message", row * _ROW) for time in one.caught]
        said = "; ".join(f"{one.label}, {_time(one.start_ns)} to {_time(one.end_ns)}" for one in spans[:30])
        note = "" if spans else "none"
        yield Track(name, max(16, _ROW * len(rows)), _markup("".join(body)), note, said or "none", "faults")


def _brief(label: str) -> str:
    """A fault of many nodes names two of them."""
    names = label.split(", ")
    return label if len(names) <= 3 else f"{', '.join(names[:2])} and {len(names) - 2} more"


def _with_text(one: Span, shown: str, x: TimeScale) -> tuple[int, int]:
    """The time that a fault takes up with its text, which stands to the left where the run ends."""
    room = round(room_of(shown) / NOMINAL * x.end_ns)
    start = min(one.start_ns, x.end_ns - room)
    return start, max(one.end_ns, start + room)


def _overlaps(busy: Sequence[tuple[int, int]], taken: tuple[int, int]) -> bool:
    return any(start < taken[1] and taken[0] < end for start, end in busy)


def _throughput(timeline: Timeline, x: TimeScale) -> Track:
    seconds = timeline.bucket_ns / 1e9
    rates = [count / seconds for count in timeline.acked]
    top = max([1.0, *rates])
    steps: list[Step] = [(index * timeline.bucket_ns, rate) for index, rate in enumerate(rates)]
    body = curves([curve(_within(steps, x), x, "area", "acknowledged/s", most=_MANY, area=True)], top)
    for index, count in enumerate(timeline.failed):
        if count:
            start = index * timeline.bucket_ns
            end = min(x.end_ns, start + timeline.bucket_ns)
            if start < end:
                body += span(x, start, end, "failed", f"{count} sends failed or unknown")
    said = f"records acknowledged a second, up to {top:,.0f}"
    return Track("acknowledged/s", 46, _markup(body), f"up to {top:,.0f}", said)


def _within(steps: Sequence[Step], x: TimeScale) -> list[Step]:
    return [step for step in steps if step[0] < x.end_ns]


def _latency(timeline: Timeline, x: TimeScale) -> Track:
    top = max([1.0, *(value for value in timeline.latency_p99 if value is not None)])
    paths = []
    for values, css in ((timeline.latency_p99, "p99"), (timeline.latency_p50, "p50")):
        steps = _within([(index * timeline.bucket_ns, value) for index, value in enumerate(values)], x)
        paths.append(curve(steps, x, css, f"{css} (ms)", most=_MANY))
    said = f"latency of sends, median and 99 %, up to {top:,.0f} ms"
    return Track("latency p50, p99", 46, _markup(curves(paths, top)), f"up to {top:,.0f} ms", said)


def _series(series: Series, x: TimeScale) -> Track:
    """What an assertion is about, with its bound, and when it did not hold."""
    values = [value for steps in series.lines.values() for _, value in steps if value is not None]
    top = max([1.0, *values, *(abs(bound) for bound in series.bounds)])
    paths = [level(bound, "bound") for bound in series.bounds]
    for index, (name, steps) in enumerate(series.lines.items()):
        paths.append(curve(steps, x, f"line {color_of(index)}", name, most=_MANY))
    body = "".join(span(x, start, end, "broken", f"{series.name} did not hold") for start, end in series.broken)
    body = "".join(span(x, one.start_ns, one.end_ns, "looked", one.label) for one in series.phase) + body
    return Track(series.name, 46, _markup(body + curves(paths, top)), series.note, series.summary, "assertion")


def _nodes(timeline: Timeline, x: TimeScale) -> list[Track | Folder]:
    tracks = [_strip(node, spans, x) for node, spans in timeline.nodes.items()]
    if len(tracks) <= _SINGLE:
        return list(tracks)
    down = [
        (one.start_ns, one.end_ns)
        for spans in timeline.nodes.values()
        for one in spans
        if one.kind in ("down", "fenced")
    ]
    head = _counted(f"{len(tracks)} nodes", "down or fenced", {"short": down}, len(tracks), x)
    return [Folder(head, tuple(tracks), is_open=False)]


def _strip(label: str, spans: Sequence[Span], x: TimeScale, kind: str = "states") -> Track:
    body = "".join(span(x, one.start_ns, one.end_ns, f"state {one.kind}", one.label) for one in spans)
    said = "; ".join(f"{one.label} {_time(one.start_ns)} to {_time(one.end_ns)}" for one in spans[:30])
    return Track(label, 15, _markup(body), summary=said, kind=kind)


def _counted(label: str, what: str, spans: Mapping[str, Sequence[tuple[int, int]]], top: int, x: TimeScale) -> Track:
    """How many of ``top`` things are in a state over time; ``spans``: by class of the curve."""
    paths, highest = [], 0
    for css, ranges in spans.items():
        steps = _sums(ranges)
        highest = max([highest, *(int(value or 0) for _, value in steps)])
        paths.append(curve(steps, x, f"count {css}", what if css == "short" else css, most=_MANY, area=True))
    note = f"up to {highest} {what}"
    return Track(label, 30, _markup(curves(paths, max(1, highest, top // 4))), note, f"{label}, {note} at a time")


def _sums(ranges: Iterable[tuple[int, int]]) -> list[Step]:
    changes: dict[int, int] = {}
    for start, end in ranges:
        changes[start] = changes.get(start, 0) + 1
        changes[end] = changes.get(end, 0) - 1
    count, steps = 0, list[Step]([(0, 0)])
    for time in sorted(changes):
        count += changes[time]
        steps.append((time, count))
    return steps


def _partitions(timeline: Timeline, x: TimeScale) -> Iterator[Folder]:
    lanes = timeline.partitions
    curves_in_all = sum(len(lane.log_end) + 1 for lane in lanes)
    points = min(_MANY, max(_FEW, _POINTS // max(1, curves_in_all)))
    affected = [lane for lane in lanes if lane.name in timeline.affected]
    others = [lane for lane in lanes if lane.name not in timeline.affected]
    for index, lane in enumerate(affected):
        yield _partition(lane, x, _MANY if index < _OPEN else points, is_open=index < _OPEN, is_found=True)
    if len(lanes) <= _SINGLE:
        for lane in others:
            yield _partition(lane, x, points, is_open=len(lanes) <= _OPEN and not affected)
        return
    if others:
        folders = tuple(_partition(lane, x, points, is_open=False) for lane in _busiest(others))
        short, leaderless = [], []
        for lane in others:
            short += [(start, end) for start, end, isr in held(lane.isr, x.end_ns) if len(isr) < len(lane.replicas)]
            leaderless += [(start, end) for start, end, leader in held(lane.leader, x.end_ns) if leader < 0]
        left_out = len(others) - len(folders)
        label = f"{len(others)} partitions" + (f", the {len(folders)} with most changes" if left_out else "")
        spans = {"short": short, "leaderless": leaderless}
        yield Folder(_counted(label, "with a short ISR", spans, len(others), x), folders, is_open=False)


def _busiest(lanes: Sequence[PartitionLane]) -> list[PartitionLane]:
    """Those with the most changes, in their order, as far as :data:`_SPANS` goes: a page may be about thousands."""
    left, kept = _SPANS, set[str]()
    for lane in sorted(lanes, key=lambda lane: (-len(lane.leader), lane.name)):
        left -= 2 * len(lane.leader)
        if left < 0 or len(kept) == _FOLDED:
            break
        kept.add(lane.name)
    return [lane for lane in lanes if lane.name in kept]


def _partition(lane: PartitionLane, x: TimeScale, points: int, *, is_open: bool, is_found: bool = False) -> Folder:
    return Folder(_leader(lane, x, is_found=is_found), (_isr(lane, x), _offsets(lane, x, points)), is_open)


def _leader(lane: PartitionLane, x: TimeScale, *, is_found: bool) -> Track:
    epochs = dict(lane.leader_epoch)
    body, said = "", []
    pairs = [(time, (leader, epochs[time])) for time, leader in lane.leader]
    for start, end, (leader, epoch) in held(pairs, x.end_ns):
        name = f"broker {leader}, epoch {epoch}" if leader >= 0 else f"no leader, epoch {epoch}"
        body += span(x, start, end, f"leader {color_of(leader)}" if leader >= 0 else "leader down", name)
        said.append(f"{name} from {_time(start)}")
    # What is folded shows below the leader when the ISR was short.
    short = (one for one in held(lane.isr, x.end_ns) if len(one[2]) < len(lane.replicas))
    body += "".join(line(x, start, end, "short") for start, end, _ in short)
    note = "an anomaly" if is_found else ""
    return Track(lane.name, 18, _markup(body), note, f"leaders: {'; '.join(said[:30])}")


def _isr(lane: PartitionLane, x: TimeScale) -> Track:
    body, said = "", []
    for start, end, members in held(lane.isr, x.end_ns):
        text = "{" + ", ".join(map(str, members)) + "}"
        body += span(x, start, end, "isr full" if len(members) == len(lane.replicas) else "isr short", text)
        said.append(f"{text} from {_time(start)}")
    return Track("ISR", 15, _markup(body), summary=f"ISR of {lane.name}: {'; '.join(said[:30])}")


def _offsets(lane: PartitionLane, x: TimeScale, points: int) -> Track:
    ends = [offset for steps in lane.log_end.values() for _, offset in steps]
    top = max([1, *ends, *(offset for _, offset in lane.high_watermark)])
    paths = []
    for node in sorted(lane.log_end):
        color = color_of(int(node.rpartition("-")[2]))
        paths.append(curve(lane.log_end[node], x, f"leo {color}", f"log end of {node}", most=points))
    if lane.high_watermark:
        paths.append(curve(lane.high_watermark, x, "hw", "high watermark", most=points))
    said = f"high watermark and log ends of {lane.name}, up to {top:,}"
    return Track("HW, log ends", 78, _markup(curves(paths, top)), f"up to {top:,}", said)


def _quorum(timeline: Timeline, x: TimeScale) -> Track:
    body, said = "", []
    for start, end, epoch in held(timeline.quorum_epoch, x.end_ns):
        leader = next((name for time, name in timeline.quorum_leader if start <= time < end), "no leader yet")
        text = f"epoch {epoch}: {leader}"
        body += span(x, start, end, "quorum", text)
        said.append(f"{text} from {_time(start)}")
    return Track(timeline.quorum_name, 15, _markup(body), summary="; ".join(said[:30]))


def _time(time_ns: int) -> str:
    return f"{time_ns / 1e9:.3f} s"
