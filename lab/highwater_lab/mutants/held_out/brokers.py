"""What a broker does for all its replicas: roles, logs of former topics, settings, quotas, waiting requests."""

from __future__ import annotations

from typing import Final

from highwater_lab.mutants.mutant import Mutant

BROKERS: Final = (
    Mutant(
        "old-log-serves-new-topic",
        "broker.replica_manager:ReplicaManager._open",
        "                self.logs.delete(*tp)\n                log = None\n",
        "                pass\n",
        "a topic that was created anew begins with the log of the deleted one (KAFKA-14616)",
    ),
    Mutant(
        "deleted-replica-keeps-its-log",
        "broker.replica_manager:ReplicaManager._drop",
        "            self.logs.delete(partition.topic, partition.index)\n",
        "",
        "the log of a deleted topic, or of a replica that was moved away, stays",
    ),
    Mutant(
        "isr-pass-ends-when-idle",
        "broker.replica_manager:ReplicaManager._review_slice",
        "        self._schedule_isr_pass()",
        "        if self._to_review:\n            self._schedule_isr_pass()",
        "the periodic review of ISRs is not armed again once there was nothing to review",
    ),
    Mutant(
        "high-watermark-waits-for-fenced-broker",
        "broker.replica_manager:ReplicaManager.apply_cluster",
        "self._slices.add(_ADVANCE, partition.key)",
        "pass",
        "a leader does not look at its high watermark when another broker's state changes (KAFKA-15021)",
    ),
    Mutant(
        "settings-of-a-topic-wait-for-restart",
        "broker.replica_manager:ReplicaManager._configure",
        "            self.logs.configure(partition.topic, partition.index, self._topic_properties(partition.topic))\n",
        "",
        "a log does not obey altered settings of its topic before the broker restarts",
    ),
    Mutant(
        "min-isr-of-topic-ignored",
        "metadata.effective_config:min_insync_replicas",
        "        ConfigResource(TOPIC_RESOURCE, topic),\n",
        "",
        "a topic's own min.insync.replicas is ignored",
    ),
    Mutant(
        "waiting-requests-timer-not-rearmed",
        "broker.purgatory:Purgatory._expire",
        "if deadlines and self._timer is None:",
        "if deadlines and self._timer is not None:",
        "after one waiting request has timed out, the others do not",
    ),
    Mutant(
        "throttle-measured-over-one-window",
        "broker.replication_quota:ReplicationQuota.is_exceeded",
        "elapsed = max(now - windows[0][0], WINDOW_NS)",
        "elapsed = WINDOW_NS",
        "a replication throttle counts eleven seconds of traffic as one",
    ),
    Mutant(
        "follower-throttle-counts-nothing",
        "broker.fetcher:LeaderFetcher._take_in",
        "self._context.quota.record(len(data.records))",
        "self._context.quota.record(0)",
        "the throttle of followers never holds back anything",
    ),
    Mutant(
        "isr-proposal-not-repeated",
        "broker.kraft.alter_partition:AlterPartitionManager._answered",
        "            self._waiting.setdefault(key, item)\n",
        "            pass\n",
        "a proposal that its leader wants repeated is forgotten, and the leader waits for its answer",
        "kraft",
    ),
    Mutant(
        "second-lost-log-not-reported",
        "broker.kraft.lost_logs:LostLogs._answered",
        "        self._in_flight = {}\n        self._send()",
        "        self._send()",
        "a broker reports the first of its logs that fails, and no other",
        "kraft",
    ),
    Mutant(
        "heartbeats-end-with-an-error",
        "broker.kraft.lifecycle:Lifecycle._heartbeat_answered",
        "            case _:\n                self._soon = False",
        "            case _:\n                return",
        "a broker sends no further heartbeat after one that failed",
        "kraft",
    ),
    Mutant(
        "new-epoch-skips-catching-up",
        "broker.kraft.lifecycle:Lifecycle._registered",
        "            self._caught_up = False\n",
        "",
        "a broker that has registered anew asks to be unfenced before it has seen that registration",
        "kraft",
        harmless="the controller unfences no broker before it has followed the metadata to its registration (KIP-631)",
    ),
    Mutant(
        "snapshot-changes-nothing-here",
        "broker.kraft.metadata_loader:MetadataLoader.on_load_snapshot",
        "for change in differences(before, self.image):",
        "for change in differences(before, before):",
        "a broker that loads a snapshot of the metadata does not act on what it has missed",
        "kraft",
    ),
)
