"""The laboratory's command: a campaign with mutants; without them that of ``highwater``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from highwater_lab.command import command_line
from highwater_lab.mutants import SETS


class Laboratory:
    """Runs the laboratory's command line in this process, in the working directory of ``highwater``."""

    def __init__(self, highwater: Any) -> None:
        self._highwater = highwater

    def __call__(self, *arguments: str | Path) -> Any:
        return self._highwater(*arguments, made=command_line)


@pytest.fixture
def laboratory(highwater: Any) -> Laboratory:
    return Laboratory(highwater)


def test_a_mutant_is_found(laboratory: Laboratory, tiny_file: Path) -> None:
    two = ("--only", "hw-is-leader-end", "--only", "follower-skips-crc")  # the second one is harmless
    mutants = laboratory("campaign", tiny_file, "--mutants", *two, "--seeds", "1", "--jobs", "1", "--out", "m")
    assert mutants.status == 0, mutants.out
    assert mutants.out.startswith("FOUND: tiny hw-is-leader-end: after 1 seed (seed 1)")
    table = pq.read_table("m/results.parquet").to_pylist()
    assert [one["verdict"] for one in table if one["mutant"] == "follower-skips-crc"] == ["pass"]


@pytest.mark.thorough
def test_one_set_of_mutants_is_run(laboratory: Laboratory, tiny_file: Path) -> None:
    """Each with its three figures, and the rate of all bugs."""
    command = ("campaign", tiny_file, "--mutants", "--seeds", "1", "--json")
    held_out = SETS["held-out"]
    name = next(name for name, mutant in held_out.items() if not mutant.harmless)
    done = laboratory(*command, "--set", "held-out", "--only", name, "--out", "one")
    (row,), rate = done.json["rows"], done.json["mutants"]
    assert row["mutant"] == name
    assert rate["bugs"] == 1
    counted = [row["seedsReached"], row["seedsChanged"], len(row["failingSeeds"])]
    assert [rate[figure] for figure in ("reached", "changed", "found")] == counted
    both = laboratory(*command, "--only", name, "--only", "hw-is-leader-end", "--out", "both")
    assert [row["mutant"] for row in both.json["rows"]] == [name, "hw-is-leader-end"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["random", "--only", "x"], "--only names mutants; it needs --mutants"),
        (["--mutants", "--only", "hw"], "--only 'hw': there is no such mutant"),
        (["random", "--set", "known"], "--set names mutants; it needs --mutants"),
        (["--mutants", "--set", "held-out", "--only", "hw-is-leader-end"], "no such mutant in the set held-out"),
        (["--mutants", "--set", "third"], "'third' is not one of 'known', 'held-out'"),
        (["--mutants", "--set", "third"], "see 'python -m highwater_lab campaign --help'"),
        (["--mutants", "--store", "x"], "leave out --mutants"),
        (["random", "--master", "local[2]"], "--master needs --engine spark"),
        ([], "expected an experiment, or 'random'"),
    ],
)
def test_what_cannot_be_done_is_refused(
    laboratory: Laboratory, highwater: Any, arguments: list[str], message: str
) -> None:
    done = laboratory("campaign", *arguments)
    assert (done.status, message in done.err) == (254, True), done.err
    assert highwater.files() == []
