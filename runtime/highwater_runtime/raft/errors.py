"""Why an append was refused."""

from __future__ import annotations


class NotLeader(Exception):  # noqa: N818 - the field's word for it
    """This replica does not lead the quorum; ``leader_id`` is who does in ``epoch``, as far as it knows."""

    def __init__(self, leader_id: int | None, epoch: int) -> None:
        known = "none is known" if leader_id is None else f"node {leader_id} does"
        super().__init__(f"this replica does not lead epoch {epoch} of the quorum: {known}")
        self.leader_id = leader_id
        self.epoch = epoch
