"""Lines that another process writes are read along, and what is lost of them is known."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.apache_kafka.node_logging import MAX_TEXT
from highwater_chaos.backends.local.apache_kafka.event_lines import EventLines

Write = Callable[[Path], object]


def line(seq: int, text: str = "x", **other: Any) -> str:
    fields = {"seq": seq, "ns": 10 * seq, "wall": 1, "level": "INFO", "logger": "a", "thread": "t", "text": text}
    return json.dumps({**fields, **other}) + "\n"


def append(path: Path, *lines: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(lines))


def test_lines_of_threads_may_swap_and_the_last_one_may_be_torn(tmp_path: Path) -> None:
    path = tmp_path / "events"
    tail = EventLines(path)
    assert list(tail.read()) == []
    append(path, line(1), line(3), line(2, 'two\nlines "quoted"'), line(4)[:-20])
    assert [(one.seq, one.text) for one in tail.read()] == [(1, "x"), (3, "x"), (2, 'two\nlines "quoted"')]
    append(path, line(4)[-20:])
    assert [one.seq for one in tail.read()] == [4]
    append(path, line(6), line(7)[:-20])  # killed here, and another thread before it could write the fifth
    assert [one.seq for one in tail.read()] == [6]
    assert tail.lost is None


def test_a_long_file_is_replaced_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "events"
    tail = EventLines(path)
    append(path, line(1))
    assert len(list(tail.read())) == 1
    append(path, line(2))
    path.rename(tmp_path / "events.1")
    assert [one.seq for one in tail.read()] == [2]  # the next one is not there yet
    append(path, line(3))
    assert [one.seq for one in tail.read()] == [3]
    path.rename(tmp_path / "events.1")
    append(path, line(4 + 5000))  # another one came and went before it was looked at
    assert len(list(tail.read())) == 1
    assert tail.lost == "line 5004 came where line 4 was expected"


def _missing(path: Path) -> None:
    append(path, *(line(seq) for seq in range(1, 5000) if seq != 7))


def _directory(path: Path) -> None:
    path.mkdir()


def _elsewhere(path: Path) -> None:
    append(path.with_name("other"), line(1))
    path.symlink_to(path.with_name("other"))


@pytest.mark.parametrize(
    ("write", "why"),
    [
        (_missing, "there is no line 7"),
        (lambda path: append(path, line(1), line(1)), "there are two lines 1"),
        (lambda path: append(path, "{}\n"), "a line cannot be read"),
        (lambda path: append(path, line(1, ns="soon")), "a line cannot be read"),
        (lambda path: path.write_bytes(b"\xff\xfe\n"), "a line cannot be read"),
        (lambda path: append(path, "x" * (7 * MAX_TEXT)), "a line has more than"),
        (_directory, "is no regular file"),
        (_elsewhere, "cannot be opened"),
        (os.mkfifo, "is no regular file"),
    ],
    ids=["missing", "twice", "empty", "of another type", "no text", "endless", "directory", "link", "pipe"],
)
def test_what_cannot_be_read_is_lost_evidence_and_no_error(tmp_path: Path, write: Write, why: str) -> None:
    path = tmp_path / "events"
    write(path)
    tail = EventLines(path)
    list(tail.read())
    assert why in str(tail.lost)
    list(tail.read())
    tail.close()


def test_a_file_that_is_cut_is_lost_evidence(tmp_path: Path) -> None:
    path = tmp_path / "events"
    append(path, line(1), line(2))
    tail = EventLines(path)
    assert len(list(tail.read())) == 2
    path.write_text(line(1), encoding="utf-8")
    list(tail.read())
    assert "was cut" in str(tail.lost)
