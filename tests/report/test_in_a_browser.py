"""Pages as Chromium shows them: they zoom, fold and read out by pointer and by keyboard, and run nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from headless_browser import CHROMIUM, POOR_CONTRAST, Tab, browser

from highwater_chaos.report.page import write_report

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here (Debian: chromium)")
EVIL = "<img src=x onerror=\"document.title='caught'\"><script>document.title='caught'</script>"


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """One browser for all tests."""
    with browser(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.fixture
def tab(started: Tab) -> Iterator[Tab]:
    """A tab whose page complained of nothing and asked for nothing but itself."""
    started.forget()
    yield started
    assert started.complaints == []
    assert [url for url in started.requests if not url.endswith("report.html")] == []


@pytest.fixture
def page(loss: Any, tmp_path: Path) -> Path:
    """The report of a run with a loss."""
    loss.event(0, "broker-0", "node-started")
    return write_report(loss.lost(0, 5).write(tmp_path))


def sight(tab: Tab) -> tuple[float, float]:
    """The part of the 91 ms that is in sight, in ms, by what the page says."""
    text = tab.value("document.querySelector('.range').textContent")
    if text.startswith("whole run"):
        return 0.0, 91.0
    start, _, end = text.replace(" s", "").partition(" to ")
    return float(start) * 1000, float(end) * 1000


def box(tab: Tab, selector: str) -> dict[str, float]:
    """Where an element is."""
    found = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect().toJSON()"
    return dict(json.loads(tab.value(f"JSON.stringify({found})")))


def row(tab: Tab, label: str) -> tuple[float, float, float]:
    """Left, right and middle of the track with this label, scrolled into sight."""
    found = (
        f"[...document.querySelectorAll('.row')].find(r => r.querySelector('.label').firstChild?.data === '{label}')"
    )
    tab.value(f"{found}.scrollIntoView({{block: 'center'}})")
    tab.settle()
    at = json.loads(tab.value(f"JSON.stringify({found}.querySelector('.plot').getBoundingClientRect())"))
    return at["left"], at["right"], (at["top"] + at["bottom"]) / 2


def drag(tab: Tab, start: float, end: float, y: float, **more: Any) -> None:
    """Drag along a track."""
    tab.mouse("mousePressed", start, y, button="left", buttons=1, **more)
    tab.mouse("mouseMoved", (start + end) / 2, y, button="left", buttons=1, **more)
    tab.mouse("mouseMoved", end, y, button="left", buttons=1, **more)
    tab.mouse("mouseReleased", end, y, button="left", **more)
    tab.settle()


def test_a_drag_zooms_and_a_second_drag_with_shift_moves(tab: Tab, page: Path) -> None:
    tab.open(page)
    left, right, y = row(tab, "acknowledged/s")
    drag(tab, left + (right - left) * 0.4, left + (right - left) * 0.5, y)
    assert sight(tab) == pytest.approx((36.4, 45.5), abs=0.3)
    drag(tab, left + 900, left + 900 - (right - left) / 2, y, modifiers=8)
    assert sight(tab) == pytest.approx((40.9, 50.0), abs=0.3)
    tab.value("document.querySelector('[data-do=reset]').click()")
    tab.settle()
    assert sight(tab) == (0.0, 91.0)


def until(tab: Tab, condition: str) -> None:
    """Wait until a condition holds in the page."""
    tab.value(f"new Promise(done => {{ const look = () => {condition} ? done(1) : setTimeout(look, 20); look() }})")


def test_the_part_in_sight_has_an_address_and_paper_has_the_whole_run(tab: Tab, page: Path) -> None:
    tab.open(page)
    tab.value("document.querySelector('[data-do=in]').click()")
    until(tab, "location.hash")
    assert tab.value("location.hash") == "#t=0.02275,0.06825"
    tab.call("Page.reload")
    until(tab, "document.querySelector('.range')?.textContent.includes(' to ')")
    assert sight(tab) == pytest.approx((22.75, 68.25), abs=0.1)
    tab.value("addEventListener('beforeprint', () => printed = document.querySelector('.range').textContent)")
    tab.call("Page.printToPDF")
    assert tab.value("printed") == "whole run, 0.091 s"
    until(tab, "document.querySelector('.range').textContent.includes(' to ')")
    assert sight(tab) == pytest.approx((22.75, 68.25), abs=0.1)
    tab.value("document.querySelector('[data-do=reset]').click()")
    until(tab, "location.hash === ''")
    for nonsense in ("1..2,5", ".,.", f"{'9' * 400},{'9' * 400}"):
        heard = "addEventListener('hashchange', () => done(1), {once: true})"
        tab.value(f"new Promise(done => {{ {heard}; location.hash = '#t={nonsense}' }})")
        assert sight(tab) == pytest.approx((0.0, 91.0), abs=0.1)


def test_labels_do_not_break_within_a_word(tab: Tab, page: Path) -> None:
    tab.open(page, width=500)
    heights = "[...document.querySelectorAll('.row .label')].filter(one => one.firstChild && one.checkVisibility())"
    heights += ".map(one => {"
    heights += "const text = one.firstChild, range = document.createRange(); range.selectNodeContents(text);"
    heights += "return [text.data, range.getClientRects().length] })"
    broken = [text for text, lines in tab.value(heights) if lines > 1 and " " not in text.strip()]
    assert broken == []


def test_the_wheel_zooms_where_the_pointer_is_and_only_with_control(tab: Tab, page: Path) -> None:
    tab.open(page)
    left, right, y = row(tab, "acknowledged/s")
    x = left + (right - left) * 0.75
    tab.mouse("mouseWheel", x, y, deltaX=0, deltaY=-500, modifiers=2)
    tab.settle()
    start, end = sight(tab)
    assert end - start < 30
    assert (0.75 * 91 - start) / (end - start) == pytest.approx(0.75, abs=0.01), "it stays below the pointer"
    tab.mouse("mouseWheel", x, y, deltaX=0, deltaY=-120)
    tab.settle()
    assert sight(tab) == (start, end), "the page scrolls"


def test_keys_zoom_move_and_reset(tab: Tab, page: Path) -> None:
    tab.open(page)
    tab.value("document.querySelector('.scroller').focus()")
    tab.key("+")
    tab.key("+")
    start, end = sight(tab)
    assert end - start == pytest.approx(91 / 4, abs=0.2)
    tab.key("ArrowRight", code=39)
    assert sight(tab)[0] == pytest.approx(start + 91 / 4 / 5, abs=0.2)
    tab.key("End", code=35)
    assert sight(tab)[1] == pytest.approx(91, abs=0.2)
    tab.key("-")
    assert sight(tab)[0] == pytest.approx(91 / 2, abs=0.2)
    tab.key("0")
    assert sight(tab) == (0.0, 91.0)


def test_the_readout_names_time_track_and_exact_values(tab: Tab, page: Path) -> None:
    tab.open(page)
    left, right, y = row(tab, "HW, log ends")

    def at(ms: float) -> str:
        tab.mouse("mouseMoved", left + (right - left) * ms / 91, y)
        tab.settle()
        return str(tab.value("document.querySelector('.readout').innerText"))

    assert at(40).splitlines()[1:] == ["log end of broker-0: 1", "log end of broker-1: none", "high watermark: 1"]
    assert at(80).splitlines()[1:] == ["log end of broker-0: 1", "log end of broker-1: 1", "high watermark: 1"]
    left, right, y = row(tab, "orders-0")
    text = at(70)
    assert text.startswith("0.070")
    assert "orders-0" in text
    assert "broker 1, epoch 1 (0.050 s to 0.091 s)" in text


def test_an_instant_of_the_story_is_shown_on_the_timeline(tab: Tab, page: Path) -> None:
    tab.open(page)
    tab.key("+")
    tab.value("document.querySelector('li.bad a.at').click()")
    tab.settle()
    cursor, plot = box(tab, ".cursor"), box(tab, ".axis .plot")
    assert (cursor["left"] - plot["left"]) / plot["width"] * 91 == pytest.approx(51, abs=0.2)
    seen = box(tab, ".scroller")
    assert seen["top"] < 1000
    assert seen["left"] < cursor["left"] < seen["right"]


def test_partitions_fold_by_keyboard(tab: Tab, page: Path) -> None:
    tab.open(page)
    opened = "[...document.querySelectorAll('.timeline details')].map(d => d.open)"
    assert tab.value(opened) == [True], "something was found in it"
    tab.value("document.querySelector('.timeline summary').focus()")
    tab.key("Enter", code=13)
    assert tab.value(opened) == [False]
    tab.key("Enter", code=13)
    assert tab.value(opened) == [True]
    tab.value("document.querySelector('[data-do=fold]').click()")
    assert tab.value(opened) == [False]
    tab.value("document.querySelector('[data-do=unfold]').click()")
    assert tab.value(opened) == [True]


def test_a_drag_on_a_partition_does_not_fold_it(tab: Tab, page: Path) -> None:
    tab.open(page)
    left, _, y = row(tab, "orders-0")
    drag(tab, left + 100, left + 300, y)
    assert tab.value("document.querySelector('.timeline details').open")
    assert sight(tab) != (0.0, 91.0)


def test_hostile_names_stay_text_in_the_page_and_in_the_readout(tab: Tab, loss: Any, tmp_path: Path) -> None:
    for found in loss.events:
        if found.get("partition"):
            found["partition"] += EVIL
    loss.faults[0]["targets"] = [EVIL]
    tab.open(write_report(loss.write(tmp_path)))
    left, right, y = row(tab, "faults")
    tab.mouse("mouseMoved", left + (right - left) * 3 / 91, y - 15)
    tab.settle()
    assert EVIL in tab.value("document.querySelector('.readout').textContent")
    assert tab.value("document.title") == "by-hand: pass"
    assert tab.value("document.images.length") == 0


def test_the_policy_stops_a_script_that_got_in(tab: Tab, page: Path) -> None:
    """What would happen if a name became markup after all: the browser refuses to run it."""
    page.write_text(page.read_text(encoding="utf-8").replace("</main>", f"{EVIL}</main>"), encoding="utf-8")
    tab.open(page)
    assert tab.value("document.title") == "by-hand: fail"
    assert not [url for url in tab.responses if url.endswith("/x")], "nor loads a picture"
    refused = [text for text in tab.complaints if "Content Security Policy" in text]
    assert len(refused) >= 2, tab.complaints
    tab.forget()


def test_the_theme_follows_the_system_until_one_is_chosen(tab: Tab, page: Path) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    tab.open(page, dark=True)
    dark = tab.value(paper)
    tab.open(page)
    light = tab.value(paper)
    assert dark != light
    click = "document.querySelector('button.theme').click()"
    tab.value(click)
    assert tab.value(paper) == light
    tab.value(click)
    assert tab.value(paper) == dark
    tab.open(page)
    assert tab.value(paper) == dark, "it is kept"
    tab.value(click)
    assert tab.value(paper) == light


def test_it_is_read_in_one_column_on_a_phone(tab: Tab, page: Path) -> None:
    tab.open(page, width=390, height=844)
    assert tab.value("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), "nothing runs out"


@pytest.mark.parametrize("dark", [False, True])
def test_text_has_the_contrast_of_wcag_aa(dark: bool, tab: Tab, loss: Any, tmp_path: Path) -> None:
    for index in range(8):
        changed = {"metadata_offset": 100 + index, "replicas": [0, index], "isr": [index], "leader": index}
        changed |= {"leader_epoch": index, "partition": f"colors-{index}", "reason": "created"}
        loss.event(5, "controller-0", "partition-changed", **changed)
    tab.open(write_report(loss.lost(0, 5).write(tmp_path)), dark=dark)
    tab.value("document.querySelectorAll('details').forEach(d => d.open = true)")
    tab.settle()
    assert tab.value("document.querySelectorAll('.leader text').length") >= 8
    assert tab.value(POOR_CONTRAST) == []


def test_what_is_drawn_has_names_and_what_is_pressed_has_words(tab: Tab, page: Path) -> None:
    tab.open(page)
    nameless = "[...document.querySelectorAll('svg[role=img]')].filter(s => !s.getAttribute('aria-label')).length"
    assert tab.value(nameless) == 0
    assert tab.value("document.querySelectorAll('table').length") > 3
    bare = "[...document.querySelectorAll('table')].filter(t => !t.querySelector('th[scope=col]')).length"
    assert tab.value(bare) == 0
    levels = tab.value("[...document.querySelectorAll('h1, h2, h3')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert 1 not in levels[1:]
    tree = tab.call("Accessibility.getFullAXTree")["nodes"]
    buttons = [one for one in tree if one.get("role", {}).get("value") == "button"]
    assert len(buttons) >= 6
    assert all(one["name"]["value"] for one in buttons)
    said = {one["name"]["value"] for one in tree if one.get("role", {}).get("value") == "image"}
    assert any(text.startswith("leaders: broker 0, epoch 0 from 0.001 s") for text in said), said


def test_the_command_is_copied(tab: Tab, page: Path) -> None:
    tab.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    tab.open(page)
    tab.value("document.querySelector('pre.copied').scrollIntoView({block: 'center'})")
    button = box(tab, ".with-copy button")
    for kind in ("mousePressed", "mouseReleased"):
        tab.mouse(kind, button["left"] + 5, button["top"] + 5, button="left")
    tab.settle()
    assert tab.value("document.querySelector('.with-copy button').textContent") == "Copied"
    copied = tab.value("navigator.clipboard.readText()")
    assert copied == f"highwater replay {page.parent}\nhighwater run {page.parent}/experiment.yaml"


@pytest.mark.thorough
def test_a_zoom_of_a_long_run_still_draws(tab: Tab, recording: Any, tmp_path: Path) -> None:
    """Ten minutes, as near as it goes: ticks and spans stay where they belong."""
    recording.event(0, "broker-0", "node-started").event(300_000, "broker-0", "node-stopped", reason="kill", offset=0)
    recording.event(600_000, "broker-0", "node-started")
    tab.open(write_report(recording.write(tmp_path)))
    tab.value("document.querySelector('.scroller').focus()")
    for _ in range(14):
        tab.key("+")
    start, _, end = tab.value("document.querySelector('.range').textContent").replace(" s", "").partition(" to ")
    assert float(end) - float(start) < 0.3
    assert float(start) < 300 < float(end)
    left, right, y = row(tab, "broker-0")
    tab.mouse("mouseMoved", left + (right - left) / 2 + 30, y)
    tab.settle()
    assert "down (300.000 s to 600.000 s)" in tab.value("document.querySelector('.readout').textContent")
    tab.mouse("mouseMoved", left + (right - left) / 2 - 30, y)
    tab.settle()
    assert "fenced (0.000 s to 300.000 s)" in tab.value("document.querySelector('.readout').textContent")
    assert tab.value("document.querySelectorAll('.axis text').length") > 3
