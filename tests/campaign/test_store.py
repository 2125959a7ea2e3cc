"""What is known of a campaign stays known, whatever the disk does."""

from __future__ import annotations

import resource
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from highwater_chaos.campaign import examples
from highwater_chaos.campaign.seed import Outcome, SeedJob, experiment_of
from highwater_chaos.campaign.store import BadCampaignError, CampaignDirectory
from highwater_chaos.shrink.search import Shrunk
from highwater_chaos.shrink.size import size_of


@contextmanager
def no_file_above(size: int) -> Iterator[None]:
    """Writing beyond fails as on a full disk (EFBIG, not ENOSPC), for this process."""
    limit, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))


def test_a_full_disk_is_named_and_what_was_known_is_kept(tmp_path: Path) -> None:
    outcomes = [Outcome("x", seed, "", "pass") for seed in range(9)]
    why = "cannot be written: .*File too large; what was known until then is kept: add --resume --out"
    with no_file_above(1000), CampaignDirectory.open(tmp_path / "c", {}, resume=False) as directory:
        with pytest.raises(BadCampaignError, match=why):
            add(directory, outcomes)
        with pytest.raises(BadCampaignError, match=why):
            directory.finish(outcomes)
    assert (tmp_path / "c/journal.jsonl").stat().st_size == 1000, "the last line is torn"
    with CampaignDirectory.open(tmp_path / "c", {}, resume=True) as directory:
        known = list(directory.known)
        assert 0 < len(known) < len(outcomes)
        add(directory, outcomes[len(known) :])
    with CampaignDirectory.open(tmp_path / "c", {}, resume=True) as directory:
        assert list(directory.known) == outcomes


def add(directory: CampaignDirectory, outcomes: Sequence[Outcome]) -> None:
    for outcome in outcomes:
        directory.add(outcome)


def test_the_small_experiment_of_the_longest_name_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name of an experiment has up to 253 characters, one of a file 255 bytes."""
    unit = SeedJob("a" * 253, 1)
    experiment = experiment_of(unit)
    small = Shrunk(experiment, "lost-write", size_of(experiment), size_of(experiment), runs=1, finished=True)
    monkeypatch.setattr(examples, "find_smallest", lambda *_, **__: small)
    failed = Outcome(unit.experiment, 1, "", "fail", ("lost-write",))
    written = examples.shrink_example(examples.Example(unit, tmp_path, same=True), failed, tmp_path, 1, nullcontext())
    assert written.shrunk is not None
    assert written.shrunk.read_text(encoding="utf-8").startswith("#")
