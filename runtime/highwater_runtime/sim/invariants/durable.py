"""How far each voter's copy of the metadata log is on its disk: what a power loss leaves, whatever nodes believe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from highwater_runtime.log.errors import LogError
from highwater_runtime.log.names import LOG, file_name, offset_of
from highwater_runtime.log.records import HEADER_SIZE, BatchView
from highwater_runtime.sim.directories import Node
from highwater_runtime.sim.disk import SimDisk
from highwater_runtime.sim.page_cache import CachedFile


@dataclass(slots=True)
class _Cursor:
    """How far the durable bytes of the file ``name`` were read: ``position`` in them, and the offset behind it."""

    name: str
    content: bytearray
    position: int
    end_offset: int


class DurableLogs:
    """Reads durable bytes once, as they grow; :meth:`forget` a node whose log was cut or began again."""

    def __init__(self) -> None:
        self._chains: dict[str, list[_Cursor]] = {}
        """Of each node the segments from the first on, each where the one before it ends."""

    def forget(self, node: str) -> None:
        """Read the node's log from its beginning next time."""
        self._chains.pop(node, None)

    def end_offset(self, node: str, disk: SimDisk, directory: str) -> int:
        """The offset behind the last intact batch that is durable with all before it; 0 where nothing is."""
        names = disk.durable_names(directory)
        first = min((name for name in names if name.endswith(LOG)), default="")
        chain = self._chains.setdefault(node, [])
        if not (chain and chain[0].name == first and _are_as_read(chain, names)):
            chain.clear()
            base_offset = offset_of(first, LOG)
            if base_offset is None or not _begin(chain, base_offset, names):
                return 0
        _read_on(chain[-1])
        while chain[-1].position > 0 and _begin(chain, chain[-1].end_offset, names):
            _read_on(chain[-1])
        return chain[-1].end_offset


def _are_as_read(chain: list[_Cursor], names: Mapping[str, Node]) -> bool:
    """Whether the same segments are there, and only the last has grown."""
    for cursor in chain:
        node, unread = names.get(cursor.name), len(cursor.content) - cursor.position
        if not isinstance(node, CachedFile) or node.durable is not cursor.content or unread < 0:
            return False
        if unread and cursor is not chain[-1]:
            return False
    return True


def _begin(chain: list[_Cursor], base_offset: int, names: Mapping[str, Node]) -> bool:
    """Go on to the segment of this base offset; False if it is not there."""
    name = file_name(base_offset, LOG)
    node = names.get(name)
    if not isinstance(node, CachedFile):
        return False
    chain.append(_Cursor(name, node.durable, 0, base_offset))
    return True


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
