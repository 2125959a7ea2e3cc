"""``highwater truncations``: the table of a recorded run, and what it says of directories that have none."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.cli import execute
from highwater_chaos.run.manifest import make_manifest


@pytest.fixture(scope="module")
def diverged_run(tmp_path_factory: pytest.TempPathFactory, scenarios: Path) -> Path:
    """KAFKA-6361, n = 20, by-leader-epoch."""
    folder = tmp_path_factory.mktemp("diverged")
    file = scenarios / "kafka-6361" / "kraft-n-is-20.yaml"
    assert execute(["run", str(file), "--out", str(folder), "--switch", "truncation=by-leader-epoch"]) == 0
    (run,) = folder.iterdir()
    return run


def rows(out: str) -> list[list[str]]:
    return [line.replace("cut to", "cut-to").split() for line in out.splitlines()]


HEAD = ["run", "truncation", "partition", "epoch", "broker", "role", "before", "cut-to", "after", "divergence"]


def test_a_run_in_which_logs_diverged(highwater: Any, diverged_run: Path) -> None:
    done = highwater("truncations", diverged_run)
    run = ["kafka-6361-kraft-n-is-20", "by-leader-epoch", "orders-0", "3"]
    assert (done.status, done.err) == (0, "")
    assert rows(done.out) == [
        HEAD,
        [*run, "0", "leader", "21", "-", "32", "found"],
        [*run, "1", "follower", "21", "-", "32", "found"],
    ]
    # 31 records of the story, and the probe of the recovered cluster.
    every = highwater("truncations", diverged_run, "--all")
    assert {row[3] for row in rows(every.out)[1:]} == {"0", "1", "2", "3"}


def test_a_run_without_truncations_has_rows_all_the_same(highwater: Any, tiny_run: Path) -> None:
    done = highwater("truncations", tiny_run)
    assert done.status == 0
    head, *replicas = rows(done.out)
    assert head == HEAD
    assert len(replicas) == 2
    assert {row[-3] for row in replicas} == {"-"}
    assert {row[-1] for row in replicas} == {"no"}


def test_several_runs_are_one_table(highwater: Any, tiny_run: Path, diverged_run: Path) -> None:
    done = highwater("truncations", tiny_run, diverged_run)
    assert [row[0] for row in rows(done.out)] == ["run", "tiny", "tiny", *["kafka-6361-kraft-n-is-20"] * 2]


def test_no_run_is_bad_usage(highwater: Any) -> None:
    done = highwater("truncations")
    assert (done.status, done.out) == (254, "")
    assert "RUN..." in done.err


def test_what_is_no_run_directory_is_refused(highwater: Any, tiny_run: Path) -> None:
    for name, message in (("nowhere", "found nothing"), (".", "found no verdict.json")):
        done = highwater("truncations", name)
        assert (done.status, done.out) == (254, "")
        assert message in done.err
    shutil.copytree(tiny_run, highwater.folder / "copy")
    events = highwater.folder / "copy/events/nodes.jsonl"
    events.write_text(events.read_text(encoding="utf-8") + "no JSON\n", encoding="utf-8")
    make_manifest(highwater.folder / "copy")
    for message in ("nodes.jsonl: cannot be read", "nodes.jsonl: expected the file that manifest.json lists"):
        done = highwater("truncations", tiny_run, "copy")
        assert (done.status, done.out) == (254, ""), "no half of a table"
        assert message in done.err
        events.unlink(missing_ok=True)
