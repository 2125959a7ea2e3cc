"""Judges a run: what sessions were told, against the transactions that were committed.

``history`` is what the servers applied, by zxid. It is the truth about order; that all servers applied the same is
checked as they apply. What sessions submitted and were told is written down by the sessions themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from highwater_runtime.ports.coordination import (
    Aborted,
    Create,
    Created,
    Data,
    Failure,
    Multi,
    Operation,
    SessionEvent,
    Set,
    Stat,
    WatchEvent,
)
from highwater_runtime.zookeeper.state import Applied, CloseSession, EnsembleState, Transaction

APPLY = EnsembleState.apply
COUNTER, OWNER, LOG = "/counter", "/owner", "/log"


class ObjectionError(AssertionError):
    """A property that does not hold; its name comes first."""


def objects(name: str, what: str, *, unless: bool) -> None:
    if not unless:
        raise ObjectionError(f"{name}: {what}")


@dataclass
class SessionLog:
    """One session of one client: what it submitted (by number), and what it was told, in order."""

    client: str
    id: int = 0
    submitted: dict[int, Operation[Any]] = field(default_factory=dict)
    told: list[tuple[int, Any]] = field(default_factory=list)
    """A result with the number of its operation; a watch event or session event with −1."""
    watched: set[int] = field(default_factory=set)
    """Numbers of the reads that have set a watch."""

    @property
    def results(self) -> Iterator[tuple[Operation[Any], Any]]:
        for number, what in self.told:
            if number >= 0:
                yield self.submitted[number], what

    @property
    def has_expired(self) -> bool:
        return (-1, SessionEvent.EXPIRED) in self.told


class Referee:
    """Watches one run; :meth:`judge` at its end."""

    def __init__(self) -> None:
        self.history: dict[int, tuple[Transaction, Applied]] = {}
        self.sessions: list[SessionLog] = []

    def applied(self, transaction: Transaction, zxid: int, applied: Applied) -> None:
        """A server has applied a transaction."""
        known = self.history.setdefault(zxid, (transaction, applied))
        objects(
            "state machine safety", f"{zxid} is {known} here and {transaction} there", unless=known[0] == transaction
        )
        objects("state machine safety", f"{zxid} has different results", unless=known[1] == applied)

    def judge(self, states: list[EnsembleState]) -> None:
        self._all_servers_agree(states)
        self._no_acknowledged_write_is_lost(states[0])
        self._one_owner_at_a_time()
        self._versions_go_up_by_one()
        self._writes_stay_in_order()
        self._an_expired_session_is_expired_for_all()
        for session in self.sessions:
            self._never_back_in_zxid(session)
            self._events_come_before_the_news(session)

    def _in_order(self) -> list[tuple[int, Transaction, Any]]:
        return [(zxid, transaction, applied.result) for zxid, (transaction, applied) in sorted(self.history.items())]

    def _all_servers_agree(self, states: list[EnsembleState]) -> None:
        replayed = EnsembleState()
        for zxid, (transaction, _) in sorted(self.history.items()):
            APPLY(replayed, transaction, zxid)
        for state in states:
            objects("one state", "two servers differ", unless=state.snapshot() == replayed.snapshot())

    def _no_acknowledged_write_is_lost(self, state: EnsembleState) -> None:
        there = {path for path, _ in state.tree}
        for session in self.sessions:
            for operation, result in session.results:
                match operation, result:
                    case (Create(), Created(stat=Stat(mzxid=zxid))) | (Set(), Stat(mzxid=zxid)):
                        transaction, _ = self.history.get(zxid, (None, None))
                        kept = transaction is not None and transaction.action == operation
                        objects("acknowledged", f"{operation} is not what {zxid} is", unless=kept)
                for path in _logged_in(result):
                    objects("acknowledged", f"{path} is gone", unless=path in there)

    def _one_owner_at_a_time(self) -> None:
        """From a session's Created until that session's end, or a deletion, nobody else is told Created."""
        owner = 0
        acknowledged = {
            result.stat.czxid: session.id
            for session in self.sessions
            for operation, result in session.results
            if isinstance(result, Created) and result.path == OWNER
        }
        for zxid, transaction, result in self._in_order():
            match transaction.action:
                case CloseSession() if transaction.session == owner and not isinstance(result, Failure):
                    owner = 0
                case action if getattr(action, "path", "") == OWNER and result is None:
                    owner = 0
            if zxid in acknowledged:
                objects("one owner", f"{acknowledged[zxid]} at {zxid}, while {owner} is", unless=owner == 0)
                owner = acknowledged[zxid]

    def _versions_go_up_by_one(self) -> None:
        version = 0
        acknowledged = {
            result.mzxid: result.version
            for session in self.sessions
            for operation, result in session.results
            if isinstance(operation, Set) and isinstance(result, Stat)
        }
        for zxid, transaction, result in self._in_order():
            match transaction.action, result:
                case Set(), Stat():
                    version += 1
                case Multi(steps=steps), tuple():
                    version += sum(isinstance(step, Set) for step in steps)
            expected = acknowledged.get(zxid, version)
            objects("versions", f"{expected} at {zxid} after {version - 1}", unless=expected == version)

    def _writes_stay_in_order(self) -> None:
        """Writes of a session bear ascending numbers as their data."""
        last: dict[int, int] = defaultdict(lambda: -1)
        for zxid, transaction, result in self._in_order():
            steps = getattr(transaction.action, "steps", (transaction.action,))
            for step in steps:
                if isinstance(step, Create | Set) and step.data and not isinstance(result, Failure | Aborted):
                    number = int(step.data)
                    after = last[transaction.session]
                    objects("order", f"write {number} at {zxid} after {after}", unless=number > after)
                    last[transaction.session] = number

    def _an_expired_session_is_expired_for_all(self) -> None:
        closed: dict[int, int] = {}
        for zxid, transaction, result in self._in_order():
            if transaction.session in closed:
                end = closed[transaction.session]
                refused = result is Failure.SESSION_EXPIRED
                objects("expired for all", f"{transaction} at {zxid}, closed at {end}", unless=refused)
            elif isinstance(transaction.action, CloseSession):
                closed[transaction.session] = zxid
        for session in self.sessions:
            if session.has_expired:
                objects("expired by decision", f"{session.id} was not closed", unless=session.id in closed)

    def _never_back_in_zxid(self, session: SessionLog) -> None:
        newest = 0
        for operation, result in session.results:
            if operation.path == COUNTER and isinstance(result, Data | Stat):
                stat = result.stat if isinstance(result, Data) else result
                objects("never back", f"{stat.mzxid} after {newest}", unless=stat.mzxid >= newest)
                newest = stat.mzxid

    def _events_come_before_the_news(self, session: SessionLog) -> None:
        """While a watch on the counter waits, no read shows a newer one than that which it was set with."""
        shown_with: int | None = None
        for number, what in session.told:
            match what:
                case WatchEvent(path=path) if path == COUNTER:
                    shown_with = None
                case Data(stat=Stat(mzxid=mzxid)) if number >= 0 and session.submitted[number].path == COUNTER:
                    seen = shown_with is None or shown_with == mzxid
                    objects("event first", f"{mzxid} is shown, the watch was set at {shown_with}", unless=seen)
                    if number in session.watched:
                        shown_with = mzxid


def _logged_in(result: Any) -> list[str]:
    """Paths of the nodes for good that a write has made."""
    paths = [result.path] if isinstance(result, Created) else result if isinstance(result, tuple) else ()
    return [path for path in paths if isinstance(path, str) and path.startswith(f"{LOG}/")]
