"""Both sets fit the code as it is and are applied in memory alone; the known one is found by what it breaks."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from highwater_chaos.campaign.rows import Row
from highwater_chaos.campaign.seed import Outcome
from highwater_chaos.experiment import ChaosExperiment, load_experiment
from highwater_lab.mutants import CATALOGUE, SETS, Mutant, MutantError, applied
from highwater_lab.mutants.apply import alone, change_of, changed_code, compiled
from highwater_lab.mutants.systematic import SIZE
from highwater_lab.mutated import rate_of_mutants
from highwater_runtime.broker import isr

PACKAGE = Path(__file__).parents[2]
FOLDERS = {"known": "", "held-out": "held_out"}
"""Of the modules of each set."""
AGAIN = pytest.mark.thorough
"""The same check is seen to find a bug in the same file, or this one in ``test_directed.py``."""


@pytest.mark.parametrize(
    "mutant", [pytest.param(one, id=name) for which in FOLDERS for name, one in SETS[which].items()]
)
def test_it_changes_one_place_and_leaves_no_trace(mutant: Mutant) -> None:
    function, changed = changed_code(mutant)
    before = function.__code__
    again = compiled(alone(change_of(mutant)[1].original, function), function)
    assert again is not None
    assert (
        changed.co_code != again.co_code or changed.co_consts != again.co_consts or changed.co_names != again.co_names
    )
    assert (changed.co_filename, changed.co_firstlineno) == (before.co_filename, before.co_firstlineno)
    with applied(mutant):
        assert function.__code__ is changed or function.__code__ == changed
    assert function.__code__ is before
    assert mutant.breaks
    assert mutant.mode in ("", "kraft", "zookeeper")


@pytest.mark.thorough
def test_the_set_that_nobody_wrote_changes_as_many_places() -> None:
    mutants = SETS["systematic"]
    assert len(mutants) == len([*mutants]) == SIZE
    for name, mutant in mutants.items():
        function, changed = changed_code(mutant)
        own = compiled(alone(change_of(mutant)[1].original, function), function)
        assert own is not None
        assert own.co_code != changed.co_code or own.co_consts != changed.co_consts, name
    kinds = {mutant.breaks.rpartition(" becomes ")[2] == "pass" for mutant in mutants.values()}
    areas = {mutant.where.partition(".")[0] for mutant in mutants.values()}
    assert (kinds, areas) == ({True, False}, {"broker", "controller", "log", "raft", "zookeeper"})


@pytest.mark.parametrize(("which", "least"), [("known", 80), ("held-out", 60)])
def test_no_name_is_taken_twice_and_there_are_enough(which: str, least: int) -> None:
    folder = PACKAGE / "lab/highwater_lab/mutants" / FOLDERS[which]
    written = [
        call.args[0].value
        for file in folder.glob("*.py")
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Mutant"
        if isinstance(call.args[0], ast.Constant)
    ]
    assert [name for name, count in Counter(written).items() if count > 1] == []
    assert set(written) == set(SETS[which])
    assert sum(1 for mutant in SETS[which].values() if not mutant.harmless) >= least


def test_no_mutant_is_in_both_sets() -> None:
    known, held_out = (
        {(one.where, one.old.strip(), one.new.strip()) for one in SETS[which].values()}
        for which in ("known", "held-out")
    )
    assert known & held_out == set()
    assert SETS["known"].keys() & SETS["held-out"].keys() == set()


def test_no_file_and_no_test_is_made_for_a_held_out_mutant() -> None:
    folders = [PACKAGE / folder for folder in ("scenarios", "lab/scenarios", "tests")]
    files = [file for folder in folders for file in folder.rglob("*.*") if file.is_file()]
    texts = {file: file.read_text(encoding="utf-8") for file in files if file.suffix in (".yaml", ".md", ".py")}
    assert len(texts) > 200
    named = [(file.name, name) for file, text in texts.items() for name in SETS["held-out"] if name in text]
    assert named == []


def test_a_rate_counts_each_bug_once_and_no_harmless_mutant() -> None:
    def row(mutant: str, expected: str, verdict: str, *, reached: bool, changed: bool, experiment: str = "x") -> Row:
        outcome = Outcome(experiment, 1, mutant, verdict, reached=reached, changed=changed)
        return Row.of(experiment, mutant, expected, [outcome])

    rate = rate_of_mutants(
        [
            row("a", "fail", "fail", reached=True, changed=True),
            row("a", "fail", "pass", reached=False, changed=False, experiment="y"),
            row("b", "fail", "pass", reached=True, changed=True),
            row("c", "fail", "pass", reached=True, changed=False),
            row("d", "fail", "pass", reached=False, changed=False),
            row("e", "pass", "pass", reached=True, changed=True),
            Row.of("x", "", "fail", [Outcome("x", 1, "", "fail")]),
        ]
    )
    assert rate.to_dict() == {"bugs": 4, "reached": 3, "changed": 2, "found": 1, "foundShare": 0.25}
    assert rate_of_mutants([]).to_dict()["foundShare"] is None


def test_the_page_counts_the_catalogue() -> None:
    text = (PACKAGE / "docs/internals/laboratory.md").read_text(encoding="utf-8")
    harmless = sum(bool(mutant.harmless) for mutant in CATALOGUE.values())
    bugs = len(CATALOGUE) - harmless
    assert f"Of {len(CATALOGUE)} known mutants {bugs} are bugs and {harmless} are judged harmless" in text


@pytest.mark.parametrize(
    ("where", "old", "why"),
    [
        ("broker.isr:next_high_watermark", "least", "expected its text once"),
        ("broker.isr:next_high_watermark", "no such text", "found it 0 times"),
        ("broker.isr:no_such_function", "x", "there is no such function"),
        ("no.such.module:x", "x", "there is no such function"),
    ],
)
def test_an_entry_that_no_longer_fits_is_refused(where: str, old: str, why: str) -> None:
    with pytest.raises(MutantError, match=why), applied(Mutant("x", where, old, "y", "")):
        raise AssertionError("not reached")


def test_who_has_the_function_by_name_has_the_mutant_too() -> None:
    """``leadership`` imports the function itself, so an attribute of the module would not do."""
    from highwater_runtime.broker import leadership

    assert leadership.next_high_watermark is isr.next_high_watermark
    with applied(CATALOGUE["hw-is-leader-end"]):
        found = leadership.next_high_watermark(
            [leadership.FollowerState(1, log_end_offset=3)],
            isr.IsrState((0, 1)),
            leader_end_offset=7,
            min_isr=1,
            now_ns=0,
            lag_max_ns=1,
            eligible=lambda _: True,
        )
    assert found == 7


@pytest.mark.quick("epoch-cache-keeps", "zk-controller-epoch-not-raised")
@pytest.mark.parametrize(
    ("mutant", "file", "anomaly"),
    [
        ("last-isr-member-removed", "consumer-groups", "isr-empty"),
        ("group-commit-answered-at-append", "consumer-groups", "group-offset-uncommitted"),
        pytest.param("group-keeps-first-commit", "consumer-groups", "group-offset-stale", marks=AGAIN),
        ("compaction-drops-last-record", "compacted-topics", "committed-loss"),
        pytest.param("recovery-point-at-end", "consumer-groups", "recovery-point-durable", marks=AGAIN),
        ("recovery-point-before-fsync", "consumer-groups", "recovery-point-durable"),
        ("epoch-cache-survives-truncation", "leaders-to-and-fro", "leader-epoch-cache"),
        ("epoch-cache-keeps-later-starts", "isr-proposals", "leader-epoch-cache"),
        ("zk-dead-members-stay-in-isr", "zookeeper-faults", "isr-incomplete"),
        ("zk-controller-epoch-not-raised", "zookeeper-faults", "controller-epoch-reused"),
    ],
)
def test_a_story_finds_what_it_is_made_for(
    finds: Callable[[ChaosExperiment, str, str], bool], mutant: str, file: str, anomaly: str
) -> None:
    experiment = load_experiment(PACKAGE / f"scenarios/random/{file}.yaml")
    assert finds(experiment.with_seed_and_switches(1, {}), mutant, anomaly)
