"""Mutants of leaders and followers: high watermark, ISR, acknowledgements, fencing by leader epoch, truncation."""

from __future__ import annotations

from typing import Final

from highwater_lab.mutants.mutant import Mutant

_ISR: Final = "broker.isr"
_PARTITION: Final = "broker.partition:Partition"
_LEADERSHIP: Final = "broker.leadership:Leadership"
_FETCHER: Final = "broker.fetcher:LeaderFetcher"
_PRODUCE: Final = "broker.apis.produce"
_JUDGE: Final = "broker.apis.fetch:judge"
_CUT: Final = "broker.truncation:cut_for_divergence"

HIGH_WATERMARK: Final = (
    Mutant(
        "hw-ignores-min-isr",
        f"{_ISR}:next_high_watermark",
        "if len(isr.committed) < min_isr:",
        "if min_isr < 0:",
        "the HW does not move while the ISR is below min.insync.replicas",
    ),
    Mutant(
        "hw-ignores-proposed-members",
        f"{_ISR}:next_high_watermark",
        "maximal = isr.maximal",
        "maximal = isr.committed",
        "the HW waits for replicas that are proposed for the ISR",
    ),
    Mutant(
        "hw-counts-removals-at-once",
        f"{_ISR}:IsrState.maximal",
        "return self.committed + tuple(b for b in self.proposal.isr if b not in self.committed)",
        "return self.proposal.isr",
        "a replica counts as removed only once the controller has committed that",
    ),
    Mutant(
        "hw-does-not-wait-for-outsiders",
        f"{_ISR}:next_high_watermark",
        "and eligible(follower)",
        "and False",
        "the HW waits for replicas that are about to join the ISR",
        harmless="it only makes joining slower: a replica that joins must have all records below the HW",
    ),
    Mutant(
        "hw-is-leader-end",
        f"{_ISR}:next_high_watermark",
        "least = follower.log_end_offset",
        "least = max(least, follower.log_end_offset)",
        "the HW is the least log end of the ISR",
    ),
    Mutant(
        "hw-one-record-ahead",
        f"{_ISR}:next_high_watermark",
        "if follower.log_end_offset < least and (",
        "if follower.log_end_offset + 1 < least and (",
        "the HW is not above the least log end of the ISR",
    ),
    Mutant(
        "follower-hw-never-moves",
        f"{_PARTITION}.append_from_leader",
        "self._follow_high_watermark(leader_high_watermark)",
        "pass",
        "a follower takes over its leader's HW",
    ),
    Mutant(
        "follower-hw-survives-truncation",
        f"{_PARTITION}._truncate",
        "self._high_watermark = min(self._high_watermark, self.log.log_end_offset)",
        "pass",
        "a follower's HW is lowered when its log is truncated",
        harmless="logs diverge only above the committed offset, and a follower's HW is never above that",
    ),
    Mutant(
        "consumers-read-beyond-hw",
        "broker.apis.fetch:visible_end",
        "else partition.high_watermark",
        "else partition.log.log_end_offset",
        "consumers see records below the HW only",
    ),
)

ISR: Final = (
    Mutant(
        "joins-isr-below-hw",
        f"{_ISR}:may_join",
        "and follower.log_end_offset >= high_watermark",
        "and follower.log_end_offset >= 0",
        "a replica that joins the ISR has everything below the HW",
    ),
    Mutant(
        "joins-isr-before-epoch-start",
        f"{_ISR}:may_join",
        "and follower.log_end_offset >= epoch_start_offset",
        "and True",
        "a replica that joins the ISR has all records of earlier leader epochs",
    ),
    Mutant(
        "joins-isr-fenced",
        f"{_ISR}:may_join",
        "and eligible(follower)",
        "and True",
        "a leader proposes only brokers that are registered and unfenced",
        mode="kraft",
        harmless="the controller refuses them (KIP-841, KIP-903)",
    ),
    Mutant(
        "joins-isr-fenced-without-controller",
        f"{_ISR}:may_join",
        "and eligible(follower)",
        "and True",
        "a leader proposes only brokers that are alive: in ZooKeeper mode the controller does not check",
        mode="zookeeper",
    ),
    Mutant(
        "rejoins-isr-by-old-position",
        "broker.follower_state:FollowerState.has_fetched",
        "and not self.left_isr",
        "",
        "a replica that left the ISR joins again only after a new fetch",
        harmless="the old position of the same incarnation is true; that of a previous one has a stale broker epoch"
        " (KIP-903), or in ZooKeeper mode an older leader epoch, and then positions are dropped",
    ),
    Mutant(
        "isr-never-shrinks",
        f"{_ISR}:lagging",
        "b in followers and not followers[b].caught_up(",
        "b in followers and False and not followers[b].caught_up(",
        "a replica that lags leaves the ISR",
    ),
    Mutant(
        "replica-epoch-not-noted",
        "broker.follower_state:FollowerState.fetched",
        "self.replica_epoch = replica_epoch",
        "self.replica_epoch = UNKNOWN_EPOCH",
        "the leader notes the broker epoch of a Fetch (KIP-903)",
        mode="kraft",
    ),
    Mutant(
        "proposal-without-epochs",
        f"{_LEADERSHIP}.replica_epoch",
        "return self.followers[broker_id].replica_epoch",
        "return -1",
        "AlterPartition carries the epochs that followers fetched under (KIP-903)",
        mode="kraft",
    ),
    Mutant(
        "answer-to-former-proposal",
        f"{_LEADERSHIP}.proposal_answered",
        "if p.isr.proposal is not proposal:",
        "if p.isr.proposal is None:",
        "the response to a superseded proposal is ignored",
    ),
    Mutant(
        "answer-of-former-leader-epoch",
        f"{_LEADERSHIP}.proposal_answered",
        "if answer.leader_epoch == self.epoch and answer.partition_epoch >= p.partition_epoch:",
        "if True:",
        "a response that is older than the leader's state, or of another leader epoch, is ignored",
    ),
    Mutant(
        "undecided-proposal-dropped",
        f"{_LEADERSHIP}.proposal_answered",
        "case error if error in DROPPED:",
        "case error if error in DROPPED + LEFT_TO_METADATA:",
        "a proposal with an unknown outcome stays until the metadata shows the outcome",
    ),
    Mutant(
        "leader-keeps-positions-of-former-epoch",
        f"{_PARTITION}.apply",
        "if new_leader_epoch or led_before is None:",
        "if led_before is None:",
        "a leader drops its followers' positions when its leader epoch changes",
    ),
)

ACKNOWLEDGEMENTS: Final = (
    Mutant(
        "acks-all-not-refused-before-append",
        f"{_PRODUCE}:_append",
        "if acks == ACKS_ALL and partition.under_min_isr:",
        "if acks == ACKS_ALL and not partition.isr.committed:",
        "acks=all is refused before the append while the ISR is too small",
        harmless="the request fails after the append, so the record is not acknowledged either",
    ),
    Mutant(
        "acknowledges-below-min-isr",
        f"{_PRODUCE}:outcome",
        "return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND if partition.under_min_isr else ErrorCode.NONE",
        "return ErrorCode.NONE",
        "acks=all is not acknowledged while the ISR is too small",
        harmless="the HW does not move while the ISR is too small; reached only if min.insync.replicas is raised",
    ),
    Mutant(
        "min-isr-is-one",
        f"{_PARTITION}.configured",
        "min_isr = min(self.context.min_isr(self.topic), len(self.replicas))",
        "min_isr = 1",
        "min.insync.replicas is what was configured",
    ),
    Mutant(
        "acknowledges-at-append",
        f"{_PRODUCE}:outcome",
        "if partition.high_watermark < end_offset:",
        "if partition.log.log_end_offset < end_offset:",
        "acks=all waits for the HW",
    ),
    Mutant(
        "acknowledges-one-record-early",
        f"{_PRODUCE}:outcome",
        "if partition.high_watermark < end_offset:",
        "if partition.high_watermark < end_offset - 1:",
        "acks=all waits until the HW has passed the last record",
    ),
    Mutant(
        "acknowledges-as-follower",
        f"{_PRODUCE}:outcome",
        "if partition.leading is None:",
        "if partition.log.failure is not None:",
        "a waiting Produce fails when its leader is deposed",
    ),
    Mutant(
        "duplicate-acknowledged-at-once",
        f"{_PRODUCE}:handle",
        "if body.acks == ACKS_ALL:",
        "if body.acks == ACKS_ALL and not appended.duplicate:",
        "a retry with acks=all waits for the HW, as the first attempt did",
    ),
    Mutant(
        "delete-records-beyond-hw",
        "broker.apis.delete_records:_delete",
        "if not 0 <= target <= found.high_watermark:",
        "if not 0 <= target <= found.log.log_end_offset:",
        "DeleteRecords deletes below the HW only",
        harmless="clients of the workload delete below the HW; the log refuses the others with an assertion",
    ),
    Mutant(
        "delete-records-answered-at-once",
        "broker.apis.delete_records:DelayedDeletion._decide",
        "if reached < target:",
        "if False:",
        "DeleteRecords waits until all live replicas have deleted",
    ),
)

EPOCHS: Final = (
    Mutant(
        "former-leader-epoch-accepted",
        f"{_PARTITION}.check_leader_epoch",
        "if current_leader_epoch < self.leader_epoch:",
        "if current_leader_epoch < self.leader_epoch - 1:",
        "a leader refuses requests of an older leader epoch (KIP-320)",
    ),
    Mutant(
        "next-leader-epoch-accepted",
        f"{_PARTITION}.check_leader_epoch",
        "if current_leader_epoch > self.leader_epoch:",
        "if current_leader_epoch > self.leader_epoch + 1:",
        "a leader refuses requests of a leader epoch that it does not know (KIP-320)",
    ),
    Mutant(
        "older-metadata-applied",
        f"{_PARTITION}.apply",
        "if state.partition_epoch < self.partition_epoch:",
        "if state.leader_epoch < self.leader_epoch:",
        "a partition's state with an older partition epoch is ignored",
    ),
    Mutant(
        "epoch-start-not-noted",
        f"{_LEADERSHIP}.begin",
        "p.log.assign_epoch_start(self.epoch, self.start_offset)",
        "pass",
        "a leader records the start offset of its leader epoch",
    ),
    Mutant(
        "divergence-never-answered",
        _JUDGE,
        "if last_epoch != NO_EPOCH and (last_epoch != log.latest_epoch or offset > end_offset):",
        "if False:",
        "a leader tells a follower where its log diverges",
    ),
    Mutant(
        "divergence-by-offset-only",
        _JUDGE,
        "if end.epoch < last_epoch or end.end_offset < offset:",
        "if end.end_offset < offset:",
        "a follower diverges if the leader does not have its last epoch",
    ),
    Mutant(
        "divergence-by-epoch-only",
        _JUDGE,
        "if end.epoch < last_epoch or end.end_offset < offset:",
        "if end.epoch < last_epoch:",
        "a follower diverges if its last epoch ends earlier at the leader",
    ),
    Mutant(
        "batches-of-unknown-epochs-appended",
        "broker.partition:known_batches",
        "if batch.leader_epoch > leader_epoch:",
        "if False:",
        "a follower takes no batch of an epoch above that of its leader",
        harmless="a leader compares epochs and reads in one step: no response has a later epoch than its request names",
    ),
    Mutant(
        "fetch-response-of-former-follower",
        f"{_FETCHER}._is_current",
        "p.leader_epoch == followed.leader_epoch",
        "True",
        "a Fetch response for a former leader epoch is ignored",
        harmless="a new leader epoch and its fetcher are set in one step, so they never differ",
    ),
    Mutant(
        "fetch-response-of-former-epoch",
        f"{_FETCHER}._is_current",
        "and asked.current_leader_epoch == self._fencing_epoch(p)",
        "and True",
        "a Fetch response to a request of a former leader epoch is ignored",
        harmless="with a new leader epoch the session drops the partition, and with it the response",
    ),
    Mutant(
        "fetch-response-at-former-offset",
        f"{_FETCHER}._is_current",
        "and p.log.log_end_offset == asked.fetch_offset",
        "and True",
        "a Fetch response for an offset that is not the log's end is ignored",
        harmless="one request is open at a time, and only its response moves a follower's log",
    ),
    Mutant(
        "new-leader-not-followed",
        "broker.replica_manager:ReplicaManager._partition_changed",
        "elif partition.leader_epoch != leader_epoch_before:",
        "elif partition.leader_epoch > leader_epoch_before + 1:",
        "a follower follows the leader of each new leader epoch",
    ),
    Mutant(
        "truncates-to-leader-end-only",
        _CUT,
        "return Cut(min(own.end_offset, leader.end_offset, own_end_offset), agreed=True)",
        "return Cut(min(leader.end_offset, own_end_offset), agreed=True)",
        "a follower truncates to the lower end of the common epoch (KIP-279)",
    ),
    Mutant(
        "truncates-to-own-end-only",
        _CUT,
        "return Cut(min(own.end_offset, leader.end_offset, own_end_offset), agreed=True)",
        "return Cut(min(own.end_offset, own_end_offset), agreed=True)",
        "a follower truncates the records of the common epoch that the leader lacks",
    ),
    Mutant(
        "truncates-by-foreign-epoch",
        _CUT,
        "return Cut(min(own.end_offset, own_end_offset), agreed=False)",
        "return Cut(min(leader.end_offset, own_end_offset), agreed=False)",
        "a follower without the leader's epoch truncates to the end of its own lower one (KIP-279)",
    ),
)

REPLICATION: Final = (*HIGH_WATERMARK, *ISR, *ACKNOWLEDGEMENTS, *EPOCHS)
