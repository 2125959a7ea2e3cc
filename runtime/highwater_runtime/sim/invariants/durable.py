"""How far each voter's copy of the metadata log is on its disk: what a power loss leaves, whatever nodes believe."""

from __future__ import annotations

from dataclasses import dataclass

from highwater_runtime.log.errors import LogError
from highwater_runtime.log.names import LOG, file_name, offsets_in
from highwater_runtime.log.records import HEADER_SIZE, BatchView
from highwater_runtime.sim.disk import SimDisk


@dataclass(slots=True)
class _Cursor:
    """How far a segment's durable bytes were read: ``position`` in them, and the offset behind the last batch."""

    content: bytearray
    position: int
    end_offset: int


class DurableLogs:
    """Reads durable bytes once, as they grow; :meth:`forget` a node whose log was cut or began again."""

    def __init__(self) -> None:
        self._cursors: dict[str, dict[int, _Cursor]] = {}

    def forget(self, node: str) -> None:
        """Read the node's log from its beginning next time."""
        self._cursors.pop(node, None)

    def end_offset(self, node: str, disk: SimDisk, directory: str) -> int:
        """The offset behind the last intact batch that is durable with all before it; 0 where nothing is."""
        files = disk.durable_files(directory)
        cursors = self._cursors.setdefault(node, {})
        end: int | None = None
        for base_offset in offsets_in(list(files), LOG):
            if end is not None and base_offset != end:
                break
            content = files[file_name(base_offset, LOG)]
            cursor = cursors.get(base_offset)
            if cursor is None or cursor.content is not content or cursor.position > len(content):
                cursor = cursors[base_offset] = _Cursor(content, 0, base_offset)
            _read_on(cursor)
            end = cursor.end_offset
        return end or 0


def _read_on(cursor: _Cursor) -> None:
    content = cursor.content
    while len(content) - cursor.position >= HEADER_SIZE:
        batch = BatchView(content, cursor.position)
        if batch.base_offset != cursor.end_offset or batch.size_in_bytes > len(content) - cursor.position:
            return
        try:
            batch.ensure_valid()
        except LogError:
            return
        cursor.position += batch.size_in_bytes
        cursor.end_offset = batch.end_offset
