"""``highwater runs`` shows what is there, whoever wrote it, and deletes run directories and nothing else."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def kept(highwater: Any, tiny_run: Path, tmp_path: Path) -> Path:
    """Two runs, one of them three days old and failed; a third beside a campaign; what is no run; links."""
    runs = tmp_path / "runs"
    for place in ("new", "old", "night/runs/deep"):
        shutil.copytree(tiny_run, runs / place)
    verdict = json.loads((runs / "old" / "verdict.json").read_text(encoding="utf-8"))
    verdict |= {"verdict": "fail", "asExpected": False, "lost": 3, "explanation": "<b>3 records are gone"}
    (runs / "old" / "verdict.json").write_text(json.dumps(verdict), encoding="utf-8")
    past = time.time() - 3 * 86400
    os.utime(runs / "old" / "verdict.json", (past, past))
    for name in ("campaign.json", "campaign.html"):
        (runs / "night" / name).write_text("{}", encoding="utf-8")
    (runs / "notes").mkdir()
    (runs / "notes" / "experiment.yaml").write_text("", encoding="utf-8")
    (runs / "notes" / "verdict.json").write_text("{}", encoding="utf-8")
    (runs / ".being-written").mkdir()
    (tmp_path / "elsewhere").mkdir()
    shutil.copytree(tiny_run, tmp_path / "elsewhere" / "run")
    (runs / "link").symlink_to(tmp_path / "elsewhere")
    return runs


def _names(done: Any) -> list[str]:
    return [Path(row["dir"]).name for row in done.json["runs"]]


def test_they_are_listed_and_shown_on_a_page(highwater: Any, kept: Path) -> None:
    found = highwater("runs", "--json", "--html", "out/index.html")
    assert sorted(_names(found)) == ["deep", "new", "old"]
    assert _names(found)[-1] == "old", "the latest first"
    row = found.json["runs"][-1]
    assert (row["verdict"], row["asExpected"], row["lost"], row["bytes"] > 1000) == ("fail", False, 3, True)
    page = Path("out/index.html").read_text(encoding="utf-8")
    assert 'href="../runs/old/report.html"' in page
    assert 'href="../runs/night/campaign.html"' in page
    assert "&lt;b&gt;3 records are gone" in page
    assert "3 runs, 1 not as expected." in page
    assert 'campaign.html">night</a>' in page
    assert highwater("runs", "runs/night", "--html", "out/night.html").status == 0
    assert 'campaign.html">night</a>' in Path("out/night.html").read_text(encoding="utf-8"), "not as a dot"
    assert highwater("runs", ".", "--html", "out/here.html").status == 0
    assert f"<h1>Runs in {Path.cwd()} " in Path("out/here.html").read_text(encoding="utf-8")
    listed = highwater("runs", "--verdict", "fail").out
    assert ("fail, not as expected" in listed, "1 run, " in listed, "runs/new" in listed) == (True, True, False)
    assert _names(highwater("runs", "--older-than", "2h", "--json")) == ["old"]
    lines = highwater("runs").out.splitlines()
    assert len(lines) == 5, "each run in one line, for grep; the heading, the sum"
    assert lines == [line.rstrip() for line in lines]


def test_only_run_directories_that_were_chosen_are_deleted(highwater: Any, kept: Path) -> None:
    before = sorted(kept.rglob("*"))
    would = highwater("runs", "--prune", "--dry-run", "--verdict", "pass", "--json")
    assert (sorted(_names(would)), would.json["deleted"]) == (["deep", "new"], False)
    assert sorted(kept.rglob("*")) == before
    assert "1 run, " in highwater("runs", "--prune", "--older-than", "2h", "--verdict", "fail").out
    assert not (kept / "old").exists()
    assert _names(highwater("runs", "--prune", "--older-than", "0s", "--json"))
    assert sorted(path.relative_to(kept).as_posix() for path in kept.rglob("*")) == [
        ".being-written",
        "link",
        "night",
        "night/campaign.html",
        "night/campaign.json",
        "night/runs",
        "notes",
        "notes/experiment.yaml",
        "notes/verdict.json",
    ]
    assert (kept.parent / "elsewhere" / "run" / "verdict.json").is_file()


def test_no_run_is_deleted_that_was_not_listed(highwater: Any, kept: Path, tiny_run: Path) -> None:
    """A run in a run is part of it, and keeps it; what has no readable verdict may be no run."""
    shutil.copytree(tiny_run, kept / "old" / "logs" / "inner")
    (kept / "new" / "verdict.json").write_text('{"verdict": "guilty"}', encoding="utf-8")
    before = sorted(kept.rglob("*"))
    done = highwater("runs", "--prune", "--older-than", "0s")
    assert (done.status, "1 run, " in done.out) == (254, True), "the run of the campaign alone"
    assert "runs/new: not deleted: its verdict cannot be read" in done.err
    assert "runs/old: not deleted: another run or a campaign lies in it" in done.err
    assert [path for path in before if "deep" not in path.parts and not path.is_symlink() and not path.exists()] == []
    assert _names(highwater("runs", "runs/old", "--json")) == ["old"], "a run itself"


def test_a_page_replaces_nothing_but_a_page(highwater: Any, kept: Path, tmp_path: Path) -> None:
    (tmp_path / ".index.html").symlink_to(tmp_path / "precious")
    (tmp_path / "precious").write_text("kept", encoding="utf-8")
    assert highwater("runs", "--html", "index.html").status == 0
    assert ((tmp_path / "precious").read_text(encoding="utf-8"), (tmp_path / "index.html").is_symlink()) == (
        "kept",
        False,
    )
    inside = highwater("runs", "--html", "runs/new/verdict.json")
    assert (inside.status, "lies in a run directory" in inside.err) == (254, True)


def test_strange_names_and_directories_end_no_listing(
    highwater: Any, kept: Path, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tiny_run, kept / os.fsdecode(b"\xff\x1b[2Jnew\nline"))
    scan = os.scandir

    def fails(path: Any) -> Any:
        if str(path).endswith("notes"):
            raise PermissionError(13, "Permission denied")
        if str(path).endswith("being-written"):
            raise FileNotFoundError(2, "No such file or directory")
        return scan(path)

    monkeypatch.setattr(os, "scandir", fails)
    shown = highwater("runs", "--html", "index.html")
    assert shown.status == 254
    assert shown.err == "runs/notes: cannot be read; runs in it are not listed\n"
    assert "\x1b" not in shown.out
    assert "?[2Jnew?line" in shown.out
    assert "4 runs" in shown.out
    assert "%FF%1B%5B2Jnew%0Aline/report.html" in Path("index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("content", [b"", b"[]", b'{"name": 3}', b"\xff", b'{"x":' + b"[" * 100_000])
def test_what_is_no_verdict_is_unreadable_and_the_others_are_shown(highwater: Any, kept: Path, content: bytes) -> None:
    (kept / "new" / "verdict.json").write_bytes(content)
    (kept / "new" / "report.html").unlink()
    os.mkfifo(kept / "new" / "report.html")
    found = highwater("runs", "--json", "--html", "index.html").json["runs"]
    assert {Path(row["dir"]).name: row["verdict"] for row in found} == {
        "new": "unreadable",
        "old": "fail",
        "deep": "pass",
    }
    assert "new/report.html" not in Path("index.html").read_text(encoding="utf-8")
    assert "unreadable" in highwater("runs").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere: expected a directory with runs"),
        (["--prune"], "--prune deletes run directories: say which, with --older-than or --verdict"),
        (["--dry-run"], "--dry-run needs --prune"),
        (["--older-than", "soon"], "--older-than 'soon': expected a duration"),
        (["--html", "/proc"], "--html /proc: is a directory"),
    ],
)
def test_what_cannot_be_done_is_refused(highwater: Any, kept: Path, arguments: list[str], message: str) -> None:
    before = sorted(kept.rglob("*"))
    done = highwater("runs", *arguments)
    assert (done.status, message in done.err) == (254, True), done.err
    assert sorted(kept.rglob("*")) == before
