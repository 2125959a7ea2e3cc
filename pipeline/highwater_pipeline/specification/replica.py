"""What the specification knows of one replica. ``None`` stands for what is not known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from highwater_pipeline.specification.lineage import Lineage

Role = Literal["unknown", "none", "leader", "follower"]


@dataclass(slots=True)
class Replica:
    """``high_watermark``: of a leader, what it has reported; of a follower, what it must have taken over at least.
    ``reached``: by leader epoch, how far this replica has been able to fetch from its leader. ``open``: the ISR that it
    has proposed as leader. ``loaded_in``: the incarnation that reported its log last; ``stopped``: how that ended.
    ``offline_since``: when its log failed while it led; in that moment it still acknowledges what passed its high
    watermark just before. ``furthest_start``: the highest log start offset that it has had, as a power loss may undo
    the last move of it; known of a log that was created here. ``is_begun_here``: the log was created for this topic.
    (Without topic ids it may be what a deleted topic of the same name left, with its high watermark.) ``is_cut``:
    recovery has cut it since it was loaded last. ``flushed``: below which offset its log is durable, so that no
    stop takes it away. ``promised_min_isr``: what the experiment set, at most the number of replicas.
    ``end_row`` and ``role_row``: the events that show the log's end and the role."""

    broker: int
    incarnation: int = 0
    role: Role = "unknown"
    leader: int | None = None
    leader_epoch: int | None = None
    partition_epoch: int | None = None
    isr: tuple[int, ...] | None = None
    open: tuple[int, ...] | None = None
    min_isr: int | None = None
    promised_min_isr: int | None = None
    start: int | None = None
    furthest_start: int | None = None
    end: int | None = None
    flushed: int | None = None
    high_watermark: int | None = None
    committed: int | None = None
    log: Lineage = field(default_factory=Lineage)
    reached: dict[int, int] = field(default_factory=dict)
    offline_since: int | None = None
    is_begun_here: bool = False
    is_cut: bool = False
    loaded_in: int = 0
    stopped: str = ""
    end_row: int | None = None
    role_row: int | None = None

    @property
    def least_in_sync(self) -> int | None:
        """How many must be in sync, by what it reported and by what the experiment set."""
        return max((one for one in (self.min_isr, self.promised_min_isr) if one is not None), default=None)

    @property
    def promise_told(self) -> str:
        """A clause that says what the experiment set, if the replica does not obey that."""
        if self.promised_min_isr is None or self.promised_min_isr == self.min_isr:
            return ""
        return f"; the experiment sets min.insync.replicas {self.promised_min_isr}, it reported {self.min_isr}"

    def restart(self, incarnation: int) -> None:
        """Begin a new incarnation: only the log is left of what was."""
        self.incarnation = incarnation
        self.role = "unknown"
        self.leader_epoch = self.partition_epoch = self.isr = self.open = self.high_watermark = None
        self.min_isr = self.promised_min_isr = None

    def starts_at(self, offset: int) -> None:
        """The log starts at ``offset`` from now on."""
        self.start = offset
        self.log.forget_below(offset)
        if self.is_begun_here:
            self.furthest_start = max(offset, self.furthest_start or 0)

    def fetches_up_to(self, offset: int, epoch: int) -> None:
        """It has what its leader in leader epoch ``epoch`` has below ``offset``."""
        self.reached[epoch] = max(offset, self.reached.get(epoch, 0))

    def forget_log(self) -> None:
        """Nothing is known of the log from now on."""
        self.start = self.furthest_start = self.end = self.flushed = self.high_watermark = None
        self.log = Lineage()
        self.is_begun_here = False

    def to_dict(self) -> dict[str, Any]:
        """The state as an example shows it; what is not known is left out."""
        known = {
            "broker": self.broker,
            "role": self.role,
            "leader_epoch": self.leader_epoch,
            "partition_epoch": self.partition_epoch,
            "isr": None if self.isr is None else list(self.isr),
            "proposed_isr": None if self.open is None else list(self.open),
            "min_isr": self.min_isr,
            "promised_min_isr": None if self.promised_min_isr == self.min_isr else self.promised_min_isr,
            "log_start_offset": self.start,
            "log_end_offset": self.end,
            "flushed": self.flushed,
            "high_watermark": self.high_watermark,
            "epochs": [list(entry) for entry in zip(self.log.epochs, self.log.starts, strict=True)][-5:],
        }
        return {name: value for name, value in known.items() if value is not None}
