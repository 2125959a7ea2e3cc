"""A fault of another distribution: one file and an entry point. It is named by an experiment, drawn by ``random``,
refused under a wrong name, run and judged."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from highwater_chaos.experiment.faults import FaultKindError, fault_kinds

FAULT = '''
"""``blackout``: a node can neither send nor receive."""

from typing import ClassVar

from highwater_chaos.backends.primitives import CutsLinks
from highwater_chaos.experiment.targets import Victims
from highwater_chaos.faults import Drawn, Fault, ProbeResult
from highwater_chaos.faults.base import target_of
from highwater_chaos.base.process import Sleep


class Blackout(Fault):
    """A node can neither send nor receive."""

    KIND: ClassVar[str] = "blackout"
    target: Victims

    @property
    def needs(self):
        return frozenset({CutsLinks})

    @classmethod
    def draw(cls, drawing):
        node = drawing.node("brokers")
        return None if node is None else Drawn(cls(target=target_of(node)), (node,))

    def inject(self, context):
        (node,) = context.resolve(self.target)
        others = [other for other in context.nodes if other != node]
        touched = [context.cut(*link) for other in others for link in ((node, other), (other, node))]
        yield Sleep(0)
        for touch in touched:
            silent = not context.using(CutsLinks).reachable(*touch.nodes)
            context.record_evidence(touch, f"{touch.name} is silent", silent)

    def heal(self, context):
        context.undo_each(context.join)
        yield Sleep(0)

    def probe(self, context, touch):
        return ProbeResult(context.using(CutsLinks).reachable(*touch.nodes), touch.name)
'''
MAIN = """
import contextlib, io, json, sys
from highwater_chaos.cli import execute

done = []
for arguments in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        status = execute(arguments)
    done.append({"status": status, "out": out.getvalue(), "err": err.getvalue()})
print(json.dumps(done))
"""
EXPERIMENT = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: third-party}
spec:
  seed: 3
  timeout: 2m
  cluster: {brokers: 2, controllers: 1, topics: [{name: orders, replicationFactor: 2}]}
  workload: {producers: 1, rate: 10/s}
  schedule:
    - inject: {KIND: {target: {broker: 1}}, for: 1s}
    - wait: 2s
    - random: {for: DRAWS, every: 2s, lasting: 1s, faults: {DRAWN: 1}}
"""


def install(folder, *entry_points, **modules):
    """Install a distribution with these entry points; returns the directory that ``sys.path`` has to name."""
    site = folder / "site"
    info = site / "blackout-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: blackout\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(["[highwater.faults]", *entry_points, ""]))
    for name, source in {"blackout": FAULT, **modules}.items():
        (site / f"{name}.py").write_text(source)
    return site


def changed(kind, *changes):
    """The source of a fault of this kind, otherwise than that of ``blackout``."""
    source = FAULT
    for old, new in (('"blackout"', f'"{kind}"'), *changes):
        assert old in source
        source = source.replace(old, new)
    return source


NEEDS = "from highwater_chaos.backends.primitives import CutsLinks"
MODULES = {
    "endless": changed("endless", ("        context.undo_each(context.join)\n", "")),
    "needy": changed(
        "needy",
        (NEEDS, f"{NEEDS}\nfrom highwater_chaos.workload.client_host import HostsClientProcesses as Programs"),
        ("frozenset({CutsLinks})", "frozenset({CutsLinks, Programs})"),
    ),
    "silent": changed("silent", ("frozenset({CutsLinks})", "frozenset()")),
}
RUNS = {
    "whole": ("blackout", "blackout", "--json"),
    "endless": ("endless", "endless", "--json"),
    "needy": ("needy", "needy"),
    "silent": ("silent", "silent"),
    "unknown": ("blackuot", "blackuot"),
    "unknown-drawn": ("kill", "blackuot"),
}
"""Kind of the first fault, kind that is drawn, and options."""


def experiment(kind, drawn, draws="5s"):
    """One in which faults are drawn for this long: every one that does not end is waited for."""
    return EXPERIMENT.replace("KIND", kind).replace("DRAWN", drawn).replace("DRAWS", draws)


def execute(site, *runs):
    """What ``highwater`` says to each of these, in one process in which the distribution is installed."""
    done = subprocess.run(
        [sys.executable, "-c", MAIN, json.dumps(runs)],
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=True,
    )
    return [SimpleNamespace(**one) for one in json.loads(done.stdout)]


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """All of :data:`RUNS`."""
    folder = tmp_path_factory.mktemp("third-party")
    asked = []
    for name, (kind, drawn, *options) in RUNS.items():
        file = folder / f"{name}.yaml"
        file.write_text(experiment(kind, drawn, "1s" if name == "endless" else "5s"))
        asked.append(["run", str(file), "--out", str(folder / "runs"), *options])
    site = install(folder, *(f"{name} = {name}:Blackout" for name in ("blackout", *MODULES)), **MODULES)
    return dict(zip(RUNS, execute(site, *asked), strict=True))


def test_it_is_run_drawn_and_judged(done):
    assert done["whole"].status == 0, done["whole"].err
    (found,) = json.loads(done["whole"].out)["runs"]
    assert found["verdict"] == "pass"
    faults = [json.loads(line) for line in (Path(found["dir"]) / "faults.jsonl").read_text().splitlines()]
    assert {fault["kind"] for fault in faults} == {"blackout"}
    assert [fault["drawn"] for fault in faults[:2]] == [False, True]
    assert all(fault["confirmed"] and fault["healed"] for fault in faults)


def test_the_run_is_judged_by_what_its_probes_saw(done):
    assert done["endless"].status == 2, done["endless"].err
    (found,) = json.loads(done["endless"].out)["runs"]
    verdict = json.loads((Path(found["dir"]) / "verdict.json").read_text())
    assert verdict["verdict"] == "inconclusive"
    assert any("(endless) is not known to be healed" in reason for reason in verdict["reasons"])


@pytest.mark.parametrize(
    ("run", "status", "words"),
    [
        ("needy", 254, "needy needs clients in processes of their own, which sim does not have"),
        ("silent", 255, "silent uses CutsLinks, which its needs do not name"),
        (
            "unknown",
            254,
            "spec.schedule[0].inject.blackuot: unknown field; did you mean 'blackout'? (allowed here: ",
        ),
        ("unknown-drawn", 254, "spec.schedule[2].random.faults.blackuot: unknown kind of fault or administration"),
        ("unknown-drawn", 254, "known are addPartitions, alterTopic, blackout, cancelReassign"),
    ],
)
def test_what_is_refused(done, run, status, words):
    assert done[run].status == status
    assert words in done[run].err


@pytest.mark.parametrize(
    ("entry_point", "why"),
    [
        ("blackout = blackout:Nothing", "cannot be loaded"),
        ("blackout = blackout:FAULT", "cannot be loaded"),
        ("blackout = blackout:Sleep", "expected a class of highwater_chaos.faults.Fault"),
        ("darkness = blackout:Blackout", "expected the entry point's name to be the fault's KIND"),
    ],
)
def test_an_entry_point_that_cannot_be_used_is_named(tmp_path, monkeypatch, entry_point, why):
    monkeypatch.syspath_prepend(install(tmp_path, entry_point))
    monkeypatch.delitem(sys.modules, "blackout", raising=False)
    with pytest.raises(FaultKindError, match=re.escape(why)) as refusal:
        fault_kinds.__wrapped__()  # what this process knows already stays as it is
    monkeypatch.delitem(sys.modules, "blackout", raising=False)
    assert f"entry point {entry_point.split(' = ')[0]!r}" in str(refusal.value)


def test_an_entry_point_that_cannot_be_used_ends_the_command(tmp_path):
    file = tmp_path / "experiment.yaml"
    file.write_text(experiment("kill", "kill"))
    (done,) = execute(install(tmp_path, "blackout = blackout:Nothing"), ["run", str(file), "--out", str(tmp_path)])
    assert done.status == 254
    assert "entry point 'blackout'" in done.err
