"""The page: self-contained, safe whatever the names are, and with the story only where something was lost."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.experiment import parse_experiment
from highwater_chaos.report.page import write_report
from highwater_chaos.verdict.checked_run import CheckedRun, run_and_check

EVIL = '<script>alert("x")</script><img src=x onerror=alert(1)>'
ATTRIBUTES_THAT_LOAD = {"src", "href", "srcset", "data", "action", "xlink:href", "poster"}
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(HTMLParser):
    """Collects tags, attributes and text, and checks that tags nest."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""
        self.open: list[str] = []
        self.story: list[tuple[str, str]] = []
        self.feed(html)
        self.close()
        assert self.open == [], "every tag is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "li" and dict(attrs).get("class"):
            self.story.append((dict(attrs)["class"] or "", ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if "li" in self.open and self.story:
            self.story[-1] = (self.story[-1][0], self.story[-1][1] + data)


def page_of(directory: Path) -> Page:
    return Page(write_report(directory).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def kafka_14139(tmp_path_factory: pytest.TempPathFactory) -> CheckedRun:
    """A real run that loses records."""
    file = Path(__file__).parents[2] / "scenarios" / "kip-903" / "kafka-14139.yaml"
    text = file.read_text(encoding="utf-8").replace("rate: 200/s", "rate: 40/s")
    experiment = parse_experiment(text, file.name).with_seed_and_switches(None, {"replica-epoch-check": "off"})
    return run_and_check(experiment, "sim", tmp_path_factory.mktemp("runs"), lambda _: None, varied={}, wire=False)


def test_a_loss_is_told_with_the_step_that_lost_it(loss: Any, tmp_path: Path) -> None:
    page = page_of(loss.lost(0, 5).write(tmp_path))
    assert "1 acknowledged record was lost: 1 acknowledged records, removals not counted, 3 faults." in page.text
    assert "Record 5 at offset 0 of orders-0" in page.text
    assert [weight for weight, _ in page.story].count("cause") == 1
    bad = [text for weight, text in page.story if weight == "bad"]
    assert "became leader in epoch 1 with log end offset 0: the record is lost" in bad[0]
    assert "Value 5 is gone." in page.text


def test_a_pass_has_no_story(loss: Any, tmp_path: Path) -> None:
    page = page_of(loss.write(tmp_path))
    assert page.story == []
    assert (
        "Nothing that the log said was safe was lost: 1 acknowledged records, removals not counted, 3 faults."
        in page.text
    )
    assert "What was found" not in page.text


def assertion(
    holds: bool | None, *, name: str = "enough", promql: str = "sum(up) > 2", what: str = "sum(up)"
) -> dict[str, Any]:
    example = {"time_ns": 1_500_000_000, "found": [{"what": what, "value": 1.0}]}
    return {
        "name": name,
        "promql": promql,
        "during": "fault",
        "must": "always",
        "holds": holds,
        "reason": "" if holds else f"why {name} is not so",
        "source": "samples",
        "instants": 3,
        "example": None if holds is None else example,
    }


def test_assertions_are_told_with_what_was_found(recording: Any, tmp_path: Path) -> None:
    assertions = [assertion(False), assertion(None, name="unsure")]
    recording.verdict.update(verdict="fail", assertions=assertions)
    page = page_of(recording.write(tmp_path))
    assert (
        "Nothing was lost, but enough did not hold: 0 acknowledged records, removals not counted, 0 faults."
        in page.text
    )
    assert re.search(r"enough\s*always, fault\s*sum\(up\) > 2\s*did not hold\s*1\.500 s\s*sum\(up\) = 1\.0", page.text)
    assert re.search(r"unsure.*not judged\s*why unsure is not so", page.text, re.DOTALL)


def test_inconclusive_reasons_stand_at_the_top(recording: Any, tmp_path: Path) -> None:
    recording.verdict.update(
        verdict="inconclusive",
        asExpected=False,
        inconclusiveReasons=["no write was acknowledged"],
        expected={"verdict": "pass", "anomalies": [], "whyNot": "expected pass, found inconclusive"},
    )
    page = page_of(recording.write(tmp_path))
    assert "This run decides nothing (0 acknowledged records, removals not counted, 0 faults)." in page.text
    assert "NOT as expected: expected pass, found inconclusive" in page.text
    assert page.text.index("no write was acknowledged") < page.text.index("Timeline")


def test_an_unconfirmed_fault_says_so(recording: Any, tmp_path: Path) -> None:
    recording.fault("drop", 1, 2, confirmed=False, evidence={"inject": [{"what": "caught 0"}], "heal": []})
    assert "not confirmed: caught 0" in page_of(recording.write(tmp_path)).text
    recording.faults[0]["idle"] = True
    assert "met nothing to act upon: caught 0" in page_of(recording.write(tmp_path)).text


def test_names_are_only_text(loss: Any, tmp_path: Path) -> None:
    """Whatever a name, a reason or a piece of evidence holds, it becomes no markup."""
    harmless = page_of(loss.lost(0, 5).write(tmp_path))
    for row in loss.events + loss.faults:
        for name in ("node", "reason", "kind"):
            if name in row and row[name] in ("controller-0", "leader", "kill", "ab"):
                row[name] += EVIL
        if row.get("partition"):
            row["partition"] += EVIL
    loss.faults[0].update(name=EVIL, error=EVIL, confirmed=False, targets=[EVIL])
    loss.faults[1]["evidence"]["inject"][0]["what"] = EVIL
    for element in [element for row in loss.operations for element in row["value"]]:
        element["key"] += EVIL
    example = loss.verdict["anomalies"]["lost-write"]["examples"][0]
    example.update(partition="orders-0" + EVIL, story=EVIL)
    loss.verdict["inconclusiveReasons"] = [EVIL]
    loss.verdict["assertions"] = [assertion(False, name=EVIL, promql=EVIL, what=EVIL)]
    loss.verdict["checks"][EVIL] = EVIL
    loss.verdict["expected"]["whyNot"] = EVIL
    loss.verdict.update(asExpected=False, backend=EVIL)
    loss.experiment = loss.experiment.replace("A run that never was", f"'{EVIL}'")
    page = page_of(loss.write(tmp_path))
    assert page.text.count(EVIL) > 10, "it is shown"
    assert page.tags.count("script") == harmless.tags.count("script") == 1
    assert "img" not in page.tags
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]


def test_the_page_needs_nothing_from_elsewhere(kafka_14139: CheckedRun) -> None:
    html = (kafka_14139.directory / "report.html").read_text(encoding="utf-8")
    page = Page(html)
    loading = [found for found in page.attributes if found[1] in ATTRIBUTES_THAT_LOAD]
    assert {value for *_, value in loading} == {"#timeline"}, "a place in the page itself"
    assert not [found for found in page.attributes if found[1] == "style"], "the policy would not let it act"
    html = html.replace('"http://www.w3.org/2000/svg"', "")  # a name, which nothing is loaded from
    assert not re.search(r"https?://|@import|url\(|\bfetch\(|XMLHttpRequest|import\(", html)
    assert {"link", "iframe", "object", "embed"}.isdisjoint(page.tags)


def test_the_policy_allows_this_script_and_no_other(kafka_14139: CheckedRun) -> None:
    html = (kafka_14139.directory / "report.html").read_text(encoding="utf-8")
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', html)
    allowed = dict(one.split(" ", 1) for one in unescape(policy).split("; "))
    for tag, directive in (("script", "script-src"), ("style", "style-src")):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert allowed[directive] == f"'sha256-{digest}'"
    assert allowed["default-src"] == "'none'"


def test_the_promise_the_decision_and_the_fault_stand_first(kafka_14139: CheckedRun) -> None:
    html = (kafka_14139.directory / "report.html").read_text(encoding="utf-8")
    first = Page(html[html.index("<dl") : html.index("</dl>") + 5]).text
    assert re.search(r"Broken promise\s*lost-write: a value .* \([\d,]+ found, in orders-0\)", first)
    assert re.search(r"The wrong decision\s*[\d.]+ s\s*controller-\d: accepted ISR .* is registered under", first)
    assert re.search(r"The loss\s*[\d.]+ s\s*broker-1: became leader in epoch \d+", first)
    for fault in ("powerLoss broker-1", "hold AlterPartition broker-0", "kill broker-0"):
        assert re.search(rf"Fault that took part\s*[\d.]+ s\s*{fault}", first)
    assert "partition broker-0" not in first, "it was in force, and caused nothing"


def test_one_sentence_says_what_was_lost_by_which_decision_after_which_faults(kafka_14139: CheckedRun) -> None:
    sentence, lost = kafka_14139.verdict["explanation"], kafka_14139.verdict["lost"]
    assert re.fullmatch(
        r"Broker 1 lost its disk at [\d.]+ s; the controller let broker 1 into the ISR under its old epoch \d+ at"
        r" [\d.]+ s, by a request that had been held; broker 0, the leader, was killed at [\d.]+ s; broker 1 became"
        rf" leader at [\d.]+ s with an empty log: {lost:,} acknowledged records are gone\.",
        sentence,
    )
    page = Page((kafka_14139.directory / "report.html").read_text(encoding="utf-8"))
    assert page.text.index(sentence) < page.text.index("Broken promise")
    assert (
        f'message="{sentence}"' in (kafka_14139.directory / "junit.xml").read_text()
        or kafka_14139.verdict["asExpected"]
    )


def test_the_message_that_was_held_is_marked(kafka_14139: CheckedRun) -> None:
    rows = [json.loads(line) for line in (kafka_14139.directory / "faults.jsonl").read_text().splitlines()]
    (held,) = [row for row in rows if row["kind"] == "hold"]
    (time_ns,) = held["evidence"]["inject"][0]["data"]["times_ns"]
    assert held["injected_ns"] <= time_ns <= held["healed_ns"]
    html = (kafka_14139.directory / "report.html").read_text(encoding="utf-8")
    (at,) = re.findall(r'class="m caught" x="([\d.]+)%"', html)
    (end_ns,) = re.findall(r'data-end="(\d+)"', html)
    assert float(at) / 100 * int(end_ns) == pytest.approx(time_ns, rel=1e-4)


def test_a_real_loss_names_the_decision_that_was_wrong(kafka_14139: CheckedRun) -> None:
    page = Page((kafka_14139.directory / "report.html").read_text(encoding="utf-8"))
    lost = kafka_14139.verdict["anomalies"]["lost-write"]["count"]
    assert f"{lost:,} acknowledged records were lost: " in page.text
    weights = [weight for weight, _ in page.story]
    assert weights.index("good") < weights.index("cause") < weights.index("bad")
    (cause,) = [text for weight, text in page.story if weight == "cause"]
    assert re.search(
        r"accepted ISR \{0 \(epoch \d+\), 1 \(epoch \d+\)\}, though broker 1 is registered under \d+", cause
    )
    for fault in kafka_14139.verdict["faults"]:
        assert fault["kind"] in page.text
    for name in kafka_14139.verdict["checks"]:
        assert name in page.text


def test_the_page_says_how_to_run_it_again(kafka_14139: CheckedRun) -> None:
    page = Page((kafka_14139.directory / "report.html").read_text(encoding="utf-8"))
    assert f"highwater replay {kafka_14139.directory}" in page.text
    assert f"highwater run {kafka_14139.directory}/experiment.yaml" in page.text
    assert "seed 7 · backend sim · replica-epoch-check=off" in page.text


def test_nothing_is_written_through_a_link(kafka_14139: CheckedRun, tmp_path: Path) -> None:
    run = shutil.copytree(kafka_14139.directory, tmp_path / "run")
    mine = tmp_path / "mine.txt"
    mine.write_text("not a report")
    (run / "report.html").unlink()
    (run / "report.html").symlink_to(mine)
    assert write_report(run).read_text(encoding="utf-8").startswith("<!doctype html>")
    assert mine.read_text() == "not a report"
    assert not [path for path in run.iterdir() if path.name.startswith(".report")]
