"""What a partition, and its leadership, need of their broker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from highwater_runtime.broker.follower_state import FollowerState
from highwater_runtime.broker.isr import OnAnswer, Proposal
from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.config import NodeConfig
from highwater_runtime.ports import Clock, Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionContext:
    """Values and callbacks of one broker, shared by all its partitions.

    Args:
        broker_epoch: this broker's present epoch.
        eligible: whether the metadata at hand lets a follower be in an ISR (KIP-903 included).
        min_isr: ``min.insync.replicas`` of a topic, as configured.
        propose: ask the controller for an ISR.
        withdraw: forget what was proposed but not sent yet.
        changed: something that a waiting request may wait for has changed in the partition of this name.
        committed: its HW has moved forward as its leader, and nothing else has changed.
        appended: its log has grown, and nothing else has changed.
        proposal_kept: whether metadata of the partition epoch that is in force leaves an ISR proposal alone.
        isr_expansion_as_printed: whether a replica joins the ISR by the rule that Design V3 prints.
        isr_changed: ``(key, expanded, shrunk)`` once a change of ISR that this leader proposed is committed.
        start_moved: the log start of this partition is another.
        review_later: its leader has to be asked about its ISR from time to time, until it
            :attr:`.Leadership.is_fully_replicated`.
    """

    broker_id: int
    config: NodeConfig
    clock: Clock
    trace: Trace
    broker_epoch: Callable[[], int]
    eligible: Callable[[FollowerState], bool]
    min_isr: Callable[[str], int]
    propose: Callable[[PartitionKey, Proposal, OnAnswer], None]
    withdraw: Callable[[PartitionKey], None]
    changed: Callable[[str], None]
    committed: Callable[[str], None]
    appended: Callable[[str], None]
    isr_changed: Callable[[PartitionKey, bool, bool], None]
    start_moved: Callable[[PartitionKey], None] = lambda _: None
    review_later: Callable[[PartitionKey], None] = lambda _: None
    proposal_kept: bool = True
    isr_expansion_as_printed: bool = False
