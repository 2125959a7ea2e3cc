"""The receiving half of a connection: a stream of bytes becomes frames, without a copy more than needed.

The kernel writes straight into the buffer of the connection (``BufferedProtocol``). Small frames are cut out of it;
for one that is larger than the buffer, the buffer grows to its size while its bytes come in, so that a peer who only
announces much gets little. Decoders copy what they keep, so the buffer is free again after each frame.
"""

from __future__ import annotations

import asyncio
from struct import Struct
from typing import Final

_unpack_size: Final = Struct(">i").unpack_from

INITIAL_BYTES: Final = 4 * 1024
"""Of each connection, also one that never says anything."""
KEPT_BYTES: Final = 2 * 1024 * 1024
"""A buffer larger than this is given back after its frame."""
_ENDED_BYTES: Final = 64
"""Of a connection that has ended: a transport must always be given some."""
_CUT_OUT_BYTES: Final = 8 * 1024
"""Frames up to this size are handed over as ``bytes``, which decode faster; larger ones as a view of the buffer."""
_ROOM_BYTES: Final = 256 * 1024
"""The buffer of a busy connection grows up to this size even for small frames, so that one read takes many."""


class FrameReceiver(asyncio.BufferedProtocol):
    """Cuts a stream into frames (without their size). Subclasses take them in :meth:`frame_received`.

    Attributes:
        largest_frame: bytes; a frame that announces more is :meth:`malformed`.
        stopped: set by subclasses to leave further frames in the buffer (see :meth:`cut_frames`).
    """

    largest_frame: int
    stopped: bool

    def __init__(self) -> None:
        self._buffer = bytearray(INITIAL_BYTES)
        self._view = memoryview(self._buffer)
        self._begin = 0
        self._end = 0

    # --- for subclasses ---

    def frame_received(self, frame: bytes | memoryview) -> None:
        """One whole frame; a view is valid until this returns."""
        raise NotImplementedError

    def malformed(self, why: str) -> None:
        """The stream cannot be cut into frames; nothing more of it is."""
        raise NotImplementedError

    def may_grow(self, nbytes: int) -> bool:  # noqa: ARG002
        """Whether a buffer may have ``nbytes`` more than it needs, for speed."""
        return True

    def buffer_resized(self, nbytes: int) -> None:
        """The buffer has ``nbytes`` more than before, or less."""

    @property
    def buffered_bytes(self) -> int:
        """Received, but not handed over."""
        return self._end - self._begin

    @property
    def has_whole_frame(self) -> bool:
        """Whether a frame in the buffer can be handed over, or be found malformed."""
        have = self._end - self._begin
        if have < 4:
            return False
        (size,) = _unpack_size(self._view, self._begin)
        return bool(size < 0 or size > self.largest_frame or have >= 4 + size)

    @property
    def unfinished_capacity(self) -> int:
        """Memory of a frame of which only a part has come, beyond what every connection has."""
        capacity = len(self._buffer)
        if capacity <= INITIAL_BYTES or self._end == self._begin or self.has_whole_frame:
            return 0
        return capacity - INITIAL_BYTES

    # --- BufferedProtocol ---

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        """Where the kernel may write next."""
        return self._view[self._end :]

    def take_in(self, nbytes: int) -> None:
        """The kernel has written ``nbytes``: hand over what is whole, make room for what is not."""
        self._end += nbytes
        was_full = self._end == len(self._buffer)
        self.cut_frames()
        self._make_room(was_full=was_full)

    def cut_frames(self) -> None:
        """Hand over the frames in the buffer, until ``stopped``."""
        begin, end, view = self._begin, self._end, self._view
        while end - begin >= 4 and not self.stopped:
            (size,) = _unpack_size(view, begin)
            if size < 0 or size > self.largest_frame:
                self.stopped = True
                self.malformed(f"a frame of {size} bytes; at most {self.largest_frame} are allowed")
                return
            frame_end = begin + 4 + size
            if frame_end > end:
                return
            frame = view[begin + 4 : frame_end]
            self._begin = begin = frame_end
            self.frame_received(bytes(frame) if size <= _CUT_OUT_BYTES else frame)

    def release_buffer(self) -> None:
        """Give the buffer of an ended connection back at once. The connection is in a cycle with its transport, of
        references that the collector may not visit for long."""
        self._buffer = bytearray(_ENDED_BYTES)
        self._view = memoryview(self._buffer)
        self._begin = self._end = 0

    def _make_room(self, *, was_full: bool) -> None:
        begin, end, capacity = self._begin, self._end, len(self._buffer)
        have = end - begin
        if have == 0:
            self._begin = self._end = 0
            if capacity > KEPT_BYTES or (capacity > INITIAL_BYTES and not self.may_grow(0)):
                self._move_to(INITIAL_BYTES)
            elif was_full and capacity < _ROOM_BYTES and self.may_grow(capacity * 3):
                self._move_to(capacity * 4)
            return
        needed = 4
        if have >= 4:
            (size,) = _unpack_size(self._view, begin)
            needed += max(0, min(size, self.largest_frame))
        if needed > capacity:
            # Never more than twice what has really come, so that a size alone costs its sender more than us.
            self._move_to(min(needed, max(2 * have, capacity)) if have < capacity else min(needed, 2 * capacity))
        elif begin and (begin + needed > capacity or end == capacity):
            self._move_to(capacity)
        elif end == capacity:  # stopped, with whole frames in the buffer: room for one byte keeps the transport happy
            self._move_to(capacity + INITIAL_BYTES)

    def _move_to(self, capacity: int) -> None:
        """Go on with a buffer of ``capacity`` bytes, what is left at its start."""
        left = self._view[self._begin : self._end]
        if capacity == len(self._buffer):
            self._view[: len(left)] = bytes(left)
        else:
            buffer = bytearray(capacity)
            buffer[: len(left)] = left
            self.buffer_resized(capacity - len(self._buffer))
            self._buffer, self._view = buffer, memoryview(buffer)
        self._begin, self._end = 0, len(left)
