"""The manifest of a run directory: one edit of any file, and no reader believes the directory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.run.manifest import MANIFEST_FILE, update_manifest, verify

READERS = {
    "check": ("check", "{run}", "--json"),
    "check of one model": ("check", "{run}", "--model", "log"),
    "report": ("report", "{run}"),
    "compare": ("compare", "{other}", "{run}", "--json"),
    "replay": ("replay", "{run}"),
    "shrink": ("shrink", "{run}", "--runs", "4"),
    "truncations": ("truncations", "{run}"),
    "export": ("export", "{run}", "--out", "exports"),
    "store": ("store", "{run}", "--out", "store"),
}


def _pass(run: Path) -> None:
    """What an attacker without patience does: a run that failed is shown as a pass."""
    verdict = json.loads((run / "verdict.json").read_bytes())
    verdict |= {"verdict": "pass", "anomalies": {}, "reasons": [], "inconclusiveReasons": []}
    (run / "verdict.json").write_text(json.dumps(verdict))


def _of_run_json(run: Path) -> None:
    summary = json.loads((run / "run.json").read_bytes())
    summary |= {"violations": [], "seed": 9}
    (run / "run.json").write_text(json.dumps(summary))


EDITS: dict[str, Callable[[Path], object]] = {
    "verdict.json": _pass,
    "run.json": _of_run_json,
    "experiment.yaml": lambda run: (run / "experiment.yaml").open("a").write("# nothing\n"),
    "logs/harness.log": lambda run: (run / "logs/harness.log").open("a").write("all is well\n"),
    "history/operations.jsonl": lambda run: (run / "history/operations.jsonl").unlink(),
    "faults.parquet": lambda run: (run / "faults.parquet").write_bytes(b"one more"),
    MANIFEST_FILE: lambda run: (run / MANIFEST_FILE).unlink(),
}


@pytest.fixture
def copy(highwater: Any, failed_run: Path) -> Path:
    return Path(shutil.copytree(failed_run, highwater.folder / "copy"))


def _asked(highwater: Any, reader: str, run: Path, other: Path) -> Any:
    return highwater(*(part.format(run=run, other=other) for part in READERS[reader]))


@pytest.mark.parametrize("edited", EDITS)
def test_no_reader_believes_an_edited_run(highwater: Any, copy: Path, failed_run: Path, edited: str) -> None:
    EDITS[edited](copy)
    for reader in READERS:
        done = _asked(highwater, reader, copy, failed_run)
        assert done.status == 254, f"{reader}: {done.err}"
        if not reader.startswith("check"):  # which may find that it cannot be read at all
            assert f"{copy / edited}: expected " in done.err, f"{reader}: {done.err}"
        if reader == "check":
            assert done.json["valid"] == "unknown"
    assert verify(failed_run) is not None


def test_every_reader_reads_what_is_as_it_was_and_says_what_is_unverified(
    highwater: Any, copy: Path, failed_run: Path, thorough: bool
) -> None:
    readers = READERS if thorough else ("check", "report")
    (copy / "notes.txt").write_text("seen by me\n")
    (copy / "report.html").unlink()
    # An export is of runs with Parquet; what is replayed and shrunk with a manifest is told below.
    for reader in (one for one in readers if one not in ("export", "replay", "shrink")):
        done = _asked(highwater, reader, copy, failed_run)
        assert "manifest" not in done.err, f"{reader}: {done.err}"
        assert done.status in (0, 1), f"{reader}: {done.err}"
    assert highwater("check", copy, "--json").json["verified"] is True

    (copy / MANIFEST_FILE).unlink()
    summary = json.loads((copy / "run.json").read_bytes())
    del summary["manifest"]  # as an earlier version wrote it
    (copy / "run.json").write_text(json.dumps(summary))
    for reader in (one for one in readers if one != "export"):
        shutil.rmtree(highwater.folder / "store", ignore_errors=True)
        done = _asked(highwater, reader, copy, failed_run)
        assert done.status in (0, 1), f"{reader}: {done.err}"
        said = "false" if reader == "check" else "unverified: it has no manifest.json"
        assert said in done.out + done.err, reader
    assert "Unverified" in (copy / "report.html").read_text()
    assert not (copy / MANIFEST_FILE).exists(), "to draw a report verifies nothing"


@pytest.mark.thorough
def test_who_writes_into_a_run_directory_makes_its_manifest_anew(highwater: Any, copy: Path) -> None:
    (copy / "report.html").write_text("edited")
    assert highwater("check", copy).status == 254
    assert highwater("report", copy).status == 0, "it is drawn from the others"
    assert verify(copy) is not None
    done = highwater("shrink", copy, "--runs", "5")
    assert (done.status, "manifest" in done.err) == (0, False), done.err
    assert (copy / "shrunk.yaml").exists()
    (copy / "shrunk.yaml").write_text("is the user's\n")
    assert verify(copy) is not None
    for name in ("verdict.json", "junit.xml", "report.html"):
        (copy / name).unlink()
    before = json.loads((copy / MANIFEST_FILE).read_bytes())["files"]
    kept = {name: digest for name, digest in before.items() if (copy / name).exists()}
    (copy / MANIFEST_FILE).write_text(json.dumps({"version": 1, "files": kept}))  # as before it was judged
    assert highwater("check", copy).status == 1
    verified = verify(copy)
    assert verified is not None
    assert verified["verdict.json"] == before["verdict.json"], "the same verdict"
    update_manifest(copy, ())
    assert not [path for path in copy.iterdir() if path.name.startswith(".")]


def test_a_replay_of_a_failure_is_no_good_news(highwater: Any, failed_run: Path) -> None:
    done = highwater("replay", failed_run)
    assert "manifest" not in done.err
    first, *_, last = done.out.splitlines()
    assert first.startswith("FAIL ")
    assert last.startswith("  it fails again: ")
