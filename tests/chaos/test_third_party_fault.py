"""A fault of another distribution: one file and an entry point. It is named by an experiment, drawn by ``random``,
refused under a wrong name, run and judged."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from highwater_chaos.experiment.faults import FaultKindError, fault_kinds

FAULT = '''
"""``blackout``: a node can neither send nor receive."""

from typing import ClassVar

from highwater_chaos.backends.primitives import CutsLinks
from highwater_chaos.experiment.targets import Victims
from highwater_chaos.faults import Drawn, Fault, Seen
from highwater_chaos.faults.base import target_of
from highwater_chaos.process import Sleep


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
            context.saw(touch, f"{touch.name} is silent", not context.using(CutsLinks).reachable(*touch.nodes))

    def heal(self, context):
        context.undo_each(context.join)
        yield Sleep(0)

    def probe(self, context, touch):
        return Seen(context.using(CutsLinks).reachable(*touch.nodes), touch.name)
'''
MAIN = "from highwater_chaos.cli import main; main()"
EXPERIMENT = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: third-party}
spec:
  seed: 3
  timeout: 2m
  cluster: {brokers: 3, controllers: 3, topics: [{name: orders, replicationFactor: 3}]}
  workload: {producers: 1, rate: 50/s}
  schedule:
    - inject: {KIND: {target: {broker: 1}}, for: 1s}
    - wait: 2s
    - random: {for: 5s, every: 2s, lasting: 1s, faults: {DRAWN: 1}}
"""


@pytest.fixture
def installed(tmp_path):
    """Install a distribution with this entry point; returns the directory that ``sys.path`` has to name."""

    def install(entry_point, change=("", "")):
        site = tmp_path / "site"
        info = site / "blackout-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: blackout\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[highwater.faults]\n{entry_point}\n")
        assert change[0] in FAULT
        (site / "blackout.py").write_text(FAULT.replace(*change))
        return site

    return install


@pytest.fixture
def run(tmp_path, installed):
    """Runs ``highwater`` where a distribution with this entry point is installed."""

    def install_and_run(entry_point, kind, *arguments, drawn=None, change=("", "")):
        site = installed(entry_point, change)
        file = tmp_path / "experiment.yaml"
        file.write_text(EXPERIMENT.replace("KIND", kind).replace("DRAWN", drawn or kind))
        return subprocess.run(
            [sys.executable, "-c", MAIN, "run", str(file), "--out", str(tmp_path / "runs"), *arguments],
            env={**os.environ, "PYTHONPATH": str(site)},
            capture_output=True,
            text=True,
            check=False,
        )

    return install_and_run


def test_it_is_run_drawn_and_judged(run):
    done = run("blackout = blackout:Blackout", "blackout", "--json")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["runs"]
    assert found["verdict"] == "pass"
    faults = [json.loads(line) for line in (Path(found["dir"]) / "faults.jsonl").read_text().splitlines()]
    assert {fault["kind"] for fault in faults} == {"blackout"}
    assert [fault["drawn"] for fault in faults[:2]] == [False, True]
    assert all(fault["confirmed"] and fault["healed"] for fault in faults)


def test_the_run_is_judged_by_what_its_probes_saw(run):
    done = run(
        "blackout = blackout:Blackout", "blackout", "--json", change=("        context.undo_each(context.join)\n", "")
    )
    assert done.returncode == 2, done.stderr
    (found,) = json.loads(done.stdout)["runs"]
    verdict = json.loads((Path(found["dir"]) / "verdict.json").read_text())
    assert verdict["verdict"] == "inconclusive"
    assert any("(blackout) is not known to be healed" in reason for reason in verdict["reasons"])


def test_it_is_refused_where_a_primitive_that_it_needs_is_not_implemented(run):
    imports = "from highwater_chaos.backends.primitives import CutsLinks"
    needs = imports + "\nfrom highwater_chaos.workload.client_host import HostsClientProcesses as Programs"
    source = FAULT.replace(imports, needs).replace("frozenset({CutsLinks})", "frozenset({CutsLinks, Programs})")
    done = run("blackout = blackout:Blackout", "blackout", change=(FAULT, source))
    assert done.returncode == 254
    assert "blackout needs clients in processes of their own, which sim does not have" in done.stderr


def test_it_cannot_use_a_primitive_that_it_does_not_say_it_needs(run):
    done = run("blackout = blackout:Blackout", "blackout", change=("frozenset({CutsLinks})", "frozenset()"))
    assert done.returncode == 255
    assert "blackout uses CutsLinks, which its needs do not name" in done.stderr


def test_an_unknown_kind_is_refused_with_those_that_are_known(run):
    done = run("blackout = blackout:Blackout", "blackuot")
    assert done.returncode == 254
    assert "spec.schedule[0].inject.blackuot: unknown field; did you mean 'blackout'? (allowed here: " in done.stderr


def test_an_unknown_kind_cannot_be_drawn(run):
    done = run("blackout = blackout:Blackout", "kill", drawn="blackuot")
    assert done.returncode == 254
    assert "spec.schedule[2].random.faults.blackuot: unknown kind of fault or administration" in done.stderr
    assert "known are addPartitions, blackout, clockSkew" in done.stderr


@pytest.mark.parametrize(
    ("entry_point", "why"),
    [
        ("blackout = blackout:Nothing", "cannot be loaded"),
        ("blackout = blackout:FAULT", "cannot be loaded"),
        ("blackout = blackout:Sleep", "expected a class of highwater_chaos.faults.Fault"),
        ("darkness = blackout:Blackout", "expected the entry point's name to be the fault's KIND"),
    ],
)
def test_an_entry_point_that_cannot_be_used_is_named(installed, monkeypatch, entry_point, why):
    monkeypatch.syspath_prepend(installed(entry_point))
    monkeypatch.delitem(sys.modules, "blackout", raising=False)
    with pytest.raises(FaultKindError, match=re.escape(why)) as refusal:
        fault_kinds.__wrapped__()  # what this process knows already stays as it is
    monkeypatch.delitem(sys.modules, "blackout", raising=False)
    assert f"entry point {entry_point.split(' = ')[0]!r}" in str(refusal.value)


def test_an_entry_point_that_cannot_be_used_ends_the_command(run):
    done = run("blackout = blackout:Nothing", "kill")
    assert done.returncode == 254
    assert "entry point 'blackout'" in done.stderr
