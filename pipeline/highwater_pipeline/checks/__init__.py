"""Check kernels: pure functions from the tables of one partition to anomalies. One family of checks a module.

A kernel sees the ``PartitionTables`` of one partition, works on whole columns
(Arrow, NumPy) and returns what it found. It knows nothing of Spark, files or runs: :func:`check_partition`, or
:func:`check_partitions` for all partitions of a run in memory, is all that a scheduler calls.

Most partitions show nothing. So every check has a function in :mod:`.prefilter`, or beside its kernel, that looks at
many small partitions at once and says in which of them the kernel may find something. Whoever changes a kernel must
look at both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from highwater_pipeline.anomalies import CLIENT_CHECKS, CLIENT_CHECKS_ON_REQUEST, RUN_CHECKS
from highwater_pipeline.arrow.arrays import Bools
from highwater_pipeline.checks import prefilter
from highwater_pipeline.checks.altered import altered, altered_prefilter
from highwater_pipeline.checks.causes import in_causal_order
from highwater_pipeline.checks.client import client_anomalies
from highwater_pipeline.checks.committed_loss import committed_loss
from highwater_pipeline.checks.deleted_records import deleted_topic_records
from highwater_pipeline.checks.divergence import divergence
from highwater_pipeline.checks.generations import generations, with_ids
from highwater_pipeline.checks.isr import isr_incomplete
from highwater_pipeline.checks.leadership import hw_regression, leader_not_in_isr, two_leaders
from highwater_pipeline.checks.lineages import lineages
from highwater_pipeline.checks.lost import lost_records, may_have_lost
from highwater_pipeline.checks.min_isr import min_isr
from highwater_pipeline.checks.model_step import model_step, model_step_prefilter
from highwater_pipeline.checks.never_sent import never_sent, never_sent_prefilter
from highwater_pipeline.checks.plain_history import not_plain
from highwater_pipeline.checks.producer_ids import producer_id_reused, producer_id_reused_prefilter
from highwater_pipeline.checks.removed import removed_records
from highwater_pipeline.checks.replica_incomplete import replica_incomplete
from highwater_pipeline.checks.retention import retention_too_greedy
from highwater_pipeline.checks.sequence_gap import sequence_gap
from highwater_pipeline.checks.stale_join import stale_isr_join
from highwater_pipeline.checks.strays import live_partition_deleted, stray_partition
from highwater_pipeline.partitions.partition_tables import PartitionTables, RunFacts, SplitRun, alone
from highwater_pipeline.partitions.small_partitions import Partitions
from highwater_pipeline.verdict import Finding, PartitionFindings, has_needed_events, selected, together

Kernel = Callable[[PartitionTables], Finding]

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
    "producer-id-reused": producer_id_reused,
    "retention-too-greedy": retention_too_greedy,
    "live-partition-deleted": live_partition_deleted,
    "model-step": model_step,
}


_PREFILTERS: Final[dict[str, Callable[[Partitions], Bools]]] = {
    "never-sent": never_sent_prefilter,
    "altered": altered_prefilter,
    "committed-loss": prefilter.committed_loss,
    "divergence": prefilter.divergence,
    "isr-incomplete": prefilter.isr_incomplete,
    "stale-isr-join": prefilter.stale_isr_join,
    "two-leaders": prefilter.two_leaders,
    "leader-not-in-isr": prefilter.leader_not_in_isr,
    "hw-regression": prefilter.hw_regression,
    "replica-incomplete": prefilter.replica_incomplete,
    "sequence-gap": prefilter.sequence_gap,
    "producer-id-reused": producer_id_reused_prefilter,
    "retention-too-greedy": prefilter.retention_too_greedy,
    "stray-partition": prefilter.stray_partition,
    "live-partition-deleted": prefilter.live_partition_deleted,
    "deleted-topic-records": prefilter.deleted_topic_records,
}
"""In which partitions of one topic each check may find something."""

_WITH_FACTS: Final[dict[str, Callable[[RunFacts, Partitions], Bools]]] = {
    "min-isr": prefilter.min_isr,
    "model-step": model_step_prefilter,
}
"""The same of checks that depend on the settings."""

OF_RUNS: Final = (*RUN_CHECKS, "node-crash")
"""Checks that no unit shows anything of: what they look at is in the facts of the run."""

_IN_ORDER: Final = ("isr-incomplete", "hw-regression", "model-step")
"""Checks of which that depends on the order of what several nodes did. If clocks may be off, only the kernel of a unit
puts it in order."""

SMALL: Final = 1 << 10
"""Rows of a table of a partition that is looked at together with others first, at most."""


def check_partitions(units: SplitRun, checks: Sequence[str] | None = None) -> Iterator[PartitionFindings]:
    """Run the checks asked for (None: all) on the units of a run; units in which nothing is found may be left out.

    Small partitions are looked at together first. A check is run on those in which it may find something.
    """
    names = _available(units.facts, checks)
    partitions = units.small(SMALL)
    wanted = {} if partitions is None else prefiltered(units.facts, partitions, names)
    removing = set() if partitions is None else _may_have_removed(units.facts, partitions)
    for partition in units.names:
        checked = wanted.get(partition, names)
        if checked or partition in removing:
            yield run_checks(units.of(partition), checked)


def _may_have_removed(facts: RunFacts, partitions: Partitions) -> set[str]:
    """The partitions from which acknowledged records may have been removed, whatever the checks are."""
    moved = partitions.those(partitions.events.of_kind("log-start-moved").number)
    return {
        name
        for name, has_moved in zip(partitions.names, moved.tolist(), strict=True)
        if has_moved or facts.settings.compacts(name)
    }


def prefiltered(facts: RunFacts, partitions: Partitions, names: Sequence[str]) -> dict[str, list[str]]:
    """Of each partition the checks, of those named, that may find something in it."""
    several_topics = prefilter.has_topics(partitions)
    in_order = not facts.settings.has_clock_errors
    found: dict[str, list[str]] = {partition: [] for partition in partitions.names}
    of_clients = not_plain(partitions)
    for name in names:
        if name in _IN_ORDER and not in_order:
            of_check = np.ones(len(partitions.names), np.bool_)
        elif name in _PREFILTERS:
            of_check = _PREFILTERS[name](partitions)
        else:
            of_check = _WITH_FACTS[name](facts, partitions) if name in _WITH_FACTS else of_clients
        for number in np.flatnonzero(of_check | several_topics).tolist():
            found[partitions.names[number]].append(name)
    return found


def _available(facts: RunFacts, checks: Sequence[str] | None) -> list[str]:
    """The checks asked for, but for those whose events were not recorded, and for those that are of runs."""
    return [name for name in selected(checks) if name not in OF_RUNS and has_needed_events(name, facts)]


def check_partition(unit: PartitionTables, checks: Sequence[str] | None = None) -> PartitionFindings:
    """Run the checks asked for (None: all) on one unit, but for those whose events were not recorded."""
    names = _available(unit.facts, checks)
    if max(table.num_rows for table in (unit.history, unit.events, unit.replica_log)) <= SMALL:
        names = prefiltered(unit.facts, alone(unit), names)[unit.partition]
    return run_checks(unit, names)


def run_checks(unit: PartitionTables, names: Sequence[str]) -> PartitionFindings:
    """Run checks on one unit, whether or not they may find something."""
    unit = in_causal_order(with_ids(unit))
    topics = generations(unit)
    of_clients = [name for name in names if name in CLIENT_CHECKS or name in CLIENT_CHECKS_ON_REQUEST]
    found = client_anomalies(unit, of_clients) if of_clients else {}
    if "never-sent" in names:
        found["never-sent"] = never_sent(unit)
    if "altered" in names:
        found["altered"] = altered(unit)
    if "deleted-topic-records" in names:
        found["deleted-topic-records"] = deleted_topic_records(topics)
    if "stray-partition" in names:
        found["stray-partition"] = stray_partition(unit)
    for name, kernel in INSIDE_KERNELS.items():
        if name in names:
            parts = [part for topic in topics for part in lineages(topic, name)]
            found[name] = kernel(parts[0]) if len(parts) == 1 else together([kernel(part) for part in parts])
    shown = {name: found[name] for name in names if name in found and (found[name].count or found[name].unknown)}
    lost = lost_records(unit) if may_have_lost(unit, shown.values()) else 0
    return PartitionFindings(unit.facts.run_id, unit.partition, shown, removed_records(unit), lost)
