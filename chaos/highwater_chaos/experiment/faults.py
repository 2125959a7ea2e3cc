"""The faults an experiment can inject, as data. What each does to a cluster is in ``highwater_chaos.faults``."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from highwater_chaos.experiment.base import Model, OneOf
from highwater_chaos.experiment.targets import Target, Victims
from highwater_chaos.experiment.units import Duration

RestartAfter = Annotated[
    Duration | None,
    Field(description="Started again after so long (a duration such as 2s); absent: when the fault is healed."),
]
"""When a node that a fault has stopped comes back."""


class PowerLoss(Model):
    """Hard reboot: the page cache is lost, peers hear nothing. ``keep`` says what survives of unsynced writes
    (nothing, a prefix, or torn pages; drawn by the seed where absent); ``wipe`` replaces the disk as well."""

    target: Victims
    keep: Annotated[
        Literal["none", "prefix", "torn"] | None,
        Field(description="What survives of unsynced writes; absent: drawn by the seed."),
    ] = None
    wipe: Annotated[bool, Field(description="The disk is replaced by an empty one, too.")] = False
    restart_after: RestartAfter = None


class Kill(Model):
    """SIGKILL: the process is gone at once, the page cache stays."""

    target: Victims
    restart_after: RestartAfter = None


class Stop(Model):
    """SIGTERM: controlled shutdown."""

    target: Victims
    restart_after: RestartAfter = None


class Restart(Model):
    """Clean restart of each target in turn, the next once the one before is back (rolling)."""

    target: Victims


class DiskWipe(Model):
    """The disk is replaced by an empty one under a stopped node, which is then started again."""

    target: Victims
    restart_after: RestartAfter = None


class DiskFull(Model):
    """Every write that needs space fails with ENOSPC."""

    target: Victims


class DiskError(Model):
    """Reads and writes fail with EIO."""

    target: Victims


class DiskStall(Model):
    """Flushes do not complete until healed."""

    target: Victims


class Pause(Model):
    """SIGSTOP, as a long garbage collection would; SIGCONT on heal."""

    target: Victims


class SessionExpiry(Model):
    """The broker's session with the controller expires although the broker lives."""

    target: Victims


class Partition(OneOf):
    """Messages between groups of nodes are lost. ``between`` two groups, ``isolate`` nodes from all others, or a
    ``shape``: ``halves``; ``majoritiesRing`` (each node sees a majority, no two the same); ``bridge`` (two halves
    that share one node). ``direction`` cuts one way only: ``aToB`` from the first group to the second."""

    between: Annotated[
        list[Target | list[Target]] | None,
        Field(min_length=2, max_length=2, description="Two groups, each a target or a list of targets: {broker: 0}."),
    ] = None
    isolate: Annotated[Target | None, Field(description="These nodes, from all others.")] = None
    shape: Annotated[
        Literal["halves", "majoritiesRing", "bridge"] | None,
        Field(description="Of the whole cluster, with the seed: who is cut from whom."),
    ] = None
    direction: Annotated[
        Literal["both", "aToB", "bToA"], Field(description="Which way messages are lost, where there are two sides.")
    ] = "both"

    @classmethod
    def common(cls) -> frozenset[str]:
        """The direction stands beside the choice."""
        return frozenset({"direction"})

    @model_validator(mode="after")
    def _one_way_needs_sides(self) -> Self:
        if self.shape is not None and self.direction != "both":
            raise PydanticCustomError(
                "direction",
                "direction {found} needs between or isolate: a shape has no sides",
                {"found": self.direction},
            )
        return self


class _OnMessages(Model):
    """Which messages: those of one RPC (Kafka's name, ``AlterPartition``), from and to whom, requests or responses."""

    rpc: Annotated[
        str,
        Field(
            min_length=1, max_length=60, description="The RPC by its name in Kafka, such as AlterPartition or Fetch."
        ),
    ]
    from_: Annotated[Target | None, Field(alias="from", description="Its client; absent: any node.")] = None
    to: Annotated[Target | None, Field(description="Its server; absent: any node.")] = None
    of: Annotated[Literal["request", "response"], Field(description="Which of its messages.")] = "request"


class Hold(_OnMessages):
    """Messages are kept back and delivered, in order, on heal."""


class Drop(_OnMessages):
    """Messages are lost; the connection breaks as a lost segment without retransmission would break it."""


class Delay(_OnMessages):
    """Messages arrive later by ``by``."""

    by: Annotated[Duration, Field(description="How much later. A duration such as 500ms.")]


class Duplicate(_OnMessages):
    """Requests arrive twice, as retries do."""


class ClockSkew(Model):
    """The target's clock runs at ``rate`` times real time and its wall clock is off by ``offset``."""

    target: Victims
    rate: Annotated[
        float, Field(gt=0, le=100, strict=False, description="Seconds of its clock in a second of real time.")
    ] = 1.0
    offset: Annotated[Duration, Field(description="How far ahead its wall clock is. A duration such as 90s.")] = 0


class Inject(OneOf):
    """One fault. Without ``for`` it lasts until healed by ``name`` or by the schedule's end."""

    name: Annotated[
        str | None,
        Field(
            pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
            max_length=63,
            description="By which heal and caught refer to it: lower-case letters, digits, dashes.",
        ),
    ] = None
    for_: Annotated[
        Duration | None,
        Field(
            alias="for",
            description="A duration such as 20s; absent: it lasts until healed by name, or until the schedule ends.",
        ),
    ] = None
    power_loss: PowerLoss | None = None
    kill: Kill | None = None
    stop: Stop | None = None
    restart: Restart | None = None
    disk_wipe: DiskWipe | None = None
    disk_full: DiskFull | None = None
    disk_error: DiskError | None = None
    disk_stall: DiskStall | None = None
    pause: Pause | None = None
    session_expiry: SessionExpiry | None = None
    partition: Partition | None = None
    hold: Hold | None = None
    drop: Drop | None = None
    delay: Delay | None = None
    duplicate: Duplicate | None = None
    clock_skew: ClockSkew | None = None

    @classmethod
    def common(cls) -> frozenset[str]:
        """Name and length stand beside the fault."""
        return frozenset({"name", "for_"})


FAULT_KINDS: tuple[str, ...] = tuple(
    field.alias or name for name, field in Inject.model_fields.items() if name not in Inject.common()
)
"""Every fault's name as files write it."""
