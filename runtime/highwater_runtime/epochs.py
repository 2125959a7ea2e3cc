"""How far ahead an epoch may be that another node tells of: of the quorum, of a partition's leader, of a controller.

Epochs are 32-bit numbers that only go up, by one at an election. One request with the highest of them would end
elections for good: there is no next epoch. So what names an epoch more than :data:`MOST_AHEAD` above one's own is
refused, and changes nothing. Apache Kafka has no such bound. A node would have to miss a million elections to meet it.
"""

from __future__ import annotations

from typing import Final

MOST_AHEAD: Final = 1 << 20
LAST: Final = (1 << 31) - 1
"""The highest epoch that the protocol can carry. Whoever is in it stands for no election."""


def is_too_far(epoch: int, own: int) -> bool:
    """Return whether a node in epoch ``own`` (below 0: none yet) must refuse what names ``epoch``."""
    return epoch > max(own, 0) + MOST_AHEAD
