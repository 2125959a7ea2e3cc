"""The report in a real browser: zoom, read-outs, folding, jumps, themes, and a policy that lets nothing else run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser import CHROMIUM, Page, browser

from highwater_chaos.experiment import load_experiment
from highwater_chaos.judged_run import run_and_judge
from highwater_chaos.report import write_report

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
SCENARIO = Path(__file__).parents[2] / "scenarios" / "kip-903" / "kafka-14139.yaml"
SHOWN = "document.querySelector('.scaled').viewBox.baseVal"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a real run that loses records."""
    experiment = load_experiment(SCENARIO).with_seed_and_switches(None, {"replica-epoch-check": "off"})
    judged = run_and_judge(experiment, "sim", tmp_path_factory.mktemp("runs"), lambda _: None, varied={}, wire=False)
    return judged.directory / "report.html"


@pytest.fixture(scope="module")
def tab() -> Iterator[Page]:
    with browser() as page:
        yield page


@pytest.fixture
def page(tab: Page, report: Path) -> Page:
    tab.look(width=1400, height=1000)
    tab.open(report)
    tab.run("localStorage.clear()")
    return tab


def shown(page: Page) -> tuple[float, float]:
    """The part of the run on the screen, as shares of it."""
    left, width = page.run(f"[{SHOWN}.x, {SHOWN}.width]")
    return left / 1e6, (left + width) / 1e6


def test_nothing_is_complained_about(page: Page) -> None:
    assert page.errors == []


def test_a_drag_zooms_and_a_button_shows_the_whole_again(page: Page) -> None:
    start, end = (
        page.place_of(".lanes .lane:nth-of-type(7) .plot", 0.5),
        page.place_of(".lanes .lane:nth-of-type(7) .plot", 0.75),
    )
    page.drag(start, end)
    left, right = shown(page)
    assert (round(left, 2), round(right, 2)) == (0.5, 0.75)
    assert page.text(".tools output").startswith("19.42")
    ticks = page.run("[...document.querySelectorAll('.tick')].map(one => parseFloat(one.textContent))")
    assert len(ticks) > 4
    assert all(19 < tick < 30 for tick in ticks), "the axis is that of the part"
    page.click("[data-do=whole]")
    assert shown(page) == (0, 1)
    assert page.text(".tools output") == "The whole run"


def test_the_keyboard_does_the_same(page: Page) -> None:
    page.run("document.querySelector('.lanes').focus()")
    for _ in range(3):
        page.press("+")
    left, right = shown(page)
    assert right - left == pytest.approx(1 / 8)
    page.press("ArrowRight", shift=True)
    assert shown(page)[0] == pytest.approx(left + 1 / 32)
    page.press("0")
    page.press("ArrowLeft")
    said = page.text(".spoken")
    assert said.startswith("19.0")
    assert "HW, log ends: broker-0" in said
    assert "faults: partition broker-0, broker-1" in said


def test_the_cursor_shows_the_values_below_it(page: Page) -> None:
    page.hover(*page.place_of(".partition .lane .plot", 0.99))
    values = page.run(
        "Object.fromEntries([...document.querySelectorAll('.lane')]"
        ".filter(lane => lane.querySelector('.value')?.textContent)"
        ".map(lane => ['.label', '.value'].map(one => lane.querySelector(one).firstChild.textContent)))"
    )
    assert values["orders-0"] == "leader 1, epoch 1"
    assert values["ISR"] == "ISR {1, 0}"
    assert values["HW, log ends"].startswith("broker-0 1,8"), values
    assert values["broker-2"] == "up"


def test_a_time_leads_to_its_place_on_the_timeline(page: Page) -> None:
    page.click("li.cause button.at")
    left, right = shown(page)
    assert left * 38.843 < 26.670 < right * 38.843
    assert (right - left) * 38.843 == pytest.approx(4, abs=0.1)
    assert page.run("document.activeElement.className") == "lanes"
    assert page.run("document.querySelector('.cursor').style.display") == "block"


def test_a_partition_folds_by_keyboard(page: Page) -> None:
    page.run("document.querySelector('.partition > summary').focus()")
    assert page.run("document.querySelector('.partition').open") is True
    page.press("Enter")
    assert page.run("document.querySelector('.partition').open") is False


def test_what_is_to_be_typed_can_be_copied(page: Page) -> None:
    origin = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    page.call("Browser.grantPermissions", **origin)
    page.click("#again ~ .copied button")
    page.run("new Promise(done => setTimeout(done, 0))")
    assert page.text("#again ~ .copied button") in ("Copied", "Selected")


def test_dark_and_light(page: Page, report: Path) -> None:
    def background() -> Any:
        return page.run("getComputedStyle(document.body).backgroundColor")

    light = background()
    page.look(width=1400, height=1000, dark=True)
    dark = background()
    assert light != dark
    page.click("#theme")
    assert (page.text("#theme b"), background()) == ("light", light)
    page.open(report)
    page.click("#theme")
    assert (page.text("#theme b"), background()) == ("dark", dark), "the choice was kept"


def test_a_narrow_screen_needs_no_scrolling_sideways(page: Page) -> None:
    page.look(width=390, height=800)
    assert page.run("document.documentElement.scrollWidth") == 390


def test_contrast_of_text_is_enough(page: Page) -> None:
    """WCAG's 4.5:1, of every text that stands on the page's own background."""
    for dark in (False, True):
        page.look(width=1400, height=1000, dark=dark)
        assert page.run(CONTRAST) == []


def test_a_script_in_a_recording_does_not_run(tab: Page, loss: Any, tmp_path: Path) -> None:
    """Names are escaped; and if one were not, the policy would refuse it."""
    spoilt = write_report(loss.lost(0, 5).write(tmp_path))
    tab.open(spoilt)
    assert tab.errors == []
    markup = "<script>window.ran = 1</script><img src='https://e.invalid/x'></main>"
    spoilt.write_text(spoilt.read_text("utf-8").replace("</main>", markup))
    tab.open(spoilt)
    assert tab.run("window.ran") is None
    assert len([error for error in tab.errors if "Content Security Policy" in error]) == 2
    tab.errors.clear()


CONTRAST = """
(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = color => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = color => {
    const linear = rgba(color).slice(0, 3).map(one => one / 255)
      .map(one => one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const bad = [], texts = "h1, h2, p, li, td, th, button, a, summary, dt, dd, .label, .badge, .key span";
  for (const one of document.querySelectorAll(texts)) {
    if (!one.textContent.trim() || !one.getClientRects().length || one.disabled) continue;
    let behind = one;
    while (behind && rgba(getComputedStyle(behind).backgroundColor)[3] < 255) behind = behind.parentElement;
    const text = luminance(getComputedStyle(one).color);
    const paper = luminance(behind ? getComputedStyle(behind).backgroundColor : "white");
    const ratio = (Math.max(text, paper) + 0.05) / (Math.min(text, paper) + 0.05);
    if (ratio < 4.5) bad.push(`${one.tagName} ${one.className} ${one.textContent.slice(0, 20)}: ${ratio.toFixed(2)}`);
  }
  return bad;
})()
"""
