"""The rule of KIP-903: a replica with a stale broker epoch is not eligible to join the ISR.

A broker gets a new epoch each time it registers. The epoch that travels with a follower's Fetch (the *claimed* one)
therefore says which life of that broker caught up; the *registered* one says which life is in force. The leader
applies the rule before it proposes an ISR and the controller before it persists one. This function is the only place
where the switch ``replica-epoch-check`` acts.
"""

from __future__ import annotations

from typing import Final, Literal

UNKNOWN_BROKER_EPOCH: Final = -1
"""What a sender claims that does not know the epoch: Fetch below v15, AlterPartition below v3."""


def replica_epoch_matches(claimed: int, registered: int, check: Literal["on", "off"]) -> bool:
    """Whether the broker life that claims ``claimed`` is the one registered under ``registered``.

    −1 as ``claimed`` skips the comparison, as KIP-903 says, for mixed versions during an upgrade.
    """
    return check == "off" or claimed in (UNKNOWN_BROKER_EPOCH, registered)
