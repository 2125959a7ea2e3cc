"""Runs and stores in an object store: judged as the local ones are, and what cannot be done is one sentence."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from highwater_pipeline.tables.remote import located


def _upload(directory: Path, address: str) -> str:
    for file in sorted(directory.rglob("*")):
        if file.is_file():
            (located(address) / file.relative_to(directory).as_posix()).write_bytes(file.read_bytes())  # type: ignore[operator]
    return address


def _answer(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("run_id", "verdict", "reasons", "anomalies", "checks", "stats"))


def test_a_remote_run_is_judged_as_the_local_one(highwater: Any, s3: Any, failed_run: Path) -> None:
    local = highwater("check", failed_run, "--json").json
    runs = f"{s3.address}/judged"
    _upload(failed_run, f"{runs}/{failed_run.name}")
    for named in (f"{runs}/{failed_run.name}", runs, f"{runs.replace('s3a', 's3')}/*"):
        done = highwater("check", named, "--json")
        assert done.status == 1, done.err
        assert _answer(done.json) == _answer(local)
    history = f"{runs}/{failed_run.name}/history/operations.jsonl"
    file = highwater("check", history, "--acks", "all", "--idempotence", "--json")
    assert (file.status, "lost-write" in file.json["anomalies"]) == (1, True), file.err
    assert highwater.files() == [], "a remote run is judged without leaving anything here"


def test_a_remote_store(highwater: Any, s3: Any, failed_run: Path, tiny_run: Path) -> None:
    store = f"{s3.address}/store"
    remote = _upload(tiny_run, f"{s3.address}/to-be-stored/{tiny_run.name}")
    assert highwater("store", failed_run, remote, "--out", store).status == 0
    runs = highwater("check", failed_run, tiny_run, "--json").json["runs"]
    done = highwater("check", store, "--json")
    assert done.status == 1, done.err
    assert _verdicts(done.json["runs"]) == _verdicts(runs)
    again = highwater("store", tiny_run, "--out", store)
    assert (again.status, "has this run already" in again.err) == (254, True)


@pytest.mark.thorough
@pytest.mark.spark
def test_a_remote_run_and_a_store_on_spark(highwater: Any, s3: Any, failed_run: Path, tiny_run: Path) -> None:
    """In a process of its own: tasks have the environment that Spark was started in."""
    run = _upload(tiny_run, f"{s3.address}/of-spark/{tiny_run.name}")
    assert highwater("store", failed_run, "--out", f"{s3.address}/of-spark/store").status == 0
    wanted = highwater("check", tiny_run, failed_run, "--json").json["runs"]
    program = Path(sys.executable).parent / "highwater"
    done = subprocess.run(
        [program, "check", run, f"{s3.address}/of-spark/store", "--engine", "spark", "--json"],
        capture_output=True,
        check=False,
        cwd=highwater.folder,
        timeout=300,
    )
    assert done.returncode == 1, done.stderr
    assert _verdicts(json.loads(done.stdout)["runs"]) == _verdicts(wanted)


def test_a_remote_run_that_was_not_written_to_its_end(highwater: Any, s3: Any, tiny_run: Path) -> None:
    store = f"{s3.address}/torn"
    assert highwater("store", tiny_run, "--out", store).status == 0
    (entry,) = (located(store) / "stored").iterdir()
    from highwater_pipeline.tables.remote import filesystem_of

    filesystem_of(entry).delete_file(entry.in_filesystem)  # type: ignore[arg-type, union-attr]
    done = highwater("check", store)
    assert (done.status, "a run that was written to its end" in done.err) == (254, True)


def _verdicts(rows: list[dict[str, Any]]) -> dict[str, tuple[Any, ...]]:
    return {row["run_id"]: (row["valid"], row["anomalies"], row["checks"], row["stats"]) for row in rows}


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("s3a://no-such-bucket/store", "no such bucket"),
        ("s3a://runs-of-highwater/nothing/here", "no such file or directory"),
        ("s3a:///store", "found no bucket"),
        ("s3a://key:secret@bucket/store", "an address holds no credentials"),
        ("gs://bucket/store", "begins with s3://"),
        ("file://elsewhere/store", "found another machine, elsewhere"),
        ("hdfs://127.0.0.1:1/store", "HDFS needs libhdfs.so"),
    ],
)
def test_an_address_that_cannot_be_judged(highwater: Any, s3: Any, address: str, sentence: str) -> None:
    done = highwater("check", address)
    assert (done.status, sentence in done.err, "Traceback" in done.err) == (254, True, False), done.err
    assert "secret" not in done.err


def test_writing_to_a_bucket_that_is_not_there(highwater: Any, s3: Any, tiny_run: Path) -> None:
    done = highwater("store", tiny_run, "--out", "s3://no-such-bucket/store")
    assert (done.status, "there is no such bucket" in done.err) == (254, True), done.err
    for secret in s3.environment["AWS_SECRET_ACCESS_KEY"], s3.environment["AWS_ACCESS_KEY_ID"]:
        assert secret not in done.err


@pytest.mark.parametrize("server", ["gone", "silent"])
def test_a_store_that_does_not_answer(
    highwater: Any, s3: Any, monkeypatch: pytest.MonkeyPatch, tiny_run: Path, server: str
) -> None:
    """It is given up after seconds, not minutes."""
    from highwater_pipeline.tables import remote

    monkeypatch.setattr(remote, "_REQUEST_SECONDS", 1)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        if server == "silent":
            listening.listen()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{listening.getsockname()[1]}")
        began = time.monotonic()
        done = highwater("check", f"{s3.address}/store")
        assert (done.status, "AWS_ENDPOINT_URL" in done.err) == (254, True), done.err
        assert time.monotonic() - began < 60
    remote._filesystem.cache_clear()


def test_a_file_address_is_a_path(highwater: Any, tiny_run: Path) -> None:
    copy = shutil.copytree(tiny_run, highwater.folder / "a run")
    assert highwater("check", f"file://{copy}".replace(" ", "%20")).status == 0
