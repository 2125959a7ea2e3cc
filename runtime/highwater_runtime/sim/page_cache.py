"""One file as the kernel holds it: what the process reads, what is on the medium, and what lies between.

A file is its ``cache`` (all completed calls), its ``durable`` image (what fsync covered) and the ordered unsynced
operations that lead from the one to the other. A power loss replaces both by an image made of the durable one and
some of the operations; :func:`image_after_power_loss` is that rule and the only place where it is written down.
"""

from __future__ import annotations

from random import Random
from typing import Final, Literal

PAGE: Final = 4096
"""Bytes that reach the medium together, or not at all."""

Keep = Literal["none", "prefix", "torn", "all"]
"""What a power loss leaves of the unsynced operations."""

KEEPS: Final[tuple[Keep, ...]] = ("none", "prefix", "torn", "all")

Operation = tuple[int, bytes | None]
"""``(position, data)`` writes; ``(length, None)`` sets the length."""


class CachedFile:
    """The content of one inode."""

    __slots__ = ("cache", "durable", "first_operation", "fsync_at", "lost_pages", "operations")

    def __init__(self) -> None:
        self.cache = bytearray()
        self.durable = bytearray()
        self.operations: list[Operation] = []
        self.first_operation = 0
        """Number of operations that are not in the list any more; makes positions in it absolute."""
        self.fsync_at = 0
        """When the last fsync under way ends: those of one file end in order."""
        self.lost_pages = False
        """Whether an fsync has failed, so that the cache holds what will never reach the medium."""

    def write(self, position: int, data: bytes) -> None:
        """Write into the page cache."""
        self.operations.append((position, data))
        apply_operation(self.cache, position, data)

    def truncate(self, length: int) -> None:
        """Set the length in the page cache."""
        self.operations.append((length, None))
        apply_operation(self.cache, length, None)

    def end_of_operations(self) -> int:
        """The absolute number one past the last operation: what an fsync called now has to cover."""
        return self.first_operation + len(self.operations)

    def settle(self, end: int) -> None:
        """Make all operations before ``end`` (absolute) durable."""
        durable = self.durable
        for position, data in self._take(end):
            apply_operation(durable, position, data)

    def lose(self, end: int) -> None:
        """A failed fsync: Linux marks the pages clean although they never reached the medium, so that a later fsync
        reports success without them."""
        self.lost_pages = True
        self._take(end)

    def _take(self, end: int) -> list[Operation]:
        count = end - self.first_operation
        if count <= 0:
            return []
        operations = self.operations
        taken = operations[:count]
        del operations[:count]
        self.first_operation += len(taken)
        return taken

    def unsynced_bytes(self) -> int:
        """Bytes written since they were last made durable (overwritten ones count each time)."""
        return sum(len(data) for _, data in self.operations if data is not None)

    def lose_power(self, keep: Keep, random: Random) -> int:
        """Become what the medium holds; returns how many readable bytes are gone or different."""
        before = self.cache
        after = image_after_power_loss(self.durable, self.operations, keep, random)
        self.cache = after
        self.durable = bytearray(after)
        self.first_operation += len(self.operations)
        self.operations = []
        self.fsync_at = 0
        self.lost_pages = False
        return count_lost(before, after)


def apply_operation(image: bytearray, position: int, data: bytes | None) -> None:
    """Carry out one operation on ``image``; a gap before ``position`` reads as zeros."""
    size = len(image)
    if data is None:
        if position < size:
            del image[position:]
        else:
            image.extend(bytes(position - size))
    elif position == size:
        image += data
    else:
        if position > size and data:
            image.extend(bytes(position - size))
        image[position : position + len(data)] = data


def image_after_power_loss(durable: bytearray, operations: list[Operation], keep: Keep, random: Random) -> bytearray:
    """What a file holds after a power loss.

    ``none``: the durable image. ``all``: every operation. ``prefix``: the first few, the last of them perhaps only up
    to a page boundary. ``torn``: any subset of the dirty pages in their last state; the length is the old one, the
    new one or a page boundary between, and a page that was never written reads as zeros.
    """
    image = bytearray(durable)
    if keep == "none" or not operations:
        return image
    if keep == "prefix":
        count = random.randint(0, len(operations))
        for position, data in operations[:count]:
            apply_operation(image, position, data)
        if count < len(operations):
            _apply_up_to_page_boundary(image, operations[count], random)
        return image
    for position, data in operations:
        apply_operation(image, position, data)
    return image if keep == "all" else _torn(durable, image, operations, random)


def _apply_up_to_page_boundary(image: bytearray, operation: Operation, random: Random) -> None:
    position, data = operation
    if data is None:
        return
    boundaries = range(-(-(position + 1) // PAGE) * PAGE, position + len(data), PAGE)
    if boundaries and random.random() < 0.5:
        apply_operation(image, position, data[: random.choice(boundaries) - position])


def _torn(durable: bytearray, complete: bytearray, operations: list[Operation], random: Random) -> bytearray:
    dirty: set[int] = set()
    for position, data in operations:
        if data:
            dirty.update(range(position // PAGE, (position + len(data) - 1) // PAGE + 1))
    shorter, longer = sorted((len(durable), len(complete)))
    boundaries = range(-(-(shorter + 1) // PAGE) * PAGE, longer, PAGE)
    sizes = [len(durable), len(complete)]
    if boundaries:
        sizes.append(random.choice(boundaries))
    size = random.choice(sizes)
    image = durable[:size]
    image.extend(bytes(size - len(image)))
    for page in sorted(dirty):
        if random.random() < 0.5:
            start = page * PAGE
            end = min(start + PAGE, size, len(complete))
            if start < end:
                image[start:end] = complete[start:end]
    return image


def count_lost(before: bytearray, after: bytearray) -> int:
    """How many bytes of ``before`` are missing from ``after`` or differ there."""
    common = min(len(before), len(after))
    lost = len(before) - common
    for start in range(0, common, PAGE):
        end = min(start + PAGE, common)
        old, new = before[start:end], after[start:end]
        if old != new:
            lost += sum(a != b for a, b in zip(old, new, strict=True))
    return lost
