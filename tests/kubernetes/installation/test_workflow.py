"""The workflow cannot run here: what it calls exists, and its scripts judge as they should."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from .conftest import ROOT

WORKFLOW = ROOT / ".github/workflows/kubernetes.yaml"
# Of ubuntu-24.04's image.
ON_THE_RUNNER = {"kind", "kubectl", "helm"}


def steps():
    workflow = yaml.safe_load(WORKFLOW.read_text())
    assert set(workflow) == {"name", True, "permissions", "concurrency", "jobs"}, "YAML 1.1 reads `on` as true"
    (job,) = workflow["jobs"].values()
    return job["steps"]


def commands():
    return [line for step in steps() for line in step.get("run", "").splitlines()]


def test_everything_that_is_called_exists():
    for line in commands():
        program, *arguments = line.split()
        if "/" in program:
            assert os.access(ROOT / program, os.X_OK), program
        else:
            assert program in ON_THE_RUNNER, program
        for argument in arguments:
            if argument.startswith((".github/", "manifests/", "helm/")):
                assert (ROOT / argument).exists(), argument


def test_it_tells_the_whole_story():
    lines = "\n".join(commands())
    story = [
        "kind create cluster",
        "images/build --tool docker --load kind",
        "helm install",
        "kafka-14139-on.yaml pass",
        "kafka-14139-off.yaml fail",
        "drain-on-cluster demo",
        "helm upgrade",
        "collect-from-cluster",
    ]
    assert [lines.index(part) for part in story] == sorted(lines.index(part) for part in story)
    kept = [step for step in steps() if step.get("if") == "always()"]
    assert len(kept) == 2
    assert "upload-artifact" in kept[1]["uses"]
    assert kept[1]["with"]["path"] == kept[0]["run"].split()[-1]


def test_every_sample_is_applied_once():
    applied = re.findall(r"manifests/samples/(\S+)", "\n".join(commands()))
    assert sorted(applied) == sorted(path.name for path in (ROOT / "manifests/samples").iterdir())


def test_what_the_page_on_upgrades_says_is_run_in_its_order():
    """But for kustomize: it is one way or the other."""
    text = (ROOT / "docs/upgrading.md").read_text().replace("With kustomize", "\0")
    text = re.sub("\0.*?^```$", "", text, flags=re.M | re.S)
    said = re.findall(r"^\$ (.+)$", text, re.M)
    (step,) = [one["run"].splitlines() for one in steps() if "upgrading.md" in one.get("name", "")]
    assert len(said) == 6
    assert [line for line in step if line in said] == said


def test_actions_are_pinned_to_a_commit():
    """Who owns a repository can move its tags; the comment says which one it was."""
    uses = [
        line for path in WORKFLOW.parent.glob("*.y*ml") for line in path.read_text().splitlines() if "uses:" in line
    ]
    assert len(uses) >= 4
    for line in uses:
        assert re.fullmatch(r" *(- )?uses: actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def cluster_of(tmp_path: Path, verdict: str, completes: bool) -> dict[str, str]:
    """A kubectl that answers as a cluster with one experiment would."""
    kubectl = tmp_path / "bin" / "kubectl"
    kubectl.parent.mkdir()
    kubectl.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        '  "apply "*) echo chaosexperiment.highwater.dev/x ;;\n'
        f'  "wait "*) {"exit 0" if completes else "echo timed out >&2; exit 1"} ;;\n'
        f'  *status.verdict*) printf %s "{verdict}" ;;\n'
        '  *status.reason*) printf %s "because" ;;\n'
        '  *status.phase*) printf %s "Injecting" ;;\n'
        '  "logs "*) echo no logs >&2; exit 1 ;;\n'
        '  *) echo "$*" ;;\n'
        "esac\n"
    )
    kubectl.chmod(0o755)
    return {"PATH": f"{kubectl.parent}:/usr/bin:/bin"}


def run(script: str, *arguments: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "scripts" / script, *arguments], env=env, capture_output=True, text=True, check=False, timeout=60
    )


SAMPLE = str(ROOT / "manifests/samples/power-loss.yaml")


@pytest.mark.parametrize(
    ("verdict", "completes", "status", "said"),
    [
        ("pass", True, 0, "pass, as expected: because"),
        ("fail", True, 1, "expected verdict pass, found fail: because"),
        ("inconclusive", True, 1, "expected verdict pass, found inconclusive"),
        ("pass", False, 1, "did not complete; phase: Injecting"),
    ],
)
def test_an_experiment_on_a_cluster(tmp_path, verdict, completes, status, said):
    done = run("experiment-on-cluster", SAMPLE, "pass", env=cluster_of(tmp_path, verdict, completes))
    assert done.returncode == status
    assert said in done.stdout + done.stderr


DRAINED = """#!/bin/sh
echo "$*" >> {folder}/asked
case "$*" in
  "drain "*) touch {folder}/drained ;;
  "uncordon "*) rm -f {folder}/drained ;;
  *spec.brokers*) printf 3 ;;
  *spec.nodeName*) if [ -e {folder}/drained ]; then printf %s "{while_drained}"; elif grep -q ^drain {folder}/asked;
    then printf %s "{after}"; else printf worker2; fi ;;
esac
"""


@pytest.mark.parametrize(
    ("while_drained", "after", "status", "said"),
    [
        ("", "worker2", 0, "demo-broker-0 waited for its disk on worker2 and came back there"),
        ("worker3", "worker3", 1, "demo-broker-0 is on worker3: expected it to wait for its disk on worker2"),
        ("", "worker3", 1, "demo-broker-0 came back on worker3: expected worker2, where its disk is"),
    ],
)
def test_a_drain_on_a_cluster(tmp_path, while_drained, after, status, said):
    kubectl = tmp_path / "bin" / "kubectl"
    kubectl.parent.mkdir()
    kubectl.write_text(DRAINED.format(folder=tmp_path, while_drained=while_drained, after=after))
    kubectl.chmod(0o755)
    done = run("drain-on-cluster", "demo", env={"PATH": f"{kubectl.parent}:/usr/bin:/bin"})
    assert (done.returncode, said in done.stdout + done.stderr) == (status, True), done
    asked = (tmp_path / "asked").read_text().splitlines()
    assert "wait --for=jsonpath={.status.brokersReady}=2/3 logcluster/demo --timeout=5m" in asked
    assert asked[-1] == "uncordon worker2", "whatever happened, the machine is given back"


def test_wrong_arguments(tmp_path):
    env = cluster_of(tmp_path, "pass", completes=True)
    for arguments, said in (
        ([], "usage"),
        ([SAMPLE, "passed"], "passed: expected pass, fail or inconclusive"),
        (["none.yaml", "pass"], "none.yaml: no such file"),
    ):
        done = run("experiment-on-cluster", *arguments, env=env)
        assert done.returncode == 254
        assert said in done.stderr


def test_what_cannot_be_gathered_costs_nothing_else(tmp_path):
    done = run("collect-from-cluster", str(tmp_path / "out"), env=cluster_of(tmp_path, "pass", completes=True))
    assert done.returncode == 0
    assert done.stderr.count("failed, see") == 3
    assert (tmp_path / "out/operator.log").read_text() == "no logs\n"
    assert "get chaosexperiments" in (tmp_path / "out/experiments.yaml").read_text()
    assert len(list((tmp_path / "out").iterdir())) == 8
