"""min-isr: an ``acks=all`` write was acknowledged while the committed ISR was below ``min.insync.replicas``.

Example: the topic asks for two in-sync replicas. Broker 1 is taken out of the ISR, and the leader, broker 0, still
answers a producer that its record is safe. The trap is told with the rule (``highwater_runtime.model.in_sync``).

Leaders report the first acknowledgement under each pair of partition epoch and ``min.insync.replicas``
(``write-acknowledged``), and an instance is such a pair. They report
no acknowledgements of ``acks=1`` and ``acks=0``.
"""

from __future__ import annotations

from typing import Final

from highwater_pipeline.checks.columns import NOTHING, finding, of_kind, rows_of
from highwater_pipeline.checks.leadership import committed_states
from highwater_pipeline.partition_tables import PartitionTables
from highwater_pipeline.verdict import Example, Finding
from highwater_runtime.model.in_sync import too_few_in_sync

_STATE: Final = ("leader_epoch", "partition_epoch", "isr", "row")


def min_isr(unit: PartitionTables) -> Finding:
    """Counts reports of acknowledgements under an ISR that was too small. Reports are as few as changes of the ISR."""
    reports = of_kind(unit.events, "write-acknowledged").to_pylist("node", "offset", "end_offset", "min_isr", *_STATE)
    if not reports:
        return NOTHING
    committed = {
        (state["leader_epoch"], state["partition_epoch"]): state
        for state in committed_states(unit.events).to_pylist(*_STATE)
    }
    found: list[Example] = []
    for report in reports:
        state = committed.get((report["leader_epoch"], report["partition_epoch"]), report)
        if too_few_in_sync(state["isr"], report["isr"], report["min_isr"]) is not None:
            found.append(_example(unit, report, state))
    return finding(len(found), found)


def _example(unit: PartitionTables, report: Example, state: Example) -> Example:
    which = f"record {report['offset']}"
    if report["end_offset"] > report["offset"] + 1:
        which = f"records {report['offset']} to {report['end_offset'] - 1}"
    return {
        "partition": unit.partition,
        "node": report["node"],
        "offset": report["offset"],
        "end_offset": report["end_offset"],
        "isr": state["isr"],
        "min_isr": report["min_isr"],
        "leader_epoch": report["leader_epoch"],
        "partition_epoch": report["partition_epoch"],
        "rows": rows_of("node_event", [report["row"], state["row"]]),
        "story": (
            f"{report['node']}, leader of {unit.partition} in epoch {report['leader_epoch']}, acknowledged {which}"
            f" to an acks=all producer while the ISR was {state['isr']}, though min.insync.replicas was"
            f" {report['min_isr']}."
        ),
    }
