"""The replicas of one partition as a state machine. Each event of a broker is a step; a guard says if it is permitted.

After a step that is not permitted, the machine goes on from what the event says, so that one wrong step is one refusal.
Steps of one node come in the order of that node. A guard that compares replicas at one moment is used only if the
recorded order is exact.

What a leader must obey, ``min.insync.replicas``, is what the experiment set, if that is known and asks for more than
the leader says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from highwater_pipeline.specification.acknowledged import wrong_acknowledgement
from highwater_pipeline.specification.decisions import Decisions, Event
from highwater_pipeline.specification.lineage import UNKNOWN
from highwater_pipeline.specification.permitted import Led, permitted_steps
from highwater_pipeline.specification.refusal import Refusal
from highwater_pipeline.specification.replica import Replica
from highwater_pipeline.tables.settings import NOTHING_PROMISED, PromisedSettings
from highwater_runtime.model.decisions import NO_LEADER
from highwater_runtime.model.in_sync import too_few_in_sync
from highwater_runtime.model.leaders import Claim, HighWatermarks, Leaders, Move

Broken = Iterator[tuple[str, str]]
"""Names of rules that a step breaks, each with what happened."""

_PROPOSAL_ENDS: Final = ("committed", "superseded", "INELIGIBLE_REPLICA")
_NOT_SENT: Final = "OPERATION_NOT_ATTEMPTED"  # Apache Kafka's leader: one of a former epoch is still on its way
_NEVER_LOADED: Final = "before its log was loaded"


class Machine:
    """Steps through the events of one topic generation. ``exact_order``: the events of different nodes come in the
    order in which they happened. ``compacted``: logs have been compacted, so that a replica's log has gaps.
    ``promises``: what was set for the topic."""

    def __init__(
        self,
        decisions: Decisions,
        *,
        exact_order: bool,
        compacted: bool = False,
        promises: PromisedSettings = NOTHING_PROMISED,
    ) -> None:
        self._decisions = decisions
        self._exact = exact_order
        self._compacted = compacted
        end = decisions.deleted_ns
        self._promises = promises if end is None else promises.until(end)
        self._replicas: dict[int, Replica] = {}
        self._led: dict[int | None, Led] = {}
        self._high_watermark = 0
        self._high_watermarks = HighWatermarks()
        self._leaders = Leaders(of_nodes=True)
        self._steps: Final[dict[str, Callable[[Replica, Event], Broken]]] = {
            "node-stopped": self._stop,
            "log-loaded": self._load,
            "log-cut": self._cut,
            "log-flushed": self._flush,
            "log-removed": self._remove,
            "log-appended": self._append,
            "log-truncated": self._truncate,
            "log-start-moved": self._move_start,
            "became-leader": self._lead,
            "became-follower": self._follow,
            "batch-committed": self._commit,
            "high-watermark": self._move_high_watermark,
            "isr-proposed": self._propose,
            "isr-proposal-ended": self._end_proposal,
            "isr-taken": self._take_isr,
            "min-isr-set": self._set_min_isr,
            "write-acknowledged": self._acknowledge,
            "records-deleted": self._answer_deletion,
            "transition": self._other,
        }
        self.kinds: Final = tuple(self._steps)
        """The kinds of events that are steps."""

    def step(self, event: Event) -> list[Refusal]:
        """Take one event; return the rules that it breaks, none for a permitted step."""
        take = self._steps.get(event["kind"])
        role, _, number = event["node"].rpartition("-")
        if take is None or role != "broker":
            return []
        broker = int(number)
        replica = self._replicas.get(broker)
        if replica is None:
            replica = self._replicas[broker] = Replica(broker, event["incarnation"])
        elif event["incarnation"] > replica.incarnation:
            replica.restart(event["incarnation"])
        refusals = []
        for rule, what in take(replica, event):  # a step yields what it breaks before it changes the state
            led, of_event = self._led.get(replica.leader_epoch), self._led.get(event["leader_epoch"])
            permitted = tuple(permitted_steps(replica, led, self._replicas, exact_order=self._exact))
            rows = (replica.role_row, replica.end_row, None if of_event is None else of_event.row)
            because = tuple(dict.fromkeys(row for row in rows if row is not None))
            refusals.append(Refusal(rule, what, event["row"], replica.to_dict(), permitted, because))
        return refusals

    # --- a node ---------------------------------------------------------------------------------------------------

    def _stop(self, replica: Replica, event: Event) -> Broken:
        replica.stopped = event["reason"] if replica.loaded_in == event["incarnation"] else _NEVER_LOADED
        replica.role = "none"
        yield from ()

    def _other(self, replica: Replica, event: Event) -> Broken:
        if event["reason"] == "log-offline":
            replica.offline_since = None if replica.role == "follower" else event["time_ns"]
            replica.role = "none"
            if replica.end is not None:
                replica.log.extend(replica.end, UNKNOWN)  # the append that failed may have left whole batches
            replica.end = None
        yield from ()

    # --- its log --------------------------------------------------------------------------------------------------

    def _load(self, replica: Replica, event: Event) -> Broken:
        start, end, reason = event["offset"], event["end_offset"], event["reason"]
        was = replica.end
        if reason == "created":
            if end != start:
                yield "load", f"a log was created with the records {start} to {end - 1}"
            if replica.broker in self._decisions.only_replicas:
                self._high_watermarks = HighWatermarks()
            replica.is_begun_here = True
        elif end == start and replica.stopped == _NEVER_LOADED:
            pass  # its disk may be a new one, on which that incarnation failed in the middle of creating the log
        elif replica.flushed is not None and end < replica.flushed:
            yield "load", f"a log that was flushed up to {replica.flushed} was loaded with log end offset {end}"
        elif was is not None:
            is_emptied = was < start == end <= (replica.furthest_start or 0) and reason != "clean"
            if is_emptied:
                pass  # it had begun anew below a log start that is checkpointed: recovery lets it begin there, empty
            elif end > was and (self._exact or (reason == "clean" and replica.stopped == "stop")):
                yield "load", f"a log that ended at {was} was loaded with log end offset {end}"
            elif end < was and reason == "clean" and replica.stopped == "stop":
                yield "load", f"a log that ended at {was} was loaded with log end offset {end} after a clean stop"
            elif end < was and self._exact and replica.stopped == "kill" and not replica.is_cut:
                yield "load", f"a log that ended at {was} was loaded with log end offset {end} after a kill"
            replica.log.extend(was, UNKNOWN)  # what lies behind that was not reported
        replica.starts_at(start)
        replica.log.cut(end)
        replica.end, replica.end_row = end, event["row"]
        if reason == "clean" and replica.stopped == "stop":
            replica.flushed = end
        elif replica.flushed is not None:
            replica.flushed = min(replica.flushed, end)
        replica.loaded_in, replica.is_cut = event["incarnation"], False

    def _cut(self, replica: Replica, _event: Event) -> Broken:
        replica.is_cut = True
        yield from ()

    def _flush(self, replica: Replica, event: Event) -> Broken:
        replica.flushed = max(event["offset"], replica.flushed or 0)  # perhaps before the append itself is reported
        yield from ()

    def _remove(self, replica: Replica, _event: Event) -> Broken:
        replica.forget_log()
        replica.role, replica.leader_epoch = "none", None
        yield from ()

    def _append(self, replica: Replica, event: Event) -> Broken:
        start, end, epoch, role = event["offset"], event["end_offset"], event["leader_epoch"], event["reason"]
        if end <= start:
            yield "append", f"an append of [{start}, {end})"
        if replica.end is not None and (start < replica.end or (start > replica.end and not self._compacted)):
            yield "append", f"an append at offset {start}"
        if replica.role not in ("unknown", role):
            yield "append", f"an append as {role}"
        elif replica.leader_epoch is not None and replica.leader_epoch != epoch:
            yield "append", f"an append as {role} in leader epoch {epoch}"
        elif role == "leader":
            yield from self._one_leader(event, f"an append of [{start}, {end})")
        led = self._led.get(epoch)
        if role == "leader":
            replica.log.extend(start, epoch)
            if led is not None:
                led.end = end
        else:
            yield from self._append_of_leader(replica, led, start, end, epoch)
            if led is None or led.log is None:
                replica.log.extend(start, UNKNOWN)
            else:
                replica.log.extend_from(led.log, start, end)
            replica.fetches_up_to(end, epoch)
            if led is not None:
                replica.high_watermark = max(led.high_watermark_known_at(end), replica.high_watermark or 0)
        replica.end, replica.end_row = end, event["row"]

    def _append_of_leader(self, replica: Replica, led: Led | None, start: int, end: int, epoch: int) -> Broken:
        if led is None or led.log is None:
            return
        if self._exact and end > led.end:
            yield (
                "append-of-leader",
                f"an append of [{start}, {end}), but the leader of epoch {epoch}, broker {led.broker}, had log end"
                f" offset {led.end}",
            )
        elif not self._compacted:
            mine, its = replica.log.at(start - 1), self._epoch_of_leader(led, start - 1)
            if UNKNOWN not in (mine, its) and mine != its:
                yield (
                    "log-matching",
                    f"an append behind record {start - 1} of epoch {mine}, which is of epoch {its} in the log of broker"
                    f" {led.broker}, the leader of epoch {epoch}",
                )

    def _epoch_of_leader(self, led: Led, offset: int) -> int:
        """Epoch of the leader's record at ``offset``; −1 if that is not known, or the leader has deleted it."""
        start = self._replicas[led.broker].start
        return UNKNOWN if start is not None and offset < start else led.epoch_at(offset)

    def _truncate(self, replica: Replica, event: Event) -> Broken:
        to, end, epoch = event["offset"], event["end_offset"], event["leader_epoch"]
        if replica.role not in ("unknown", "follower"):
            yield "truncate", f"a truncation to {to} as {replica.role}"
        elif None not in (replica.leader_epoch, epoch) and replica.leader_epoch != epoch:
            yield "truncate", f"a truncation to {to} in leader epoch {epoch}"
        if (replica.end is not None and end != replica.end) or (to > end and event["reason"] != "restart-at"):
            yield "truncate", f"a truncation from {end} to {to}"
        led = self._led.get(epoch)
        may_truncate = replica.role in ("unknown", "follower") and event["reason"] != "restart-at"
        if led is not None and may_truncate and to < end and not self._compacted:
            mine, its = replica.log.at(to), self._epoch_of_leader(led, to)
            if UNKNOWN not in (mine, its) and mine == its:
                yield (
                    "truncate-diverging",
                    f"a truncation from {end} to {to}, but record {to} of epoch {mine} was that of broker {led.broker},"
                    f" the leader of epoch {epoch}",
                )
        if event["reason"] == "restart-at":
            yield from self._restart_at(replica, led, to)
            replica.fetches_up_to(to, epoch)
            replica.starts_at(to)
        elif replica.start is not None:
            replica.starts_at(min(to, replica.start))
        replica.log.cut(to)
        if replica.high_watermark is not None:
            replica.high_watermark = min(replica.high_watermark, to)
        if replica.flushed is not None:
            replica.flushed = min(replica.flushed, to)
        replica.end, replica.end_row = to, event["row"]

    def _restart_at(self, replica: Replica, led: Led | None, to: int) -> Broken:
        """A follower begins again where its leader's log starts: what lies before is deleted there. One that cuts its
        log back to below its own log start begins there, as Kafka's does (after an unclean election)."""
        if replica.start is not None and to < replica.start:
            return
        if led is None or not self._exact:
            return
        start = self._replicas[led.broker].start
        if start is not None and to > start:
            yield (
                "truncate",
                f"the log begins again at {to}, but that of broker {led.broker}, the leader of epoch"
                f" {replica.leader_epoch}, starts at {start}",
            )

    def _move_start(self, replica: Replica, event: Event) -> Broken:
        to = event["end_offset"]
        if replica.start is not None and to <= replica.start:
            yield "log-start", f"the log start moved to {to}"
        elif replica.end is not None and to > replica.end:
            yield "log-start", f"the log start moved to {to}, behind the log end offset"
        elif replica.role == "leader" and replica.high_watermark is not None and to > replica.high_watermark:
            yield "log-start", f"the log start moved to {to}, beyond the high watermark"
        replica.starts_at(to)

    # --- its role -------------------------------------------------------------------------------------------------

    def _take_role(self, replica: Replica, event: Event) -> Broken:
        """What the two roles have in common."""
        epoch, end, high_watermark = event["leader_epoch"], event["end_offset"], event["offset"]
        if replica.leader_epoch is not None and epoch < replica.leader_epoch:
            yield "role", f"a role in leader epoch {epoch}"
        if replica.end is not None and end != replica.end:
            yield "role-keeps-log", f"a new role with log end offset {end}"
        if high_watermark > end:
            yield "role-keeps-log", f"a new role with high watermark {high_watermark} and log end offset {end}"
        if self._exact and replica.is_begun_here and high_watermark > self._high_watermark:
            yield (
                "follower-high-watermark",
                f"a new role with high watermark {high_watermark}, but no leader had moved it beyond"
                f" {self._high_watermark}",
            )
        known = replica.high_watermark if replica.role == "follower" else None
        if known is not None and high_watermark < known:
            yield (
                "follower-high-watermark",
                f"a new role with high watermark {high_watermark}, but the leader of epoch {replica.leader_epoch} had"
                f" sent one of {known} at least",
            )

    def _lead(self, replica: Replica, event: Event) -> Broken:
        epoch, end = event["leader_epoch"], event["end_offset"]
        yield from self._take_role(replica, event)
        decided = self._decisions.by_partition_epoch.get(event["partition_epoch"])
        if decided is not None:
            role = (replica.broker, epoch, sorted(event["isr"]))
            if role != (decided.leader, decided.leader_epoch, sorted(decided.isr)):
                yield (
                    "role",
                    f"a leadership in leader epoch {epoch} with the ISR {event['isr']}, but partition epoch"
                    f" {event['partition_epoch']} has leader {decided.leader} in leader epoch"
                    f" {decided.leader_epoch} and the ISR {decided.isr}",
                )
        elif self._exact and self._decisions.lacks(event["partition_epoch"]):
            yield "role", f"a leadership of partition epoch {event['partition_epoch']}, which nobody decided"
        yield from self._one_leader(event, "a leadership")
        led = self._led.get(epoch)
        for member in self._replicas.values():  # its followers take over what it has now, as Kafka's do
            if member.leader_epoch == epoch and member.high_watermark is not None:
                member.high_watermark = min(member.high_watermark, event["offset"])
        replica.role, replica.leader_epoch = "leader", epoch
        replica.partition_epoch, replica.isr, replica.open = event["partition_epoch"], tuple(event["isr"]), None
        replica.high_watermark, replica.committed = event["offset"], None
        replica.log.cut(end)
        snapshot = None if led is not None else replica.log.copy()  # a leader that returns may have lost records
        if snapshot is not None:
            snapshot.extend(end, epoch)
        self._led[epoch] = Led(replica.broker, snapshot, end, end, event["row"])
        replica.end, replica.end_row, replica.role_row = end, event["row"], event["row"]

    def _one_leader(self, event: Event, what: str) -> Broken:
        epoch = event["leader_epoch"]
        leader = self._leaders.append(epoch, Claim(event["node"], event["incarnation"]))
        if leader is not None:
            yield "one-leader", f"{what} in leader epoch {epoch}, which {leader.node.replace('-', ' ')} had led"

    def _follow(self, replica: Replica, event: Event) -> Broken:
        epoch, end, leader = event["leader_epoch"], event["end_offset"], event["leader"]
        yield from self._take_role(replica, event)
        decided = self._decisions.leader_of.get(epoch)
        if decided is not None and leader not in {NO_LEADER, *decided}:
            yield "role", f"broker {leader} is followed in leader epoch {epoch}, led by {sorted(decided)}"
        replica.role, replica.leader, replica.leader_epoch = "follower", leader, epoch
        replica.partition_epoch = replica.isr = replica.open = replica.high_watermark = None
        led = self._led.get(epoch)
        replica.fetches_up_to(end if led is None or led.log is None else replica.log.common_end(led.log, end), epoch)
        replica.end, replica.end_row, replica.role_row = end, event["row"], event["row"]

    # --- a leader -------------------------------------------------------------------------------------------------

    def _as_leader(self, replica: Replica, event: Event, rule: str, what: str) -> Broken:
        if replica.role not in ("unknown", "leader"):
            yield rule, f"{what} as {replica.role}"
        elif replica.leader_epoch is not None and replica.leader_epoch != event["leader_epoch"]:
            yield rule, f"{what} in leader epoch {event['leader_epoch']}"

    def _commit(self, replica: Replica, event: Event) -> Broken:
        start, end = event["offset"], event["end_offset"]
        yield from self._as_leader(replica, event, "commit", f"[{start}, {end}) was committed")
        if replica.end is not None and end > replica.end:
            yield "commit", f"[{start}, {end}) was committed, beyond the log end offset"
        if not self._compacted:
            if replica.committed is not None and start != replica.committed:
                yield "commit", f"[{start}, {end}) was committed, after what ends at {replica.committed}"
            mine = replica.log.at(start)
            if UNKNOWN not in (mine, event["epoch"]) and mine != event["epoch"]:
                yield "commit", f"[{start}, {end}) was committed as of epoch {event['epoch']}, and is of epoch {mine}"
        replica.committed = end

    def _move_high_watermark(self, replica: Replica, event: Event) -> Broken:
        to, epoch = event["offset"], event["leader_epoch"]
        what = f"the high watermark moved to {to}"
        yield from self._as_leader(replica, event, "high-watermark", what)
        before = self._move(Move(epoch, to, event["row"]))
        if replica.high_watermark is not None and to <= replica.high_watermark:
            yield "high-watermark", what
        elif before is not None and self._exact:
            yield (
                "high-watermark",
                f"{what}, though a leader of epoch {before.leader_epoch} moved it to {before.offset}",
            )
        if before is not None:
            self._high_watermarks = HighWatermarks()
        if replica.end is not None and to > replica.end:
            yield "high-watermark", f"{what}, beyond the log end offset"
        elif replica.isr is not None and replica.role == "leader":
            if self._is_under_min_isr(replica, event):
                yield "high-watermark-min-isr", f"{what}{replica.promise_told}"
            if self._exact:
                members = {*replica.isr, *(replica.open or ())} - {replica.broker}
                for behind in self._behind(members, epoch, to):
                    yield "high-watermark-isr", f"{what}, but {behind}"
        replica.high_watermark = to
        led = self._led.get(epoch)
        if led is not None:
            led.extend([led.end], [to])
        self._high_watermark = max(self._high_watermark, to)

    def _move(self, move: Move) -> Move | None:
        since = max((one for one in self._decisions.breaks if one <= move.leader_epoch), default=-1)
        return self._high_watermarks.move(move, since)

    def _behind(self, brokers: set[int], epoch: int, offset: int) -> Iterator[str]:
        """Yield a clause for each broker that has not fetched up to ``offset`` in leader epoch ``epoch``."""
        for broker in sorted(brokers):
            member = self._replicas.get(broker)
            if member is not None and member.end is not None and member.reached.get(epoch, -1) < offset:
                how_far = f"fetched up to {member.reached[epoch]}" if epoch in member.reached else "not fetched"
                yield f"broker {broker} had {how_far} in leader epoch {epoch}"

    def _propose(self, replica: Replica, event: Event) -> Broken:
        isr, epoch, known = tuple(event["isr"]), event["leader_epoch"], replica.partition_epoch
        what = f"the ISR {list(isr)} was proposed"
        yield from self._as_leader(replica, event, "proposal", what)
        if self._decisions.of_others and known is not None and event["partition_epoch"] < known:
            return  # said late, or sent again
        if known is not None and event["partition_epoch"] != known:
            yield "proposal", f"{what}, based on partition epoch {event['partition_epoch']}"
        if replica.open is not None and not self._decisions.of_others:
            yield "proposal", f"{what} while one was under way"
        if replica.broker not in isr:
            yield "proposal", f"{what} without the leader"
        led = self._led.get(epoch)
        if replica.isr is not None:
            if set(isr) == set(replica.isr):
                yield "proposal", f"{what}, which is the present one"
            if self._exact and led is not None and replica.high_watermark is not None:
                least = max(replica.high_watermark, led.start)
                for behind in self._behind(set(isr) - set(replica.isr), epoch, least):
                    yield "proposal-caught-up", f"{what}, but {behind}, which began at {led.start}"
        replica.open = isr

    def _end_proposal(self, replica: Replica, event: Event) -> Broken:
        reason, isr = event["reason"], event["isr"]
        what = f"a proposal ended as {reason} with the ISR {isr}"
        is_not_sent = reason == _NOT_SENT and self._decisions.of_others
        if reason not in _PROPOSAL_ENDS and not is_not_sent:
            yield "proposal-end", what
        if replica.open is not None and reason == "committed" and set(isr) != set(replica.open):
            yield "proposal-end", what
        if reason == "INELIGIBLE_REPLICA" and not self._decisions.is_zookeeper and replica.partition_epoch is not None:
            base = (replica.broker, event["leader_epoch"], replica.partition_epoch)
            if base not in self._decisions.refused:
                yield "proposal-end", f"{what}, but no controller had refused it"
        if reason != "INELIGIBLE_REPLICA" and not is_not_sent:
            if replica.partition_epoch is not None and event["partition_epoch"] <= replica.partition_epoch:
                yield "proposal-end", f"{what} at partition epoch {event['partition_epoch']}"
            yield from self._decided(event, what)
        replica.open = None
        replica.isr, replica.partition_epoch = tuple(isr), event["partition_epoch"]

    def _take_isr(self, replica: Replica, event: Event) -> Broken:
        what = f"the ISR {event['isr']} was taken over"
        if replica.partition_epoch is not None and event["partition_epoch"] < replica.partition_epoch:
            yield "role", f"{what} of partition epoch {event['partition_epoch']}"
        yield from self._decided(event, what)
        replica.isr, replica.partition_epoch = tuple(event["isr"]), event["partition_epoch"]

    def _decided(self, event: Event, what: str) -> Broken:
        decided = self._decisions.by_partition_epoch.get(event["partition_epoch"])
        if decided is not None and sorted(decided.isr) != sorted(event["isr"]):
            yield (
                "proposal-end",
                f"{what}, but partition epoch {event['partition_epoch']} has the ISR {decided.isr}",
            )
        elif decided is None and self._exact and self._decisions.lacks(event["partition_epoch"]):
            yield "proposal-end", f"{what} at partition epoch {event['partition_epoch']}, which nobody decided"

    def _set_min_isr(self, replica: Replica, event: Event) -> Broken:
        replica.min_isr = event["min_isr"]
        yield from ()

    def _is_under_min_isr(self, replica: Replica, event: Event) -> bool:
        replicas = self._decisions.replicas_at.get(replica.partition_epoch)
        replica.promised_min_isr = self._promises.min_isr(event["time_ns"], replicas)
        least = replica.least_in_sync
        return replica.isr is not None and least is not None and too_few_in_sync(replica.isr, (), least) is not None

    def _acknowledge(self, replica: Replica, event: Event) -> Broken:
        start, end = event["offset"], event["end_offset"]
        what = f"[{start}, {end}) was acknowledged"
        if replica.offline_since != event["time_ns"]:
            yield from self._as_leader(replica, event, "acknowledge", what)
        too_few = f" with the ISR {list(replica.isr or ())}{replica.promise_told}"
        under = too_few if self._is_under_min_isr(replica, event) else ""
        wrong = wrong_acknowledgement(replica, self._decisions, event, under=under, exact_order=self._exact)
        for clause in islice(wrong, 1):  # one wrong step is one refusal
            yield "acknowledge", what + clause

    def _answer_deletion(self, replica: Replica, event: Event) -> Broken:
        to = event["offset"]
        what = f"the deletion of what is below {to} was answered"
        yield from self._as_leader(replica, event, "records-deleted", what)
        if self._exact:
            for broker in event["replicas"]:
                member = self._replicas.get(broker)
                if member is not None and member.furthest_start is not None and member.furthest_start < to:
                    yield (
                        "records-deleted",
                        f"{what}, but the log of broker {broker} started at {member.furthest_start}",
                    )
