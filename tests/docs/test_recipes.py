"""Each recipe comes out as its page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from highwater_chaos.cli import execute
from highwater_chaos.experiment import parse_experiment

ROOT = Path(__file__).parents[2]
RECIPE = re.compile(r"^## (.+?)$[^#]*?^```yaml\n(.+?)^```$\s+Verdict: `(\w+)`", re.M | re.S)
RECIPES = RECIPE.findall((ROOT / "docs/recipes.md").read_text("utf-8"))


@pytest.mark.quick("What can acks=1 lose?")
@pytest.mark.parametrize(("question", "text", "verdict"), RECIPES, ids=[question for question, *_ in RECIPES])
def test_a_recipe(
    question: str,
    text: str,
    verdict: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe.yaml").write_text(text, "utf-8")
    assert execute(["validate", "recipe.yaml"]) == 0
    assert [one.verdict for one in parse_experiment(text, question).spec.expect] == [verdict]
    assert execute(["run", "recipe.yaml"]) == 0
    printed = capsys.readouterr().out
    assert f"{verdict.upper()} as expected" in printed
    if 'acks: "1"' in text:
        assert " 102 lost" in printed
        (run,) = (tmp_path / "runs").iterdir()
        assert execute(["truncations", str(run)]) == 0
        assert re.search(r"\b206 +104\b", capsys.readouterr().out), "102 records were cut, as the page says"


def test_no_recipe_is_left_out() -> None:
    assert len(RECIPES) == (ROOT / "docs/recipes.md").read_text("utf-8").count("kind: ChaosExperiment") == 6
