"""The leader-epoch cache: at which offset each leader epoch began in this log (KIP-101, KIP-279).

It answers "where does epoch e end here?", by which a follower finds the point where its log and the leader's part.

* Entries ascend strictly, in epoch and in start offset. A new entry removes those it contradicts (an epoch in which
  nothing was written leaves no trace).
* It is truncated with the log, at both ends, and again after loading: after a power loss the checkpoint may know epochs
  that the log has forgotten.
* Changes are made in memory, and the checkpoint is written later (``is_stale``). Batches carry their leader epoch, so
  what is missing in the checkpoint is made again from those that recovery reads. What it does not read lies below the
  recovery point: so **the checkpoint of a recovery point is written only once the epochs below it are durable**, and so
  is the marker of a clean shutdown. :class:`.manager.LogManager` sees to that. Kafka 4.0 writes each new epoch durably
  before it goes on and only leaves cutting for later (KAFKA-16541): a broker that becomes the leader of 3,000
  partitions waits for 6,000 fsyncs.

What a power loss may leave, and what loading makes of it:

=====================================================  ============================================================
the checkpoint                                         the cache
=====================================================  ============================================================
lacks epochs that have batches above recovery point    gets them from these batches
lacks an epoch without any batch                       lacks it too: no follower can have batches of it
has epochs at or behind the end of the log             loses them
has epochs of a tail that was cut and written again     loses those above the recovery point, which a truncation has
                                                       lowered before; the batches there tell what is right
is missing or makes no sense                           is made from the headers of all batches
=====================================================  ============================================================
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Final, NamedTuple

from highwater_runtime.log.checkpoints import LEADER_EPOCHS, encode_epochs, read_epochs
from highwater_runtime.log.errors import CorruptCheckpointError
from highwater_runtime.log.names import join
from highwater_runtime.log.write_behind import DiskTask, Replace
from highwater_runtime.ports.disk import Disk

UNDEFINED_EPOCH: Final = -1
UNDEFINED_OFFSET: Final = -1


class EpochEnd(NamedTuple):
    """The largest epoch not above the one asked for, and the offset at which it ends (exclusive); (−1, −1): unknown."""

    epoch: int
    end_offset: int


UNDEFINED: Final = EpochEnd(UNDEFINED_EPOCH, UNDEFINED_OFFSET)


class EpochCache:
    """Epochs and their start offsets, with a checkpoint file in the log's directory."""

    __slots__ = ("_disk", "_epochs", "_path", "_starts", "is_stale")

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._path = join(directory, LEADER_EPOCHS)
        self._epochs: list[int] = []
        self._starts: list[int] = []
        self.is_stale = False
        """Whether the checkpoint may say something else."""

    def load(self) -> bool:
        """Read the checkpoint. False where there is none, or none that can be read: rebuild it from the log."""
        try:
            entries = read_epochs(self._disk, self._path)
        except CorruptCheckpointError:
            entries = None
        self._epochs = [epoch for epoch, _ in entries or ()]
        self._starts = [start for _, start in entries or ()]
        return entries is not None

    @property
    def entries(self) -> list[tuple[int, int]]:
        """(epoch, start offset), ascending."""
        return list(zip(self._epochs, self._starts, strict=True))

    @property
    def latest_epoch(self) -> int:
        """The last epoch of which this log knows; −1: none."""
        return self._epochs[-1] if self._epochs else UNDEFINED_EPOCH

    def assign(self, epoch: int, start_offset: int) -> bool:
        """``epoch`` began at ``start_offset``. Entries that contradict it go. Returns whether anything changed."""
        epochs, starts = self._epochs, self._starts
        if epochs and epochs[-1] == epoch and starts[-1] <= start_offset:
            return False
        while epochs and (epochs[-1] >= epoch or starts[-1] >= start_offset):
            epochs.pop()
            starts.pop()
        epochs.append(epoch)
        starts.append(start_offset)
        self.is_stale = True
        return True

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEnd:
        """Where ``epoch`` ends here.

        The latest epoch ends at ``log_end_offset``. An epoch that this log never saw between two that it did gets the
        largest one below it and that one's end. An epoch older than all gets itself and the start of the first one
        known: nothing of it is here. A newer one than all, or −1, gets :data:`UNDEFINED`.
        """
        epochs = self._epochs
        if epoch == UNDEFINED_EPOCH or not epochs or epoch > epochs[-1]:
            return UNDEFINED
        if epoch == epochs[-1]:
            return EpochEnd(epoch, log_end_offset)
        higher = bisect_right(epochs, epoch)
        return EpochEnd(epochs[higher - 1] if higher else epoch, self._starts[higher])

    def epoch_of(self, offset: int) -> int:
        """The epoch in force at ``offset``; −1: before the first that is known."""
        index = bisect_right(self._starts, offset)
        return self._epochs[index - 1] if index else UNDEFINED_EPOCH

    def truncate_from_end(self, end_offset: int) -> bool:
        """Forget epochs that begin at or behind ``end_offset``; whether there were any."""
        changed = False
        while self._starts and self._starts[-1] >= end_offset:
            self._starts.pop()
            self._epochs.pop()
            changed = self.is_stale = True
        return changed

    def truncate_from_start(self, start_offset: int) -> bool:
        """Forget epochs that end at or before ``start_offset``; the one in force there now begins there."""
        keep = bisect_right(self._starts, start_offset) - 1
        if keep < 0 or (keep == 0 and self._starts[0] == start_offset):
            return False
        del self._starts[:keep], self._epochs[:keep]
        self._starts[0] = start_offset
        self.is_stale = True
        return True

    def clear(self) -> None:
        self._epochs.clear()
        self._starts.clear()
        self.is_stale = True

    def save_later(self, on_done: Callable[[OSError | None], None]) -> DiskTask:
        """A task that makes the present state durable."""
        entries = self.entries

        def done(error: OSError | None) -> None:
            if error is None:
                self.is_stale = self.entries != entries
            on_done(error)

        return Replace(self._path, lambda: encode_epochs(entries), done)
