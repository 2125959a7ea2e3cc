"""The action's steps do what docs/ci.md says; the runner's own actions cannot run here, and are pinned by hash."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step.get("name", step.get("uses")): step for step in ACTION["runs"]["steps"]}
PAGE = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
TINY = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: {name}}}
spec:
  timeout: 1m
  cluster: {{brokers: 1, controllers: 1, topics: [{{name: orders, partitions: 1, replicationFactor: 1}}]}}
  workload: {{producers: 1, rate: 20/s, consumers: 1}}
  schedule: [{{wait: 2s}}]
"""
OURS = "OWNER/highwater@COMMIT"


@pytest.fixture
def runner(tmp_path: Path) -> Any:
    """Runs a step with inputs, as the runner does, in a directory with two experiments."""
    folder = tmp_path / "temp/highwater/bin"
    folder.mkdir(parents=True)
    (folder / "highwater").symlink_to(Path(sys.executable).with_name("highwater"))

    def run(step: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        defaults = {name: one.get("default", "") for name, one in ACTION["inputs"].items()}
        values = {**defaults, **inputs}
        env = {
            name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: values[found[1]], text)
            for name, text in STEPS[step]["env"].items()
        }
        env |= {"RUNNER_TEMP": str(tmp_path / "temp"), "GITHUB_ACTION_PATH": str(ROOT)}
        env["GITHUB_STEP_SUMMARY"] = str(tmp_path / "summary.md")
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[step]["run"]]
        return subprocess.run(
            shell, cwd=tmp_path, env={**os.environ, **env}, check=False, capture_output=True, text=True, timeout=300
        )

    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(TINY.format(name=name), encoding="utf-8")
    return run


@pytest.mark.thorough
def test_experiments_run_once_or_as_a_campaign(runner: Any, tmp_path: Path) -> None:
    done = runner("Run", experiments="o*.yaml\ntwo.yaml\n", arguments="--seed\n3")
    assert done.returncode == 0, done.stderr
    done = runner("Run", experiments="one.yaml", seeds="1..1", directory="night", arguments="--jobs 1 --keep 0")
    assert done.returncode == 0, done.stderr
    cases = [ElementTree.parse(tmp_path / place / "junit.xml").getroot() for place in ("highwater", "night")]
    assert [[case.get("name") for case in suite] for suite in cases] == [["one", "two"], ["one"]]
    assert (tmp_path / "night/campaign/campaign.html").is_file()
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert summary.count("## Highwater") == 2


def test_no_input_is_a_command_and_the_status_is_that_of_highwater(runner: Any, tmp_path: Path) -> None:
    done = runner("Run", experiments="one.yaml $(touch made) `touch made` ; touch made", directory="a b")
    assert (done.returncode, (tmp_path / "made").exists()) == (254, False), done.stderr
    assert runner("Run", experiments="one.yaml", **{"for": "soon"}).returncode == 254
    for step in STEPS.values():
        assert "${{" not in step.get("run", "")


@pytest.mark.thorough
def test_it_installs_itself(runner: Any, tmp_path: Path) -> None:
    (tmp_path / "temp/highwater/bin/highwater").unlink()
    done = runner("Install", extras="zookeeper")
    assert done.returncode == 0, done.stderr
    assert runner("Run", experiments="kafka-14139").returncode == 0


def test_the_page_uses_what_the_action_has() -> None:
    (workflow,) = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    uses = [step for step in steps if step.get("uses") == OURS]
    assert len(uses) == 2
    required = {name for name, one in ACTION["inputs"].items() if one.get("required")}
    for step in uses:
        assert required <= set(step["with"]) <= set(ACTION["inputs"])
    for step in [*steps, *ACTION["runs"]["steps"]]:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step.get("uses", OURS)) or step.get("uses", OURS) == OURS
    nightly = (ROOT / ".github/workflows/kubernetes.yaml").read_text(encoding="utf-8")
    (on_kubernetes,) = [step["run"] for step in steps if "run" in step]
    assert all(line.strip() in nightly for line in on_kubernetes.splitlines()), "what CI itself runs"
    told = set(re.findall(r"`(\w+)`", " ".join(line.split("|")[1] for line in PAGE.splitlines() if line[:3] == "| `")))
    assert told == set(ACTION["inputs"])
