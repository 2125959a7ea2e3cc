"""Two runs side by side: what differs is said, what does not is the same, and what is no run is refused."""

import json
import re
import shutil
from pathlib import Path

import pytest

from highwater_chaos.cli import execute
from highwater_chaos.experiment.load import parse_experiment
from highwater_chaos.run.manifest import make_manifest
from highwater_chaos.verdict.checked_run import run_and_check

FILE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: compared}
spec:
  seed: 7
  timeout: 3m
  cluster:
    brokers: 3
    controllers: 1
    switches: {unclean-leader-election: off}
    config: {broker.session.timeout.ms: 3000}
    topics: [{name: orders, assignment: [[1, 0]]}]
  workload: {producers: 1, rate: 50/s, acks: all, consumers: 1}
  schedule:
    - inject: {kill: {target: {broker: 1}, restartAfter: 5s}}
    - wait: 8s
  assertions: [{use: one-active-controller}]
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A leader that dies, and the same cluster in which nothing happens."""
    calm = FILE.replace("    - inject: {kill: {target: {broker: 1}, restartAfter: 5s}}\n", "").replace("50/s", "20/s")
    calm = calm.replace("[{use: one-active-controller}]", "[]")
    made = []
    for name, text in (("struck", FILE), ("calm", calm)):
        parent = tmp_path_factory.mktemp(name)
        done = run_and_check(parse_experiment(text, name), "sim", parent, lambda _: None, varied={}, wire=False)
        made.append(done.directory)
    return made[0], made[1]


def test_what_differs_is_said(runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert execute(["compare", *map(str, runs), "--json", "--out", str(page)]) == 0
    found = json.loads(capsys.readouterr().out)
    lines = {one["what"]: (one["first"], one["second"]) for one in found["lines"]}
    assert lines["verdict"] == ("pass, as expected", "pass, as expected")
    assert lines["switch unclean-leader-election"] == ("off", "off")
    assert lines["faults"] == ("1 kill", "none")
    assert lines["leader changes"][1] == "0"
    assert int(lines["leader changes"][0]) >= 1
    assert int(lines["ISR shrinks"][0]) >= 1
    assert lines["assertion one-active-controller"] == ("holds", "–")
    assert lines["orders-0: leaders and ISRs"][1] == "1 in epoch 0, ISR 0 1"
    assert lines["orders-0: leaders and ISRs"][0].startswith("1 in epoch 0, ISR 0 1 → 0 in epoch 1, ISR 0")
    assert lines["orders-0: logs at the end"] == ("the same on 0 1", "the same on 0 1")
    acknowledged = [int(text.replace(",", "")) for text in lines["records acknowledged"]]
    verdicts = [json.loads((run / "verdict.json").read_text())["acknowledged"] for run in runs]
    assert acknowledged == verdicts
    silences = [float(text.split(" ")[0]) for text in lines["longest without an acknowledgement"]]
    assert silences[0] > 2 > silences[1], "a session has to end before there is another leader"
    assert any(text.startswith("-") and "50/s" in text for text in found["settings"])
    assert any(text.startswith("+") and "20/s" in text for text in found["settings"])

    text = page.read_text(encoding="utf-8")
    assert text.count('<section class="timeline"') == 2
    assert re.findall(r'id="(.*?)"', text) == [], "an id is of one element, and these stand twice"
    assert not re.search(r'(src|href)="', text), "one file, nothing from elsewhere"


def test_equal_runs_differ_in_nothing(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(runs[0], copy)
    assert execute(["compare", str(runs[0]), str(copy), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert all(one["first"] == one["second"] for one in found["lines"])
    assert found["settings"] == []
    assert execute(["compare", str(runs[0]), str(copy)]) == 0
    assert "Two runs of compared. Both are pass." in capsys.readouterr().out


def test_names_are_shown_as_they_are(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "[red]a"
    shutil.copytree(runs[0], copy)
    verdict = json.loads((copy / "verdict.json").read_text())
    verdict["assertions"][0]["name"] = "x[/red]<script>"
    (copy / "verdict.json").write_text(json.dumps(verdict))
    make_manifest(copy)
    page = tmp_path / "page.html"
    assert execute(["compare", str(copy), str(runs[1]), "--out", str(page)]) == 0
    shown = "".join(capsys.readouterr().out.split())
    assert "[red]a" in shown
    assert "assertionx[/red]<script>" in shown
    assert page.read_text(encoding="utf-8").count("<script>") == 1, "the page's own"


def test_what_is_no_pair_of_runs_is_refused(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torn = tmp_path / "torn"
    shutil.copytree(runs[0], torn)
    history = torn / "history" / "operations.jsonl"
    history.write_bytes(history.read_bytes()[:-20])
    for other, said in (
        (runs[0], "are the same run; expected two"),
        (tmp_path / "nowhere", "expected a run directory"),
        (torn, "torn/history/operations.jsonl"),
    ):
        assert execute(["compare", str(runs[0]), str(other)]) == 254
        shown = capsys.readouterr()
        assert (shown.out, said in shown.err) == ("", True), shown
