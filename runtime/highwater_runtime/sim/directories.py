"""Names as the kernel holds them: the tree that processes see, and the tree that a power loss leaves.

A directory operation (creation, rename, removal) is one atomic entry of a journal. It is durable once a directory it
touches was fsynced, together with everything before it that touches the same directories; until then a power loss may
or may not have it. That is POSIX's promise and no more (ext4 and XFS commit in order and are kinder).
"""

from __future__ import annotations

import errno
import os
from random import Random
from typing import Final, Literal

from highwater_runtime.ports import path_components
from highwater_runtime.sim.page_cache import CachedFile, Keep


class Directory:
    """One directory inode: the names in it now, and those on the medium."""

    __slots__ = ("durable", "entries", "pending")

    def __init__(self) -> None:
        self.entries: dict[str, Node] = {}
        self.durable: dict[str, Node] = {}
        self.pending: dict[int, None] = {}
        """The operations that touch it and are not durable, by their numbers in the journal, ascending."""


Node = CachedFile | Directory
_NO_NAMES: Final = frozenset(("", ".", ".."))
"""What :func:`path_components` refuses."""
Edit = tuple[Directory, str, Node | None]
"""In this directory, this name now means this inode (``None``: nothing)."""


def os_error(code: int, path: str) -> OSError:
    """The exception that the real call would raise (``FileNotFoundError`` for ``ENOENT`` and so on)."""
    return OSError(code, os.strerror(code), path)


class DirectoryTree:
    """All names of one disk."""

    __slots__ = ("_known", "_next", "journal", "root")

    def __init__(self) -> None:
        self.root = Directory()
        self.journal: dict[int, tuple[Edit, ...]] = {}
        """Operations that are not durable, by number, ascending."""
        self._next = 0
        self._known: dict[str, Directory] = {}
        """Directories by path, as far as they were looked for, until one of them is moved or removed."""

    # --- looking ---

    def find(self, path: str) -> Node | None:
        """The inode behind ``path``, or None."""
        above, slash, name = path.rpartition("/")
        directory = self._known.get(above) if name not in _NO_NAMES and (above or not slash) else None
        if directory is not None:
            return directory.entries.get(name)
        node: Node = self.root
        for part in path_components(path):
            if not isinstance(node, Directory):
                return None
            child = node.entries.get(part)
            if child is None:
                return None
            node = child
        return node

    def find_durable(self, path: str) -> Node | None:
        """The inode that every power loss leaves behind ``path``, or None."""
        node: Node | None = self.root
        for part in path_components(path):
            node = node.durable.get(part) if isinstance(node, Directory) else None
        return node

    def directory(self, path: str) -> Directory:
        """The directory ``path``. Raises ``ENOENT`` or ``ENOTDIR``."""
        directory = self._known.get(path)
        if directory is None:
            directory = self._known[path] = self._directory(path_components(path), path)
        return directory

    def _directory(self, parts: list[str], path: str) -> Directory:
        """The directory at ``parts``; errors name ``path``."""
        node: Node = self.root
        for part in parts:
            if not isinstance(node, Directory):
                raise os_error(errno.ENOTDIR, path)
            child = node.entries.get(part)
            if child is None:
                raise os_error(errno.ENOENT, path)
            node = child
        if not isinstance(node, Directory):
            raise os_error(errno.ENOTDIR, path)
        return node

    def parent(self, path: str) -> tuple[Directory, str]:
        """The directory that holds (or would hold) ``path``, and the last component."""
        above, slash, name = path.rpartition("/")
        if not path:
            raise os_error(errno.EBUSY, path)
        if name in _NO_NAMES or (slash and not above):
            path_components(path)  # says what is wrong with it
        directory = self._known.get(above)
        if directory is None:
            directory = self._known[above] = self._directory(path_components(above), path)
        return directory, name

    def files(self) -> list[tuple[str, CachedFile]]:
        """All files by path, sorted."""
        found: list[tuple[str, CachedFile]] = []
        _collect(self.root, "", found)
        return found

    # --- changing ---

    def edit(self, *edits: Edit) -> None:
        """Carry out one atomic directory operation, not durably."""
        self._next = number = self._next + 1
        for directory, name, node in edits:
            if isinstance(directory.entries.get(name), Directory):
                self._known.clear()
            _set(directory.entries, name, node)
            directory.pending[number] = None
        self.journal[number] = edits

    def fsync(self, directory: Directory) -> None:
        """Make every operation that touches ``directory`` durable, and what those depend on.

        The cost is in proportion to these, not to all that the disk has not made durable.
        """
        chosen = dict.fromkeys(directory.pending)
        # Directories that a chosen operation touches too, with its number: what came before it there is needed.
        needed = [
            (other, number) for number in chosen for other, _, _ in self.journal[number] if other is not directory
        ]
        while needed:
            other, before = needed.pop()
            for number in other.pending:
                if number >= before:
                    break
                if number not in chosen:
                    chosen[number] = None
                    needed += [(one, number) for one, _, _ in self.journal[number] if one is not other]
        for number in sorted(chosen):
            operation = self.journal.pop(number)
            _harden(operation)
            for edited, _, _ in operation:
                edited.pending.pop(number, None)

    def lose_power(self, keep: Keep, random: Random) -> None:
        """Become the tree on the medium: ``none``, a ``prefix`` of the journal, any subset (``torn``) or ``all``."""
        journal = list(self.journal.values())
        self.journal.clear()
        self._known.clear()
        for operation in journal:
            for edited, _, _ in operation:
                edited.pending.clear()
        survivors: list[tuple[Edit, ...]]
        match keep:
            case "none":
                survivors = []
            case "prefix":
                survivors = journal[: random.randint(0, len(journal))]
            case "torn":
                survivors = [operation for operation in journal if random.random() < 0.5]
            case "all":
                survivors = journal
        for operation in survivors:
            _harden(operation)
        _reload(self.root)


def kind_of(node: Node | None) -> Literal["file", "directory", "nothing"]:
    """What a name stands for."""
    if node is None:
        return "nothing"
    return "directory" if isinstance(node, Directory) else "file"


def _set(entries: dict[str, Node], name: str, node: Node | None) -> None:
    if node is None:
        entries.pop(name, None)
    else:
        entries[name] = node


def _harden(operation: tuple[Edit, ...]) -> None:
    for directory, name, node in operation:
        _set(directory.durable, name, node)


def _reload(directory: Directory) -> None:
    directory.entries = dict(directory.durable)
    for node in directory.entries.values():
        if isinstance(node, Directory):
            _reload(node)


def _collect(directory: Directory, prefix: str, found: list[tuple[str, CachedFile]]) -> None:
    for name in sorted(directory.entries):
        node = directory.entries[name]
        path = f"{prefix}{name}"
        if isinstance(node, Directory):
            _collect(node, path + "/", found)
        else:
            found.append((path, node))
