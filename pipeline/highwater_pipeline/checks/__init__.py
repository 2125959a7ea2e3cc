"""Check kernels: pure functions from the tables of one partition to anomalies. One family of checks a module.

A kernel sees one :class:`~highwater_pipeline.units.Unit`, works on whole columns (Arrow, NumPy) and returns what it
found. It knows nothing of Spark, files or runs: :func:`check_unit` is all that a scheduler calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from highwater_pipeline.anomalies import CLIENT_CHECKS, CLIENT_CHECKS_ON_REQUEST
from highwater_pipeline.checks.client import client_anomalies
from highwater_pipeline.checks.committed_loss import committed_loss
from highwater_pipeline.checks.deleted_records import deleted_topic_records
from highwater_pipeline.checks.divergence import divergence
from highwater_pipeline.checks.generations import generations, with_ids
from highwater_pipeline.checks.isr import isr_incomplete
from highwater_pipeline.checks.leadership import hw_regression, leader_not_in_isr, two_leaders
from highwater_pipeline.checks.min_isr import min_isr
from highwater_pipeline.checks.model_step import model_step
from highwater_pipeline.checks.replica_incomplete import replica_incomplete
from highwater_pipeline.checks.retention import retention_too_greedy
from highwater_pipeline.checks.sequence_gap import sequence_gap
from highwater_pipeline.checks.stale_join import stale_isr_join
from highwater_pipeline.checks.strays import live_partition_deleted, stray_partition
from highwater_pipeline.judgement import Finding, UnitFindings, has_needed_events, selected, together
from highwater_pipeline.units import Unit

Kernel = Callable[[Unit], Finding]

INSIDE_KERNELS: Final[dict[str, Kernel]] = {
    "committed-loss": committed_loss,
    "divergence": divergence,
    "isr-incomplete": isr_incomplete,
    "stale-isr-join": stale_isr_join,
    "two-leaders": two_leaders,
    "leader-not-in-isr": leader_not_in_isr,
    "hw-regression": hw_regression,
    "min-isr": min_isr,
    "replica-incomplete": replica_incomplete,
    "sequence-gap": sequence_gap,
    "retention-too-greedy": retention_too_greedy,
    "stray-partition": stray_partition,
    "live-partition-deleted": live_partition_deleted,
    "model-step": model_step,
}


def check_unit(unit: Unit, checks: Sequence[str] | None = None) -> UnitFindings:
    """Run the checks asked for (None: all) on one unit, but for those whose events were not recorded."""
    names = [name for name in selected(checks) if has_needed_events(name, unit.facts)]
    unit = with_ids(unit)
    topics = generations(unit)
    of_clients = [name for name in names if name in CLIENT_CHECKS or name in CLIENT_CHECKS_ON_REQUEST]
    found = client_anomalies(unit, of_clients) if of_clients else {}
    if "deleted-topic-records" in names:
        found["deleted-topic-records"] = deleted_topic_records(topics)
    for name, kernel in INSIDE_KERNELS.items():
        if name in names:
            found[name] = kernel(unit) if len(topics) == 1 else together([kernel(topic) for topic in topics])
    return UnitFindings(
        unit.facts.run_id,
        unit.partition,
        {name: found[name] for name in names if name in found and (found[name].count or found[name].unknown)},
    )
