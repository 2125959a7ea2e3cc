"""Who is the controller: an election on the ephemeral node ``/controller`` (Detailed Replication Design V3, D).

The document's election has no epoch, so nothing distinguishes a controller that was deposed while it was paused (a
*zombie*) from its successor. Kafka added one, as here: ``/controller`` is created in one transaction with an increment
of ``/controller_epoch``. So each epoch has one controller, and each of its writes carries a :attr:`Elected.guard`,
which fails once there is a newer epoch.

A candidate repeats one cycle until it knows the controller: read ``/controller`` with a watch; if there is none, read
the epoch and claim the next one. If the response to a claim is lost, the next cycle shows whether it succeeded: the
node is this session's own, or it is not. The cycle begins again when the watch ends and when the session is connected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from highwater_runtime.epochs import LAST
from highwater_runtime.ports.coordination import (
    Aborted,
    Check,
    Create,
    Created,
    Data,
    Failure,
    Get,
    Multi,
    Session,
    SessionEvent,
    Set,
    Stat,
    StepResult,
    WatchEvent,
)

CONTROLLER: Final = "/controller"
CONTROLLER_EPOCH: Final = "/controller_epoch"


@dataclass(frozen=True, slots=True)
class Elected:
    """This node is the controller of ``epoch``; ``version`` is that of ``/controller_epoch``."""

    epoch: int
    version: int

    @property
    def guard(self) -> Check:
        """The step that every multi of this controller begins with."""
        return Check(CONTROLLER_EPOCH, self.version)


class ControllerElection:
    """One node's candidacy within one session.

    Args:
        node_id: the data of ``/controller`` while this node is the controller.
        session: connected or not; its events must be passed on to :meth:`on_session_event`.
        on_elected: this node is the controller from now on.
        on_deposed: it is not any more: its session has ended, or its node was deleted.
    """

    def __init__(
        self,
        node_id: int,
        session: Session,
        on_elected: Callable[[Elected], None],
        on_deposed: Callable[[], None],
    ) -> None:
        self._node_id = node_id
        self._session = session
        self._on_elected = on_elected
        self._on_deposed = on_deposed
        self._cycle = 0
        self.elected: Elected | None = None
        """Set while this node takes itself for the controller. A zombie does, until it hears that its session has
        ended."""
        self.controller: int | None = None
        """The controller as this node last read it."""

    def on_session_event(self, event: SessionEvent) -> None:
        """Begin when the session is connected, and once more when it is connected again; give up when it has ended."""
        match event:
            case SessionEvent.CONNECTED:
                self._begin()
            case SessionEvent.SUSPENDED:
                self._cycle += 1
            case SessionEvent.EXPIRED:
                self._cycle += 1
                self._depose()

    def _begin(self) -> None:
        """Read who the controller is. Answers to an earlier cycle mean nothing from now on."""
        self._cycle += 1
        cycle = self._cycle

        self._session.submit(Get(CONTROLLER), lambda found: self._read(cycle, found), watch=self._begin_again(cycle))

    def _begin_again(self, cycle: int) -> Callable[[WatchEvent], None]:
        def ended(_: WatchEvent) -> None:
            if cycle == self._cycle:
                self._begin()

        return ended

    def _read(self, cycle: int, found: Data | Failure) -> None:
        if cycle != self._cycle:
            return
        key = self._session.key
        match found:
            case Data(data=data, stat=stat):
                self.controller = int(data)
                is_own = key is not None and stat.ephemeral_owner == key.id
                if not is_own:
                    self._depose()
                elif self.elected is None:
                    self._session.submit(Get(CONTROLLER_EPOCH), lambda epoch: self._adopt(cycle, epoch))
            case Failure.NO_NODE:
                self.controller = None
                self._depose()
                self._session.submit(Get(CONTROLLER_EPOCH), lambda epoch: self._claim(cycle, epoch))
            case _:
                pass  # the connection broke, or the session ended: its event says how to go on

    def _claim(self, cycle: int, epoch: Data | Failure) -> None:
        if cycle != self._cycle:
            return
        match epoch:
            case Data(data=data, stat=stat) if (last := _epoch_of(data)) is not None:
                claim = Multi(
                    steps=(
                        Create(CONTROLLER, b"%d" % self._node_id, ephemeral=True),
                        Set(CONTROLLER_EPOCH, b"%d" % (last + 1), stat.version),
                    )
                )
                self._session.submit(claim, lambda outcome: self._claimed(cycle, last + 1, outcome))
            case Data():  # nobody can be elected until somebody has written an epoch there
                self._session.submit(Get(CONTROLLER_EPOCH), lambda _: None, watch=self._begin_again(cycle))
            case Failure.NO_NODE:
                self._session.submit(Create(CONTROLLER_EPOCH, b"0"), lambda made: self._made_epoch(cycle, made))
            case _:
                pass

    def _made_epoch(self, cycle: int, made: Created | Failure) -> None:
        if cycle == self._cycle and (isinstance(made, Created) or made is Failure.NODE_EXISTS):
            self._begin()

    def _claimed(self, cycle: int, epoch: int, outcome: tuple[StepResult, ...] | Aborted | Failure) -> None:
        if cycle != self._cycle:
            return
        match outcome:
            case (_, Stat(version=version)):
                self._elect(Elected(epoch, version))
                self._begin()  # to hear of it if the node is deleted
            case Aborted():
                self._begin()
            case _:
                pass

    def _adopt(self, cycle: int, epoch: Data | Failure) -> None:
        """Take office: the node is this session's own, and no other session can raise the epoch while it exists."""
        if cycle == self._cycle and isinstance(epoch, Data) and (number := _epoch_of(epoch.data, LAST)) is not None:
            self._elect(Elected(number, epoch.stat.version))

    def _elect(self, elected: Elected) -> None:
        self.elected = elected
        self.controller = self._node_id
        self._on_elected(elected)

    def _depose(self) -> None:
        if self.elected is not None:
            self.elected = None
            self._on_deposed()


def _epoch_of(data: bytes, highest: int = LAST - 1) -> int | None:
    """The number in ``/controller_epoch``; None if there is none up to ``highest``."""
    return int(data) if data.isdigit() and len(data) <= len(str(LAST)) and int(data) <= highest else None
