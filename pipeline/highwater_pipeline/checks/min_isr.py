"""min-isr: an ``acks=all`` write was acknowledged while the committed ISR was below ``min.insync.replicas``.

Example: the topic asks for two in-sync replicas. Broker 1 is taken out of the ISR, and the leader, broker 0, still
answers a producer that its record is safe. The trap is told with the rule (``highwater_runtime.model.in_sync``).

Leaders report the first acknowledgement under each pair of partition epoch and ``min.insync.replicas``
(``write-acknowledged``), and an instance is such a pair. They report
no acknowledgements of ``acks=1`` and ``acks=0``.

A leader that obeys another ``min.insync.replicas`` than it should reports that one. So the one that the experiment sets
counts too, if it asks for more.

Leaders of other software report no acknowledgements, but which ISR they know: see :mod:`.min_isr_views`.

What nobody reported is unknown: the ISR of a partition epoch, though earlier ones were committed; or the state under
which any write of a topic was acknowledged, though clients got acknowledgements of ``acks=all`` since it was created.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from highwater_pipeline.checks.columns import NOTHING, finding, ints, is_any, of_kind, rows_of
from highwater_pipeline.checks.leadership import committed_states
from highwater_pipeline.checks.min_isr_views import min_isr_by_views
from highwater_pipeline.checks.promises import recorded, seen_of
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.tables.micro_operations import OK
from highwater_pipeline.verdict import Example, Finding, judges_less
from highwater_runtime.model.in_sync import too_few_in_sync

_STATE: Final = ("leader_epoch", "partition_epoch", "isr", "row")


def min_isr(unit: PartitionTables) -> Finding:
    """Counts reports of acknowledgements under an ISR that was too small. Reports are as few as changes of the ISR."""
    if judges_less("min-isr", unit.facts):
        return min_isr_by_views(unit, _deleted_ns(unit))
    reports = of_kind(unit.events, "write-acknowledged").to_pylist(
        "node", "time_ns", "offset", "end_offset", "min_isr", *_STATE
    )
    if not reports:
        silent = _acknowledged_in_silence(unit)
        return Finding(0, [], silent, "no leader reported its acknowledgements") if silent else NOTHING
    committed: dict[tuple[int, int], Example] = {}
    replicas: dict[tuple[int, int], int] = {}
    for state in committed_states(unit.events).to_pylist("replicas", *_STATE):
        key = state["leader_epoch"], state["partition_epoch"]
        committed[key] = state
        replicas[key] = min(len(state["replicas"]), replicas.get(key, len(state["replicas"])))
    fewest = min(replicas.values(), default=None)
    promises = unit.facts.settings.promises(unit.partition).until(_deleted_ns(unit))
    first = min((partition_epoch for _, partition_epoch in committed), default=None)
    found: list[Example] = []
    unknown = 0
    for report in reports:
        key = report["leader_epoch"], report["partition_epoch"]
        state = committed.get(key, report)
        promised = promises.min_isr(report["time_ns"], replicas.get(key, fewest))
        least = max(report["min_isr"], promised or 0)
        if too_few_in_sync(state["isr"], report["isr"], least) is not None:
            found.append(_example(unit, report, state, least))
        elif key not in committed and first is not None and report["partition_epoch"] > first:
            # A leader may write the state of a topic on after its deletion was committed: nobody reports that.
            unknown += report["time_ns"] < _deleted_ns(unit)
    why = "nobody reported the ISR of the partition epoch under which a write was acknowledged" if unknown else ""
    return msgspec.structs.replace(finding(len(found), found), unknown=unknown, why=why)


def _acknowledged_in_silence(unit: PartitionTables) -> int:
    """How many records clients got acknowledged, with ``acks=all``, while the topic existed for certain. If there was
    another one of its name, a leader that had not heard of its end may have acknowledged them."""
    settings = unit.facts.settings
    changed = of_kind(unit.events, "partition-changed")
    created = ints(changed.where(is_any(changed, "reason", "created")), "time_ns")
    is_told = recorded(unit.facts, "write-acknowledged") and not unit.facts.why_not_recorded
    if settings.acks != "all" or not len(created) or not is_told or not unit.is_only_topic:
        return 0
    since, until = int(created.min()) + settings.largest_clock_error_ns, _deleted_ns(unit)
    count = 0
    for seen in seen_of(unit):
        within = (ints(seen.table, "invoke_time") > since) & (ints(seen.table, "end_time") < until)
        count += int((seen.is_send & (seen.outcome == OK) & (seen.offset >= 0) & within).sum())
    return count


def _deleted_ns(unit: PartitionTables) -> int:
    """Up to when the topic was there for certain, in run time (ns)."""
    changed = of_kind(unit.events, "partition-changed")
    deleted = ints(changed.where(is_any(changed, "reason", "deleted")), "time_ns")
    return int(deleted.min(initial=np.iinfo(np.int64).max)) - unit.facts.settings.largest_clock_error_ns


def _example(unit: PartitionTables, report: Example, state: Example, least: int) -> Example:
    which = f"record {report['offset']}"
    if report["end_offset"] > report["offset"] + 1:
        which = f"records {report['offset']} to {report['end_offset'] - 1}"
    asked = f"though min.insync.replicas was {least}"
    if least > report["min_isr"]:
        asked = f"though the experiment sets min.insync.replicas {least}; the leader reported {report['min_isr']}"
    return {
        "partition": unit.partition,
        "node": report["node"],
        "offset": report["offset"],
        "end_offset": report["end_offset"],
        "isr": state["isr"],
        "min_isr": least,
        "reported_min_isr": report["min_isr"],
        "leader_epoch": report["leader_epoch"],
        "partition_epoch": report["partition_epoch"],
        "rows": rows_of("node_event", [report["row"], state["row"]]),
        "story": (
            f"{report['node']}, leader of {unit.partition} in epoch {report['leader_epoch']}, acknowledged {which}"
            f" to an acks=all producer while the ISR was {state['isr']}, {asked}."
        ),
    }
