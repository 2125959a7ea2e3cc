"""Files that grow are merged as finished files are, whenever they are looked at."""

from __future__ import annotations

import os
from collections.abc import Iterator
from heapq import merge
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_chaos.run.recorder import follow
from highwater_chaos.run.recorder.follow import LateLineError, Merge


def time_of(line: bytes) -> int | None:
    return None if line.startswith(b"#") else int(line.split(b":")[0])


def finished(paths: list[Path]) -> list[tuple[int, int, bytes]]:
    """The merge of complete files."""

    def rows(number: int, path: Path) -> Iterator[tuple[int, int, bytes]]:
        for line in path.read_bytes().split(b"\n")[:-1]:
            if (time := time_of(line)) is not None:
                yield time, number, line

    return list(merge(*(rows(number, path) for number, path in enumerate(paths))))


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


steps = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "write", "write", "look", "tear"]),
        st.sampled_from([0, 0, 1, 1, 2]),
        st.integers(0, 1),
        st.integers(1, 3),
    ),
    min_size=20,
    max_size=60,
)


@given(steps=steps, chunk=st.integers(8, 64), waiting=st.integers(1, 5))
@settings(max_examples=300, deadline=None)
def test_the_order_is_that_of_finished_files(steps: list[tuple[str, int, int, int]], chunk: int, waiting: int) -> None:
    """Time passes with each line; lines may be torn when somebody looks; a file may be silent, or come late itself."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr(follow, "_CHUNK", chunk)
        patched.setattr(follow, "_WAITING", waiting)
        paths = [Path(folder) / name for name in "abc"]
        merged, taken, now, torn = Merge(time_of), [], 0, dict.fromkeys(paths, b"")
        merged.add(paths[0])
        merged.add(paths[1])
        for step, which, passed, count in steps:
            match step:
                case "write":
                    path = paths[which]
                    now += passed  # some lines have one time
                    lines = [b"%d:%d:%s" % (now, at, b"x" * at) for at in range(count)]
                    append(path, torn[path] + b"\n".join(lines) + b"\n#no row\n")
                    torn[path] = b""
                case "tear":
                    if not torn[paths[which]]:
                        append(paths[which], b"%d:" % now)
                        torn[paths[which]] = b"torn\n"
                case _:
                    # What is torn was begun at a time that is not settled; more may not be, too.
                    settled = min([now - 3 * passed, *(_last(path) for path in paths if torn[path])])
                    for _ in range(count):
                        taken += merged.take(settled)[0]
        for path, rest in torn.items():
            append(path, rest)
        merged.add(paths[2])
        try:
            taken += rest_of(merged)
        except LateLineError:
            # The third file was added after lines of later times had been handed out.
            assert finished([paths[2]])
            again = Merge(time_of, ended=True)
            for path in paths:
                again.add(path)
            taken = rest_of(again)
        assert taken == finished(paths)


def _last(path: Path) -> int:
    return int(path.read_bytes().rpartition(b"\n")[2].split(b":")[0])


def rest_of(merged: Merge) -> list[tuple[int, int, bytes]]:
    rows, more = merged.take(None)
    while more:
        some, more = merged.take(None)
        rows += some
    return rows


def test_a_late_line_is_seen(tmp_path: Path) -> None:
    """A process that was stopped between an event and its write."""
    merged = Merge(time_of)
    for name in "ab":
        merged.add(tmp_path / name)
    append(tmp_path / "a", b"5:a\n9:a\n")
    append(tmp_path / "b", b"6:b\n")
    assert [time for time, _, _ in merged.take(8)[0]] == [5, 6]
    append(tmp_path / "b", b"7:late\n")
    with pytest.raises(LateLineError, match="a line of 7 ns came after those before 8 ns"):
        merged.take(10)


@pytest.mark.parametrize("settled", [7, None])
def test_a_file_that_is_not_looked_at_may_have_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settled: int | None
) -> None:
    """So much of it waits that it is not read on, though it was read to its end before: it has grown since."""
    monkeypatch.setattr(follow, "_WAITING", 3)
    paths = [tmp_path / "busy", tmp_path / "quiet"]
    merged = Merge(time_of)
    for path in paths:
        merged.add(path)
    append(paths[0], b"1:a\n2:a\n3:a\n4:a\n")
    append(paths[1], b"0:b\n")
    taken, more = merged.take(1)
    assert ([time for time, _, _ in taken], more) == ([0], False)
    append(paths[0], b"5:a\n6:a\n")
    append(paths[1], b"7:b\n")
    taken += merged.take(settled)[0]
    assert taken + rest_of(merged) == finished(paths)


def test_a_line_that_was_cut_off_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node is killed in the middle of a line. The harness removes it, and the next incarnation goes on there."""
    monkeypatch.setattr(follow, "_CHUNK", 8)
    path = tmp_path / "node"
    merged = Merge(time_of)
    merged.add(path)
    append(path, b"1:a\n2:a torn line, longer than what is read at once")
    taken = merged.take(2)[0]
    assert [line for _, _, line in taken] == [b"1:a"]
    os.truncate(path, len(b"1:a\n"))
    append(path, b"5:a line that is longer, too\n6:b\n")
    assert taken + rest_of(merged) == finished([path])


def test_what_waits_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However far a file is ahead: it is not read on while what was read of it waits."""
    monkeypatch.setattr(follow, "_CHUNK", 1 << 10)
    monkeypatch.setattr(follow, "_WAITING", 100)
    append(tmp_path / "busy", b"".join(b"%d:%d\n" % (at, at) for at in range(100_000)))
    append(tmp_path / "quiet", b"0:first\n99999:last\n")
    merged = Merge(time_of)
    merged.add(tmp_path / "busy")
    merged.add(tmp_path / "quiet")
    for _ in range(100):
        assert merged.take(0)[0] == []
    assert len(rest_of(merged)) == 100_002
    assert 0 < merged.most_waiting < 100 + (1 << 10)
