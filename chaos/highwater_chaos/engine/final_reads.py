"""The phase *final*: producers finish, then a fresh reader drains every partition up to the HW, and all clients end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from highwater_chaos.backends.protocol import TimedEvent
from highwater_chaos.backends.view import ClusterView
from highwater_chaos.base.quantities import format_duration
from highwater_chaos.liveness.recovery import Recovery, Running
from highwater_chaos.run.load import Load
from highwater_runtime.ports import SECOND
from highwater_runtime.ports.trace import BecameLeader, LogAppended

_DRAIN_NS: Final = 60 * SECOND
_LONG_NS: Final = 24 * 3600 * SECOND
"""For what has a bound of its own."""
_END_NS: Final = 30 * SECOND
"""How long processes of clients may take to end once they have nothing left to do."""


class _End(NamedTuple):
    """Where a leader's log ends."""

    topic_id: str
    leader_epoch: int
    end_offset: int


class Uncommitted:
    """What leaders have appended and not committed, by node events: with ``acks=1`` such records are acknowledged, and
    final reads that begin before they are committed do not see them."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._ends: dict[str, _End] = {}
        """By partition: what its latest leader has. A topic that is created again begins anew."""

    def observe(self, events: Iterable[TimedEvent]) -> None:
        for timed in events:
            match timed.event:
                case BecameLeader() as led:
                    self._ends[led.partition] = _End(led.topic_id, led.leader_epoch, led.end_offset)
                case LogAppended(reason="leader") as appended:
                    end = self._ends.get(appended.partition)
                    if end is not None and end.leader_epoch == appended.leader_epoch:
                        self._ends[appended.partition] = end._replace(end_offset=appended.end_offset)
                case _:
                    pass

    def left(self) -> list[str]:
        """Partitions of which the present leader has not committed all."""
        return [
            one.partition
            for one in self._view.partitions.values()
            if (end := self._ends.get(one.partition)) is not None
            and (end.topic_id, end.leader_epoch) == (one.topic_id, one.leader_epoch)
            and end.end_offset > one.high_watermark
        ]


class FinalReads:
    """Of one run. ``load``: what producers were asked for, once they finish. ``cut_short``: whether records that are
    there may not have been read."""

    def __init__(self, run: Running, recovery: Recovery) -> None:
        self._run = run
        self._recovery = recovery
        self.load: Load | None = None
        self.cut_short = False
        self._uncommitted = Uncommitted(run.view)
        if run.experiment.spec.workload.acks == "1":
            run.view.followers.append(self._uncommitted.observe)

    def read_all(self) -> None:
        """Let producers finish, read all partitions, let all clients end."""
        run = self._run
        clients = run.clients
        self.load = self._load()
        clients.finish("producer")
        clients.finish("register")
        patience = run.experiment.spec.workload.delivery_timeout + run.experiment.spec.workload.request_timeout
        run.until(
            lambda: clients.idle("producer"),
            patience + SECOND,
            lambda: f"{clients.status().open} operations had no outcome when the run ended",
        )
        run.until(
            lambda: clients.idle("register"),
            patience,
            lambda: "operations on registers had no outcome when the run ended",
        )
        if run.experiment.spec.workload.producers or clients.status().offered:
            self._wait_for_commits()
            if written := self._written():
                clients.start_final_reader(written)
                self._drain()
            else:
                run.inconclusive_reasons.append("no topic that clients wrote to is there any more, so none can be read")
        clients.finish("consumer", "group-member")
        run.until(lambda: clients.idle("consumer"), _DRAIN_NS, lambda: "a consumer's last poll did not end")
        run.go_on(lambda: clients.idle("group-member"), min(run.backend.now_ns() + _DRAIN_NS, run.deadline_ns))
        self._end_clients()

    def _wait_for_commits(self) -> None:
        """Until followers have what was acknowledged without them; if they never do, that is ``unavailable``."""
        run, wait_ns = self._run, self._run.experiment.spec.recovery

        def left() -> list[str]:
            return [f"{name}: what its leader acknowledged was not committed" for name in self._uncommitted.left()]

        if not run.until(lambda: not left(), wait_ns, lambda: ", ".join(left())):
            self.cut_short = not self._recovery.is_readable()
            if not self.cut_short:
                self._recovery.unavailable(left, "final reads", wait_ns)

    def _written(self) -> list[str]:
        """The partitions that were written to and that are there."""
        return [name for name in self._run.view.partitions if self._run.clients.acknowledged_at(name) is not None]

    def _drain(self) -> None:
        """Let the final reader read all; add an inconclusive reason if it has read nothing more for a while."""
        clients, read, since = self._run.clients, 0, self._run.backend.now_ns()

        def is_over() -> bool:
            nonlocal read, since
            if clients.drained():
                return True
            if (now_read := clients.status().read) != read:
                read, since = now_read, self._run.backend.now_ns()
            return self._run.backend.now_ns() - since > _DRAIN_NS

        def left() -> str:
            return f"the final reads did not reach the high watermark: {clients.not_drained()}"

        if not self._run.until(is_over, _LONG_NS, left):
            self.cut_short = True
        elif not clients.drained():
            self._run.inconclusive_reasons.append(f"{left()} (nothing was read for {format_duration(_DRAIN_NS)})")
            self.cut_short = not self._recovery.is_readable()
            if not self.cut_short:
                self._recovery.unavailable(lambda: [left()], "final reads", _DRAIN_NS)

    def _end_clients(self) -> None:
        """Let processes of clients end, also past the run's time-out: what they did is in files then."""
        self._run.clients.end()
        if not self._run.clients.have_ended():
            self._run.scheduler.run(self._run.clients.have_ended, self._run.backend.now_ns() + _END_NS)
        if not self._run.clients.have_ended():
            self._run.inconclusive_reasons.append(f"a process of clients did not end within {format_duration(_END_NS)}")

    def _load(self) -> Load | None:
        """What producers were asked for and what came of it, up to now."""
        workload = self._run.experiment.spec.workload
        if not workload.producers:
            return None
        status, now = self._run.clients.status(), self._run.backend.now_ns()
        began = now if status.first_offered_ns is None else status.first_offered_ns
        return Load(
            asked_per_second=float(workload.rate),
            seconds=(now - began) / 1e9,
            offered=status.offered,
            held_back=status.held_back,
            acknowledged=status.acknowledged,
        )
