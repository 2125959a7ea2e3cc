"""Which incarnation of a broker a message is from (KIP-903, KAFKA-15221).

A broker gets a new epoch each time it registers. The epoch that travels with a follower's Fetch (the *claimed* one)
therefore says which incarnation of that broker sent it; the *registered* one says which is in force.

* A replica whose claimed epoch is not the registered one may not join an ISR (KIP-903, Kafka 3.5). The leader applies
  this before it proposes an ISR and the controller before it persists one. Switch ``replica-epoch-check``.
* A Fetch whose claimed epoch is older than the registered one says nothing of the replica: its log may be gone since
  (KAFKA-15221, Kafka 3.7). Otherwise a Fetch that was delayed until the broker had lost its disk and rejoined the ISR
  would move the HW past what the broker has. Switch ``stale-fetch-check``.

Each switch acts in one of these functions and nowhere else.
"""

from __future__ import annotations

from typing import Final, Literal

UNKNOWN_BROKER_EPOCH: Final = -1
"""What a sender claims that does not know the epoch: Fetch below v15, AlterPartition below v3."""


def replica_epoch_matches(claimed: int, registered: int, check: Literal["on", "off"]) -> bool:
    """Return whether the incarnation that claims ``claimed`` is the one registered under ``registered``.

    −1 as ``claimed`` skips the comparison, as KIP-903 says, for mixed versions during an upgrade. So does −1 as
    ``registered``: in ZooKeeper mode brokers do not hear of each other's epochs.
    """
    return check == "off" or UNKNOWN_BROKER_EPOCH in (claimed, registered) or claimed == registered


def has_stale_epoch(claimed: int, registered: int, check: Literal["on", "off"]) -> bool:
    """Return whether a Fetch that claims ``claimed`` was sent before the broker registered under ``registered``.

    −1 as ``claimed`` (Fetch below v15) is never known to be old.
    """
    return check == "on" and UNKNOWN_BROKER_EPOCH != claimed < registered
