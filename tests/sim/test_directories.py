"""An fsync of a directory: what it makes durable, by definition, and what it looks at for that."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from highwater_runtime.sim.directories import Directory, DirectoryTree
from highwater_runtime.sim.page_cache import CachedFile

DIRECTORIES = 3

edits = st.lists(st.integers(0, DIRECTORIES - 1), min_size=1, max_size=2, unique=True)
steps = st.lists(st.one_of(edits, edits, st.integers(0, DIRECTORIES - 1)), min_size=8, max_size=40)
"""A list of directories: one operation that touches them; a number: an fsync of that directory."""


def needed_by(directory: Directory, operations: list[tuple[Directory, ...]]) -> list[int]:
    """The operations that an fsync makes durable: all that touch the directory or one that a later such one touches."""
    touched, found = {directory}, []
    for number in reversed(range(len(operations))):
        if touched.intersection(operations[number]):
            touched.update(operations[number])
            found.append(number)
    return found[::-1]


@given(steps)
def test_an_fsync_makes_durable_what_touches_the_directory_and_what_that_depends_on(
    steps: list[list[int] | int],
) -> None:
    tree = DirectoryTree()
    directories = [Directory() for _ in range(DIRECTORIES)]
    waiting: list[tuple[tuple[Directory, ...], CachedFile]] = []
    durable: dict[int, CachedFile | None] = dict.fromkeys(map(id, directories))
    for step in steps:
        if isinstance(step, int):
            chosen = needed_by(directories[step], [touched for touched, _ in waiting])
            for touched, file in (waiting[position] for position in chosen):
                durable.update((id(directory), file) for directory in touched)
            waiting = [one for position, one in enumerate(waiting) if position not in chosen]
            tree.fsync(directories[step])
        else:
            touched, file = tuple(directories[index] for index in step), CachedFile()
            tree.edit(*((directory, "file", file) for directory in touched))
            waiting.append((touched, file))
        assert {id(directory): directory.durable.get("file") for directory in directories} == durable
        assert [operation[0][2] for operation in tree.journal.values()] == [file for _, file in waiting]


class Counting(dict[int, object]):
    """Counts how often an operation is looked at."""

    looks = 0

    def __getitem__(self, number: int) -> object:
        self.looks += 1
        return super().__getitem__(number)

    def __iter__(self):  # type: ignore[no-untyped-def]
        self.looks += len(self)
        return super().__iter__()

    def values(self):  # type: ignore[no-untyped-def]
        self.looks += len(self)
        return super().values()


def test_an_fsync_looks_at_no_operations_of_other_directories() -> None:
    tree = DirectoryTree()
    others = [Directory() for _ in range(1000)]
    for directory in others:
        tree.edit((directory, "log", CachedFile()))
    mine = Directory()
    tree.edit((mine, "log", CachedFile()))
    counting = Counting(tree.journal)
    tree.journal = counting  # type: ignore[assignment]
    tree.fsync(mine)
    assert set(mine.durable) == {"log"}
    assert len(counting) == 1000
    assert counting.looks <= 2
