"""What the machines of a run went through, and when that explains a finding better than the software does.

``machines.jsonl`` of a run directory has one JSON object a line, by each node's agent: a sample every few seconds
(``node``, ``at``: seconds since the epoch, ``load``: the load average of a minute, ``processors``, ``freeBytes`` of the
disk where the nodes' volumes lie), and ``node``, ``started`` for each start of the agent; with ``resetBy``, if a fault
that reset the machine is why it started. Other fields may follow.

Of nodes that are processes of the run's own machine there is, every few seconds, ``at``, ``seconds`` since the row
before, ``processors``, and ``nodes``: by name, how many seconds its threads ``ran``, and how many they could have run
and ``waited`` for a processor.

A machine that has far more to do than processors stops a node for seconds; on one without disk space or without its
agent, faults end late. What clients and replicas hold is not explained by that: a lost record is a lost record.

``pod``, ``newDisks``: how many disks the pod got during the run in place of one that was given up. No experiment orders
that. A voter or replica whose disk is new has forgotten what it promised, so that it may be the cause of any anomaly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from highwater_pipeline.anomalies import AVAILABILITY

MACHINES_FILE: Final = "machines.jsonl"
MOST_LOAD: Final = 4.0
"""A load average of a minute, for each processor."""
LEAST_FREE: Final = 256 << 20
"""Free bytes of the disk where volumes lie."""
MOST_WAIT: Final = 10
"""How many times as long as it ran a node may wait for a processor: it is slower by that factor."""
_SHARE: Final = 0.5
"""Of the time: a node whose threads together wait for less hardly wants to run. Of all processors: nodes that have more
of them keep the machine busy themselves."""
_SLOW_FOR: Final = 20.0
"""Seconds for which that must last: nodes that all start at once are slow for some."""
EXPLAINED: Final = frozenset({*AVAILABILITY, "node-crash"})
"""Anomalies that a machine's troubles may be the cause of. Assertions on metrics are others."""


def machine_troubles(directory: Path) -> list[str]:
    """A sentence for each limit that a machine exceeded while the run in ``directory`` went on; none where there is no
    record of the machines."""
    return troubles_in(_rows(directory))


def new_disks(directory: Path) -> list[str]:
    """A sentence for each pod that got a new disk while the run in ``directory`` went on."""
    counts: dict[str, int] = {}
    for row in _rows(directory):
        match row:
            case {"pod": str(pod), "newDisks": int(count)} if count > 0:
                counts[pod] = max(counts.get(pod, 0), count)
    how = "a new, empty disk in place of one that was given up"
    return [f"{pod} got {how}{f' ({counts[pod]} times)' * (counts[pod] > 1)}" for pod in sorted(counts)]


def _rows(directory: Path) -> list[Mapping[str, Any]]:
    try:
        content = (directory / MACHINES_FILE).read_bytes()
    except FileNotFoundError:
        return []
    return [row for line in content.splitlines() if isinstance(row := msgspec.json.decode(line), dict)]


def troubles_in(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the limits that the machine exceeded, by rows of the table."""
    load: dict[str, float] = {}
    free: dict[str, int] = {}
    starts: dict[str, int] = {}
    slow: dict[str, list[tuple[float, float, float]]] = {}
    for row in rows:
        match row:
            case {"resetBy": str()}:
                pass
            case {"node": str(node), "started": float() | int()}:
                starts[node] = starts.get(node, 0) + 1
            case {"node": str(node), "load": float() | int(), "processors": int(), "freeBytes": int()}:
                load[node] = max(load.get(node, 0.0), row["load"] / max(1, row["processors"]))
                free[node] = min(free.get(node, row["freeBytes"]), row["freeBytes"])
            case {"seconds": float() as seconds, "processors": int(processors), "nodes": dict(nodes)}:
                for node, ran, waited in _slow(nodes, seconds, processors):
                    slow.setdefault(node, []).append((seconds, ran, waited))
    found = []
    for node in sorted({*load, *free, *starts}):
        if load.get(node, 0.0) > MOST_LOAD:
            found.append(f"machine {node} had a load of {load[node]:.1f} a processor: expected {MOST_LOAD:g} or less")
        if node in free and free[node] < LEAST_FREE:
            found.append(f"machine {node} had {free[node]} bytes of disk space left: expected {LEAST_FREE} or more")
        if starts.get(node):
            found.append(f"the agent of machine {node} started {starts[node]} times during the run: expected none")
    for node, rows_of_it in sorted(slow.items()):
        seconds, ran, waited = (sum(column) for column in zip(*rows_of_it, strict=True))
        if seconds >= _SLOW_FOR:
            found.append(
                f"{node} waited {waited:.1f} s for a processor of this machine and ran for {ran:.1f} s, in"
                f" {seconds:.0f} s of the run: expected {MOST_WAIT} times as long or less"
            )
    return found


def _slow(nodes: Mapping[str, Any], seconds: float, processors: int) -> Iterable[tuple[str, float, float]]:
    """Which nodes others left too little of the processors in these seconds: name, seconds run and waited."""
    all_ran = 0.0
    found = []
    for node, use in nodes.items():
        match use:
            case {"ran": float(ran), "waited": float(waited)}:
                all_ran += ran
                if waited > max(MOST_WAIT * ran, _SHARE * seconds):
                    found.append((node, ran, waited))
    return found if all_ran <= _SHARE * seconds * processors else []
