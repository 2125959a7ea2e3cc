"""Smaller experiments, proposed in a fixed order. Nothing here runs anything; impossible proposals do no harm.

Experiments are data as a file has them, and are never changed in place.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, Final

from highwater_chaos.base.quantities import format_duration, parse_duration
from highwater_chaos.shrink.timeline import Steps, Timed, Timeline, timeline_of
from highwater_chaos.shrink.trial import Data
from highwater_runtime.ports import MS, SECOND

Path = tuple[int, ...]
"""Where a step stands: indexes into lists, from the outermost on."""
Piece = frozenset[Path]
"""Steps that are removed together."""

_BEFORE_THE_SCHEDULE: Final = 8 * SECOND
"""A run takes less than this to bring its cluster up and to begin with its schedule."""
_ROUND: Final = (SECOND, 100 * MS)
"""What waits are rounded up to, the coarsest first."""


def schedule_of(data: Data) -> Steps:
    """The schedule of an experiment."""
    steps: Steps = data["spec"]["schedule"]
    return steps


def with_schedule(data: Data, steps: Steps) -> Data:
    """A copy with another schedule."""
    return {**data, "spec": {**data["spec"], "schedule": steps}}


# --- fewer steps ---


def pieces(steps: Steps) -> list[Piece]:
    """Every step that acts."""
    return [frozenset([path]) for path in single_steps(steps) if "wait" not in _step_at(steps, path)]


def kinds(steps: Steps) -> list[Piece]:
    """The steps of each kind of fault or administration; rules about messages by RPC, too."""
    return _grouped(steps, _kind)


def nodes(steps: Steps) -> list[Piece]:
    """The steps that name the same nodes."""
    return _grouped(steps, lambda step: json.dumps([*_named_nodes(step)], sort_keys=True))


def topics(steps: Steps) -> list[Piece]:
    """The steps that name the same topic; all that name none."""
    return _grouped(steps, lambda step: next(_named_topics(step), ""))


def waits(steps: Steps) -> list[Piece]:
    """Every wait."""
    return [frozenset([path]) for path in single_steps(steps) if "wait" in _step_at(steps, path)]


def _grouped(steps: Steps, key_of: Callable[[dict[str, Any]], str]) -> list[Piece]:
    groups: dict[str, Piece] = {}
    for piece in pieces(steps):
        key = key_of(_step_at(steps, min(piece)))
        groups[key] = groups.get(key, frozenset()) | piece
    return list(groups.values())


def _kind(step: dict[str, Any]) -> str:
    ((choice, value),) = step.items()
    if choice not in ("inject", "admin"):
        return choice
    kind = next(name for name in value if name not in ("for", "name"))
    rpc = value[kind].get("rpc", "") if isinstance(value[kind], dict) else ""
    return f"{choice} {kind} {rpc}"


def _named_nodes(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in ("broker", "controller", "zookeeper"):
                yield name, inner
            else:
                yield from _named_nodes(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _named_nodes(inner)


def _named_topics(step: dict[str, Any]) -> Iterator[str]:
    for what in step.get("admin", {}).values():
        if "partition" in what:
            yield what["partition"].rpartition("-")[0]
        elif named := what.get("name", what.get("topic")):
            yield named


def single_steps(steps: Steps, at: Path = ()) -> list[Path]:
    """Every step that holds no other steps."""
    paths: list[Path] = []
    for index, step in enumerate(steps):
        here = (*at, index)
        if "parallel" in step:
            for number, branch in enumerate(step["parallel"]):
                paths += single_steps(branch, (*here, number))
        else:
            paths.append(here)
    return paths


def without(steps: Steps, removed: frozenset[Path], at: Path = ()) -> Steps:
    """The schedule without these steps, and without what holds nothing, or nothing but waits for them, then."""
    kept: Steps = []
    for index, step in enumerate(steps):
        here = (*at, index)
        if here in removed:
            continue
        if "parallel" in step:
            inner = []
            for number, branch in enumerate(step["parallel"]):
                left = without(branch, removed, (*here, number))
                if left and (_acts(left) or not _acts(branch)):
                    inner.append(left)
            kept += inner[0] if len(inner) == 1 else [{"parallel": inner}] if inner else []
        else:
            kept.append(step)
    return kept


def _acts(steps: Steps) -> bool:
    return any("wait" not in step for step in steps)


def in_a_row(data: Data) -> Iterator[Data]:
    """All steps one after the other, at the same times."""
    yield with_schedule(data, timeline_of(schedule_of(data)).in_a_row())


def only_the_end(data: Data) -> Iterator[Data]:
    """What begins, or is in force, in the last second before the last step; the last two seconds, and so on."""
    timeline = timeline_of(schedule_of(data))
    if not timeline.steps:
        return
    last, length, had = timeline.steps[-1].at_ns, SECOND, 0
    while length < last:
        shorter = timeline.since(last - length)
        if len(shorter.steps) > had:
            yield with_schedule(data, shorter.side_by_side())
        length, had = 2 * length, len(shorter.steps)


def sooner_over(data: Data) -> Iterator[Data]:
    """Over when all faults are over; a second later, two seconds later, and so on until it is as it was."""
    timeline = timeline_of(schedule_of(data))
    over_ns, more = timeline.over_ns(), 0
    while over_ns + more < timeline.end_ns:
        yield with_schedule(data, Timeline(timeline.steps, over_ns + more).side_by_side())
        more = 2 * more or SECOND
    yield data


def tightened(data: Data, like: Timeline) -> Data:
    """It begins with its first step, and goes on after its last one is over for as long as ``like`` does."""
    timeline = timeline_of(schedule_of(data))
    if not timeline.steps:
        return data
    longer = Timeline(timeline.steps, timeline.over_ns() + max(0, like.end_ns - like.over_ns()))
    return with_schedule(data, longer.of(timeline.steps).side_by_side())


def parts(data: Data, count: int) -> Iterator[Data]:
    """So many steps that follow each other: of all steps, and of those that name the same node; the latest first."""
    timeline = timeline_of(schedule_of(data))
    rows: dict[str, list[Timed]] = {"": [*timeline.steps]}
    for one in timeline.steps:
        for node in _named_nodes(one.step):
            row = rows.setdefault(json.dumps(node), [])
            if one not in row:
                row.append(one)
    ends = (range(len(row), count // 2, -(count // 2)) for row in rows.values())
    for every in zip_longest(*ends):
        for row, end in zip(rows.values(), every, strict=True):
            if end is not None:
                yield with_schedule(data, timeline.of(row[max(0, end - count) : end]).side_by_side())


def shorter_timeout(data: Data, took_ns: int) -> Iterator[Data]:
    """A run that is over soon after its schedule: what does not recover is waited for until the timeout.

    ``took_ns``: how long a run takes. It must become shorter by a quarter.
    """
    timeline = timeline_of(schedule_of(data))
    more = _BEFORE_THE_SCHEDULE
    while timeline.end_ns + more < took_ns * 3 // 4:
        timeout = -(-(timeline.end_ns + more) // SECOND) * SECOND
        yield {**data, "spec": {**data["spec"], "timeout": format_duration(timeout)}}
        more *= 2


# --- shorter and rounder times ---


def times(data: Data) -> list[tuple[Path, str]]:
    """Where the schedule has times that may change: steps, with ``wait`` or ``for``."""
    found: list[tuple[Path, str]] = []
    for path in single_steps(schedule_of(data)):
        step = _step_at(schedule_of(data), path)
        if "wait" in step:
            found.append((path, "wait"))
        elif "for" in step.get("inject", {}):
            found.append((path, "for"))
    return found


def rounded(data: Data) -> Iterator[Data]:
    """All times rounded up, coarsely first."""
    for unit in _ROUND:
        yield _with_times(data, times(data), lambda ns, unit=unit: -(-ns // unit) * unit)  # type: ignore[misc]


def shorter(data: Data) -> Iterator[Data]:
    """One time shortened: to a second, to half; or rounded up."""
    for where in times(data):
        ns = _time_at(data, where)
        halved = max(SECOND, ns // 2 // SECOND * SECOND)
        for wanted in (SECOND, halved, -(-ns // SECOND) * SECOND, -(-ns // (100 * MS)) * 100 * MS):
            if wanted < ns or (wanted > ns and wanted - ns < SECOND):
                yield _with_times(data, [where], lambda _, wanted=wanted: wanted)  # type: ignore[misc]


def _with_times(data: Data, where: Sequence[tuple[Path, str]], change: Callable[[int], int]) -> Data:
    steps = copy.deepcopy(schedule_of(data))
    for path, field in where:
        step = _step_at(steps, path)
        holder = step if field == "wait" else step["inject"]
        holder[field] = format_duration(change(parse_duration(holder[field])))
    return with_schedule(data, steps)


def _time_at(data: Data, where: tuple[Path, str]) -> int:
    step = _step_at(schedule_of(data), where[0])
    return parse_duration(step["wait"] if where[1] == "wait" else step["inject"]["for"])


def _step_at(steps: Steps, path: Path) -> dict[str, Any]:
    step = steps[path[0]]
    if len(path) == 1:
        return step
    return _step_at(step["parallel"][path[1]], path[2:])


# --- less of everything else ---


def fewer_nodes(data: Data) -> Iterator[Data]:
    """A smaller quorum or ensemble, or one broker less."""
    cluster = data["spec"]["cluster"]
    for field in ("controllers", "zookeepers"):
        for count in (1, 3):
            if cluster.get(field, 0) > count:
                yield _changed(data, "cluster", {field: count})
    for broker in reversed(range(cluster["brokers"])):
        yield from _without_broker(data, broker)


def fewer_partitions(data: Data) -> Iterator[Data]:
    """One topic less, or a topic with fewer partitions or replicas."""
    topics = data["spec"]["cluster"].get("topics", [])
    for index, topic in enumerate(topics):
        before, after = topics[:index], topics[index + 1 :]
        if len(topics) > 1:
            yield _changed(data, "cluster", {"topics": [*before, *after]})
        for fewer in _smaller_topics(topic):
            yield _changed(data, "cluster", {"topics": [*before, {**topic, **fewer}, *after]})


def _smaller_topics(topic: dict[str, Any]) -> Iterator[dict[str, Any]]:
    assignment = topic.get("assignment")
    partitions = len(assignment) if assignment else topic.get("partitions", 1)
    for count in sorted({1, partitions // 2, partitions - 1}):
        if 0 < count < partitions:
            yield {"partitions": count, **({"assignment": assignment[:count]} if assignment else {})}
    if topic.get("replicationFactor", 1) > 2:
        yield {"replicationFactor": topic["replicationFactor"] - 1}


_LEAST_OF_WORKLOAD: Final = {
    "groupMembers": 0,
    "lookups": 0,
    "consumers": 0,
    "producers": 1,
    "recordSize": 0,
    "recordsAtOnce": 1,
}


def fewer_clients(data: Data) -> Iterator[Data]:
    """Clients of one kind less, or half of them; smaller records."""
    workload = data["spec"].get("workload", {})
    if "metadata" in workload:
        yield _changed(data, "workload", {"metadata": None})
    for field, least in _LEAST_OF_WORKLOAD.items():
        if workload.get(field, least) > least:
            yield _changed(data, "workload", {field: least})
            yield _changed(data, "workload", {field: workload[field] // 2})


def fewer_records(data: Data) -> Iterator[Data]:
    """A lower rate of records."""
    text = data["spec"].get("workload", {}).get("rate", "")
    rate = float(text.removesuffix("/s")) if text.endswith("/s") else 0.0
    for part in (8, 2):
        if rate >= part:
            yield _changed(data, "workload", {"rate": f"{int(rate / part)}/s"})


def fewer_properties(data: Data) -> Iterator[Data]:
    """One property of the cluster at its default."""
    config = data["spec"]["cluster"].get("config", {})
    for name in config:
        left = {other: value for other, value in config.items() if other != name}
        yield _changed(data, "cluster", {"config": left})


def _changed(data: Data, part: str, fields: dict[str, Any]) -> Data:
    changed = {**data["spec"].get(part, {}), **fields}
    changed = {name: value for name, value in changed.items() if value is not None}
    return {**data, "spec": {**data["spec"], part: changed}}


def _without_broker(data: Data, broker: int) -> Iterator[Data]:
    """Without a broker that nothing names; those above it move down by one."""

    def renumbered(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: renumbered(inner, name) for name, inner in value.items()}
        if isinstance(value, list):
            return [renumbered(inner, key) for inner in value]
        if isinstance(value, int) and not isinstance(value, bool) and key in ("broker", "assignment", "replicas"):
            if value == broker:
                raise _IsNamedError
            return value - (value > broker)
        return value

    brokers = data["spec"]["cluster"]["brokers"]
    if brokers == 1:
        return
    try:
        fewer = _changed(renumbered(data), "cluster", {"brokers": brokers - 1})
    except _IsNamedError:
        return
    yield _lower_replication(fewer, brokers - 1)


class _IsNamedError(Exception):
    """The schedule or an assignment names the broker."""


def _lower_replication(data: Data, brokers: int) -> Data:
    topics = [
        {**topic, "replicationFactor": brokers} if topic.get("replicationFactor", 0) > brokers else topic
        for topic in data["spec"]["cluster"].get("topics", [])
    ]
    return _changed(data, "cluster", {"topics": topics})
