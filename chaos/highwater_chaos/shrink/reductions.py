"""Smaller experiments, proposed in a fixed order. Nothing here runs anything; impossible proposals do no harm.

Experiments are data as a file has them, and are never changed in place.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from highwater_chaos.experiment.units import format_duration, parse_duration
from highwater_chaos.shrink.explicit import Steps
from highwater_chaos.shrink.trial import Data
from highwater_runtime.ports import MS, SECOND

Path = tuple[int, ...]
"""Where a step or a branch stands: indexes into lists, from the outermost on."""

_ROUND: Final = (10 * SECOND, SECOND, 100 * MS)
"""What waits are rounded up to, the coarsest first."""


def schedule_of(data: Data) -> Steps:
    """The schedule of an experiment."""
    steps: Steps = data["spec"]["schedule"]
    return steps


def with_schedule(data: Data, steps: Steps) -> Data:
    """A copy with another schedule."""
    return {**data, "spec": {**data["spec"], "schedule": steps}}


# --- fewer steps ---


def branches(steps: Steps) -> list[Path]:
    """The large pieces of a schedule: each step, but of a ``parallel`` step each of its branches."""
    return [
        path
        for index, step in enumerate(steps)
        for path in ([(index, branch) for branch in range(len(step["parallel"]))] if "parallel" in step else [(index,)])
    ]


def single_steps(steps: Steps, at: Path = ()) -> list[Path]:
    """Every step that holds no other steps."""
    paths: list[Path] = []
    for index, step in enumerate(steps):
        here = (*at, index)
        if "parallel" in step:
            for number, branch in enumerate(step["parallel"]):
                paths += single_steps(branch, (*here, number))
        elif "repeat" in step:
            paths += single_steps(step["repeat"]["steps"], here)
        else:
            paths.append(here)
    return paths


def without(steps: Steps, removed: frozenset[Path], at: Path = ()) -> Steps:
    """The schedule without these pieces, and without what holds nothing then."""
    kept: Steps = []
    for index, step in enumerate(steps):
        here = (*at, index)
        if here in removed:
            continue
        if "parallel" in step:
            inner = [
                left
                for number, branch in enumerate(step["parallel"])
                if (*here, number) not in removed and (left := without(branch, removed, (*here, number)))
            ]
            kept += inner[0] if len(inner) == 1 else [{"parallel": inner}] if inner else []
        elif "repeat" in step:
            if inside := without(step["repeat"]["steps"], removed, here):
                kept.append({"repeat": {**step["repeat"], "steps": inside}})
        else:
            kept.append(step)
    return kept


def one_after_the_other(data: Data) -> Iterator[Data]:
    """Each ``parallel`` step whose branches only wait and act, as one list of steps at the same times."""
    steps = schedule_of(data)
    for index, step in enumerate(steps):
        if "parallel" in step and all(
            "parallel" not in one and "await" not in one for b in step["parallel"] for one in b
        ):
            yield with_schedule(data, [*steps[:index], *_in_a_row(step["parallel"]), *steps[index + 1 :]])


def _in_a_row(parallel: Sequence[Steps]) -> Steps:
    acting: list[tuple[int, dict[str, Any]]] = []
    end = 0
    for branch in parallel:
        now = 0
        for step in branch:
            if "wait" in step:
                now += parse_duration(step["wait"])
            else:
                acting.append((now, step))
        end = max(end, now)
    row: Steps = []
    now = 0
    for time, following in [*sorted(acting, key=lambda one: one[0]), (end, None)]:
        if time > now:
            row.append({"wait": format_duration(time - now)})
            now = time
        if following is not None:
            row.append(following)
    return row


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
    if "parallel" in step:
        return _step_at(step["parallel"][path[1]], path[2:])
    return _step_at(step["repeat"]["steps"], path[1:])


# --- less of everything else ---


def smaller(data: Data) -> Iterator[Data]:
    """Fewer nodes, topics, partitions, replicas, clients, records and properties; one thing less in each."""
    spec = data["spec"]
    for broker in reversed(range(spec["cluster"]["brokers"])):
        yield from _without_broker(data, broker)
    for field in ("controllers", "zookeepers"):
        for count in (1, 3):
            if spec["cluster"].get(field, 0) > count:
                yield _changed(data, "cluster", {field: count})
    yield from _fewer_partitions(data)
    yield from _less_load(data)
    for name in spec["cluster"].get("config", {}):
        left = {other: value for other, value in spec["cluster"]["config"].items() if other != name}
        yield _changed(data, "cluster", {"config": left})


def _fewer_partitions(data: Data) -> Iterator[Data]:
    topics = data["spec"]["cluster"].get("topics", [])
    for index, topic in enumerate(topics):
        before, after = topics[:index], topics[index + 1 :]
        if len(topics) > 1:
            yield _changed(data, "cluster", {"topics": [*before, *after]})
        partitions = topic.get("partitions", 1)
        for count in sorted({1, partitions // 2, partitions - 1}):
            if 0 < count < partitions and "assignment" not in topic:
                yield _changed(data, "cluster", {"topics": [*before, {**topic, "partitions": count}, *after]})
        replicas = topic.get("replicationFactor", 1)
        if replicas > 2:
            fewer = {**topic, "replicationFactor": replicas - 1}
            yield _changed(data, "cluster", {"topics": [*before, fewer, *after]})


def _less_load(data: Data) -> Iterator[Data]:
    workload = data["spec"].get("workload", {})
    for field, least in (("groupMembers", 0), ("consumers", 0), ("producers", 1), ("recordSize", 0)):
        if workload.get(field, least) > least:
            yield _changed(data, "workload", {field: least})
            yield _changed(data, "workload", {field: workload[field] // 2})
    if "metadata" in workload:
        yield _changed(data, "workload", {"metadata": None})
    rate = float(workload["rate"].removesuffix("/s")) if workload.get("rate", "").endswith("/s") else 0.0
    if rate >= 2:
        yield _changed(data, "workload", {"rate": f"{int(rate / 2)}/s"})


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
                raise _IsNamed
            return value - (value > broker)
        return value

    brokers = data["spec"]["cluster"]["brokers"]
    if brokers == 1:
        return
    try:
        fewer = _changed(renumbered(data), "cluster", {"brokers": brokers - 1})
    except _IsNamed:
        return
    yield _lower_replication(fewer, brokers - 1)


class _IsNamed(Exception):  # noqa: N818 - no error
    """The schedule or an assignment names the broker."""


def _lower_replication(data: Data, brokers: int) -> Data:
    topics = [
        {**topic, "replicationFactor": brokers} if topic.get("replicationFactor", 0) > brokers else topic
        for topic in data["spec"]["cluster"].get("topics", [])
    ]
    return _changed(data, "cluster", {"topics": topics})
