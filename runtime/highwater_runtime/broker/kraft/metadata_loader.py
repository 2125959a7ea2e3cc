"""From committed metadata records to the image, and to what this broker has to do about it.

The broker replays the metadata log from its beginning each time it starts. On the way it passes through the whole past
of the cluster, also through epochs in which it led partitions; acting on any of that would be acting on old orders. So
nothing is published before the image holds the registration of *this* incarnation of the broker. From then on each
committed batch is published as soon as it is applied, and as a whole: a batch is atomic.
"""

from __future__ import annotations

from collections.abc import Callable

from highwater_runtime.broker.delta import Delta
from highwater_runtime.metadata import MetadataImage, differences, image_of
from highwater_runtime.wire.records_codec import decode_committed_record, decode_metadata_record


class MetadataLoader:
    """A :class:`~highwater_runtime.raft.RaftListener` without the interest in leaders.

    Args:
        may_publish: whether the image holds what must be there before anything is acted on.
        publish: called with the image and what changed; the first time with everything.
    """

    def __init__(
        self, may_publish: Callable[[MetadataImage], bool], publish: Callable[[MetadataImage, Delta], None]
    ) -> None:
        self.image = MetadataImage()
        self.applied_offset = -1
        """Last offset of the metadata log that is in :attr:`image`; −1 before the first."""
        self.published = False
        self._may_publish = may_publish
        self._publish = publish

    def on_commit(self, base_offset: int, records: list[bytes], last_offset: int) -> None:
        """Apply one committed batch, then publish it."""
        assert base_offset == self.applied_offset + 1, f"batch at {base_offset} after {self.applied_offset}"
        delta = Delta()
        for index, data in enumerate(records):
            delta.note(self.image.apply(decode_committed_record(data), base_offset + index))
        self.applied_offset = last_offset
        if self.published:
            self._publish(self.image, delta)
        else:
            self.try_first_publication()

    def on_load_snapshot(self, end_offset: int, records: list[bytes]) -> None:
        """Begin again with a snapshot, and publish how it differs from what was there."""
        before = self.image
        self.image = image_of([decode_metadata_record(data) for data in records], end_offset)
        self.applied_offset = end_offset - 1
        if self.published:
            delta = Delta()
            for change in differences(before, self.image):
                delta.note(change)
            self._publish(self.image, delta)
        else:
            self.try_first_publication()

    def try_first_publication(self) -> None:
        """Publish everything if that has not happened and may."""
        if not self.published and self._may_publish(self.image):
            self.published = True
            self._publish(self.image, Delta.everything(self.image))
