"""What a replica here is to be, and what the replica manager gets of the broker and asks of the mode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from highwater_runtime.broker.isr import OnAnswer, Proposal
from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.config import NodeConfig
from highwater_runtime.log.log import Log
from highwater_runtime.metadata import PartitionRegistration
from highwater_runtime.ports import Endpoint
from highwater_runtime.switches import Switches


class Role(NamedTuple):
    """What a replica here is to be. ``leader_at``: where its leader listened when the role was given; None for a leader
    that the metadata did not have, and for no leader."""

    topic: str
    state: PartitionRegistration
    leader_at: Endpoint | None


class IsrWriter(Protocol):
    """How a leader has its ISR changed."""

    def propose(self, key: PartitionKey, proposal: Proposal, on_answer: OnAnswer) -> None:
        """Ask for ``proposal``, on and on until it is answered; ``on_answer`` may want the same asked once more."""

    def withdraw(self, key: PartitionKey) -> None:
        """Forget a proposal of this partition that has not been sent. One under way cannot be called back."""


class LostLogs(Protocol):
    """What follows for the broker from a log that has failed."""

    def report(self, log: Log, partition: Partition | None) -> None:
        """Act on it: let the controller know, or end the broker. ``partition`` is over it, if there is one yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaManagerOptions:
    """Who this broker is and how it is configured. ``broker_epoch`` gives its present epoch, ``fetch_version`` the
    version of Fetch that followers send."""

    broker_id: int
    config: NodeConfig
    switches: Switches
    broker_epoch: Callable[[], int]
    fetch_version: Callable[[], int]
