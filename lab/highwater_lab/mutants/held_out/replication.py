"""ISR, high watermark, leader epochs and fetches, as their leader and their followers see them."""

from __future__ import annotations

from typing import Final

from highwater_lab.mutants.mutant import Mutant

REPLICATION: Final = (
    Mutant(
        "position-taken-despite-divergence",
        "broker.apis.fetch:DelayedFetch.learn",
        """and judge(found, fetch, who.replica_id) == FINE:
                assert found.leading is not None
                found.leading.fetched_by(who.replica_id, fetch.fetch_offset, fetch.log_start_offset, who.replica_epoch)
            else:
                self._judged = False""",
        """and judge(found, fetch, who.replica_id)[0] is ErrorCode.NONE:
                assert found.leading is not None
                offset = min(fetch.fetch_offset, found.log.log_end_offset)
                found.leading.fetched_by(who.replica_id, offset, fetch.log_start_offset, who.replica_epoch)
            self._judged = False""",
        "the leader takes the position of a follower whose log diverges (KAFKA-13141)",
    ),
    Mutant(
        "rejoin-without-another-fetch",
        "broker.follower_state:FollowerState.has_fetched",
        "return self.log_end_offset != UNKNOWN_OFFSET and not self.left_isr",
        "return self.log_end_offset != UNKNOWN_OFFSET",
        "a replica that has left the ISR joins again by what it fetched before",
    ),
    Mutant(
        "isr-change-forgets-followers",
        "broker.leadership:Leadership._match_followers",
        "known.get(b) or FollowerState.at_epoch_start(",
        "FollowerState.at_epoch_start(",
        "each change of the ISR makes the leader forget what it knows of its followers",
    ),
    Mutant(
        "epoch-begins-at-high-watermark",
        "broker.leadership:Leadership.__init__",
        "self.start_offset = partition.log.log_end_offset",
        "self.start_offset = partition.high_watermark",
        "a leader epoch is said to begin at the high watermark, not at the end of the log",
    ),
    Mutant(
        "joins-only-beyond-high-watermark",
        "broker.isr:may_join",
        "and follower.log_end_offset >= high_watermark",
        "and follower.log_end_offset > high_watermark",
        "a follower that is exactly at the high watermark does not join the ISR",
    ),
    Mutant(
        "lag-counts-from-last-fetch",
        "broker.follower_state:FollowerState.caught_up",
        "last = self.last_caught_up_ns if self._quiet is None else max(self.last_caught_up_ns, self._quiet.fetched_ns)",
        "last = self.last_fetch_ns if self._quiet is None else max(self.last_fetch_ns, self._quiet.fetched_ns)",
        "a follower that fetches but never catches up counts as in sync (KAFKA-1546)",
    ),
    Mutant(
        "lagging-member-never-leaves",
        "broker.leadership:Leadership.review_isr",
        ", leaving=leaving)",
        ", leaving=())",
        "a leader never takes a lagging member out of the ISR",
    ),
    Mutant(
        "isr-never-expands",
        "broker.leadership:Leadership._joining",
        "and b not in p.isr.committed and",
        "and b not in p.replicas and",
        "a replica that has left the ISR is never proposed again",
    ),
    Mutant(
        "produce-waits-for-next-record",
        "broker.apis.produce:outcome",
        "if partition.high_watermark < end_offset:",
        "if partition.high_watermark <= end_offset:",
        "an acks=all produce is answered only when a later record is committed",
    ),
    Mutant(
        "produce-acknowledged-by-successor",
        "broker.apis.produce:outcome",
        "if partition.leading is None:",
        "if partition.leading is None and partition.high_watermark < end_offset:",
        "a deposed leader answers waiting produces by the high watermark of its successor",
    ),
    Mutant(
        "full-truncation-keeps-high-watermark",
        "broker.partition:Partition.start_over_at",
        "        self._high_watermark = offset\n",
        "",
        "a follower that starts over elsewhere keeps its former high watermark (KAFKA-9491)",
    ),
    Mutant(
        "fetch-at-log-start-refused",
        "broker.apis.fetch:judge",
        "if offset < log.log_start_offset:",
        "if offset <= log.log_start_offset:",
        "a fetch at the first offset of the log is out of range",
    ),
    Mutant(
        "latest-offset-told-too-early",
        "broker.apis.list_offsets:_answer",
        "end_is_unknown = replica_id < 0 and high_watermark < found.leading.start_offset",
        "end_is_unknown = replica_id < 0 and high_watermark < log.log_start_offset",
        "a new leader names its end before it knows its high watermark (KIP-207)",
    ),
    Mutant(
        "log-start-follows-with-records-only",
        "broker.partition:Partition.append_from_leader",
        "if leader_log_start_offset > self.log.log_start_offset:",
        "if appended and leader_log_start_offset > self.log.log_start_offset:",
        "a follower learns of deleted records only with new ones",
    ),
    Mutant(
        "delete-records-does-nothing",
        "broker.apis.delete_records:_delete",
        'found.begin_at(target, "delete-records")',
        "pass",
        "DeleteRecords never moves the beginning of a log",
    ),
    Mutant(
        "session-hides-high-watermark",
        "broker.fetch_session:AskedPartition.is_news",
        "news = news or data.high_watermark != self.high_watermark or data.log_start_offset",
        "news = news or data.log_start_offset",
        "an answer in a fetch session leaves out a partition of which only the high watermark has moved",
        harmless="a new leader learns its high watermark from the others' fetches, wherever its own was",
    ),
    Mutant(
        "session-ignores-forgotten-partitions",
        "broker.fetch_sessions:FetchSessions._continue",
        "for topic in body.forgotten_topics_data:",
        "for topic in body.forgotten_topics_data[:0]:",
        "a follower counts as fetching what it has taken out of its fetch session",
    ),
    Mutant(
        "append-wakes-no-follower",
        "broker.fetch_sessions:FetchSessions.note",
        "asked.session.privileged:\n                    self._news(asked)",
        "asked.session.privileged:\n                    asked.disturb()",
        "a fetch of a follower waits for its whole time, though there are new records",
    ),
)
