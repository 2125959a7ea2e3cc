"""The campaign's page and that of a comparison: the same style and policy, hostile names as text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from headless_browser import CHROMIUM, POOR_CONTRAST, Tab, browser

from highwater_chaos.campaign.examples import Example
from highwater_chaos.campaign.page import write_page
from highwater_chaos.campaign.rows import Row
from highwater_chaos.campaign.seed import Outcome, SeedJob
from highwater_chaos.report.comparison import compare, render

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here (Debian: chromium)")
EVIL = "<img src=x onerror=\"document.title='caught'\"><script>document.title='caught'</script>"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """One browser for all tests."""
    with browser(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """The page of a campaign with a failing seed, an error and names that are none."""
    outcomes = [
        Outcome("loses" + EVIL, 1, "", "pass", transitions=("became-leader",)),
        Outcome("loses" + EVIL, 2, "", "fail", anomalies=("lost-write", EVIL)),
        Outcome("loses" + EVIL, 3, "", "error", reasons=(EVIL,)),
    ]
    rows = [Row.of("loses" + EVIL, "", "pass", outcomes)]
    example = Example(SeedJob("loses" + EVIL, 2), tmp_path / "runs" / "<b>", True)
    return write_page(tmp_path, "loses" + EVIL, f"highwater campaign {EVIL}", rows, outcomes, [(example, outcomes[1])])


@pytest.fixture
def comparison(loss: Any, tmp_path: Path) -> Path:
    """The page of two runs, one of which lost a record."""
    loss.event(0, "broker-0", "node-started")
    first = loss.write(tmp_path / f"first {EVIL.replace('/', '-')}")
    second = loss.lost(0, 5).write(tmp_path / "second")
    page = tmp_path / "page.html"
    page.write_text(render(compare(first, second)), encoding="utf-8")
    return page


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ["campaign", "comparison"])
def test_it_is_read_in_both_themes_and_complains_of_nothing(
    name: str, dark: bool, tab: Tab, request: pytest.FixtureRequest
) -> None:
    page = request.getfixturevalue(name)
    tab.forget()
    tab.open(page, dark=dark)
    assert tab.value("document.title") != "caught"
    assert tab.value("document.images.length") == 0
    assert "onerror" in tab.value("document.body.innerText"), "a name is shown as it is"
    assert tab.value(POOR_CONTRAST) == []
    assert tab.complaints == []
    assert tab.requests == [page.resolve().as_uri()]
    tab.open(page, width=390, height=844, dark=dark)
    assert tab.value("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), "nothing runs out"
    assert tab.value("[...document.querySelectorAll('.table')].every(one => one.scrollWidth <= one.clientWidth)")


def test_both_timelines_show_the_same_time(comparison: Path, tab: Tab) -> None:
    tab.open(comparison)
    ranges = "[...document.querySelectorAll('.range')].map(r => r.textContent)"
    first, second = tab.value(ranges)
    assert first == second == "whole run, 0.091 s"
    tab.value("document.querySelectorAll('.scroller')[1].focus()")
    tab.key("+")
    tab.key("ArrowRight", code=39)
    tab.settle()
    first, second = tab.value(ranges)
    assert first == second
    assert " to " in first


def test_a_bug_that_was_looked_for_and_found_is_not_shown_as_a_failure(tmp_path: Path) -> None:
    outcomes = [Outcome("has-a-bug", 2, "", "fail", anomalies=("lost-write",))]
    example = Example(SeedJob("has-a-bug", 2), tmp_path / "runs" / "one", True)
    rows = [Row.of("has-a-bug", "", "fail", outcomes)]
    text = write_page(tmp_path, "looked for", "highwater", rows, outcomes, [(example, outcomes[0])]).read_text()
    assert '<span class="badge pass">found</span>' in text
    assert "Found by seed" in text
    assert 'class="badge fail"' not in text
    assert '<div class="cause">' not in text


def test_a_campaign_says_first_what_failed_and_where_to_look(campaign: Path, tab: Tab) -> None:
    tab.open(campaign)
    first = tab.value("document.querySelector('.headline').innerText")
    assert "Failing seed" in first
    assert "1 of " in first
    assert tab.value("document.querySelector('.headline a').getAttribute('href')") == "runs/%3Cb%3E/report.html"
    tab.value("document.querySelector('.headline a[href=\"#coverage\"]').click()")
    bar = tab.value("document.querySelector('svg.bar rect').getBoundingClientRect().width")
    whole = tab.value("document.querySelector('svg.bar').getBoundingClientRect().width")
    assert bar / whole == pytest.approx(1 / 3, abs=0.01)
