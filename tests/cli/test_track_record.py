"""The track record: what its files say is what they can show, and runs that are finished are not done again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.cli.exits import UsageError
from highwater_chaos.experiment import dump_experiment
from highwater_chaos.experiment.consistency import problems_of
from highwater_lab import track_record
from highwater_lab.command import command_line
from highwater_lab.track_record import Bug, Side, bugs_in, tally

BUGS = bugs_in()


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_is_a_fail_with_it_and_a_pass_without_that_says_why(bug: Bug) -> None:
    assert bug.has_bug.expected.verdict == "fail"
    assert bug.has_bug.expected.anomalies
    assert bug.has_fix.expected.verdict == "pass"
    assert bug.has_fix.expected.logged, "a pass must say why"
    for side in (bug.has_bug, bug.has_fix):
        assert side.experiment.cluster.runtime == "apache-kafka"
        assert problems_of(side.experiment) == [], "nothing is fetched for that"


def finish(side: Side, directory: Path, verdict: str = "", why_not: str = "", reason: str = "") -> None:
    """What a finished run leaves, as far as the table reads it."""
    directory.mkdir(parents=True)
    (directory / "experiment.yaml").write_text(dump_experiment(side.experiment), encoding="utf-8")
    content = {
        "verdict": verdict or side.expected.verdict,
        "asExpected": not why_not,
        "inconclusiveReasons": [reason] if reason else [],
        "expected": {"whyNot": why_not},
        "timing": {"wallSeconds": 40.0},
    }
    (directory / "verdict.json").write_text(json.dumps(content), encoding="utf-8")


def test_runs_of_another_experiment_and_inconclusive_ones_do_not_count(tmp_path: Path) -> None:
    side, other = BUGS[0].has_bug, BUGS[0].has_fix
    finish(side, tmp_path / "1")
    finish(other, tmp_path / "2")
    finish(side, tmp_path / "3", "inconclusive", "expected fail, found inconclusive")
    finish(side, tmp_path / "4", "pass", "expected fail, found pass")
    finish(side, tmp_path / "5", "fail", "expected lost-write, found divergence", "the run was ended early")
    found = tally(side, tmp_path)
    assert (found.as_expected, found.judged, found.inconclusive) == (1, 2, 2)
    (anomaly,) = side.expected.anomalies
    text = f"{side.shown}: fail 1 of 2 ({anomaly}), 2 inconclusive, expected fail, found pass"
    assert found.text(side) == text


@pytest.mark.parametrize(("then", "status"), [("", 0), ("expected pass, found fail", 1), ("inconclusive", 2)])
def test_a_command_that_is_given_again_runs_what_is_missing(
    highwater: Any, monkeypatch: pytest.MonkeyPatch, then: str, status: int
) -> None:
    bug = BUGS[0]
    out = Path("build/track-record")
    place = track_record._place
    finish(bug.has_bug, place(out, bug.has_bug) / "1")
    finish(bug.has_fix, place(out, bug.has_fix) / "1")
    finish(bug.has_fix, place(out, bug.has_fix) / "2")
    ran: list[tuple[Any, ...]] = []

    def run(files: list[str], *, backend: str, kafka: str, metadata_version: str | None, out: Path) -> int:
        ran.append((files, backend, kafka, metadata_version))
        finish(bug.has_bug, out / "new", "inconclusive" if then == "inconclusive" else "", then)
        return 0

    monkeypatch.setattr(track_record, "run", run)
    done = highwater("track-record", bug.files[0].stem, "--runs", "2", made=command_line)
    assert ran == [([str(bug.has_bug.file)], "local", bug.has_bug.kafka, bug.has_bug.metadata_version)]
    assert done.status == status
    assert f"| {bug.name} | {bug.lost} |" in done.out
    assert (out / "track-record.md").read_text("utf-8") in done.out


def test_a_bug_that_is_not_there_is_refused(highwater: Any) -> None:
    done = highwater("track-record", "kafka-0", made=command_line)
    assert done.status == 254
    assert done.err.startswith("'kafka-0' is no bug of the track record; these are: KAFKA-")


@pytest.mark.parametrize(
    ("found", "replacement", "complaint"),
    [
        ("has-fix: ", "has-fxi: ", "no file of KAFKA-1120 has highwater.dev/has-fix"),
        ("/lost: ", "/last: ", "highwater.dev/lost is required"),
        ("2.1.1\n", "2.1.1; kafka=2.0.1\n", "expected as many highwater.dev/has-fix as has-bug"),
        ("has-fix: kafka=", "has-fix: ", "has-fix: expected kafka=RELEASE[, metadataVersion=VERSION]; found '2.2.2'"),
    ],
)
def test_a_file_that_does_not_say_it_all_is_refused(
    tmp_path: Path, found: str, replacement: str, complaint: str
) -> None:
    text = (track_record.FOLDER / "kafka-1120.yaml").read_text(encoding="utf-8")
    assert found in text
    (tmp_path / "bad.yaml").write_text(text.replace(found, replacement), encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        bugs_in(tmp_path)
    assert complaint in str(refused.value)


def test_a_side_may_be_in_one_file_only(tmp_path: Path) -> None:
    for name in ("one.yaml", "two.yaml"):
        shutil.copyfile(track_record.FOLDER / "kafka-1120.yaml", tmp_path / name)
    with pytest.raises(UsageError, match="is in two files; expected one"):
        bugs_in(tmp_path)
