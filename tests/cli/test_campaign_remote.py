"""Campaigns that are kept in an object store, and their runs in a store there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.campaign import seed
from highwater_chaos.campaign.seed import Outcome, SeedJob
from highwater_chaos.cli import execute
from highwater_pipeline.tables.remote import RemotePath, located

DRIVER = """
from highwater_chaos.campaign import remote
from highwater_chaos.cli import main
remote.PIECE = 4
main()
"""
"""``highwater`` with a journal in small pieces: a few seeds are many pieces."""
SEEDS = 12


def _lines(pieces: RemotePath) -> list[bytes]:
    return [line for piece in pieces.iterdir() for line in piece.read_bytes().splitlines()] if pieces.exists() else []


@pytest.mark.thorough
def test_a_driver_that_is_killed_goes_on_from_what_was_copied(s3: Any, tiny_file: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", DRIVER, "campaign", tiny_file, "--seeds", f"1..{SEEDS}", "--jobs", "2"]
    there = ["--out", f"{s3.address}/killed", "--store", f"{s3.address}/killed-store"]
    pieces = located(f"{s3.address}/killed/journal")
    assert isinstance(pieces, RemotePath)
    driver = subprocess.Popen([*command, *there], cwd=tmp_path, stderr=subprocess.DEVNULL)
    while driver.poll() is None and not pieces.exists():
        time.sleep(0.02)
    driver.send_signal(signal.SIGKILL)
    assert driver.wait() == -signal.SIGKILL
    known = _lines(pieces)
    assert 0 < len(known) < SEEDS
    done = subprocess.run([*command, *there, "--resume"], cwd=tmp_path, check=False, capture_output=True)
    stored = f"{SEEDS} of {SEEDS} runs stored".encode()
    assert (done.returncode, stored in done.stdout) == (0, True), done.stderr
    assert (_lines(pieces)[: len(known)], len(_lines(pieces))) == (known, SEEDS), "what was known is not run again"
    here = ["campaign", str(tiny_file), "--seeds", f"1..{SEEDS}", "--jobs", "1", "--out", str(tmp_path / "here")]
    assert execute(here) == 0
    results = located(f"{s3.address}/killed/results.parquet").read_bytes()
    assert results == (tmp_path / "here" / "results.parquet").read_bytes()
    assert sorted(os.listdir(tmp_path)) == sorted(["here", tiny_file.name])  # noqa: PTH208


def test_what_cannot_be_kept_there(highwater: Any, s3: Any, tiny_file: Path) -> None:
    def run(*more: str) -> tuple[int, str]:
        done = highwater("campaign", tiny_file, "--seeds", "1..2", *more)
        return done.status, done.err

    assert run("--out", f"{s3.address}/kept")[0] == 0
    for arguments, sentence in (
        (["--out", f"{s3.address}/kept"], "expected nothing there"),
        (["--out", f"{s3.address}/none", "--resume"], "expected the plan of a campaign"),
        (["--out", "s3://no-such-bucket/c"], "no such bucket"),
        (["--out", "gs://bucket/c"], "begins with s3://"),
        (["--store", "gs://bucket/c"], "begins with s3://"),
    ):
        status, err = run(*arguments)
        assert (status, sentence in err, "Traceback" in err) == (254, True, False), err
    for secret in s3.environment["AWS_SECRET_ACCESS_KEY"], s3.environment["AWS_ACCESS_KEY_ID"]:
        assert secret not in err


def test_runs_that_workers_wrote_elsewhere_are_missed(
    highwater: Any, tiny_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a cluster, if --store is a directory that each machine has for itself."""
    judged = seed._judged

    def elsewhere(unit: SeedJob) -> Outcome:
        found = judged(unit)
        (highwater.folder / "store" / "stored" / f"{found.stored}.json").rename(highwater.folder / found.stored)
        return found

    monkeypatch.setattr(seed, "_judged", elsewhere)
    done = highwater("campaign", tiny_file, "--seeds", "1..2", "--store", "store")
    assert (done.status, "expected 2 runs, found 0" in done.err) == (254, True), done.err
