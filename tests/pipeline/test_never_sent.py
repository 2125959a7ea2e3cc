"""What ``never-sent`` may say: nothing without its input, nothing of what brokers write, and the same of any number of
records, however they lie."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from highwater_pipeline import check_run
from highwater_pipeline.checks import run_checks
from highwater_pipeline.checks.never_sent import never_sent_prefilter
from highwater_pipeline.partitions.partition_tables import alone, split


def _read(story: Any) -> Any:
    return story.poll((0, 1))


def _sent(story: Any) -> Any:
    return story.send(1, at=0).poll()


def _partly_sent(story: Any) -> Any:
    return story.under(unrecorded_sends=True).send(1, at=0).poll((0, 1), (1, 2))


@pytest.mark.parametrize(
    ("history", "why"),
    [
        (_read, "no sends recorded"),
        (_sent, "nothing was read or dumped"),
        (_partly_sent, "some clients' sends were not recorded"),
    ],
)
def test_without_its_input_it_says_nothing(story: Any, history: Any, why: str) -> None:
    run_verdict = check_run(history(story).tables(), ["never-sent"])
    assert (run_verdict.verdict, run_verdict.checks) == ("inconclusive", {"never-sent": "not-available"})
    assert f"{why}: not judged on never-sent" in run_verdict.reasons


@pytest.mark.parametrize(("topic", "verdict"), [("__consumer_offsets", "pass"), ("__mine", "fail")])
def test_brokers_write_to_internal_topics_themselves(story: Any, topic: str, verdict: str) -> None:
    story.send(1, at=0).poll((0, 1)).dump(0, (0, 0, -123))
    story.dumps = [msgspec.structs.replace(record, partition=f"{topic}-0") for record in story.dumps]
    assert check_run(story.tables(), ["never-sent"]).verdict == verdict


def test_of_a_compressed_batch_the_values_are_not_known(story: Any) -> None:
    story.send(1, at=0).poll((0, 1)).dump(0, (0, 0, 1))
    story.dumps = [msgspec.structs.replace(record, value=None) for record in story.dumps]
    assert check_run(story.tables(), ["never-sent"]).verdict == "pass"


small = st.integers(1, 6)
steps = st.lists(st.tuples(st.sampled_from(["send", "poll", "dump"]), st.lists(small, max_size=4)), max_size=8)


@given(steps, st.integers(1, 8))
def test_it_finds_what_the_definition_does_in_ranges_of_any_size(
    new_story: Any, told: list[tuple[str, list[int]]], chunk: int
) -> None:
    story, sent, wrong, dumped = new_story(), set(), set(), set()
    for what, values in told:
        if what == "send":
            story.send(*values, outcome="info", process=len(story.operations))
            sent.update(values)
        elif what == "poll":
            story.poll(*enumerate(values))
            wrong.update(set(values) - sent)
        else:
            story.dump(0, *((offset, 0, value) for offset, value in enumerate(values)))
            dumped.update(values)
    if not sent:
        return
    _, units = split(story.tables())
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("highwater_pipeline.arrow.view.CHUNK", chunk)
        for unit in units:
            found = run_checks(unit, ["never-sent"]).findings
            count = found["never-sent"].count if found else 0
            assert count == len(wrong | (dumped - sent))
            if count:
                assert never_sent_prefilter(alone(unit)).all()
